/**
 * What a query about workers means. The language is Temporal's, and smaller than that of lists of workflows:
 *
 *     texts   = != STARTS_WITH, NOT STARTS_WITH, IS [NOT] NULL      times   = != < <= > >= [NOT] BETWEEN, IS [NOT] NULL
 *     AND, OR and parentheses, no NOT
 *
 * Temporal's server parses a query first, and asks what it means for each worker anew. So only what cannot be parsed is refused; a condition that
 * means nothing (an unknown name, a number where a text must stand) is met by no worker, and neither is what is joined to it, unless an OR
 * was true before it.
 */
import { FilterFault } from '../filter/fault.ts';
import { parseSyntax } from '../filter/parser.ts';
import type { Syntax } from '../filter/syntax.ts';
import { parseInstant } from '../filter/values.ts';
import { utf8Bytes } from '../kernel/utf8.ts';
import type { WorkerFields } from './worker.ts';

const queryBytesMax = 8 * 1024;
const termsMax = 200;

export type WorkerFilter = (worker: WorkerFields) => boolean;

export type ParsedWorkerFilter = { readonly filter: WorkerFilter } | { readonly problem: string };

/** true, false, or undefined: the condition means nothing. */
type Verdict = boolean | undefined;
type Condition = (worker: WorkerFields) => Verdict;

const textsByName: ReadonlyMap<string, (worker: WorkerFields) => string> = new Map([
  ['WorkerInstanceKey', (worker) => worker.instanceKey],
  ['WorkerIdentity', (worker) => worker.identity],
  ['HostName', (worker) => worker.hostName],
  ['TaskQueue', (worker) => worker.taskQueue],
  ['DeploymentName', (worker) => worker.deploymentName],
  ['BuildId', (worker) => worker.buildId],
  ['SdkName', (worker) => worker.sdkName],
  ['SdkVersion', (worker) => worker.sdkVersion],
  ['WorkerStatus', (worker) => worker.status],
  // Temporal's parser keeps the word for itself, and gives it back in lower case.
  ['Status', (worker) => worker.status],
  ['status', (worker) => worker.status],
]);

const timesByName: ReadonlyMap<string, (worker: WorkerFields) => number | undefined> = new Map([
  ['StartTime', (worker) => worker.startTimeMs],
  ['HeartbeatTime', (worker) => worker.heartbeatTimeMs],
]);

const meansNothing: Condition = () => undefined;

export function parseWorkerFilter(query: string): ParsedWorkerFilter {
  if (query === '') return { filter: () => true };
  if (utf8Bytes(query) > queryBytesMax) return { problem: `operation is not supported: more than ${queryBytesMax} bytes` };
  const text = query.trim();
  if (/^(?:where|select) /i.test(text)) return { problem: `invalid filter: ${text}` };
  try {
    if (text === '') return { problem: 'malformed query: syntax error at position 1' };
    const { where, limit } = parseSyntax(text);
    if (limit) return { problem: `operation is not supported: 'limit' clause` };
    if (where === undefined) return { problem: `operation is not supported: 'where' clause is missing` };
    if (termsOf(where) > termsMax) return { problem: `operation is not supported: more than ${termsMax} conditions` };
    const condition = conditionOf(where);
    return { filter: (worker) => condition(worker) === true };
  } catch (error) {
    if (error instanceof FilterFault) return { problem: error.message.replace('malformed SQL query', 'malformed query') };
    throw error;
  }
}

function termsOf(syntax: Syntax): number {
  switch (syntax.kind) {
    case 'parenthesis':
      return termsOf(syntax.inner);
    case 'and':
    case 'or':
      return syntax.terms.reduce((sum, term) => sum + termsOf(term), 0);
    default:
      return 1;
  }
}

function conditionOf(syntax: Syntax): Condition {
  switch (syntax.kind) {
    case 'parenthesis':
      return conditionOf(syntax.inner);
    case 'and':
      return joined(syntax.terms.map(conditionOf), false);
    case 'or':
      return joined(syntax.terms.map(conditionOf), true);
    case 'comparison':
      return comparison(syntax);
    case 'range':
      return range(syntax);
    case 'is':
      return isNull(syntax);
    default:
      return meansNothing;
  }
}

/** Conditions are met from the left, up to the first that decides: false of AND, true of OR, and what means nothing of both. */
function joined(conditions: readonly Condition[], deciding: boolean): Condition {
  return (worker) => {
    for (const condition of conditions) {
      const verdict = condition(worker);
      if (verdict === undefined || verdict === deciding) return verdict;
    }
    return !deciding;
  };
}

function comparison({ operator, left, right }: Syntax & { kind: 'comparison' }): Condition {
  const name = nameOf(left);
  if (name === undefined || right.kind !== 'literal') return meansNothing;
  const text = textsByName.get(name);
  if (text !== undefined) {
    const meets = right.type === 'string' && right.text !== '' ? textComparisons.get(operator) : undefined;
    return meets === undefined ? meansNothing : (worker) => meets(text(worker), right.text);
  }
  const time = timesByName.get(name);
  const wanted = instantOf(right);
  const meets = timeComparisons.get(operator);
  // A time that is not there is compared as 1970, as Temporal's server does.
  return time && meets && wanted !== undefined ? (worker) => meets(time(worker) ?? 0, wanted) : meansNothing;
}

const textComparisons: ReadonlyMap<string, (found: string, wanted: string) => boolean> = new Map([
  ['=', (found, wanted) => found === wanted],
  ['!=', (found, wanted) => found !== wanted],
  ['starts_with', (found, wanted) => found.startsWith(wanted)],
  ['not starts_with', (found, wanted) => !found.startsWith(wanted)],
]);

const timeComparisons: ReadonlyMap<string, (found: number, wanted: number) => boolean> = new Map([
  ['=', (found, wanted) => found === wanted],
  ['!=', (found, wanted) => found !== wanted],
  ['<', (found, wanted) => found < wanted],
  ['<=', (found, wanted) => found <= wanted],
  ['>', (found, wanted) => found > wanted],
  ['>=', (found, wanted) => found >= wanted],
]);

function range({ not, left, low, high }: Syntax & { kind: 'range' }): Condition {
  const time = timesByName.get(nameOf(left) ?? '');
  const from = low.kind === 'literal' ? instantOf(low) : undefined;
  const to = high.kind === 'literal' ? instantOf(high) : undefined;
  if (time === undefined || from === undefined || to === undefined) return meansNothing;
  return (worker) => {
    const at = time(worker);
    return at !== undefined && (at >= from && at <= to) !== not;
  };
}

function isNull({ suffix, operand }: Syntax & { kind: 'is' }): Condition {
  const name = nameOf(operand);
  if (name === undefined || (suffix !== 'null' && suffix !== 'not null')) return meansNothing;
  const wanted = suffix === 'null';
  const text = textsByName.get(name);
  if (text !== undefined) return (worker) => (text(worker) === '') === wanted;
  const time = timesByName.get(name);
  return time === undefined ? meansNothing : (worker) => (time(worker) === undefined) === wanted;
}

function nameOf(syntax: Syntax): string | undefined {
  return syntax.kind === 'name' ? syntax.parts.join('.').replaceAll('`', '') : undefined;
}

/** Milliseconds since 1970, perhaps with a fraction: a text is a time of RFC 3339, a whole number is nanoseconds. */
function instantOf({ type, text }: Syntax & { kind: 'literal' }): number | undefined {
  if (type === 'integer') return Number(text) / 1_000_000;
  return type === 'string' ? parseInstant(text) : undefined;
}
