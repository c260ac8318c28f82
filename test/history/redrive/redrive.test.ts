/** The task of a dead letter is executed again by its shard, once for each generation, whoever asks how often and whatever happens between. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LetterName } from '../../../src/history/commands/redrive-commands.ts';
import { incarnatedQueue } from '../../../src/kernel/queue-incarnation.ts';
import { redriveLimits } from '../../../src/history/steps/redrive.ts';
import type { HistoryReply } from '../../../src/history/run/history-replies.ts';
import type { PendingTask } from '../../../src/history/run/tasks.ts';
import { taskFailure } from '../hand-over/task-failure.ts';
import { key, type ShardUnderTest, signalAttributes, startTimer, terminateWorkflow } from '../shard-under-test.ts';
import { letter, RedrivenShard } from './redriven-shard.ts';

const applied = { kind: 'applied' };
const failed = { kind: 'failed', failure: taskFailure };
const busy = { kind: 'rejected', rejection: { reason: 'busy-workflow' } };
const next: LetterName = { ...letter, generation: 1 };

test('whose task somebody removes meanwhile has nothing left to do, and says who', () => {
  const shard = new RedrivenShard();
  const task = shard.childThatFailed();
  expect(shard.execute(task)).toBeUndefined();
  shard.expectDone({ kind: 'removeTask', taskId: shard.begun.taskId, taskType: '', by: 'anna with RemoveTask' });
  const removed = { kind: 'noop', detail: 'its task was removed by anna with RemoveTask' };
  expect(shard.outcomes()).toEqual([removed]);
  shard.takeOver();
  expect(shard.execute(task)).toEqual({ kind: 'letterExecuted', outcome: removed });
});

describe('what is withdrawn', () => {
  const withdrawn = { kind: 'letterWithdrawn' };

  test('ends in one record with its task, and is not executed; asked for once more it is', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    shard.unsent();
    const before = shard.records.length;
    expect(shard.withdraw(task)).toEqual(withdrawn);
    expect(shard.records.length).toBe(before + 1);
    expect(shard.records.at(-1)).toMatchObject({ finishedTaskIds: [shard.begun.taskId], lettersConfirmed: [letter] });
    expect(shard.pendingTasks()).toEqual([]);
    expect(shard.marks).toEqual([]);
    expect(shard.withdraw(task), 'its answer was lost').toEqual(withdrawn);
    expect(shard.execute(task), 'the purge was undone').toBeUndefined();
    shard.carryBegun();
    expect(shard.outcomes().at(-1)).toEqual(applied);
    expect(shard.history().filter((type) => type === 'childWorkflowExecutionStarted')).toHaveLength(1);
  });

  test('may have left the shard: then it is being executed, and what has come of it is reported', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    expect(shard.withdraw(task)).toMatchObject(busy);
    shard.carryBegun();
    expect(shard.withdraw(task)).toEqual({ kind: 'letterExecuted', outcome: applied });
    expect(shard.withdraw(task, next), 'of a later generation').toEqual(withdrawn);
    expect(shard.history().at(-2)).toBe('childWorkflowExecutionStarted');
  });

  test('was started under an earlier owner of the shard: nobody knows whether that one has sent it', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    shard.unsent();
    shard.takeOver();
    expect(shard.withdraw(task)).toMatchObject(busy);
    expect(shard.pendingTasks()).toEqual(['startChild']);
  });

  test('is a timer that has not fired; one that has is executed', () => {
    const shard = new RedrivenShard();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startTimer('timer', 1_000)]);
    const due = shard.nextTimer();
    if (due === undefined) throw new Error('no timer waits');
    const timer = shard.madeLetter(due.taskId);
    shard.advance(5_000);
    shard.execute(timer);
    expect(shard.withdraw(timer)).toEqual(withdrawn);
    shard.fireDueTimers();
    expect(shard.history()).not.toContain('timerFired');
    shard.execute(timer);
    shard.fireDueTimers();
    expect(shard.withdraw(timer)).toEqual({ kind: 'letterExecuted', outcome: applied });
    expect(shard.history()).toContain('timerFired');
  });

  test('of another run leaves it as it is, and the marks of a queue are listed by what is known of them', () => {
    const shard = new RedrivenShard();
    const [first, second] = [shard.childThatFailed('one'), shard.childThatFailed('two')];
    shard.execute(first);
    shard.execute(second, { ...letter, messageId: 42 });
    shard.unsent();
    shard.fails(shard.begun.taskId);
    expect(shard.ask({ kind: 'listLetterMarks', queue: 1 })).toEqual({
      kind: 'letterMarks',
      pending: [letter],
      ended: [{ ...letter, messageId: 42 }],
    });
    expect(shard.ask({ kind: 'listLetterMarks', queue: 2 })).toEqual({ kind: 'letterMarks', pending: [], ended: [] });
    expect(shard.withdraw(second, { ...letter, messageId: 42 })).toEqual({ kind: 'letterExecuted', outcome: failed });
  });
});

describe('the start of a child', () => {
  test('is executed: the child starts, and the outcome comes with the record that says so', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    expect(shard.execute(task)).toBeUndefined();
    expect(shard.records.at(-1)).toMatchObject({ type: 'LetterExecutionBegun', workflowId: 'wf' });
    expect(shard.outcomes()).toEqual([]);
    shard.carryBegun();
    expect(shard.outcomes()).toEqual([applied]);
    expect(shard.records.at(-1)).toMatchObject({ lettersEnded: [{ letter, outcome: applied }] });
    expect(shard.history().at(-2)).toBe('childWorkflowExecutionStarted');
  });

  test('is executed under a new id, and its old one stays gone', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    expect(shard.begun.taskId).toBeGreaterThan(task.taskId);
    expect(shard.pendingTasks()).toEqual(['startChild']);
  });

  test('that fails again leaves its queue, and becomes no second dead letter', () => {
    const shard = new RedrivenShard();
    shard.execute(shard.childThatFailed());
    shard.fails(shard.begun.taskId);
    expect(shard.outcomes()).toEqual([failed]);
    expect(shard.pendingTasks()).toEqual([]);
    expect(shard.checkpoints.folded.handOvers?.get('transfer')?.waiting).toEqual([]);
  });

  test('whose workflow has ended is nothing any more, and the outcome says why', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.ask(terminateWorkflow());
    shard.execute(task);
    shard.carryBegun();
    expect(shard.outcomes()).toEqual([{ kind: 'noop', detail: 'the workflow is closed, and has started no child' }]);
  });

  test('in a namespace that was registered again starts the child there', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    if (task.kind !== 'startChild') throw new Error(`a ${task.kind} starts no child`);
    const namespaceId = 'registered-again';
    shard.execute({ ...task, target: { ...task.target, namespaceId } });
    expect(shard.outboxMessage(shard.begun.taskId)).toMatchObject({ targetNamespaceId: namespaceId, command: { key: { namespaceId } } });
  });

  test('whose workflow is gone is answered at once', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    const elsewhere = { ...task, key: { ...task.key, namespaceId: 'registered-again' } };
    expect(shard.execute(elsewhere)).toEqual({ kind: 'letterExecuted', outcome: { kind: 'noop', detail: 'the workflow is gone' } });
    expect(shard.pendingTasks()).toEqual([]);
    expect(shard.marks).toEqual(['letter 1/41 noop']);
  });
});

describe('a task for a worker', () => {
  const letterOfTask = (shard: RedrivenShard): PendingTask => {
    shard.start();
    return shard.madeLetter(shard.pendingTask('workflowTask').taskId);
  };

  test('is executed when matching has it, and stays pending like any other', () => {
    const shard = new RedrivenShard();
    shard.execute(letterOfTask(shard));
    shard.expectDone({ kind: 'noteAtMatching', taskIds: [shard.begun.taskId] });
    expect(shard.outcomes()).toEqual([applied]);
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
    shard.complete(shard.pollWorkflowTask());
    expect(shard.outcomes()).toEqual([applied]);
  });

  test('is executed when a worker has it', () => {
    const shard = new RedrivenShard();
    shard.execute(letterOfTask(shard));
    shard.pollWorkflowTask();
    expect(shard.outcomes()).toEqual([applied]);
  });

  test('that ends before anybody has it has had no effect', () => {
    const shard = new RedrivenShard();
    shard.execute(letterOfTask(shard));
    shard.ask(terminateWorkflow());
    expect(shard.outcomes()).toEqual([{ kind: 'noop', detail: 'the task is obsolete' }]);
  });

  test('whose workflow is closed is not offered again', () => {
    const shard = new RedrivenShard();
    const task = letterOfTask(shard);
    shard.ask(terminateWorkflow());
    expect(shard.execute(task)).toEqual({ kind: 'letterExecuted', outcome: { kind: 'noop', detail: 'the workflow is closed' } });
  });
});

describe('a timer', () => {
  const timer = (shard: ShardUnderTest, ms: number): PendingTask => {
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startTimer('timer', ms)]);
    const { key: runKey } = shard.describe();
    const taskId = shard.nextTimer()?.taskId ?? 0;
    return { kind: 'userTimer', taskId, fireTimeMs: shard.nowMs, key: runKey, timerId: 'timer', startedEventId: 5 };
  };

  test('fires at once', () => {
    const shard = new RedrivenShard();
    const task = timer(shard, 1_000);
    shard.advance(5_000);
    shard.execute(task);
    shard.fireDueTimers();
    expect(shard.outcomes()).toEqual([applied]);
    expect(shard.history()).toContain('timerFired');
  });

  test('waits for its time when the clock has gone back', () => {
    const shard = new RedrivenShard();
    const task = timer(shard, 60_000);
    shard.execute({ ...task, fireTimeMs: shard.nowMs + 60_000 } as PendingTask);
    shard.fireDueTimers();
    expect(shard.outcomes()).toEqual([]);
    shard.advance(60_000);
    shard.fireDueTimers();
    expect(shard.outcomes()).toEqual([applied]);
    expect(shard.history()).toContain('timerFired');
  });

  test('that has fired meanwhile does not fire twice', () => {
    const shard = new RedrivenShard();
    const task = timer(shard, 1_000);
    shard.fireNextTimer();
    shard.execute(task);
    shard.fireDueTimers();
    expect(shard.outcomes()).toEqual([{ kind: 'noop', detail: 'its effect is there already' }]);
    expect(shard.history().filter((type) => type === 'timerFired')).toHaveLength(1);
  });
});

describe('the end of a start delay', () => {
  function delayedLetter(shard: RedrivenShard): PendingTask {
    shard.start({ start: { startDelayMs: 5_000 } });
    return shard.madeLetter(shard.nextTimer()?.taskId ?? 0);
  }
  const signalWithStart = (shard: RedrivenShard) => {
    const { start, newRunId, requestId, namespace } = shard.startCommand();
    const policies = { reusePolicy: 1, conflictPolicy: 2 } as const;
    const signal = signalAttributes({ requestId: newRunId });
    return shard.ask({ kind: 'signalWithStartWorkflow', key, namespace, newRunId, requestId, start, policies, signal });
  };

  test('is executed: the first workflow task comes', () => {
    const shard = new RedrivenShard();
    const task = delayedLetter(shard);
    shard.advance(5_000);
    shard.execute(task);
    shard.fireDueTimers();
    expect(shard.outcomes()).toEqual([applied]);
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled']);
  });

  test('that a signal has brought meanwhile is nothing any more, and the next signal finds the workflow as it was', () => {
    const shard = new RedrivenShard();
    const task = delayedLetter(shard);
    signalWithStart(shard);
    expect(shard.execute(task)).toMatchObject({ outcome: { kind: 'noop', detail: 'the first workflow task is scheduled, or was' } });
    expect(signalWithStart(shard)).toMatchObject({ kind: 'started', started: false });
    expect(shard.history().filter((type) => type === 'workflowTaskScheduled')).toHaveLength(1);
  });
});

test.each(['retention', 'archiveExecution', 'letterCheck'] as const)('%s of a workflow that is open ends nothing', (kind) => {
  const shard = new RedrivenShard();
  shard.start();
  const { key: runKey } = shard.describe();
  const task = { kind, taskId: 77, fireTimeMs: shard.nowMs, key: runKey };
  expect(shard.execute(task)).toMatchObject({ outcome: { kind: 'noop', detail: 'the workflow is open' } });
  shard.fireDueTimers();
  expect(shard.describe()).toMatchObject({ key: runKey });
});

describe('who asks again', () => {
  test('while it is under way waits along, and all get the one outcome', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    const records = shard.records.length;
    expect(shard.execute(task)).toBeUndefined();
    expect(shard.records).toHaveLength(records);
    shard.carryBegun();
    expect(shard.outcomes()).toEqual([applied, applied]);
  });

  test('afterwards gets its outcome, also from the next owner of the shard', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    shard.carryBegun();
    const records = shard.records.length;
    expect(shard.execute(task)).toEqual({ kind: 'letterExecuted', outcome: applied });
    shard.takeOver();
    expect(shard.execute(task)).toEqual({ kind: 'letterExecuted', outcome: applied });
    expect(shard.records).toHaveLength(records);
  });

  test('and does not wait any longer is answered nothing', () => {
    const shard = new RedrivenShard();
    shard.execute(shard.childThatFailed());
    shard.cancel(shard.lastAskId);
    shard.carryBegun();
    expect(shard.outcomes()).toEqual([]);
    expect(shard.marks).toEqual(['letter 1/41 applied']);
  });

  test('for the next generation has it executed once more, and no longer for the one before', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    expect(shard.execute(task, next)).toMatchObject(busy);
    shard.fails(shard.begun.taskId);
    expect(shard.execute(task, next)).toBeUndefined();
    expect(shard.execute(task, letter)).toMatchObject(busy);
    // It was under way for long.
    shard.confirm(letter);
    shard.carryBegun();
    expect(shard.outcomes()).toEqual([failed, applied]);
    shard.confirm(letter);
    expect(shard.marks).toEqual(['letter 1/41 applied']);
  });
});

describe('a mark', () => {
  test('goes when its outcome is confirmed, and not before there is one', () => {
    const shard = new RedrivenShard();
    shard.execute(shard.childThatFailed());
    shard.confirm();
    expect(shard.marks).toEqual(['letter 1/41 pending']);
    shard.carryBegun();
    shard.confirm();
    expect(shard.marks).toEqual([]);
    expect(shard.records.at(-1)).toMatchObject({ type: 'LettersConfirmed', lettersConfirmed: [letter] });
  });

  test('of an earlier incarnation of its queue answers for no dead letter that has its id now, and goes', () => {
    const shard = new RedrivenShard();
    const [before, another] = [shard.childThatFailed('wf'), shard.childThatFailed('another')];
    shard.execute(before, { queue: incarnatedQueue(1, 3), messageId: 0, generation: 0 });
    shard.carryBegun();
    expect(shard.marks).toHaveLength(1);
    const now = { queue: incarnatedQueue(1, 4), messageId: 0, generation: 0 };
    expect(shard.execute(another, now)).toBeUndefined();
    expect(shard.marks).toEqual([`letter ${now.queue}/0 pending`]);
    shard.execute(another, { queue: 2, messageId: 0, generation: 0 });
    expect(shard.marks, 'another queue').toHaveLength(2);
  });

  test('whose confirmation was lost goes when all dead letters up to it are resolved', () => {
    const shard = new RedrivenShard();
    const gone = { kind: 'runTimeout', taskId: 7, fireTimeMs: 5, key: { ...key, runId: 'gone' } } as const;
    for (const messageId of [1, 2, 3]) shard.execute(gone, { ...letter, messageId });
    shard.execute(gone, { ...letter, queue: 2, messageId: 1 });
    shard.execute(gone, { ...letter, messageId: 4 }, 3);
    expect(shard.marks.map((mark) => mark.split(' ')[1])).toEqual(['1/3', '2/1', '1/4']);
  });

  test('of one namespace leave room for those of others, however many they are', () => {
    const shard = new RedrivenShard();
    shard.checks = false;
    const task = shard.childThatFailed();
    const asked = (namespaceId: string, messageId: number): string | undefined =>
      shard.execute({ ...task, key: { ...task.key, namespaceId } }, { ...letter, messageId })?.kind;
    const { marksMax } = redriveLimits;
    let taken = 0;
    const fill = (ask: (messageId: number) => HistoryReply['kind'] | undefined): number => {
      const before = taken;
      while (ask(taken) !== 'lettersUnconfirmed') taken += 1;
      return taken - before;
    };
    // Their tasks are pending: nothing comes of them for hours.
    expect(fill((messageId) => shard.execute(task, { ...letter, messageId })?.kind)).toBe(marksMax / 2);
    expect(fill((messageId) => asked('another', messageId) as HistoryReply['kind'] | undefined)).toBe(marksMax / 4);
    expect(fill((messageId) => asked('a third', messageId) as HistoryReply['kind'] | undefined)).toBe(marksMax / 8);
    expect(asked('a fourth', taken)).toBe('letterExecuted');
  });

  describe('of which a shard keeps no more of one queue', () => {
    const marksMax = redriveLimits.marksMax / 2;
    const gone = { kind: 'runTimeout', taskId: 7, fireTimeMs: 5, key: { ...key, runId: 'gone' } } as const;
    const full = (): RedrivenShard => {
      const shard = new RedrivenShard();
      shard.checks = false;
      shard.execute(shard.childThatFailed(), { ...letter, messageId: 0 });
      // As are those of the first, of one namespace.
      for (let messageId = 1; messageId < marksMax; messageId++) shard.execute(gone, { ...letter, messageId });
      return shard;
    };

    test('keeps the next dead letter waiting, and whoever asks hears of those with outcomes', () => {
      const shard = full();
      const reply = shard.execute(gone, { ...letter, messageId: marksMax });
      const ended = Array.from({ length: marksMax - 1 }, (_, nth) => ({ ...letter, messageId: nth + 1 }));
      expect(reply).toEqual({ kind: 'lettersUnconfirmed', letters: ended });
      shard.confirm({ ...letter, messageId: 7 });
      expect(shard.execute(gone, { ...letter, messageId: marksMax })).toMatchObject({ kind: 'letterExecuted' });
    });

    test('holds up no dead letter that it has a mark of, and no other queue', () => {
      const shard = full();
      expect(shard.execute(gone, { ...letter, messageId: 7 })).toMatchObject({ kind: 'letterExecuted' });
      expect(shard.execute(gone, { ...letter, queue: 2, messageId: 7 })).toMatchObject({ kind: 'letterExecuted' });
    });
  });

  test('is in the rows of a checkpoint, pending or not, and read back as it was', () => {
    const shard = new RedrivenShard();
    const task = shard.childThatFailed();
    shard.execute(task);
    shard.checkpoints.cut();
    shard.checkpoints.capture(Infinity);
    // Compares what the rows hold with what was folded.
    shard.checkpoints.write('written');
    shard.fails(shard.begun.taskId);
    shard.execute({ ...task, key: { ...task.key, runId: 'gone' } }, { ...letter, messageId: 42 });
    shard.checkpoints.cut();
    shard.checkpoints.capture(Infinity);
    shard.checkpoints.write('written');
    shard.confirm();
    shard.confirm({ ...letter, messageId: 42 });
    shard.checkpoints.cut();
    shard.checkpoints.capture(Infinity);
    shard.checkpoints.write('written');
    shard.checkpoints.finish();
  });
});

// ── Any order ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const messageId = fc.integer({ min: 1, max: 3 });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('ask' as const), messageId }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('askStale' as const), messageId }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('succeed' as const), messageId }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fail' as const), messageId }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('lose' as const), messageId }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('record' as const), messageId }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('confirm' as const), messageId }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('takeOver' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('terminate' as const), messageId }) },
);
type Step = (typeof step extends fc.Arbitrary<infer Value> ? Value : never) & { readonly messageId?: number };

/** What the owner of the queue has written, and the shard. */
class Redriving {
  readonly shard = new RedrivenShard();
  readonly #tasks = new Map<number, PendingTask>();
  readonly #generations = new Map([1, 2, 3].map((id) => [id, 0]));
  /** The owner has a tombstone of it. */
  readonly #resolved = new Set<number>();

  constructor() {
    for (const id of [1, 2, 3]) this.#tasks.set(id, this.shard.childThatFailed(`wf-${id}`));
  }

  run(given: Step): void {
    const id = given.messageId ?? 0;
    const name = { queue: 1, messageId: id, generation: this.#generations.get(id) ?? 0 };
    const task = this.#tasks.get(id);
    switch (given.do) {
      case 'ask':
        if (!this.#resolved.has(id) && task !== undefined) this.shard.execute(task, name);
        return;
      // One that was sent before its outcome was written, and comes late.
      case 'askStale':
        if (task !== undefined && name.generation > 0 && this.shard.markOf(name) === undefined) return;
        if (task !== undefined && name.generation > 0) this.shard.execute(task, { ...name, generation: name.generation - 1 });
        return;
      case 'succeed':
        return this.#withPending(id, (pending) => this.shard.carry(pending));
      case 'lose':
        return this.#withPending(id, (pending) => this.shard.carryInVain(pending));
      case 'fail':
        return this.#withPending(id, (pending) => this.shard.fails(pending.taskId));
      case 'record':
        return this.#record(name);
      case 'confirm':
        // Only what is written.
        if (this.#resolved.has(id)) this.shard.confirm(name);
        else if (name.generation > 0) this.shard.confirm({ ...name, generation: name.generation - 1 });
        return;
      case 'takeOver':
        return this.shard.takeOver();
      case 'terminate':
        return void this.shard.ask(terminateWorkflow({ key: { ...key, workflowId: `wf-${id}` } }));
    }
  }

  #record(name: LetterName): void {
    const mark = this.shard.checkpoints.folded.letterMarks?.get(name);
    if (mark?.outcome === undefined || mark.letter.generation !== name.generation) return;
    if (mark.outcome.kind === 'failed') this.#generations.set(name.messageId, name.generation + 1);
    else this.#resolved.add(name.messageId);
  }

  #withPending(id: number, then: (task: ReturnType<ShardUnderTest['pendingTask']>) => void): void {
    const pending = this.shard.transfers().find((task) => task.kind === 'startChild' && task.key.workflowId === `wf-${id}`);
    if (pending !== undefined) then(pending);
  }

  /** Every execution that was begun. */
  get begun(): readonly string[] {
    return this.shard.records.flatMap(({ lettersBegun = [] }) =>
      lettersBegun.map(({ letter: name }) => `${name.messageId} ${name.generation}`),
    );
  }
}

test('whoever asks, confirms and takes over in whatever order: each generation is executed once, and each dead letter has one effect', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 40 }), (steps) => {
      const redriving = new Redriving();
      for (const each of steps) redriving.run(each);
      expect(redriving.begun).toEqual([...new Set(redriving.begun)]);
      for (const id of [1, 2, 3]) {
        const started = redriving.shard.runIds().filter((runId) => redriving.shard.events(runId)[0]?.type === 'workflowExecutionStarted');
        const children = started.filter((runId) => {
          const [first] = redriving.shard.events(runId);
          return first?.type === 'workflowExecutionStarted' && first.attributes.workflowId === `child of wf-${id}`;
        });
        expect(children.length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 60 },
  );
});
