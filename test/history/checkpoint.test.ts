/** Checkpoints of a shard: whatever happens between a cut and its last row, rows are the state at the cut. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { HistoryDelta } from '../../src/projections/database-port.ts';
import type { ShardCheckpoint, ShardDelta } from '../../src/history/shard/rows.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryLimits } from '../../src/history/run/history-limits.ts';
import type { HistoryRecord } from '../../src/history/run/record.ts';
import { Checkpoints, installed, type TableOrder } from './checkpointed-shard.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { taskFailure, taskSubject } from './hand-over/task-failure.ts';
import { Program, programStep } from './random-program.ts';
import {
  completeWorkflow,
  key,
  namespaceId,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

const checkpointStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cut' as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('capture' as const), encodedMax: fc.nat(5) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), outcome: fc.constantFrom('written', 'failed', 'lost') }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('startBriefly' as const), id: fc.nat(2), retentionMs: fc.constantFrom(1, 500, 9000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retentionFails' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('handOver' as const), nth: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('accept' as const), letters: fc.nat(2) }) },
);
type CheckpointStep = typeof checkpointStep extends fc.Arbitrary<infer Value> ? Value : never;

const ids = ['wf', 'other', 'child'];

class CheckpointedShard extends ShardUnderTest {
  readonly checkpoints: Checkpoints;

  constructor(limits: Partial<HistoryLimits> = {}, order: TableOrder = 'rows first') {
    super(limits, stateCodec);
    this.checkpoints = new Checkpoints(this, order);
  }
}

function run(shard: CheckpointedShard, step: CheckpointStep): void {
  const { checkpoints } = shard;
  switch (step.do) {
    case 'cut':
      if (checkpoints.state === 'none') checkpoints.cut();
      return;
    case 'capture':
      if (checkpoints.state === 'cut') checkpoints.capture(step.encodedMax);
      return;
    case 'write':
      if (checkpoints.state === 'captured') checkpoints.write(step.outcome);
      return;
    case 'startBriefly': {
      const { retentionMs } = step;
      shard.ask(shard.startCommand({ key: { namespaceId, workflowId: ids[step.id] ?? '', runId: '' }, retentionMs }));
      return;
    }
    case 'handOver': {
      const task = shard.transfers()[step.nth];
      if (task !== undefined)
        shard.expectDone({ kind: 'handOverTask', taskId: task.taskId, category: 'transfer', failure: taskFailure, subject: taskSubject });
      return;
    }
    case 'accept': {
      const accepted = checkpoints.folded.handOvers?.get('transfer')?.waiting.slice(0, step.letters) ?? [];
      const sequence = accepted.at(-1)?.sequence;
      if (sequence === undefined) return;
      const messageIds = accepted.map((task) => task.sequence - 1);
      shard.expectDone({ kind: 'noteLetters', category: 'transfer', sequence, messageIds });
      return;
    }
    case 'retentionFails':
      for (const { kind, taskId, key: runKey } of checkpoints.folded.timers.values()) {
        if (kind !== 'retention') continue;
        shard.expectDone({ kind: 'putAside', key: runKey, failedCommand: 'fireTimer', taskId, reason: 'random' });
        return;
      }
  }
}

/** Closed runs go within a program. */
const limits = { retentionMsDefault: 3000, retentionRecheckMs: 1000 };

test('random programs: rows are the state at the cut, whatever happens until they are written', () => {
  let checkpoints = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 3, arbitrary: programStep }, { weight: 2, arbitrary: checkpointStep }), {
        minLength: 50,
        maxLength: 200,
        size: 'max',
      }),
      fc.constantFrom('rows first' as const, 'deletes first' as const),
      (steps, order) => {
        const shard = new CheckpointedShard(limits, order);
        shard.checks = false;
        const program = new Program(shard);
        for (const step of steps) {
          switch (step.do) {
            case 'cut':
            case 'capture':
            case 'write':
            case 'startBriefly':
            case 'retentionFails':
            case 'handOver':
            case 'accept':
              run(shard, step);
              break;
            default:
              program.run(step);
          }
        }
        shard.checkpoints.finish();
        checkpoints += shard.checkpoints.count;
      },
    ),
    { numRuns: 200 },
  );
  expect(checkpoints).toBeGreaterThan(600);
}, 240_000);

function recordsOf(journal: string): readonly HistoryRecord[] {
  const lines = readFileSync(new URL(`golden/history-journal-v1-${journal}.hex`, import.meta.url), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => historyCodec.decode(Buffer.from(line, 'hex'), 1));
}

test.each(['everything', 'put-aside', 'events', 'schedules', 'preparations', 'update-callbacks'])(
  'journals: a cut after any record: %s',
  (journal) => {
    const records: HistoryRecord[] = [];
    const core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });
    const checkpoints = new Checkpoints({ core, records });
    for (const record of recordsOf(journal)) {
      core.evolve(record);
      records.push(record);
      if (checkpoints.state === 'cut') {
        while (!checkpoints.capture(1));
        checkpoints.write('written');
      }
      checkpoints.cut();
    }
    checkpoints.finish();
  },
);

function written({ checkpoints, core }: CheckpointedShard): ShardCheckpoint {
  checkpoints.cut();
  checkpoints.capture(Infinity);
  const checkpoint = core.changes.capture(() => true);
  if (checkpoint === undefined) throw new Error('not captured');
  checkpoints.write('written');
  return checkpoint;
}

const nothing: ShardDelta = {
  runs: [],
  currentRuns: [],
  childStarts: [],
  transferTasks: [],
  timers: [],
  tasksAtMatching: [],
  goneTransferTasks: [],
  goneTimers: [],
  retiredRuns: [],
};

describe('what a checkpoint holds', () => {
  test('is what the database port takes, but for what the core does not keep', () => {
    type Kept = Omit<HistoryDelta, 'history' | 'visibility'>;
    expectTypeOf<ShardDelta>().toExtend<Kept>();
    expectTypeOf<Kept>().toExtend<ShardDelta>();
  });

  test('nothing, when nothing has changed', () => {
    const shard = new CheckpointedShard();
    shard.start();
    written(shard);
    expect(written(shard).delta).toEqual(nothing);
  });

  test('of a workflow that came and went between two cuts its run, and none of its tasks', () => {
    const shard = new CheckpointedShard();
    const runId = shard.start({ start: { runTimeoutMs: 60_000 } });
    shard.complete(shard.pollWorkflowTask(), [scheduleActivity(), startTimer()]);
    shard.completeActivity(shard.pollActivityTask());
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const { delta } = written(shard);
    const id = { namespaceId, workflowId: 'wf', runId };
    const forgetMs = shard.nowMs + 72 * 3_600_000;
    expect(delta).toEqual({ ...nothing, runs: [{ ...id, status: 2, state: expect.any(Uint8Array), forgetMs }], currentRuns: [id] });
  });

  test('of a workflow that goes on what has changed, and what has ended', () => {
    const shard = new CheckpointedShard();
    shard.start();
    const first = written(shard).delta;
    expect(first).toMatchObject({ runs: [{}], currentRuns: [{}], transferTasks: [{ aside: false }], timers: [] });
    shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 5000)]);
    const second = written(shard).delta;
    expect(second).toMatchObject({ runs: [{}], currentRuns: [], transferTasks: [], goneTransferTasks: [first.transferTasks[0]?.taskId] });
    expect(second.timers).toMatchObject([{ fireTimeMs: shard.nowMs + 5000, aside: false }]);
    shard.fireNextTimer();
    expect(written(shard).delta).toMatchObject({ timers: [], goneTimers: [second.timers[0]?.taskId] });
  });
});

describe('a run that goes, and one before it that stays', () => {
  /** The first run of 'wf' stays, for its child has not heard of its end. The second one goes at once. */
  function twoRuns(order: 'rows first' | 'deletes first', between: (shard: CheckpointedShard) => void): CheckpointedShard {
    const shard = new CheckpointedShard(limits, order);
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild({ parentClosePolicy: 1 })]);
    shard.carry(shard.pendingTask('startChild'));
    shard.ask(terminateWorkflow());
    between(shard);
    shard.start({ retentionMs: 1 });
    shard.ask(terminateWorkflow());
    shard.advance(1);
    shard.fireDueTimers();
    expect(shard.core.has(key), 'nobody has the workflow id').toBe(false);
    return shard;
  }

  test.each(['rows first', 'deletes first'] as const)('nobody has their workflow id: %s', (order) => {
    const shard = twoRuns(order, written);
    written(shard);
    expect(shard.checkpoints.table.size).toMatchObject({ runs: 2 });
    expect(installed(shard.checkpoints.table, stateCodec).has(key)).toBe(false);
    shard.checkpoints.finish();
  });
});

describe('a run that was quarantined', () => {
  test('takes its tasks along when its retention ends', () => {
    const shard = new CheckpointedShard(limits);
    const runId = shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    // Whether the child has started is not known, so its task stays.
    shard.ask(terminateWorkflow());
    shard.expectDone({ kind: 'putAside', key: { ...key, runId }, failedCommand: 'startChild', taskId: 0, reason: 'planted' });
    expect(written(shard).delta.transferTasks).toMatchObject([{ aside: true }]);
    shard.advance(limits.retentionMsDefault);
    shard.fireDueTimers();
    written(shard);
    expect(shard.checkpoints.table.size).toMatchObject({ runs: 0, transferTasks: 0, timers: 0 });
    shard.checkpoints.finish();
  });

  test('keeps the end of its retention aside, if that is what fails', () => {
    const shard = new CheckpointedShard(limits);
    const runId = shard.start();
    shard.ask(terminateWorkflow());
    expect(written(shard).delta).toMatchObject({ runs: [{ forgetMs: shard.nowMs + limits.retentionMsDefault }], timers: [] });
    const taskId = shard.core.shard.timers.next()?.taskId ?? 0;
    shard.expectDone({ kind: 'putAside', key: { ...key, runId }, failedCommand: 'fireTimer', taskId, reason: 'planted' });
    const { runs, timers } = written(shard).delta;
    expect([runs.map(({ forgetMs }) => forgetMs), timers]).toMatchObject([[undefined], [{ taskId, aside: true }]]);
    expect(installed(shard.checkpoints.table, stateCodec).shard.timers.next()).toBeUndefined();
  });
});

test('the end of a retention alone changes the row of its run', () => {
  const shard = new CheckpointedShard(limits);
  shard.start();
  shard.ask(terminateWorkflow());
  written(shard);
  const taskId = shard.core.shard.timers.next()?.taskId ?? 0;
  const first = shard.records[0];
  if (first === undefined) throw new Error('nothing was recorded');
  const record = { ...first, type: 'TasksFinished', runs: [], tasks: [], finishedTaskIds: [taskId] };
  shard.core.evolve(record);
  shard.records.push(record);
  expect(written(shard).delta.runs).toMatchObject([{ forgetMs: undefined }]);
});

describe('a task that has ended', () => {
  test('is gone for every window until the checkpoint that deletes it is durable', () => {
    const shard = new CheckpointedShard();
    shard.start();
    const { taskId } = shard.pendingTask('workflowTask');
    expect(shard.core.changes.isGone(taskId)).toBe(false);
    written(shard);
    shard.pollWorkflowTask();
    expect(shard.core.changes.isGone(taskId)).toBe(true);
    shard.checkpoints.cut();
    expect(shard.core.changes.isGone(taskId), 'while its deletion is on its way').toBe(true);
    while (!shard.checkpoints.capture(1)) expect(shard.core.changes.isGone(taskId)).toBe(true);
    shard.checkpoints.write('failed');
    expect(shard.core.changes.isGone(taskId), 'and when that has failed').toBe(true);
    shard.checkpoints.write('written');
    expect(shard.core.changes.isGone(taskId)).toBe(false);
  });
});

describe('what cannot be encoded', () => {
  test('stops the checkpoint, and not the run', () => {
    const wire = { ...stateCodec };
    const shard = new ShardUnderTest({}, wire);
    shard.start();
    shard.core.changes.cut();
    wire.encodeRun = () => {
      throw new Error('no bytes for this');
    };
    shard.complete(shard.pollWorkflowTask(), [startTimer()]);
    expect(() => shard.core.changes.capture(() => true)).toThrow('no bytes for this');
    expect(() => shard.core.changes.capture(() => true), 'nor are the others written without it').toThrow('no bytes for this');
    shard.fireNextTimer();
    expect(shard.history()).toContain('timerFired');
  });
});
