/** What the owner of a queue makes of a merge: whom it asks, what it writes, when the shard may forget. */
import { describe, expect, test } from 'vitest';
import { ownWork, type AskFailure } from '../../../src/actors/asks/asks.ts';
import type { Router } from '../../../src/actors/asks/router.ts';
import type { LetterExecutionParts } from '../../../src/actors/deadletters/queue/letter-execution.ts';
import type { LetterTasks } from '../../../src/actors/deadletters/queue/merge-outcomes.ts';
import type { QueueCore } from '../../../src/deadletters/queue-core.ts';
import type { MergeEnded } from '../../../src/deadletters/letter-commands.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import { taskCategories } from '../../../src/history/run/task-types.ts';
import type { LetterName } from '../../../src/history/commands/redrive-commands.ts';
import { historyShardOf } from '../../../src/kernel/shard.ts';
import { isSameQueue } from '../../../src/kernel/queue-incarnation.ts';
import type { HistoryReply, LettersUnconfirmed } from '../../../src/history/run/history-replies.ts';
import type { LetterOutcome } from '../../../src/history/run/letter-marks.ts';
import type { PendingTask } from '../../../src/history/run/tasks.ts';
import { taskFailure } from '../../history/hand-over/task-failure.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { turns } from '../../support/event-loop.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { CheckpointedQueue } from './checkpointed-queue.ts';

const own = '32049b68-7872-4094-8e63-d0dd59896a83';
const applied: LetterOutcome = { kind: 'applied' };
const failed: LetterOutcome = { kind: 'failed', failure: taskFailure };

type Asked = { readonly askId: number; readonly request: HistoryRequest };
type NamespaceState = 'registered' | 'deleted';

/** A queue, and the shard of all workflows, which answers when it is told to. */
type MergeOptions = { readonly jobId?: string; readonly overridesLoopGuard?: boolean; readonly taskTimeoutMs?: number };

class MergingQueue extends CheckpointedQueue {
  protected override readonly hasShard: boolean = false;
  /** By id: the name, and whether it is there. */
  readonly namespaces = new Map<string, readonly [string, NamespaceState]>([[own, ['default', 'registered']]]);
  asked: Asked[] = [];
  /** With two, the other one is away. */
  historyShards = 1;
  /** Asks that its shard need not answer any more. */
  readonly givenUp: number[] = [];
  /** What the shard answers at once; undefined: nothing. */
  answers: (request: HistoryRequest) => LetterOutcome | LettersUnconfirmed | AskFailure | undefined = () => undefined;
  /** The cluster's actor answers when it is told to. */
  registryIsSlow = false;
  /** What its shard has of them, as it tells whoever lists them. */
  readonly marks: { pending: LetterName[]; ended: LetterName[] } = { pending: [], ended: [] };
  /** What it says to whoever wants one withdrawn. */
  withdrawn: (letter: LetterName) => HistoryReply = () => ({ kind: 'letterWithdrawn' });
  readonly syncs: (() => void)[] = [];
  /** By their ids in the shard. */
  readonly unencodable = new Set<number>();
  readonly ended = new Map<number, MergeEnded>();
  /** What letters hold, of the start of a child that they hold elsewhere. */
  taskOf: (task: PendingTask) => PendingTask = (task) => task;
  #jobId = 'job';

  protected override execution(router: Router): LetterExecutionParts {
    const sink = router.history.sink(1);
    router.history.attach(1, {
      submit: (askId, request) => {
        if (request.kind === 'listLetterMarks') {
          this.clock.soon(() => sink.answer(askId, { kind: 'letterMarks', ...this.marks }));
          return undefined;
        }
        this.asked.push({ askId, request });
        if (request.kind === 'withdrawLetter') {
          this.clock.soon(() => sink.answer(askId, this.withdrawn(request.letter)));
          return undefined;
        }
        const answer = request.kind === 'confirmLetter' ? undefined : this.answers(request);
        if (request.kind === 'confirmLetter') this.clock.soon(() => sink.answer(askId, { kind: 'done' }));
        else if (answer !== undefined) this.clock.soon(() => this.#answer(router, askId, answer));
        return undefined;
      },
      cancel: (askId) => void this.givenUp.push(askId),
    });
    router.cluster.attach(0, {
      submit: (askId) => {
        const answer = (): void => void router.cluster.sink(0).answer(askId, { kind: 'done' });
        if (this.registryIsSlow) this.syncs.push(answer);
        else this.clock.soon(answer);
        return undefined;
      },
      cancel: () => {},
    });
    const known = (id: string | undefined) => {
      const [name, state] = (id === undefined ? undefined : this.namespaces.get(id)) ?? [];
      return id === undefined || name === undefined || state === undefined ? undefined : ({ id, name, state } as never);
    };
    const idOf = (name: string): string | undefined => [...this.namespaces].findLast(([, [each]]) => each === name)?.[0];
    const view = { namespaceById: known, namespaceByName: (name: string) => known(idOf(name)) };
    const parts = super.execution(router);
    const decode: LetterTasks['decode'] = (value) => this.taskOf(parts.tasks.decode(value));
    const encode: LetterTasks['encode'] = (task) => {
      if (this.unencodable.has(task.taskId)) throw new Error('a bug');
      return parts.tasks.encode(task);
    };
    const { historyShards } = this;
    return { ...parts, historyShards, tasks: { decode, encode }, registry: { view }, maxGeneration: () => 2 };
  }

  #answer(router: Router, askId: number, answer: LetterOutcome | LettersUnconfirmed | AskFailure): void {
    const sink = router.history.sink(1);
    if (answer.kind === 'applied' || answer.kind === 'noop' || answer.kind === 'failed') {
      sink.answer(askId, { kind: 'letterExecuted', outcome: answer });
    } else if (answer.kind === 'lettersUnconfirmed') sink.answer(askId, answer);
    else sink.fail(askId, answer);
  }

  get core(): QueueCore {
    const { memory } = this.host.actor;
    if (memory === undefined) throw new Error('the queue is not served');
    return memory.core;
  }

  async answer(nth: number, outcome: LetterOutcome): Promise<void> {
    this.#answer(this.router, this.asked[nth]?.askId ?? 0, outcome);
    await this.quietly();
  }

  async quietly(): Promise<void> {
    for (let round = 0; round < 5; round++) await this.pass(0).then(() => turns(8));
  }

  /** A job tries each letter once. */
  async merge(messageId: number, { jobId = 'job', ...more }: MergeOptions = {}): Promise<void> {
    if (jobId !== this.#jobId) await this.ask({ kind: 'releaseClaim', jobId: this.#jobId });
    this.#jobId = jobId;
    await this.ask({ kind: 'claimLetters', jobId, ranges: [{ from: 0, to: 100 }] });
    this.router.askDeadLetters(
      7,
      { kind: 'mergeLetter', jobId, who: 'anna', why: 'fixed', messageId, overridesLoopGuard: false, ...more },
      ownWork(FAR_AWAY_MS),
      (answer) => void (answer.kind === 'mergeEnded' && this.ended.set(messageId, answer)),
    );
    await this.quietly();
  }

  /** Of the letters that the shard was asked to execute. */
  get executed(): readonly string[] {
    return this.asked.flatMap(({ request }) =>
      request.kind === 'executeLetter' ? [`${request.letter.messageId} ${request.letter.generation}`] : [],
    );
  }

  get confirmed(): readonly string[] {
    return this.asked.flatMap(({ request }) =>
      request.kind === 'confirmLetter' ? [`${request.letter.messageId} ${request.letter.generation}`] : [],
    );
  }

  get journal(): readonly object[] {
    return this.records().map((stored) => this.codec.decode(stored.value, stored.schema, stored));
  }
}

async function queueOf(letters: number): Promise<MergingQueue> {
  const queue = new MergingQueue();
  await queue.start();
  await queue.handOver(1, letters);
  return queue;
}

describe('a dead letter whose task is executed', () => {
  test('gets a tombstone, which says who and why; then its shard may forget', async () => {
    const queue = await queueOf(1);
    await queue.merge(0);
    expect(queue.asked[0]?.request).toMatchObject({
      kind: 'executeLetter',
      key: { namespaceId: own, workflowId: 'order-1' },
      letter: { messageId: 0, generation: 0 },
    });
    const letter = (queue.asked[0] as unknown as { readonly request: { readonly letter: LetterName } }).request.letter;
    expect([isSameQueue(letter.queue, 7), letter.queue > 7], 'in an incarnation').toEqual([true, true]);
    expect(queue.ended.size).toBe(0);
    await queue.answer(0, applied);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
    expect(queue.journal).toContainEqual(
      expect.objectContaining({ kind: 'resolved', messageId: 0, how: 'merged', who: 'anna', why: 'fixed', generation: 0 }),
    );
    expect(queue.confirmed).toEqual(['0 0']);
  });

  test.each(taskCategories)('may be of any category that shards hand over: %s', async (category) => {
    const queue = new MergingQueue();
    queue.category = category;
    await queue.start();
    await queue.handOver(1, 1);
    queue.answers = () => applied;
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
  });

  test('that had nothing left to do says why', async () => {
    const queue = await queueOf(1);
    queue.answers = () => ({ kind: 'noop', detail: 'the workflow is gone' });
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged-noop', detail: 'the workflow is gone' });
    expect(queue.journal).toContainEqual(expect.objectContaining({ kind: 'resolved', how: 'merged-noop' }));
  });
});

describe('a dead letter whose task fails again', () => {
  test('is written again with its last failure, and those before it', async () => {
    const queue = await queueOf(1);
    queue.answers = () => failed;
    await queue.merge(0);
    const ended = { outcome: 'failed', error: { errorType: 'TypeError' }, isQuarantined: false, taskId: 1_001, sameCause: true };
    expect(queue.ended.get(0)).toMatchObject(ended);
    expect(queue.journal.filter((record) => 'letter' in record).at(-1)).toMatchObject({
      messageId: 0,
      letter: {
        generation: 1,
        state: 'open',
        jobId: 'job',
        failure: { errorType: 'TypeError', attempts: 70, firstFailureTimeMs: 1_770_000_000_000 },
        history: [{ kind: 'failure', errorType: 'Unavailable', timeMs: 1_770_000_600_000, jobId: '' }],
      },
    });
    expect(queue.confirmed).toEqual(['0 0']);
  });

  test('is not tried again by the same job: it is told how that ended', async () => {
    const queue = await queueOf(1);
    queue.answers = () => failed;
    await queue.merge(0);
    const { length } = queue.journal;
    queue.ended.clear();
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'failed', error: { errorType: 'TypeError' }, sameCause: true });
    expect(queue.executed).toEqual(['0 0']);
    expect(queue.journal.length).toBe(length);
  });

  test('too often is in quarantine, and leaves it for who insists', async () => {
    const queue = await queueOf(1);
    queue.answers = () => failed;
    await queue.merge(0);
    await queue.merge(0, { jobId: 'second' });
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'failed', isQuarantined: true });
    await queue.merge(0, { jobId: 'third' });
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'skipped', reason: 'loop-guard' });
    queue.answers = () => applied;
    await queue.merge(0, { jobId: 'third', overridesLoopGuard: true });
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
    expect(queue.executed).toEqual(['0 0', '0 1', '0 2']);
  });

  test('because its shard has a bug, or cannot hold it, fails like any other', async () => {
    const queue = await queueOf(1);
    queue.answers = () => ({ kind: 'internal', message: 'a bug' });
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'failed', error: { errorType: 'Internal', errorMessage: 'a bug' } });
    expect(queue.confirmed).toEqual([]);
  });
});

describe('a shard that does not answer', () => {
  test('is asked again, the same, until it does', async () => {
    const queue = await queueOf(1);
    queue.answers = () => ({ kind: 'busy', message: 'it has too much to do' });
    await queue.merge(0);
    queue.answers = () => applied;
    await queue.pass(1_000);
    await queue.quietly();
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
    expect(new Set(queue.executed)).toEqual(new Set(['0 0']));
  });

  test('in time is answered, and nothing is written', async () => {
    const queue = await queueOf(1);
    queue.answers = () => ({ kind: 'unavailable', message: 'its log is silent' });
    await queue.merge(0, { taskTimeoutMs: 2_000 });
    const before = queue.journal.length;
    await queue.pass(2_500);
    await queue.quietly();
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'failed', error: { errorType: 'OutcomeUnknown' } });
    expect(queue.journal).toHaveLength(before);
    queue.answers = () => applied;
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
  });

  test('and keeps too many outcomes is told which of them nobody will ask for', async () => {
    const queue = await queueOf(4);
    await queue.purge([0]);
    await queue.merge(1);
    await queue.answer(0, failed);
    queue.asked = [];
    const of = (messageId: number, generation = 0) => ({ queue: 7, messageId, generation });
    queue.answers = () => ({ kind: 'lettersUnconfirmed', letters: [] });
    queue.marks.ended.push(of(0), of(1), of(2));
    await queue.merge(3);
    // One was purged and one has its next generation; of the others somebody may want to hear.
    expect(queue.confirmed).toEqual(['0 0', '1 0']);
    queue.answers = () => applied;
    await queue.pass(1_000);
    await queue.quietly();
    expect(queue.ended.get(3)).toMatchObject({ outcome: 'merged' });
  });

  describe('and may execute a dead letter whose merge has ended without an outcome', () => {
    const unknown = async (undoWindowMs = 0): Promise<MergingQueue> => {
      const queue = await queueOf(3);
      queue.undoWindowMs = undoWindowMs;
      queue.answers = () => ({ kind: 'unavailable', message: 'its log is silent' });
      await queue.merge(0, { taskTimeoutMs: 2_000 });
      await queue.pass(2_500);
      await queue.quietly();
      expect(queue.ended.get(0)).toMatchObject({ error: { errorType: 'OutcomeUnknown' } });
      queue.asked = [];
      return queue;
    };
    const purged = async (queue: MergingQueue, ...messageIds: readonly number[]): Promise<unknown> => {
      await queue.ask({ kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 100 }] });
      const letters = messageIds.map((messageId) => ({ messageId, generation: 0 }));
      let answer: unknown;
      queue.askWith({ kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '', letters }, (given) => (answer = given));
      await queue.quietly();
      for (let second = 0; second < 12 && answer === undefined; second++) await queue.pass(1_000).then(() => queue.quietly());
      return answer;
    };
    const withdrawals = (queue: MergingQueue): readonly number[] =>
      queue.asked.flatMap(({ request }) => (request.kind === 'withdrawLetter' ? [request.letter.messageId] : []));

    test('is asked to withdraw it before it is purged; others are purged without a question', async () => {
      const queue = await unknown();
      expect(await purged(queue, 0, 1)).toEqual({ kind: 'purged', ids: [1, 0], gone: [], merged: [], executing: [] });
      expect(withdrawals(queue)).toEqual([0]);
      expect(queue.core.state.ids.count('purged')).toBe(2);
    });

    test('has executed it: it is merged, and not purged', async () => {
      const queue = await unknown();
      queue.withdrawn = () => ({ kind: 'letterExecuted', outcome: applied });
      expect(await purged(queue, 0)).toEqual({ kind: 'purged', ids: [], gone: [], merged: [0], executing: [] });
      expect(queue.core.state.ids.statusOf(0)).toBe('merged');
      expect(queue.confirmed).toEqual(['0 0']);
    });

    test('has failed to: it is purged', async () => {
      const queue = await unknown();
      queue.withdrawn = () => ({ kind: 'letterExecuted', outcome: failed });
      expect(await purged(queue, 0)).toMatchObject({ ids: [0], executing: [] });
      expect(queue.confirmed).toEqual(['0 0']);
    });

    test.each([
      ['says so', { kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'it is being executed' } }, { executing: [0] }],
      ['has executed it', { kind: 'letterExecuted', outcome: applied }, { merged: [0] }],
      ['has withdrawn it', { kind: 'letterWithdrawn' }, { ids: [0] }],
    ] as const)('is asked also where the record of the dead letter is gone: it %s', async (_what, reply, answer) => {
      const queue = await unknown();
      await queue.checkpointed();
      await queue.log.truncate({ topic: 'dlq.test.transfer.active', partition: 0 }, (queue.rows.get(0)?.offset ?? 0) + 1);
      queue.withdrawn = () => reply;
      expect(await purged(queue, 0)).toEqual({ kind: 'purged', ids: [], gone: [], merged: [], executing: [], ...answer });
      expect(withdrawals(queue)).toEqual([0]);
    });

    test('cannot say: it stays, whoever purges is informed, and may ask once more', async () => {
      const queue = await unknown();
      queue.withdrawn = () => ({ kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'it is being executed' } });
      expect(await purged(queue, 0, 1)).toEqual({ kind: 'purged', ids: [1], gone: [], merged: [], executing: [0] });
      expect(queue.core.state.ids.isLetter(0)).toBe(true);
      queue.withdrawn = () => ({ kind: 'letterWithdrawn' });
      expect(await purged(queue, 0)).toMatchObject({ ids: [0], executing: [] });
    });

    test('is asked by the next owner too, which learns of it from the shard; until it has, nothing is purged', async () => {
      const queue = await unknown();
      queue.marks.pending.push({ queue: 7, messageId: 0, generation: 0 });
      queue.withdrawn = () => ({ kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'it is being executed' } });
      await queue.takeOver();
      const letters = [{ messageId: 0, generation: 0 }];
      const tooEarly = await queue.ask({ kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '', letters });
      if (tooEarly?.kind === 'unavailable') expect(tooEarly.message).toContain('has not reported yet which dead letters');
      await queue.quietly();
      expect(await purged(queue, 0)).toMatchObject({ ids: [], executing: [0] });
      expect(await purged(queue, 2), 'that was never merged').toMatchObject({ ids: [2], executing: [] });
      expect(withdrawals(queue)).not.toContain(2);
    });

    test('is away for long after a change of owner: its own dead letters stay, and all others are purged', async () => {
      const queue = new MergingQueue();
      queue.historyShards = 2;
      await queue.start();
      await queue.handOver(1, 12);
      const ids = Array.from({ length: 12 }, (_, id) => id);
      const ofAway = ids.filter((id) => historyShardOf(own, `order-${id + 1}`, 2) === 2);
      expect([ofAway.length > 0, ofAway.length < 12]).toEqual([true, true]);
      expect(await purged(queue, ...ids), 'it may only be slow').toMatchObject({ kind: 'unavailable' });
      await queue.pass(60_000, 1_000);
      const inOrder = (given: unknown): readonly number[] => [...(given as readonly number[])].sort((one, other) => one - other);
      const answer = (await purged(queue, ...ids)) as { readonly ids: unknown; readonly executing: unknown };
      expect(inOrder(answer.executing)).toEqual(ofAway);
      expect(inOrder(answer.ids)).toEqual(ids.filter((id) => !ofAway.includes(id)));
      expect(queue.core.state.ids.count('purged')).toBe(12 - ofAway.length);
    });

    test('is away, and a dead letter is of a namespace that was registered again: nobody knows which shard may execute it', async () => {
      const queue = new MergingQueue();
      queue.historyShards = 2;
      queue.namespaces.set(own, ['default-deleted-a1b2c', 'deleted']);
      queue.namespaces.set('registered-again', ['default', 'registered']);
      await queue.start();
      await queue.handOver(1, 12);
      await queue.pass(60_000, 1_000);
      const ids = Array.from({ length: 12 }, (_, id) => id);
      expect(await purged(queue, ...ids)).toMatchObject({ kind: 'purged', ids: [], merged: [] });
      expect(queue.core.state.ids.count('purged')).toBe(0);
    });

    test('is asked again and again what came of it: that is written without another merge, and the shard may forget', async () => {
      const queue = await unknown(3_600_000);
      queue.marks.ended.push({ queue: 7, messageId: 0, generation: 0 });
      queue.withdrawn = () => ({ kind: 'letterExecuted', outcome: applied });
      await queue.pass(3_000);
      await queue.quietly();
      expect(queue.core.state.ids.isLetter(0), 'its job has it still, and asks by itself').toBe(true);
      await queue.ask({ kind: 'releaseClaim', jobId: 'job' });
      await queue.pass(10_000);
      await queue.quietly();
      expect(queue.core.state.ids.statusOf(0)).toBe('merged');
      expect(queue.confirmed).toContain('0 0');
    });

    test('withdraws it, the purge is undone, and a merge executes it once', async () => {
      const queue = await unknown(3_600_000);
      expect(await purged(queue, 0)).toMatchObject({ ids: [0] });
      await queue.restore([0]);
      queue.answers = () => applied;
      await queue.merge(0, { jobId: 'another' });
      expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
    });
  });

  test('is not to begin what an owner has asked that drops its memory: purged by then, it would be executed', async () => {
    const queue = await queueOf(1);
    await queue.merge(0);
    const [{ askId } = { askId: 0 }] = queue.asked;
    expect(queue.givenUp).toEqual([]);
    queue.raiseFence();
    await queue.handOver(2, 1);
    await queue.pass(120_000);
    await queue.serving();
    expect(queue.lines.join()).toContain('another process has restored');
    expect(queue.givenUp).toContain(askId);
    await queue.answer(0, applied);
    expect(queue.core.state.ids.isLetter(0)).toBe(true);
    expect(queue.ended.size).toBe(0);
  });

  test('is not asked by an owner that has lost the queue while it looked for the namespace', async () => {
    const queue = await queueOf(1);
    queue.registryIsSlow = true;
    queue.namespaces.clear();
    await queue.merge(0);
    await queue.drainAndStart();
    queue.namespaces.set(own, ['default', 'registered']);
    queue.answers = () => applied;
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
    for (const answer of queue.syncs) answer();
    await queue.quietly();
    expect(queue.executed).toEqual(['0 0']);
  });

  test('before the next owner of the queue asks is asked the same', async () => {
    const queue = await queueOf(1);
    await queue.merge(0);
    await queue.takeOver();
    queue.answers = () => applied;
    await queue.merge(0);
    expect(queue.executed).toEqual(['0 0', '0 0']);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
  });
});

describe('dead letters of one run', () => {
  test('are executed one behind the other, in the order of their ids; others go on', async () => {
    const queue = await queueOf(3);
    // The same workflow again: another shard numbers its letters from 1 on, too.
    await queue.handOver(2, 1);
    await queue.merge(3);
    await queue.merge(0);
    await queue.merge(1);
    expect(queue.executed).toEqual(['3 0', '1 0']);
    await queue.answer(0, applied);
    expect(queue.executed).toEqual(['3 0', '1 0', '0 0']);
  });
});

test('a bug that meets one dead letter holds up none behind it', async () => {
  const queue = await queueOf(1);
  await queue.handOver(2, 1);
  queue.answers = () => applied;
  queue.unencodable.add(1);
  queue.registryIsSlow = true;
  queue.namespaces.clear();
  await queue.merge(0);
  // Of the same run.
  await queue.merge(1);
  queue.namespaces.set(own, ['default', 'registered']);
  queue.syncs[0]?.();
  await queue.quietly();
  const bug = { outcome: 'failed', error: { errorType: 'Internal', errorMessage: 'a bug' } };
  expect(queue.ended.get(0)).toMatchObject(bug);
  expect(queue.ended.get(1)).toMatchObject(bug);
  queue.unencodable.clear();
  await queue.merge(0);
  expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged' });
});

describe('a namespace that is not there any more', () => {
  test('stands for the one that has its name by now', async () => {
    const queue = await queueOf(1);
    queue.namespaces.set(own, ['default-deleted-a1b2c', 'deleted']);
    queue.namespaces.set('registered-again', ['default', 'registered']);
    await queue.merge(0);
    expect(queue.asked[0]?.request).toMatchObject({ key: { namespaceId: 'registered-again', workflowId: 'order-1' } });
  });

  test('had the parent that is to hear of its child: nobody is left to tell', async () => {
    const queue = await queueOf(0);
    queue.namespaces.set('of-the-parent', ['orders-deleted-a1b2c', 'deleted']);
    queue.namespaces.set('registered-again', ['orders', 'registered']);
    queue.taskOf = ({ taskId, key }) => ({ kind: 'notifyParent', taskId, version: 0, key, outcome: { kind: 'terminated' } });
    const { task, ...letter } = letterOf(1, 1);
    const letters = [{ ...letter, task: { ...task, targetNamespaceId: 'of-the-parent', targetNamespace: 'orders' } }];
    await queue.ask({ kind: 'acceptLetters', shard: 1, letters });
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'merged-noop', detail: 'the parent is gone with its namespace orders' });
    expect(queue.asked).toEqual([]);
  });

  test('and has no successor fails the merge, and nobody is asked', async () => {
    const queue = await queueOf(1);
    queue.namespaces.clear();
    await queue.merge(0);
    expect(queue.ended.get(0)).toMatchObject({ outcome: 'failed', error: { errorType: 'NamespaceNotFound' } });
    expect(queue.asked).toEqual([]);
    expect(queue.journal.filter((record) => 'letter' in record).at(-1)).toMatchObject({
      letter: { generation: 1, failure: { cause: 'namespace-deleted' } },
    });
  });
});

test('a timeout that is none is refused', async () => {
  const queue = await queueOf(1);
  const merge = { kind: 'mergeLetter', jobId: 'job', who: 'anna', why: '', messageId: 0, overridesLoopGuard: false } as const;
  expect(await queue.ask({ ...merge, taskTimeoutMs: 999 })).toMatchObject({ kind: 'rejected', rejection: { reason: 'invalid-argument' } });
});
