/**
 * What people write to choose dead letters, as a condition on their rows. The language is that of lists of workflows, over the fields of letters;
 * what is wrong is said with its place, and with what would be right there.
 *
 *     Namespace = 'shop' AND ErrorType LIKE 'Un%'
 *                                      ▲ at position 34: expected =, !=, …, found LIKE
 */
import { Checker } from '../../filter/checker.ts';
import type { Column, ColumnKind, Condition } from '../../filter/condition.ts';
import { FilterFault } from '../../filter/fault.ts';
import { parseSyntax } from '../../filter/parser.ts';

/** What a filter of dead letters may name. Texts that are not known of a letter, and numbers and times, are NULL. */

const field = (name: string, kind: ColumnKind): readonly [string, Column] => [name, { name, kind }];

export const letterFields: ReadonlyMap<string, Column> = new Map([
  field('MessageId', 'int'),
  field('TaskId', 'int'),
  field('TaskType', 'keyword'),
  field('ShardId', 'int'),
  field('Namespace', 'keyword'),
  field('WorkflowId', 'keyword'),
  field('WorkflowType', 'keyword'),
  field('RunId', 'keyword'),
  field('Cause', 'keyword'),
  field('Disposition', 'keyword'),
  field('ErrorType', 'keyword'),
  field('ErrorMessage', 'keyword'),
  field('Fingerprint', 'keyword'),
  field('Attempts', 'int'),
  field('Generation', 'int'),
  field('State', 'keyword'),
  field('DeadLetterTime', 'datetime'),
  field('FirstFailureTime', 'datetime'),
  field('SourceCluster', 'keyword'),
  field('Build', 'keyword'),
]);

const charactersMax = 8_192;

export type ParsedLetterFilter =
  /** `condition`: undefined: all letters. */
  | { readonly kind: 'filter'; readonly condition: Condition | undefined }
  /** `message`: for INVALID_ARGUMENT. */
  | { readonly kind: 'invalid'; readonly message: string };

export function parseLetterFilter(text: string): ParsedLetterFilter {
  const length = charactersOf(text);
  if (length > charactersMax) {
    return { kind: 'invalid', message: `invalid filter: it has ${length} characters, and may have ${charactersMax}` };
  }
  try {
    return { kind: 'filter', condition: conditionOf(text.trim()) };
  } catch (error) {
    if (!(error instanceof FilterFault)) throw error;
    const at = Math.min(text.length, error.at + text.length - text.trimStart().length);
    const position = charactersOf(text.slice(0, at)) + 1;
    return { kind: 'invalid', message: `invalid filter: at position ${position}: expected ${error.expected}, found ${wordAt(text, at)}` };
  }
}

const fieldNames = `a field of dead letters (${[...letterFields.keys()].join(', ')})`;

function conditionOf(text: string): Condition | undefined {
  const { where, clausesAt } = parseSyntax(text);
  if (clausesAt !== undefined) throw new FilterFault('a clause', clausesAt, 'AND, OR or the end');
  const checker = new Checker((name) => {
    const column = letterFields.get(name);
    return column === undefined ? undefined : { column };
  }, fieldNames);
  return where === undefined ? undefined : checker.condition(where);
}

function charactersOf(text: string): number {
  return Array.from(text).length;
}

const shownMax = 50;

function wordAt(text: string, at: number): string {
  const [word = ''] = /^(?:'[^']*'?|"[^"]*"?|[^\s()'",;]+|.)/su.exec(text.slice(at).trimStart()) ?? [];
  if (word === '') return 'the end';
  const characters = Array.from(word);
  return characters.length > shownMax ? `${characters.slice(0, shownMax).join('')}…` : word;
}
