/** Whether a letter still needs a run: what is found out beside the shard, of the queues that may hold one. */
import { expect, test } from 'vitest';
import { archiveRunners, type ArchiveTasksOptions } from '../../../../src/actors/history/side-tasks/archive-tasks.ts';
import type { LetterCheckTask } from '../../../../src/actors/history/side-tasks/side-tasks.ts';
import { systemClock } from '../../../../src/actors/system-ports.ts';

const key = { namespaceId: 'namespace-id', workflowId: 'wf', runId: '00000000-0000-4000-8000-000000000001' };
const task: LetterCheckTask = { kind: 'letterCheck', taskId: 7, fireTimeMs: 0, key };

type World = {
  /** The ids of the run's letters in each queue that there is; undefined: its owner does not answer. */
  readonly queues: Readonly<Partial<Record<'archival' | 'outbound', readonly number[] | undefined>>>;
  /** Only a fresh read of the cluster's partition shows these. */
  readonly isBehind?: boolean;
  readonly clusterAnswers?: boolean;
};

const numbers = { archival: 1, outbound: 2 } as const;

async function isOpen({ queues, isBehind = false, clusterAnswers = true }: World): Promise<boolean> {
  let isFolded = !isBehind;
  const router: ArchiveTasksOptions['router'] = {
    askHistory: () => expect.unreachable(),
    askCluster: (_request, _deadline, done) => {
      isFolded = clusterAnswers;
      done((clusterAnswers ? { kind: 'done' } : { kind: 'unavailable' }) as never);
      return 0;
    },
    askDeadLetters: (number, _request, _deadline, done) => {
      const ids = queues[number === numbers.archival ? 'archival' : 'outbound'];
      done((ids === undefined ? { kind: 'unavailable' } : { kind: 'letterIds', ids }) as never);
      return 0;
    },
  };
  const runners = archiveRunners({
    registry: { view: { namespaceById: () => undefined } },
    router,
    historyShards: 1,
    queueNumberOf: (category) => (isFolded && category in queues ? numbers[category] : undefined),
    archiver: undefined,
    clock: systemClock,
  });
  const answer = await runners.letterCheck?.attempt(task);
  if (answer?.kind !== 'done' || answer.command.kind !== 'letterChecked') return expect.unreachable();
  expect(answer.command.taskId).toBe(task.taskId);
  return answer.command.isOpen;
}

test.each<[string, World, boolean]>([
  ['a letter of a callback', { queues: { outbound: [3] } }, true],
  ['a letter of its archive task', { queues: { archival: [3] } }, true],
  ['none, in either queue', { queues: { archival: [], outbound: [] } }, false],
  ['none, and no queue of archival was ever opened', { queues: { outbound: [] } }, false],
  ['none, and no queue at all', { queues: {} }, false],
  ['a letter in a queue that this process has not heard of', { queues: { outbound: [3] }, isBehind: true }, true],
  ['a queue that nobody answers for', { queues: { outbound: undefined, archival: [] } }, true],
  ['no queue, as far as a process knows that cannot read what others opened', { queues: {}, clusterAnswers: false }, true],
])('%s', async (_name, world, expected) => {
  expect(await isOpen(world)).toBe(expected);
});
