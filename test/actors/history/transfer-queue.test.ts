import { UnsentTasks } from '../../../src/history/run/unsent-tasks.ts';
import { describe, expect, test } from 'vitest';
import { FailedTasks, type FaultOf } from '../../../src/actors/history/hand-over/failed-tasks.ts';
import { TaskNamespaces } from '../../../src/actors/history/transfer/task-namespaces.ts';
import { TransferQueue } from '../../../src/actors/history/transfer/transfer-queue.ts';
import { thrownByTask } from '../../../src/actors/history/hand-over/task-failures.ts';
import type { TransferShard } from '../../../src/actors/history/transfer/transfer-shard.ts';
import { Tenure } from '../../../src/actors/partition/partition-core.ts';
import type { Asker } from '../../../src/actors/asks/router.ts';
import type { Namespace } from '../../../src/cluster/cluster-state.ts';
import type { CaptureSettings } from '../../../src/deadletters/capture-settings.ts';
import type { TransferTask } from '../../../src/history/run/tasks.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { taskSubject } from '../../history/hand-over/task-failure.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { historyRecord } from './history-record.ts';

/** A shard whose tasks matching refuses until the test says otherwise. */
class Bench {
  readonly clock = new HandClock('when moved');
  readonly lines: string[] = [];
  readonly tenure: Tenure<never>;
  readonly queue: TransferQueue;
  asks = 0;
  /** Of matching: which tasks, in their order. */
  readonly asked: number[] = [];
  full = true;
  readonly #pending = new Map<number, TransferTask>();
  /** Tasks that were handed over, with why. */
  readonly letters: string[] = [];
  lineIsFull = false;
  readonly finished: number[] = [];
  settings: CaptureSettings = {
    enabled: true,
    internalErrorsArePermanent: false,
    errorPattern: undefined,
    failuresMax: 5,
    transferFailuresMax: undefined,
    timerFailuresMax: undefined,
    replicationFailuresMax: 5,
  };
  /** A bug of ours. */
  throws = false;
  /** By id; the others are there. */
  readonly fates = new Map<string, 'deleted' | 'unknown'>();
  registryAnswers = true;
  readonly unsentTasks = new UnsentTasks();
  faultOf: FaultOf | undefined;
  /** What a full one says. */
  refusal: object = { kind: 'rejected', rejection: { reason: 'backlog-full', message: 'backlog full' } };
  deliveryAnswer: object = { kind: 'done' };

  constructor() {
    const shard: TransferShard = {
      shard: 1,
      pendingTask: (taskId) => this.#pending.get(taskId),
      pendingTransferTasks: () => this.#pending.values(),
      stored: () => {},
      unsentTasks: this.unsentTasks,
      room: undefined,
      retentionMsOf: () => undefined,
      writeRow: () => expect.unreachable('no row was refused'),
      submit: (command) => {
        if (command.kind === 'finishOutboxTask') this.finished.push(command.taskId);
        if (command.kind !== 'runOutboxTask') return;
        if (this.throws) return this.queue.attemptFailed(command.taskId, command.tries, thrownByTask(new RangeError('planted')));
        const key = { namespaceId: 'ns', workflowId: 'parent', runId: '' };
        const message = {
          targetNamespaceId: 'ns',
          targetWorkflowId: 'parent',
          command: { kind: 'scheduleFirstWorkflowTask', key },
        } as const;
        this.queue.deliver({ kind: 'deliver', taskId: command.taskId, message, tries: command.tries });
      },
    };
    const failed = new FailedTasks({
      isLetter: () => false,
      shard: 1,
      settingsOf: () => this.settings,
      subjectOf: () => taskSubject,
      submit: ({ taskId, failure: { cause, errorType, errorMessage, attempts } }) => {
        if (this.lineIsFull) return;
        const { kind } = this.#pending.get(taskId) ?? { kind: 'nothing' };
        this.#pending.delete(taskId);
        this.letters.push(`${kind} ${taskId}: ${cause} after ${attempts}, ${errorType}: ${errorMessage}`);
      },
      nowMs: () => this.clock.wallMs(),
      faultOf: (...given) => this.faultOf?.(...given),
      node: 'host:7233',
      build: '0.1.0',
    });
    const router: Asker = {
      askHistory: (_shard, _command, _context, onReply) => {
        this.asks += 1;
        this.clock.soon(() => onReply(this.deliveryAnswer as never));
        return 0;
      },
      askCluster: (_request, _context, onReply) => {
        this.clock.soon(() => onReply({ kind: this.registryAnswers ? 'done' : 'unavailable' } as never));
        return 0;
      },
      askDeadLetters: () => 0,
      cancel: () => {},
      askMatching: (_partition, request, _context, onReply) => {
        this.asks += 1;
        const taskId = 'task' in request ? request.task.taskId : 0;
        this.asked.push(taskId);
        const reply = this.full ? this.refusal : { kind: 'done' };
        if (!this.full) this.#pending.delete(taskId);
        // The table of replies is by request; this one is an add.
        this.clock.soon(() => onReply(reply as never));
        return 0;
      },
    };
    this.tenure = new Tenure({ submit: () => undefined }, { nowMs: () => 0, fenced: () => {}, claimAnew: () => {} }, this.clock);
    this.tenure.begin();
    this.queue = new TransferQueue({
      shard,
      failed,
      namespaces: new TaskNamespaces({ registry: this.#registry, asker: router, clock: this.clock }),
      tenure: this.tenure,
      whyNoCallback: () => undefined,
      router,
      layout: { historyShards: 1, matchingPartitions: 1, taskQueuePartitions: 1 },
      clock: this.clock,
      random: { nonce: () => '', fraction: () => 0.5 },
      logger: createLogger({ level: 'warn', format: 'text', write: (line) => void this.lines.push(line), nowMs: () => 0 }),
    });
  }

  get #registry() {
    const namespaceById = (id: string) => {
      const fate = this.fates.get(id);
      return fate === 'unknown' ? undefined : ({ id, name: id, state: fate ?? 'registered' } as Namespace);
    };
    return { isFolded: true, view: { namespaceById } };
  }

  get pending(): number {
    return this.#pending.size;
  }

  run(taskId: number): void {
    this.decided(taskId);
    this.queue.run(activityTask(taskId));
  }

  /** Decided, and in memory. */
  decided(taskId: number): void {
    this.#pending.set(taskId, activityTask(taskId));
  }

  notifyParent(taskId: number): void {
    const task = notifyParentTask(taskId);
    this.#pending.set(taskId, task);
    this.queue.run(task);
  }

  /** The run of its task. */
  delete(taskId: number): void {
    const task = notifyParentTask(taskId);
    const start = { workflowType: 'Type', firstRunId: 'run', parent: undefined, root: { workflowId: 'wf', runId: 'run' } };
    this.#pending.set(taskId, { ...task, sender: { key: task.key, namespace: 'ns', start } });
  }
}

function notifyParentTask(taskId: number): Extract<TransferTask, { readonly kind: 'notifyParent' }> {
  return { kind: 'notifyParent', taskId, version: 0, key: { namespaceId: 'ns', workflowId: `wf-${taskId}`, runId: 'run' } };
}

function activityTask(taskId: number): TransferTask {
  return {
    kind: 'activityTask',
    taskId,
    version: 0,
    key: { namespaceId: 'ns', workflowId: `wf-${taskId}`, runId: 'run' },
    taskQueue: { name: 'queue', kind: 1, normalName: '' },
    scheduledEventId: 5,
    stamp: 1,
    scheduleToStartTimeoutMs: 0,
  };
}

function activityTasks(first: number, count: number): TransferTask[] {
  return Array.from({ length: count }, (_, nth) => activityTask(first + nth));
}

describe('what was decided runs when its record is committed', () => {
  const position = { epoch: 1, sequence: 7, offset: 7 };

  test('its own tasks, and nothing in replay: a takeover runs what is left', () => {
    const bench = new Bench();
    bench.full = false;
    bench.decided(1);
    bench.decided(2);
    bench.queue.committed(historyRecord({ tasks: [activityTask(1)] }), position, true);
    expect(bench.asks).toBe(0);
    bench.queue.committed(historyRecord({ tasks: [activityTask(1)] }), position, false);
    expect(bench.asks).toBe(1);
    bench.queue.runPending();
    expect(bench.pending).toBe(0);
  });

  test('however many a takeover finds, they run a few at a time, and all of them', () => {
    const bench = new Bench();
    bench.full = false;
    for (let taskId = 1; taskId <= 100_001; taskId++) bench.decided(taskId);
    bench.queue.runPending();
    expect(bench.asks).toBeLessThanOrEqual(1_000);
    bench.clock.advance(0);
    expect(bench.asks).toBe(100_001);
    expect(bench.pending).toBe(0);
  });

  test('however many a record brings, they run a few at a time, and all of them', () => {
    const bench = new Bench();
    bench.full = false;
    const tasks = activityTasks(1, 1_600);
    for (const { taskId } of tasks) bench.decided(taskId);
    bench.queue.committed(historyRecord({ tasks }), position, false);
    expect(bench.asked.length).toBeLessThanOrEqual(500);
    bench.clock.advance(0);
    expect(bench.asked).toEqual(tasks.map(({ taskId }) => taskId));
    expect(bench.pending).toBe(0);
  });

  test('what a workflow does next comes behind its many, and another workflow waits for none of them', () => {
    const bench = new Bench();
    bench.full = false;
    const many = activityTasks(1, 1_600);
    const next = activityTasks(2_001, 2);
    const [ofAnother] = activityTasks(3_001, 1);
    for (const { taskId } of [...many, ...next]) bench.decided(taskId);
    bench.decided(3_001);
    bench.queue.committed(historyRecord({ tasks: many }), position, false);
    bench.queue.committed(historyRecord({ tasks: next }), position, false);
    bench.queue.committed(historyRecord({ tasks: ofAnother === undefined ? [] : [ofAnother], workflowId: 'another' }), position, false);
    expect(bench.asked.length).toBeLessThanOrEqual(501);
    expect(bench.asked.at(-1)).toBe(3_001);
    bench.clock.advance(0);
    const ofOne = bench.asked.filter((taskId) => taskId !== 3_001);
    expect(ofOne).toEqual([...many, ...next].map(({ taskId }) => taskId));
  });

  test('the many of several workflows take turns, and so does what a takeover has found', () => {
    const bench = new Bench();
    bench.full = false;
    for (let taskId = 1; taskId <= 50_000; taskId++) bench.decided(taskId);
    bench.queue.runPending();
    const many = ['one', 'two', 'three'].map((workflowId, nth) => ({ workflowId, tasks: activityTasks(100_001 + nth * 10_000, 1_100) }));
    for (const { workflowId, tasks } of many) {
      for (const { taskId } of tasks) bench.decided(taskId);
      bench.queue.committed(historyRecord({ tasks, workflowId }), position, false);
    }
    bench.clock.advance(0);
    expect(bench.pending).toBe(0);
    const lastOf = (first: number, count: number): number => bench.asked.indexOf(first + count - 1);
    for (const { tasks } of many) expect(bench.asked.indexOf(tasks.at(-1)?.taskId ?? 0)).toBeLessThan(lastOf(1, 10_000));
  });

  test('and no more of them once the memory is dropped', () => {
    const bench = new Bench();
    for (let taskId = 1; taskId <= 10_000; taskId++) bench.decided(taskId);
    bench.queue.runPending();
    bench.tenure.end();
    const { asks } = bench;
    bench.clock.advance(60_000);
    expect(bench.asks).toBe(asks);
  });

  test('the many of a run that is taken back go a few at a time, before what its record brings', () => {
    const bench = new Bench();
    bench.full = false;
    for (let taskId = 1; taskId <= 1_300; taskId++) bench.decided(taskId);
    const takenBack = { runId: 'run', events: [], facts: [{ afterEvents: 0, fact: { kind: 'runTakenBack' } as const }] };
    bench.queue.committed(historyRecord({ runs: [takenBack], tasks: [activityTask(1_300)] }), position, false);
    expect(bench.asked.length).toBeLessThanOrEqual(500);
    bench.clock.advance(0);
    expect(bench.asked).toEqual(activityTasks(1, 1_300).map(({ taskId }) => taskId));
  });

  test('the earlier tasks of a run that was quarantined and is taken back, not those of later records', () => {
    const bench = new Bench();
    bench.full = false;
    for (const taskId of [1, 2, 3, 4]) bench.decided(taskId);
    const takenBack = { runId: 'run', events: [], facts: [{ afterEvents: 0, fact: { kind: 'runTakenBack' } as const }] };
    bench.queue.committed(historyRecord({ runs: [{ ...takenBack, runId: 'another' }] }), position, false);
    expect(bench.pending).toBe(4);
    bench.queue.committed(historyRecord({ runs: [takenBack], tasks: [activityTask(3)] }), position, false);
    expect(bench.pending, 'the fourth is not committed').toBe(1);
  });
});

test.each([
  ['that nobody takes', new Bench().refusal],
  ['whose matching host never answers', { kind: 'deadline', message: 'no answer' }],
])('a task %s is tried again until somebody does, and the delay stays bearable', (_what, refusal) => {
  const bench = new Bench();
  bench.refusal = refusal;
  bench.run(1);
  bench.clock.advance(60_000);
  expect(bench.asks).toBeGreaterThan(10);
  bench.full = false;
  bench.clock.advance(6_000);
  expect(bench.pending).toBe(0);
});

test('many of them flood neither the log nor the router', () => {
  const bench = new Bench();
  const count = 20_000;
  for (let taskId = 1; taskId <= count; taskId++) bench.run(taskId);
  bench.clock.advance(60_000);
  const before = bench.asks;
  bench.clock.advance(60_000);
  expect(bench.asks - before).toBeGreaterThan(count);
  expect(bench.asks - before).toBeLessThan(80_000);
  expect(bench.lines.length).toBeGreaterThan(0);
  expect(bench.lines.length).toBeLessThan(30);
  expect(bench.lines.at(-1)).toContain('waiting=');
  bench.full = false;
  bench.clock.advance(60_000);
  expect(bench.pending).toBe(0);
});

describe('a task that fails', () => {
  test('because it cannot be built, is tried as often as operators say, and is handed over; others go on', () => {
    const bench = new Bench();
    bench.full = false;
    bench.throws = true;
    bench.notifyParent(1);
    bench.run(2);
    bench.clock.advance(100);
    expect(bench.pending, 'the other is delivered').toBe(1);
    // Of the pauses of 1 s, 1.1 s, 1.21 s and 1.331 s the last is not over.
    bench.clock.advance(4_000);
    expect(bench.letters).toEqual([]);
    bench.clock.advance(1_000);
    expect(bench.letters).toEqual(['notifyParent 1: retries-exhausted after 5, RangeError: planted']);
  });

  test.each([
    ['internal', 'retries-exhausted after 5, Internal: no'],
    ['tooLarge', 'retries-exhausted after 5, TooLarge: no'],
    ['dataLoss', 'permanent-error after 1, DataLoss: no'],
  ])('because its target answers %s, is handed over', (kind, letter) => {
    const bench = new Bench();
    bench.deliveryAnswer = { kind, message: 'no' };
    bench.notifyParent(1);
    bench.clock.advance(60_000);
    expect(bench.letters).toEqual([`notifyParent 1: ${letter}`]);
  });

  test.each(['busy', 'unavailable', 'deadline', 'notHere'])('because its target answers %s, is tried for ever', (kind) => {
    const bench = new Bench();
    bench.deliveryAnswer = { kind, message: 'later' };
    bench.notifyParent(1);
    bench.clock.advance(600_000);
    expect(bench.letters).toEqual([]);
    expect(bench.asks).toBeGreaterThan(100);
  });

  test('is tried for ever where operators want no dead letters', () => {
    const bench = new Bench();
    bench.settings = { ...bench.settings, enabled: false };
    bench.deliveryAnswer = { kind: 'dataLoss', message: 'no' };
    bench.notifyParent(1);
    bench.clock.advance(3_600_000);
    expect(bench.letters).toEqual([]);
    expect(bench.asks).toBeGreaterThan(20);
  });

  test('goes on being tried while its line has no room, and is handed over then', () => {
    const bench = new Bench();
    bench.lineIsFull = true;
    bench.deliveryAnswer = { kind: 'dataLoss', message: 'no' };
    bench.notifyParent(1);
    bench.clock.advance(600_000);
    expect(bench.asks).toBeGreaterThan(5);
    bench.lineIsFull = false;
    bench.clock.advance(120_000);
    expect(bench.letters).toEqual([expect.stringMatching(/^notifyParent 1: permanent-error after \d+, DataLoss: no$/)]);
  });

  test('while its line has no room for a moment is a dead letter soon after, and is tried once a minute while that lasts', () => {
    const bench = new Bench();
    bench.lineIsFull = true;
    bench.deliveryAnswer = { kind: 'dataLoss', message: 'no' };
    bench.notifyParent(1);
    bench.clock.advance(500);
    bench.lineIsFull = false;
    bench.clock.advance(2_500);
    expect(bench.letters).toHaveLength(1);

    bench.lineIsFull = true;
    bench.notifyParent(2);
    bench.clock.advance(600_000);
    const before = bench.asks;
    bench.clock.advance(600_000);
    expect(bench.asks - before).toBeLessThan(20);
  });

  test('also when its run is deleted meanwhile', () => {
    const bench = new Bench();
    bench.deliveryAnswer = { kind: 'internal', message: 'a bug of the target' };
    bench.notifyParent(1);
    bench.delete(1);
    bench.clock.advance(600_000);
    expect(bench.letters).toHaveLength(1);
  });

  test('for the first time after a long time without its target has failed once', () => {
    const bench = new Bench();
    bench.deliveryAnswer = { kind: 'unavailable', message: 'moves' };
    bench.notifyParent(1);
    bench.clock.advance(60_000);
    expect(bench.asks).toBeGreaterThan(10);
    bench.deliveryAnswer = { kind: 'internal', message: 'a hiccup' };
    const before = bench.asks;
    while (bench.asks === before) bench.clock.advance(100);
    bench.clock.advance(100);
    expect(bench.asks, 'that one was answered so').toBe(before + 1);
    bench.deliveryAnswer = { kind: 'done' };
    bench.clock.advance(60_000);
    expect(bench.letters).toEqual([]);
  });

  test('holds up no other, however many of them there are', () => {
    const bench = new Bench();
    bench.full = false;
    bench.faultOf = ({ taskId }) => (taskId > 10_000 ? undefined : { kind: 'failed', errorMessage: 'planted' });
    bench.settings = { ...bench.settings, failuresMax: 1_000_000 };
    for (let taskId = 1; taskId <= 10_000; taskId++) bench.run(taskId);
    bench.clock.advance(3_600_000);
    expect(bench.asks).toBe(0);
    bench.full = true;
    bench.run(10_001);
    bench.clock.advance(60_000);
    // At the pace of one that is alone: twelve attempts a minute and more.
    expect(bench.asks).toBeGreaterThan(12);
    bench.full = false;
    bench.clock.advance(6_000);
    expect(bench.pending).toBe(10_000);
  });
});

describe('a task of a namespace that is gone', () => {
  test.each([
    ['deleted', (bench: Bench) => bench.run(1), 'activityTask'],
    ['unknown', (bench: Bench) => bench.notifyParent(1), 'notifyParent'],
  ] as const)('(%s) is handed over at once, also where operators want no dead letters', (fate, begin, kind) => {
    const bench = new Bench();
    bench.settings = { ...bench.settings, enabled: false };
    bench.fates.set('ns', fate);
    begin(bench);
    bench.clock.advance(0);
    expect(bench.letters).toEqual([`${kind} 1: namespace-deleted after 1, NamespaceNotFound: Namespace ns is not found.`]);
    expect(bench.asks).toBe(0);
  });

  test('is tried on while nobody can say that it is gone, and goes on when it turns up', () => {
    const bench = new Bench();
    bench.full = false;
    bench.fates.set('ns', 'unknown');
    bench.registryAnswers = false;
    bench.run(1);
    bench.clock.advance(60_000);
    expect([bench.letters, bench.pending]).toEqual([[], 1]);
    bench.fates.delete('ns');
    bench.clock.advance(6_000);
    expect([bench.letters, bench.pending]).toEqual([[], 0]);
  });

  test('ends where it is what a deletion has left to tell', () => {
    const bench = new Bench();
    bench.throws = false;
    bench.fates.set('ns', 'deleted');
    bench.delete(1);
    bench.queue.runPending();
    bench.clock.advance(60_000);
    expect([bench.letters, bench.asks, bench.finished]).toEqual([[], 0, [1]]);
  });
});
