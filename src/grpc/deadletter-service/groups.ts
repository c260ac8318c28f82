import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import type { Column, Condition } from '../../filter/condition.ts';
import type { LetterGroup as Group, LetterGrouping } from '../../deadletters/letter-commands.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { askLetters, type DeadLetterHandlers } from './letter-asks.ts';
import { letterLimits } from './letter-pages.ts';
import { chosen } from './letters.ts';
import { allOf } from '../conditions.ts';

/** `word`: as requests say it. `field`: as filters name it. */
type Grouping = { readonly word: string; readonly field: string };

const groupings: Readonly<Record<LetterGrouping, Grouping>> = {
  fingerprint: { word: 'fingerprint', field: 'Fingerprint' },
  cause: { word: 'cause', field: 'Cause' },
  disposition: { word: 'disposition', field: 'Disposition' },
  errorType: { word: 'error-type', field: 'ErrorType' },
  taskType: { word: 'task-type', field: 'TaskType' },
  namespace: { word: 'namespace', field: 'Namespace' },
  workflowType: { word: 'workflow-type', field: 'WorkflowType' },
  node: { word: 'node', field: 'node' },
  build: { word: 'build', field: 'Build' },
  sourceCluster: { word: 'source-cluster', field: 'SourceCluster' },
};
const byWord = new Map(Object.entries(groupings).map(([by, { word }]) => [word, by as LetterGrouping]));
/** Where several queues are added up, each tells so many groups. */
const groupsOfQueueMax = 1_000;

export const groupHandlers: DeadLetterHandlers = {
  GroupDeadLetters: async (context, request, call) => {
    const by = byWord.get(request.by === '' ? 'fingerprint' : request.by);
    if (by === undefined) throw invalidArgument(`Unknown grouping: ${request.by}; known are ${[...byWord.keys()].join(', ')}`);
    if (request.maxGroups < 0) throw invalidArgument(`Invalid max_groups: ${request.maxGroups}`);
    const { groupsMax } = letterLimits;
    const max = request.maxGroups === 0 ? groupsMax : Math.min(request.maxGroups, groupsMax);
    const { queues, condition } = await chosen(context, call, request);
    const ask = async (queue: number, also: Condition | undefined, most: number): Promise<readonly Group[]> => {
      const question = { kind: 'groupLetters', condition: allOf(condition, also), by, max: most } as const;
      return (await askLetters(context, call, queue, question)).groups;
    };
    const [only] = queues;
    const isOne = queues.length === 1 && only !== undefined;
    const groups = isOne ? await ask(only.number, undefined, max) : (await ofSeveral(queues, ask, groupings[by].field)).slice(0, max);
    return {
      groups: groups.map(({ lowestId, oldestMs, newestMs, ...group }) => {
        return { ...group, lowestMessageId: lowestId, oldestTimeMs: oldestMs, newestTimeMs: newestMs };
      }),
    };
  },
};

/** A group small in one queue may be large in all: what a queue left out is asked for by name, but not beyond each one's first 1,000. */
async function ofSeveral(
  queues: readonly KnownDeadLetterQueue[],
  ask: (queue: number, also: Condition | undefined, max: number) => Promise<readonly Group[]>,
  field: string,
): Promise<readonly Group[]> {
  const first = await Promise.all(queues.map(({ number }) => ask(number, undefined, groupsOfQueueMax)));
  const largest = addedUp(first.flat()).slice(0, groupsOfQueueMax);
  const all = await Promise.all(
    queues.map(async ({ number }, at) => {
      const told = first[at] ?? [];
      const known = new Set(told.map(({ key }) => key));
      const leftOut = told.length < groupsOfQueueMax ? [] : largest.map(({ key }) => key).filter((key) => !known.has(key));
      return leftOut.length === 0 ? told : [...told, ...(await ask(number, isAnyOf(field, leftOut), leftOut.length))];
    }),
  );
  return addedUp(all.flat());
}

function isAnyOf(name: string, keys: readonly string[]): Condition {
  const column: Column = { name, kind: 'keyword' };
  const named = keys.filter((key) => key !== '');
  const conditions: Condition[] = named.length === 0 ? [] : [{ kind: 'in', column, not: false, operands: named }];
  // What is not known of a letter is '' in its group.
  if (named.length < keys.length) conditions.push({ kind: 'isNull', column, not: false });
  return { kind: 'or', conditions };
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
