/**
 * A queue of dead letters and the shard that its dead letters come from, each of which dies at any moment.
 *
 *     merge ─▶ QueueHost (real, over a log) ─▶ LetterExecution ─▶ HistoryCore (real) ─▶ records, committed when the test says so
 *                 ▲ taken over at any moment       ▲                   ▲ what is not committed is lost with it, and nothing has left it before
 *                 └── tombstone or next generation ┘                   └ attempts succeed, fail, or their answers are lost
 *
 * No framework but for assertions: planted bugs run it as well.
 */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import assert from 'node:assert/strict';
import type { Router } from '../../../src/actors/asks/router.ts';
import type { LetterExecutionParts } from '../../../src/actors/deadletters/queue/letter-execution.ts';
import type { LetterTask } from '../../../src/deadletters/letter.ts';
import type { MergeEnded } from '../../../src/deadletters/letter-commands.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import type { HistoryReply } from '../../../src/history/run/history-replies.ts';
import type { LetterName, RedriveRequest } from '../../../src/history/commands/redrive-commands.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { encodeLetterTask } from '../../../src/codec/letter-task-codec.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { RedrivenShard } from '../../history/redrive/redriven-shard.ts';
import { namespaceId } from '../../history/shard-under-test.ts';
import { turns } from '../../support/event-loop.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { CheckpointedQueue } from './checkpointed-queue.ts';

export const letterIds = [0, 1, 2] as const;

/** What whoever plants it has got wrong. */
export type Plant =
  /** The shard answers before its record is committed. */
  | 'answers-early'
  /** The queue's owner confirms before its own record is committed. */
  | 'confirms-early'
  /** The owner asks for the first generation for ever. */
  | 'keeps-generation'
  /** The shard executes a letter whenever it is asked. */
  | 'executes-again';

export type Step =
  | { readonly do: 'merge' | 'succeed' | 'fail' | 'lose'; readonly id: number }
  /** `answerIsLost`: the queue dies before it has written what its shard has committed and told. */
  | { readonly do: 'commit' | 'crashShard' | 'takeOver' | 'answerIsLost' | 'pass' };

type Held = { readonly records: number; readonly send: () => void };
const gone = { kind: 'unavailable', message: 'the shard is gone' } as const;

export class RedrivingWorld extends CheckpointedQueue {
  protected override readonly hasShard: boolean = false;
  readonly shard = new RedrivenShard();
  readonly #plant: Plant | undefined;
  #committed = 0;
  #held: Held[] = [];
  #effectsSeen = 0;
  /** Who waits in the shard, by the number that its core knows. */
  #waiting = new Map<number, (reply: HistoryReply) => void>();
  /** Whoever asks, whatever becomes of the shard. */
  #asking = new Set<() => void>();
  #underWay = new Set<number>();
  /** By their letters. */
  readonly #jobs = new Map<number, string>();
  #tries = 0;
  readonly resolved = new Set<number>();
  /** What the shard answers arrives nowhere. */
  #isDeaf = false;

  constructor(plant?: Plant) {
    super();
    this.#plant = plant;
    // Its records may be lost again: only the core lives on them.
    this.shard.checks = false;
  }

  /** Three children that could not be started; their parents wait. */
  async begin(): Promise<void> {
    await this.start();
    const letters = letterIds.map((id) => {
      const task = this.shard.childThatFailed(`wf-${id}`);
      const { task: about, ...letter } = letterOf(1, id + 1);
      return { ...letter, task: { ...about, ...task.key, value: encodeLetterTask(task) } satisfies LetterTask };
    });
    this.commitShard();
    assert.deepEqual(await this.ask({ kind: 'acceptLetters', shard: 1, letters }), { kind: 'accepted', ids: [...letterIds] });
  }

  protected override execution(router: Router): LetterExecutionParts {
    // Whoever was taken over is dead: it asks nobody any more.
    const submit = (askId: number, request: HistoryRequest) => (router === this.router ? this.#asked(router, askId, request) : gone);
    router.history.attach(1, { submit, cancel: () => {} });
    const registered = { state: 'registered' } as never;
    return {
      ...super.execution(router),
      registry: { view: { namespaceById: (id) => (id === namespaceId ? registered : undefined), namespaceByName: () => undefined } },
      tasks: { decode: ({ value }) => historyWire.decodeTask(value), encode: encodeLetterTask },
      maxGeneration: () => 1_000,
    };
  }

  // ── The shard ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #asked(router: Router, askId: number, given: HistoryRequest): undefined {
    const sink = router.history.sink(1);
    const fail = (): void => {
      this.clock.soon(() => sink.fail(askId, gone));
    };
    this.#asking.add(fail);
    const answer = (reply: HistoryReply): void => {
      this.#asking.delete(fail);
      if (this.#isDeaf) return;
      this.clock.soon(() => sink.answer(askId, reply));
    };
    assert(isRedrive(given), `a queue asks no ${given.kind}`);
    const request =
      this.#plant === 'keeps-generation' && given.kind === 'executeLetter'
        ? { ...given, letter: { ...given.letter, generation: 0 } }
        : given;
    if (this.#plant === 'executes-again' && request.kind === 'executeLetter') this.#forget(request.letter);
    const reply = this.shard.ask(request);
    if (reply === undefined) this.#waiting.set(this.shard.lastAskId, answer);
    else this.#hold(() => answer(reply));
    this.#release();
    return undefined;
  }

  #forgetEnded(): void {
    for (const { lettersEnded = [] } of this.shard.records.slice(0, this.#committed))
      for (const { letter } of lettersEnded) this.#forget(letter);
    this.#committed = this.shard.records.length;
  }

  #forget(letter: LetterName): void {
    this.shard.ask({ kind: 'confirmLetter', letter });
  }

  /** Until all that it rests on is committed. */
  #hold(send: () => void): void {
    if (this.#plant === 'answers-early') send();
    else this.#held.push({ records: this.shard.records.length, send });
  }

  #release(): void {
    const { effects } = this.shard;
    for (; this.#effectsSeen < effects.length; this.#effectsSeen++) {
      const effect = effects[this.#effectsSeen];
      if (effect?.kind !== 'reply') continue;
      const { askId, reply } = effect;
      const answer = this.#waiting.get(askId);
      if (answer !== undefined) this.#hold(() => answer(reply));
      if (this.#plant === 'confirms-early') this.#held.push({ records: this.shard.records.length, send: () => this.#forgetEnded() });
    }
    const ready = this.#held.filter(({ records }) => records <= this.#committed);
    this.#held = this.#held.filter((held) => !ready.includes(held));
    for (const { send } of ready) send();
  }

  commitShard(): void {
    this.#committed = this.shard.records.length;
    this.#release();
  }

  #crashShard(): void {
    this.shard.records.length = this.#committed;
    this.#held = [];
    this.#waiting.clear();
    this.shard.takeOver();
    for (const fail of this.#asking) fail();
    this.#asking.clear();
  }

  #attempt(id: number, how: 'succeed' | 'fail' | 'lose'): void {
    const task = this.shard.transfers().find(({ kind, key }) => kind === 'startChild' && key.workflowId === `wf-${id}`);
    // Nothing leaves a shard before its record is committed.
    if (task === undefined || !this.shard.records.slice(0, this.#committed).some(begins(task.taskId))) return;
    if (how === 'fail') this.shard.fails(task.taskId);
    else if (how === 'lose') this.shard.carryInVain(task);
    else this.shard.carry(task);
    this.#release();
  }

  // ── Steps ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'merge':
        await this.#merge(step.id);
        break;
      case 'succeed':
      case 'fail':
      case 'lose':
        this.#attempt(step.id, step.do);
        break;
      case 'commit':
        this.commitShard();
        break;
      case 'crashShard':
        this.#crashShard();
        break;
      case 'answerIsLost':
        this.#isDeaf = true;
        this.commitShard();
        this.#isDeaf = false;
        this.#underWay.clear();
        await this.takeOver();
        break;
      case 'takeOver':
        this.#underWay.clear();
        await this.takeOver();
        break;
      case 'pass':
        await this.pass(2_000);
    }
    await turns(8);
    await this.checkConserved();
  }

  async #merge(messageId: number): Promise<void> {
    if (this.resolved.has(messageId) || this.#underWay.has(messageId)) return;
    // A job tries each letter once.
    await this.ask({ kind: 'releaseClaim', jobId: this.#jobs.get(messageId) ?? '' });
    const jobId = `job ${messageId} ${(this.#tries += 1)}`;
    this.#jobs.set(messageId, jobId);
    await this.ask({ kind: 'claimLetters', jobId, ranges: [{ from: messageId, to: messageId }] });
    this.#underWay.add(messageId);
    const by = { jobId, who: 'anna', why: '', overridesLoopGuard: true, taskTimeoutMs: 5_000 } as const;
    this.router.askDeadLetters(7, { kind: 'mergeLetter', ...by, messageId }, ownWork(FAR_AWAY_MS), (answer) => {
      this.#underWay.delete(messageId);
      if (answer.kind === 'mergeEnded') this.#ended(messageId, answer);
      else if (answer.kind === 'rejected' && answer.rejection.reason === 'not-in-queue') this.resolved.add(messageId);
    });
  }

  #ended(messageId: number, { outcome }: MergeEnded): void {
    if (outcome === 'merged' || outcome === 'merged-noop') this.resolved.add(messageId);
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Each id is one letter for ever: in the queue, or resolved. */
  async checkConserved(): Promise<void> {
    const counted = await this.ask({ kind: 'countLetters' });
    assert(counted?.kind === 'counted', 'the queue is served');
    const { nextId, open, quarantined, merged, purged } = counted;
    assert.equal(open + quarantined + merged + purged, nextId, 'each id is open, quarantined, merged or purged');
    assert.equal(nextId, letterIds.length, 'no id is given without a letter');
    for (const id of letterIds) {
      const begun = this.#begun(id);
      assert.deepEqual(begun, [...new Set(begun)], `each generation of message ${id} is executed once`);
      if (this.resolved.has(id))
        assert.equal(this.#startsOf(id), 1, `message ${id} is merged, so its child has started, and that will not be undone`);
    }
  }

  /** With everything in order from here on, every letter is merged, and each has had its effect. */
  async settle(): Promise<void> {
    for (let round = 0; round < 30 && this.resolved.size < letterIds.length; round++) {
      for (const id of letterIds) await this.run({ do: 'merge', id });
      await this.run({ do: 'commit' });
      for (const id of letterIds) await this.run({ do: 'succeed', id });
      await this.run({ do: 'commit' });
      await this.run({ do: 'pass' });
    }
    assert.deepEqual(this.resolved, new Set(letterIds), 'every letter is merged in the end');
    this.checkMemory();
  }

  /** Generations, in the committed records. */
  #begun(id: number): readonly number[] {
    const committed = this.shard.records.slice(0, this.#committed);
    const begun = committed.flatMap(({ lettersBegun = [] }) => lettersBegun);
    return begun.filter(({ letter }) => letter.messageId === id).map(({ letter }) => letter.generation);
  }

  /** Of its child, as the parent knows for good. */
  #startsOf(id: number): number {
    const committed = this.shard.records.slice(0, this.#committed).filter(({ workflowId }) => workflowId === `wf-${id}`);
    return committed
      .flatMap(({ runs }) => runs.flatMap(({ events }) => events))
      .filter(({ event }) => event.type === 'childWorkflowExecutionStarted').length;
  }
}

function isRedrive(request: HistoryRequest): request is RedriveRequest {
  return ['executeLetter', 'confirmLetter', 'withdrawLetter', 'listLetterMarks'].includes(request.kind);
}

function begins(taskId: number) {
  return ({ lettersBegun = [] }: RedrivenShard['records'][number]): boolean => lettersBegun.some(({ task }) => task.taskId === taskId);
}
