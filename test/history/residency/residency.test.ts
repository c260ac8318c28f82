/** Executions leave memory and come back when a command needs them: nobody can tell, and nothing in the core depends on their having stayed. */
import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type * as database from '../../../src/projections/database-port.ts';
import type { Loaded } from '../../../src/history/residency/install.ts';
import type { LoadKey } from '../../../src/history/shard/residency.ts';
import { aJobKey, startBatch } from '../batch-commands.ts';
import { taskFailure, taskSubject } from '../hand-over/task-failure.ts';
import { fewerKinds, programStep } from '../random-program.ts';
import {
  completeWorkflow,
  continueAsNew,
  key,
  namespaceId,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  startTimer,
  terminateWorkflow,
  updateWorkflow,
} from '../shard-under-test.ts';
import { EvictingShard, type Move, TwoShards } from './evicting-shard.ts';

const move = fc.constantFrom<Move[]>(
  'nothing',
  'cut',
  'capture',
  'capture',
  'write',
  'write',
  'lose',
  'evict',
  'evict',
  'evictOne',
  'loadAnyway',
  'beginLoad',
  'endLoad',
  'beginWindow',
  'endWindow',
  'endWindow',
  'leaveSome',
  'beginTasks',
  'endTasks',
  'tasksRefused',
  'tasksDelivered',
  'writeAndEvict',
);
/** Closed runs go within a program. */
const limits = { retentionMsDefault: 3000, retentionRecheckMs: 1000 };

test('random programs: whatever leaves memory between two commands, whatever is on its way there, and however often a server dies, records and answers are the same', () => {
  let evicted = 0;
  let loaded = 0;
  let retired = 0;
  let timersLeft = 0;
  let tasksLeft = 0;
  let tasksBrought = 0;
  let noted = 0;
  let handedOver = 0;
  fc.assert(
    fc.property(
      fewerKinds(fc.array(programStep, { minLength: 30, maxLength: 120, size: 'max' })),
      fc.oneof(fc.constant<Move[]>(['writeAndEvict']), fc.array(move, { minLength: 1, maxLength: 60 })),
      fc.constantFrom(Infinity, 5, 17),
      (steps, moves, crashEvery) => {
        const shards = new TwoShards(moves, limits);
        for (const [at, step] of steps.entries()) {
          shards.run(step);
          if ((at + 1) % crashEvery === 0) shards.crash();
        }
        shards.finish();
        evicted += shards.evicting.evicted;
        retired += shards.retired;
        loaded += shards.evicting.loaded;
        timersLeft += shards.evicting.timersLeft;
        tasksLeft += shards.evicting.tasksLeft;
        tasksBrought += shards.evicting.tasksBrought;
        noted += shards.noted;
        handedOver += shards.handedOver;
      },
    ),
    { numRuns: 100 },
  );
  expect(Math.min(evicted, loaded)).toBeGreaterThan(500);
  expect(retired).toBeGreaterThan(5);
  expect(timersLeft).toBeGreaterThan(100);
  expect(tasksLeft).toBeGreaterThan(100);
  expect(tasksBrought).toBeGreaterThan(20);
  expect(noted).toBeGreaterThan(40);
  expect(handedOver).toBeGreaterThan(10);
}, 240_000);

test('keys and answers are those of the database port', () => {
  expectTypeOf<LoadKey>().toExtend<database.LoadKey>();
  expectTypeOf<database.LoadKey>().toExtend<LoadKey>();
  expectTypeOf<database.Loaded>().toExtend<Omit<Loaded, 'key'>>();
});

function cold(shard: EvictingShard): void {
  shard.writeAll();
  shard.evict();
}

/** A parent with an activity, a timer and a started child, all of them cold. */
function coldFamily(): EvictingShard {
  const shard = new EvictingShard();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity(), startTimer('t1', 60_000), startChild()]);
  shard.pollActivityTask();
  shard.pumpOutbox();
  cold(shard);
  return shard;
}

const childKey = { namespaceId, workflowId: 'child', runId: '' };
const describeParent = { kind: 'describeWorkflow', key } as const;

describe('what a command lacks', () => {
  test('nothing, without a database or while nothing has left memory', () => {
    const shard = new ShardUnderTest();
    expect(shard.core.lacks(describeParent)).toBeUndefined();
    const never = new EvictingShard();
    never.start();
    expect([never.core.lacks(describeParent), never.core.lacks({ ...describeParent, key: childKey })]).toEqual([undefined, undefined]);
  });

  test('the current run, once it has left', () => {
    const shard = coldFamily();
    expect(shard.core.lacks(describeParent)).toEqual([{ kind: 'current', namespaceId, workflowId: 'wf' }]);
    shard.load(describeParent);
    expect(shard.core.lacks(describeParent)).toBeUndefined();
  });

  test('the run that it names', () => {
    const shard = coldFamily();
    const runId = shard.runIds()[0] ?? '';
    const command = { ...describeParent, key: { ...key, runId } };
    expect(shard.core.lacks(command)).toEqual([{ kind: 'run', namespaceId, workflowId: 'wf', runId }]);
  });

  test('the run of a task', () => {
    const shard = coldFamily();
    const { taskId } = shard.nextTimer() ?? { taskId: 0 };
    const lacking = [{ kind: 'run', namespaceId, workflowId: 'wf', runId: shard.runIds()[0] }];
    expect(shard.core.lacks({ kind: 'fireTimer', taskId, jitter: 0 })).toEqual(lacking);
    expect(shard.core.lacks({ kind: 'fireTimer', taskId: 12_345, jitter: 0 }), 'a timer that is over').toBeUndefined();
    expect(shard.core.lacks({ kind: 'flushFinishedTasks' })).toBeUndefined();
  });

  test('the run of a batch job whose step has failed for good', () => {
    const shard = new EvictingShard();
    shard.ask(startBatch());
    const { taskId } = shard.nextTimer() ?? { taskId: 0 };
    cold(shard);
    const failed = { kind: 'handOverTask', taskId, category: 'timer', failure: taskFailure, subject: taskSubject } as const;
    expect(shard.core.lacks(failed)).toMatchObject([{ kind: 'run', workflowId: aJobKey.workflowId }]);
    shard.load(failed);
    shard.expectDone(failed);
  });

  test('nothing for a workflow id that nobody has used', () => {
    const shard = coldFamily();
    const unknown = { namespaceId, workflowId: 'nobody has used this', runId: '' };
    expect(shard.core.lacks({ kind: 'describeWorkflow', key: unknown })).toBeUndefined();
    expect(shard.core.lacks(shard.startCommand({ key: unknown }))).toBeUndefined();
  });

  test('for a start also the first run of the chain, since that may know the request', () => {
    const shard = new EvictingShard();
    const first = shard.startCommand();
    shard.ask(first);
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    cold(shard);
    const again = { ...first, newRunId: shard.newRunId() };
    expect(shard.core.lacks(again)).toMatchObject([{ kind: 'current' }]);
    const { table } = shard.checkpoints;
    shard.core.installLoaded(table.load(shard.core.lacks(again) ?? []), shard.core.beginLoad());
    expect(shard.core.lacks(again)).toEqual([{ kind: 'run', namespaceId, workflowId: 'wf', runId: first.newRunId }]);
    expect(shard.ask(again)).toMatchObject({ kind: 'started', runId: first.newRunId, started: true });
  });

  test('for an update with start likewise: its start is decided if the open run does not know the update', () => {
    const shard = new EvictingShard();
    shard.ask(shard.startCommand());
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    cold(shard);
    const start = shard.startCommand({ policies: { reusePolicy: 1, conflictPolicy: 2 } });
    expect(shard.ask({ kind: 'startAndUpdate', key, start, update: updateWorkflow().update })).toBeUndefined();
    expect(shard.runIds()).toHaveLength(2);
  });

  test('for the start of a child the child that this parent has', () => {
    const shard = new EvictingShard();
    const parentRunId = shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    const task = shard.pendingTask('startChild');
    const message = shard.outboxMessage(task.taskId);
    shard.carryInVain(task);
    cold(shard);
    if (message?.command.kind !== 'startWorkflow') throw new Error('not a start');
    const lacking = shard.core.lacks(message.command);
    expect(lacking).toEqual([{ kind: 'childStart', parentRunId, initiatedEventId: task.initiatedEventId }]);
    expect(shard.ask(message.command)).toMatchObject({ kind: 'started', started: true });
    expect(shard.loaded, 'its start, and its run').toBe(2);
    expect(shard.runIds(), 'the parent and one child').toHaveLength(2);
  });
});

test('deciding on what is cold stops, and changes nothing', () => {
  const shard = coldFamily();
  const decide = (): unknown => shard.core.handle(describeParent, shard.nowMs, 1);
  expect(decide).toThrow('loaded before it is decided on');
  shard.load(describeParent);
  expect(decide()).toMatchObject({ reply: { kind: 'description' } });
});

test('replaying a record for a cold run stops', () => {
  const shard = coldFamily();
  const before = shard.records.length;
  shard.signal();
  const record = shard.records[before];
  if (record === undefined) throw new Error('nothing was recorded');
  const other = coldFamily();
  expect(() => other.core.evolve(record)).toThrow('loaded before it changes');
  expect(other.core.recordLacks(record)).toEqual([{ kind: 'run', namespaceId, workflowId: 'wf', runId: shard.runIds()[0] }]);
});

test('a record that retires runs is replayed for cold ones', () => {
  const shard = new EvictingShard(limits);
  const runId = shard.start();
  shard.ask(terminateWorkflow());
  cold(shard);
  shard.advance(limits.retentionMsDefault);
  shard.expectDone({ kind: 'retireRuns', runs: [{ ...key, runId }] });
  const [record] = shard.records.slice(-1);
  const folding = new EvictingShard(limits);
  for (const each of shard.records.slice(0, -1)) folding.evolve(each);
  cold(folding);
  expect(folding.core.recordLacks(record!)).toBeUndefined();
  folding.evolve(record!);
  folding.writeAll();
  expect(folding.checkpoints.table.size).toMatchObject({ runs: 0, currentRuns: 0 });
});

describe('a run stays in memory', () => {
  const evicted = (shard: EvictingShard): boolean => shard.core.evict(shard.runIds()[0] ?? '');

  test('until its row is what it is', () => {
    const shard = new EvictingShard();
    shard.start();
    expect(evicted(shard)).toBe(false);
    shard.checkpoints.cut();
    shard.checkpoints.capture(100);
    expect(evicted(shard), 'while its row is on its way').toBe(false);
    shard.checkpoints.write('lost');
    expect(evicted(shard), 'while nobody knows').toBe(false);
    shard.checkpoints.write('written');
    expect(evicted(shard)).toBe(true);
    shard.signal();
    expect(evicted(shard), 'changed since').toBe(false);
  });

  test('while someone waits on it', () => {
    const shard = new EvictingShard();
    shard.start();
    shard.writeAll();
    shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: true });
    expect(evicted(shard)).toBe(false);
    shard.cancel(shard.lastAskId);
    expect(evicted(shard)).toBe(true);
  });

  test('while a query waits for its next workflow task', () => {
    const shard = new EvictingShard();
    shard.start();
    shard.writeAll();
    const queryId = shard.newRequestId();
    const query = { queryId, query: new Uint8Array(1), rejectCondition: 1, deadlineMs: shard.nowMs + 1000 } as const;
    expect(shard.request({ kind: 'queryWorkflow', key, ...query })).toBeUndefined();
    expect(evicted(shard)).toBe(false);
    shard.cancel(shard.lastAskId);
    expect(evicted(shard)).toBe(true);
  });

  test('while it has a task that no journal knows', () => {
    const shard = new EvictingShard();
    shard.start();
    shard.complete(shard.pollWorkflowTask());
    shard.writeAll();
    expect(shard.ask(updateWorkflow())).toBeUndefined();
    expect(evicted(shard)).toBe(false);
  });

  test('while it is quarantined', () => {
    const shard = new EvictingShard();
    const runId = shard.start();
    shard.expectDone({ kind: 'putAside', key: { ...key, runId }, failedCommand: 'fireTimer', taskId: 0, reason: 'planted' });
    shard.writeAll();
    expect(evicted(shard)).toBe(false);
  });

  test('without a database', () => {
    const shard = new ShardUnderTest();
    expect(shard.core.evict(shard.start())).toBe(false);
  });
});

describe('what was loaded', () => {
  test('never takes the place of what memory has', () => {
    const shard = new EvictingShard();
    shard.start();
    shard.writeAll();
    shard.signal();
    const before = shard.core.canonicalState();
    shard.loadAll();
    shard.loadAll();
    expect(shard.core.canonicalState()).toBe(before);
  });

  test('is nowhere only until it begins', () => {
    const shard = coldFamily();
    // A row that is gone leaves its workflow id in the filter.
    shard.core.residency.keys.add({ namespaceId, workflowId: 'later' });
    const later = { namespaceId, workflowId: 'later', runId: '' };
    expect(shard.core.lacks({ kind: 'describeWorkflow', key: later })).toMatchObject([{ kind: 'current' }]);
    expect(shard.ask({ kind: 'describeWorkflow', key: later })).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
    shard.start({ key: later });
    cold(shard);
    expect(shard.describe(later).status).toBe(1);
  });

  test('brings no run back that has ended for good since it was read', () => {
    const shard = new EvictingShard(limits);
    const runId = shard.start();
    shard.ask(terminateWorkflow());
    cold(shard);
    const { core, checkpoints } = shard;
    const named = { kind: 'run', namespaceId, workflowId: 'wf', runId } as const;
    const rows = checkpoints.table.load([named, { kind: 'current', namespaceId, workflowId: 'wf' }]);
    const begunAt = core.beginLoad();
    shard.advance(limits.retentionMsDefault);
    shard.fireDueTimers();
    expect(core.installLoaded(rows, begunAt), 'its row is still there, and counts for nothing').toBe(true);
    expect([core.has(key), core.lacks(describeParent)]).toEqual([false, undefined]);
    shard.writeAll();
    expect(core.installLoaded(rows, begunAt), 'and now it is not there any more').toBe(false);
    expect(core.has(key)).toBe(false);
    expect(shard.ask(describeParent)).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
  });
});

test('an older run does not become the newest one because its pointer is all that the table has', () => {
  const shard = new EvictingShard(limits);
  const older = shard.start();
  // It outlives its retention, for its child has not heard of its end.
  shard.complete(shard.pollWorkflowTask(), [startChild({ parentClosePolicy: 1 })]);
  shard.carry(shard.pendingTask('startChild'));
  shard.ask(terminateWorkflow());
  cold(shard);
  shard.start({ retentionMs: 1 });
  shard.ask(terminateWorkflow());
  shard.advance(1);
  shard.fireDueTimers();
  expect(shard.core.evict(older)).toBe(true);
  expect(shard.ask(describeParent)).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
  shard.loadAll();
  expect([shard.core.has(key), shard.core.has({ ...key, runId: older })]).toEqual([false, true]);
  cold(shard);
  expect(shard.ask(describeParent), 'nor once all is written').toMatchObject({ rejection: { reason: 'workflow-not-found' } });
});

test('the end of a retention comes back with its run after a restart', () => {
  const shard = new EvictingShard(limits);
  shard.start();
  shard.ask(terminateWorkflow());
  shard.writeAll();
  const { rows, counters } = shard.checkpoints.table;
  if (counters === undefined) throw new Error('nothing was written');
  const restarted = new EvictingShard(limits);
  restarted.core.install({ ...rows, runs: [], currentRuns: [] }, counters);
  restarted.core.leaveRestInTable();
  expect(restarted.core.lacks({ ...describeParent, key: { ...key, workflowId: 'whatever' } }), 'no filter is built').toHaveLength(1);
  const lacking = restarted.core.lacks(describeParent) ?? [];
  restarted.core.installLoaded(shard.checkpoints.table.load(lacking), restarted.core.beginLoad());
  expect(restarted.core.canonicalState()).toBe(shard.core.canonicalState());
  expect(restarted.core.shard.timers.next()?.fireTimeMs).toBe(shard.nowMs + limits.retentionMsDefault);
});

test('an execution goes on from where it was, through its timers, its child and its worker', () => {
  const shard = coldFamily();
  const childTask = shard.transfers().findLast(({ kind }) => kind === 'workflowTask');
  expect(childTask?.key.workflowId).toBe('child');
  shard.fireNextTimer();
  cold(shard);
  expect(shard.describe().pendingActivities).toMatchObject([{ attempt: 2 }]);
  shard.ask(terminateWorkflow({ key: childKey }));
  cold(shard);
  shard.pumpOutbox();
  cold(shard);
  expect(shard.history(shard.runIds()[0])).toContain('childWorkflowExecutionTerminated');
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  cold(shard);
  expect(shard.describe().status).toBe(2);
});
