/** What letters have in common, the most letters first. */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { Column, Condition } from '../../filter/condition.ts';
import type { LetterGrouping } from '../../deadletters/commands.ts';
import type { LetterGroup as Group } from '../../deadletters/replies.ts';
import {
  decodeGroupDeadLettersRequest,
  encodeGroupDeadLettersResponse,
  type GroupDeadLettersRequest,
  type GroupDeadLettersResponse,
} from '../../wire/generated/api/deadletter/service.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { askLetters } from './letter-asks.ts';
import { letterLimits } from './letter-limits.ts';
import { letterMethod } from './letter-method.ts';
import { chosen } from './letters.ts';
import { allOf } from './selection.ts';

const groupings: ReadonlyMap<string, LetterGrouping> = new Map([
  ['fingerprint', 'fingerprint'],
  ['cause', 'cause'],
  ['disposition', 'disposition'],
  ['error-type', 'errorType'],
  ['task-type', 'taskType'],
  ['namespace', 'namespace'],
  ['workflow-type', 'workflowType'],
  ['node', 'node'],
  ['build', 'build'],
  ['source-cluster', 'sourceCluster'],
]);
/** Of one queue, where several are added up. */
const groupsOfQueueMax = 1_000;
/** As filters name what letters are grouped by. */
const groupedFields: Readonly<Record<LetterGrouping, string>> = {
  fingerprint: 'Fingerprint',
  cause: 'Cause',
  disposition: 'Disposition',
  errorType: 'ErrorType',
  taskType: 'TaskType',
  namespace: 'Namespace',
  workflowType: 'WorkflowType',
  node: 'node',
  build: 'Build',
  sourceCluster: 'SourceCluster',
};

export function groupMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    letterMethod('GroupDeadLetters', decodeGroupDeadLettersRequest, encodeGroupDeadLettersResponse, (request, call) =>
      grouped(context, call, request),
    ),
  ];
}

async function grouped(context: HandlerContext, call: Call, request: GroupDeadLettersRequest): Promise<GroupDeadLettersResponse> {
  const by = groupings.get(request.by === '' ? 'fingerprint' : request.by);
  if (by === undefined) throw invalidArgument(`Unknown grouping: ${request.by}; known are ${[...groupings.keys()].join(', ')}`);
  if (request.maxGroups < 0) throw invalidArgument(`Invalid max_groups: ${request.maxGroups}`);
  const { groupsMax } = letterLimits;
  const max = request.maxGroups === 0 ? groupsMax : Math.min(request.maxGroups, groupsMax);
  const { queues, condition } = await chosen(context, call, request);
  const ask = async (queue: number, asked: Condition | undefined, groupsMax: number): Promise<readonly Group[]> =>
    (await askLetters(context, call, queue, { kind: 'groupLetters', condition: asked, by, max: groupsMax })).groups;
  const [only] = queues;
  const groups =
    queues.length === 1 && only !== undefined
      ? await ask(only.number, condition, max)
      : (await ofSeveral(queues, (queue, asked, groupsMax) => ask(queue, allOf([condition, asked].filter(isSaid)), groupsMax), by)).slice(
          0,
          max,
        );
  return {
    groups: groups.map(({ key, count, lowestId, oldestMs, newestMs, errorType, errorMessage, taskType }) => ({
      key,
      count,
      lowestMessageId: lowestId,
      oldestTimeMs: oldestMs,
      newestTimeMs: newestMs,
      errorType,
      errorMessage,
      taskType,
    })),
  };
}

/**
 * A group that is small in one queue may be large in all: those that a queue has left out are asked for by name, so that what is counted is right.
 * Only one that is beyond the first thousand of every queue may be missing.
 */
async function ofSeveral(
  queues: readonly KnownDeadLetterQueue[],
  ask: (queue: number, condition: Condition | undefined, max: number) => Promise<readonly Group[]>,
  by: LetterGrouping,
): Promise<readonly Group[]> {
  const first = await Promise.all(queues.map(({ number }) => ask(number, undefined, groupsOfQueueMax)));
  const largest = addedUp(first.flat()).slice(0, groupsOfQueueMax);
  const all = await Promise.all(
    queues.map(async ({ number }, at) => {
      const told = first[at] ?? [];
      const known = new Set(told.map(({ key }) => key));
      const leftOut = told.length < groupsOfQueueMax ? [] : largest.map(({ key }) => key).filter((key) => !known.has(key));
      return leftOut.length === 0 ? told : [...told, ...(await ask(number, isAnyOf(by, leftOut), leftOut.length))];
    }),
  );
  return addedUp(all.flat());
}

function isAnyOf(by: LetterGrouping, keys: readonly string[]): Condition {
  const column: Column = { name: groupedFields[by], kind: 'keyword' };
  const named = keys.filter((key) => key !== '');
  const conditions: Condition[] = named.length === 0 ? [] : [{ kind: 'in', column, not: false, operands: named }];
  // What is not known of a letter is '' in its group.
  if (named.length < keys.length) conditions.push({ kind: 'isNull', column, not: false });
  return { kind: 'or', conditions };
}

function isSaid(condition: Condition | undefined): condition is Condition {
  return condition !== undefined;
}

/** Groups of the same letters from several queues are one; its lowest id is of the queue that was named first. */
function addedUp(groups: readonly Group[]): readonly Group[] {
  const byKey = new Map<string, Group>();
  for (const group of groups) {
    const before = byKey.get(group.key);
    byKey.set(group.key, before === undefined ? group : together(before, group));
  }
  return [...byKey.values()].toSorted((one, other) => other.count - one.count);
}

function together(before: Group, group: Group): Group {
  return {
    ...before,
    count: before.count + group.count,
    oldestMs: Math.min(before.oldestMs, group.oldestMs),
    newestMs: Math.max(before.newestMs, group.newestMs),
  };
}
