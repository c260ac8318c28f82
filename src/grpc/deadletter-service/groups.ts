/** What letters have in common, the most letters first. */
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

const groupings: ReadonlyMap<string, LetterGrouping> = new Map([
  ['fingerprint', 'fingerprint'],
  ['cause', 'cause'],
  ['error-type', 'errorType'],
  ['task-type', 'taskType'],
  ['namespace', 'namespace'],
  ['workflow-type', 'workflowType'],
  ['node', 'node'],
  ['build', 'build'],
  ['source-cluster', 'sourceCluster'],
]);
/** Of one queue, where several are added up: a group that is small in each may be large in all. */
const groupsOfQueueMax = 1_000;

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
  const ofQueue = { kind: 'groupLetters', condition, by, max: queues.length > 1 ? groupsOfQueueMax : max } as const;
  const all = await Promise.all(queues.map(({ number }) => askLetters(context, call, number, ofQueue)));
  const groups = addedUp(all.flatMap((each) => each.groups)).slice(0, max);
  return {
    groups: groups.map(({ key, count, lowestId, oldestMs, newestMs, errorType, errorMessage }) => ({
      key,
      count,
      lowestMessageId: lowestId,
      oldestTimeMs: oldestMs,
      newestTimeMs: newestMs,
      errorType,
      errorMessage,
    })),
  };
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
