/** Whether a dead letter still needs a run, or is a start of a schedule: what is found out beside the shard, of the queues that may hold one. */
import { expect, test } from 'vitest';
import { letterCheckRunner, type LetterChecksOptions } from '../../../../src/actors/history/side-tasks/letter-checks.ts';
import type { LetterCheckTask } from '../../../../src/actors/history/side-tasks/side-tasks.ts';
import { keptAs } from '../../../../src/schedules/schedule-id.ts';
import { systemClock } from '../../../../src/ports/system-ports.ts';

const key = { namespaceId: 'namespace-id', workflowId: 'wf', runId: '00000000-0000-4000-8000-000000000001' };
const task: LetterCheckTask = { kind: 'letterCheck', taskId: 7, fireTimeMs: 0, key };

type Queue = { readonly letters: readonly number[]; readonly uncutPurges?: number };

type World = {
  /** The ids of the run's letters in each queue that there is; undefined: its owner does not answer. */
  readonly queues: Readonly<Partial<Record<Category, Queue | undefined>>>;
  /** Only a fresh read of the cluster's partition shows these. */
  readonly isBehind?: boolean;
  readonly clusterAnswers?: boolean;
};

const numbers = { archival: 1, outbound: 2, timer: 3, transfer: 4 } as const;
type Category = keyof typeof numbers;
const categories: readonly Category[] = ['archival', 'outbound', 'timer', 'transfer'];

async function isOpen({ queues, isBehind = false, clusterAnswers = true }: World, of = task): Promise<boolean> {
  let isFolded = !isBehind;
  const router: LetterChecksOptions['router'] = {
    askCluster: (_request, _context, done) => {
      isFolded = clusterAnswers;
      done((clusterAnswers ? { kind: 'done' } : { kind: 'unavailable' }) as never);
      return 0;
    },
    askDeadLetters: (number, { kind }, _context, done) => {
      const category = categories.find((each) => numbers[each] === number);
      const queue = category === undefined ? undefined : queues[category];
      const found = { kind: 'letterIds', ids: queue?.letters ?? [] };
      const counted = { kind: 'counted', uncutPurges: queue?.uncutPurges ?? 0 };
      done((queue === undefined ? { kind: 'unavailable' } : kind === 'findLetters' ? found : counted) as never);
      return 0;
    },
  };
  const queueNumberOf = (category: Category) => (isFolded && category in queues ? numbers[category] : undefined);
  const answer = await letterCheckRunner({ router, queueNumberOf, clock: systemClock }).attempt(of, () => true);
  if (answer.kind !== 'done' || answer.command.kind !== 'letterChecked') return expect.unreachable();
  expect(answer.command.taskId).toBe(task.taskId);
  return answer.command.isOpen;
}

const none = { letters: [] };

test.each<[string, World, boolean]>([
  ['a letter of a callback', { queues: { outbound: { letters: [3] } } }, true],
  ['a letter of the pause of a callback', { queues: { outbound: none, archival: none, timer: { letters: [3] } } }, true],
  ['a letter of its archive task', { queues: { archival: { letters: [3] } } }, true],
  ['none, in either queue', { queues: { archival: none, outbound: none } }, false],
  ['none, and no queue of archival was ever opened', { queues: { outbound: none } }, false],
  ['none, and no queue at all', { queues: {} }, false],
  ['none, but one that was purged may come back', { queues: { outbound: { letters: [], uncutPurges: 1 }, archival: none } }, true],
  ['a letter in a queue that this process has not heard of', { queues: { outbound: { letters: [3] } }, isBehind: true }, true],
  ['a queue that nobody answers for', { queues: { outbound: undefined, archival: none } }, true],
  ['no queue, as far as a process knows that cannot read what others opened', { queues: {}, clusterAnswers: false }, true],
])('%s', async (_name, world, expected) => {
  expect(await isOpen(world)).toBe(expected);
});

const ofSchedule: LetterCheckTask = { ...task, key: { ...key, workflowId: keptAs('nightly') } };

test.each<[string, World, boolean]>([
  ['a letter of a start', { queues: { transfer: { letters: [3] } } }, true],
  ['none', { queues: { transfer: none, timer: { letters: [3] }, archival: undefined } }, false],
  ['none, but one that was purged may come back', { queues: { transfer: { letters: [], uncutPurges: 1 } } }, true],
])('of a schedule: %s', async (_name, world, expected) => {
  expect(await isOpen(world, ofSchedule)).toBe(expected);
});
