/** The steps of a batch job beside its shard: how many at a time, how fast, how often one is tried, and what a step tells of itself. */
import { expect, test } from 'vitest';
import { type BatchOutcome, BatchTrouble, type BatchWork } from '../../../../src/ports/batch-operations.ts';
import { batchRunner, batchStepLimits } from '../../../../src/actors/history/side-tasks/batch-steps.ts';
import type { BatchStepTask, SideAnswer } from '../../../../src/actors/history/side-tasks/side-tasks.ts';
import { type BatchProgress, type BatchStep, newBatch } from '../../../../src/batches/batch.ts';
import { HandClock } from '../../../support/hand-clock.ts';

const key = { namespaceId: 'namespace-id', workflowId: 'temporal-sys-batcher:job', runId: '00000000-0000-4000-8000-000000000001' };
const task: BatchStepTask = { kind: 'batchStep', taskId: 7, fireTimeMs: 0, key };
const second: BatchProgress = { ...newBatch(4), steps: 1 };

type World = {
  readonly progress?: BatchProgress;
  readonly executions?: number;
  readonly perSecondMax?: number;
  readonly concurrencyMax?: number;
  /** Of the nth attempt at an execution. */
  readonly outcomeOf?: (workflowId: string, attempt: number) => BatchOutcome;
  readonly trouble?: BatchTrouble;
  /** When the edge is there; absent: at once. */
  readonly edgeAfterMs?: number;
  /** After so many operations nobody wants the step any more. */
  readonly wantedFor?: number;
};

/** Runs a step to its end; operations take ten milliseconds. */
async function taken(world: World): Promise<{ answer: SideAnswer; attempts: readonly string[]; tookMs: number; atATimeMax: number }> {
  const {
    progress = second,
    executions = 3,
    perSecondMax = 1_000,
    concurrencyMax = 2,
    outcomeOf = () => 'done',
    wantedFor,
    edgeAfterMs = 0,
  } = world;
  const clock = new HandClock('when moved');
  const attempts: string[] = [];
  let [atATime, atATimeMax] = [0, 0];
  const work: BatchWork = {
    perSecondMax,
    concurrencyMax,
    count: async () => {
      if (world.trouble !== undefined) throw world.trouble;
      return executions;
    },
    page: async ({ listed }, max) => {
      if (world.trouble !== undefined) throw world.trouble;
      const left = Math.max(0, executions - listed);
      const targets = Array.from({ length: Math.min(left, max) }, (_, index) => ({
        target: { workflowId: `w${listed + index}`, runId: '' },
        position: { listed: listed + index + 1, after: undefined },
      }));
      return { targets, isLast: left <= max };
    },
    perform: async ({ workflowId }) => {
      attempts.push(workflowId);
      atATimeMax = Math.max(atATimeMax, ++atATime);
      const attempt = attempts.filter((each) => each === workflowId).length;
      await new Promise<void>((resolve) => void clock.after(10, resolve));
      atATime--;
      return outcomeOf(workflowId, attempt);
    },
  };
  const job = { kind: 'batchDescription', key, namespace: 'ns', definition: new Uint8Array(0), progress } as const;
  const runner = batchRunner({
    router: {
      askHistory: (_shard, _request, _context, done) => {
        done({ ...job, status: 1, startTimeMs: 0, closeTimeMs: 0 } as never);
        return 0;
      },
    },
    historyShards: 4,
    operations: () => (clock.nowMs < edgeAfterMs ? undefined : Promise.resolve({ open: () => work })),
    clock,
  });
  let answer: SideAnswer | undefined;
  void runner.attempt(task, () => wantedFor === undefined || attempts.length < wantedFor).then((of) => (answer = of));
  while (answer === undefined) {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    if (answer === undefined) clock.advance(1);
  }
  return { answer, attempts, tookMs: clock.nowMs, atATimeMax };
}

function stepOf({ answer }: { readonly answer: SideAnswer }): BatchStep {
  if (answer.kind !== 'done' || answer.command.kind !== 'batchStepped') return expect.unreachable();
  expect(answer.command).toMatchObject({ key, taskId: 7 });
  return answer.command.step;
}

test('the first step says how many there are, and does nothing', async () => {
  const first = await taken({ progress: newBatch(0), executions: 9 });
  expect(stepOf(first)).toMatchObject({ number: 0, total: 9, completed: 0, next: { kind: 'goesOn', pauseMs: 0 } });
  expect(first.attempts).toEqual([]);
});

test('a step that finds no edge yet, as behind a start, is taken as soon as that is there', async () => {
  const step = await taken({ executions: 3, edgeAfterMs: 1_000 });
  expect(stepOf(step)).toMatchObject({ completed: 3, next: { kind: 'completed' } });
  expect(step.tookMs).toBeLessThan(1_200);
});

test('a step that finds none for a minute, or is not wanted any more, gives up its place', async () => {
  const notReady = { kind: 'failed', failure: { kind: 'notYet', why: 'notReady' } };
  const late = await taken({ edgeAfterMs: Infinity });
  expect([late.answer, late.tookMs]).toMatchObject([notReady, batchStepLimits.edgeMsMax]);
  const unwanted = await taken({ edgeAfterMs: Infinity, wantedFor: 0 });
  expect([unwanted.answer, unwanted.tookMs]).toMatchObject([notReady, 0]);
});

test('all that there are, some at a time; then the job is completed', async () => {
  const step = await taken({ executions: 5, concurrencyMax: 2 });
  expect(stepOf(step)).toMatchObject({ number: 1, completed: 5, failed: 0, position: { listed: 5 }, next: { kind: 'completed' } });
  expect([step.attempts.toSorted(), step.atATimeMax]).toEqual([['w0', 'w1', 'w2', 'w3', 'w4'], 2]);
});

test('a step ends after two seconds, with the rate kept, and the next one goes on behind it', async () => {
  const step = await taken({ executions: 100, perSecondMax: 10, concurrencyMax: 5 });
  const { completed, position, next } = stepOf(step);
  expect(completed).toBe(20);
  expect(position).toEqual({ listed: 20, after: undefined });
  expect(next.kind === 'goesOn' && step.tookMs + next.pauseMs).toBeCloseTo(2_000, -2);
  const behind = await taken({ executions: 21, progress: { ...second, steps: 2, position } });
  expect([behind.attempts, stepOf(behind).next]).toEqual([['w20'], { kind: 'completed' }]);
});

test('a rate of less than one a step: one, and a pause', async () => {
  const step = await taken({ executions: 3, perSecondMax: 0.1, concurrencyMax: 5 });
  expect(stepOf(step)).toMatchObject({ completed: 1, next: { kind: 'goesOn' } });
  expect(step.tookMs).toBeLessThan(100);
  const { next } = stepOf(step);
  expect(next.kind === 'goesOn' && next.pauseMs).toBeGreaterThan(9_900);
});

test('a failure that may pass is tried again, and a permanent one is not', async () => {
  const outcomeOf = (workflowId: string, attempt: number): BatchOutcome => {
    if (workflowId === 'w0') return 'failed';
    return workflowId === 'w1' && attempt < 4 ? 'again' : 'done';
  };
  const step = await taken({ outcomeOf });
  expect(stepOf(step)).toMatchObject({ completed: 2, failed: 1 });
  expect(step.attempts.filter((each) => each !== 'w2')).toEqual(['w0', 'w1', 'w1', 'w1', 'w1']);
});

test('one that fails again and again holds its job up for a minute, not for ever', async () => {
  const step = await taken({ executions: 1, outcomeOf: () => 'again' });
  expect(stepOf(step)).toMatchObject({ completed: 0, failed: 1, next: { kind: 'completed' } });
  expect(step.attempts.length).toBeLessThanOrEqual(batchStepLimits.attemptsMax);
  expect(step.tookMs).toBeLessThan(batchStepLimits.attemptsMsMax + 5_000);
});

test('cut off by a stop, it tells what it did, and does no more', async () => {
  const step = await taken({ executions: 50, wantedFor: 6, concurrencyMax: 2 });
  expect(step.attempts).toHaveLength(6);
  expect(stepOf(step)).toMatchObject({ completed: 6, next: { kind: 'goesOn' } });
});

test('cut off while the last ones are tried again, its job is not over, and whoever takes the next step begins with the first of them', async () => {
  const outcomeOf = (workflowId: string): BatchOutcome => (workflowId === 'w1' ? 'again' : 'done');
  const step = await taken({ executions: 3, wantedFor: 4, concurrencyMax: 2, outcomeOf });
  expect(stepOf(step)).toMatchObject({ completed: 2, failed: 0, position: { listed: 1 }, next: { kind: 'goesOn' } });
});

test('a query that can be asked no more ends the job, one that cannot be asked now does not, and one that takes too long is tried some times', async () => {
  const over = await taken({ trouble: new BatchTrouble('invalid visibility query: gone', 'stays') });
  expect(stepOf(over)).toMatchObject({ completed: 0, next: { kind: 'failed', message: 'invalid visibility query: gone' } });
  const away = await taken({ trouble: new BatchTrouble('visibility does not answer', 'passes') });
  expect(away.answer).toMatchObject({ kind: 'failed', failure: { kind: 'notYet', why: 'away' } });
  const slow = await taken({ trouble: new BatchTrouble('the query took longer than 10 s', 'mayPass') });
  expect(slow.answer).toMatchObject({ kind: 'failed', failure: { kind: 'failed', by: 'dependency' } });
});
