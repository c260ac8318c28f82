/**
 * A queue in its real loop under random programs, and what must be true of it after each step, whatever dies meanwhile:
 *
 *     letters in  =  open + quarantined + merged + purged          ids rise, each is one letter for ever
 *     what was told to be gone is gone, what nobody touched is there, and a count is the length of the list with the same filter
 *     once all is quiet, the topic holds each letter that is in the queue once, and nothing of what was purged
 *
 * Plain functions that throw: planted bugs run them too.
 */
import assert from 'node:assert/strict';
import type { Router } from '../../../src/actors/asks/router.ts';
import type { LetterExecutionParts } from '../../../src/actors/deadletters/queue/letter-execution.ts';
import type { Letter } from '../../../src/deadletters/letter.ts';
import type { LetterName } from '../../../src/history/commands/redrive-commands.ts';
import type { Condition } from '../../../src/filter/condition.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import type { HistoryReply, LetterExecuted } from '../../../src/history/run/history-replies.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { taskFailure } from '../../history/hand-over/task-failure.ts';
import { Prng } from '../../simulation/prng.ts';
import { CheckpointedQueue } from './checkpointed-queue.ts';

const SHARDS = 3;
const STEPS = 40;
const LARGE_BYTES = 400_000;

/** In the queue for certain, gone for certain, or somebody was asked to let it go and nobody told what came of that. */
type Fate = 'in' | 'gone' | 'open';

class ConservedQueue extends CheckpointedQueue {
  protected override readonly hasShard: boolean = false;
  readonly #prng: Prng;
  /** Of each shard: the ids of its letters, by sequence from 1. */
  readonly #told = new Map<number, number[]>();
  /** Asked for, and not answered: it is handed over again, the same. */
  readonly #untold = new Map<number, readonly Letter[]>();
  readonly #fates = new Map<number, Fate>();
  readonly #generations = new Map<number, number>();
  readonly #outcomes = new Map<string, { readonly letter: LetterName; readonly reply: LetterExecuted }>();
  #lastId = -1;
  #jobs = 0;

  constructor(seed: number) {
    super({ recordsMax: 5 + (seed % 3) * 20, finishMsMax: 200 });
    this.#prng = new Prng(seed);
  }

  async run(): Promise<void> {
    try {
      await this.start();
      for (let step = 0; step < STEPS; step++) {
        await this.#step();
        await this.#check();
      }
      await this.#settle();
    } finally {
      // No deadline of its asks keeps the process.
      this.router.close();
    }
  }

  async #step(): Promise<void> {
    const dice = this.#prng.int(0, 99);
    if (dice < 30) return await this.#handOver();
    if (dice < 45) return await this.#purge();
    if (dice < 62) return await this.#merge();
    if (dice < 78) return await this.#time(this.#prng.pick([100, 1_500, 5_000]));
    if (dice < 84) return await this.takeOver();
    if (dice < 88) return await this.drainAndStart();
    if (dice < 91) {
      this.loseDatabase();
      return await this.takeOver();
    }
    if (dice < 95) this.fault = this.#prng.pick(['fails', 'commit lost', 'answer lost', 'data'] as const);
    else this.mend();
  }

  /** In which letters may be carried: some are merged just before a page of them is read. */
  async #time(ms: number): Promise<void> {
    this.onRead = async (what) => {
      if (what === 'letters' && this.#prng.chance(0.5)) await this.#merge();
    };
    await this.pass(ms);
    this.onRead = () => {};
  }

  async #handOver(): Promise<void> {
    const shard = this.#prng.int(1, SHARDS);
    const ids = this.#told.get(shard) ?? [];
    const fresh = (): readonly Letter[] =>
      Array.from({ length: this.#prng.int(1, 8) }, (_, at) => this.#letter(shard, ids.length + at + 1));
    const letters = this.#untold.get(shard) ?? fresh();
    this.#untold.set(shard, letters);
    const answer = await this.ask({ kind: 'acceptLetters', shard, letters });
    if (answer?.kind !== 'accepted') return;
    this.#told.set(shard, [...ids, ...answer.ids]);
    // Its answer may be lost: it is asked for the same ids then.
    if (this.#prng.chance(0.2)) {
      assert.deepEqual(await this.#again(shard, letters), answer.ids, 'a hand-over that is repeated gets the same ids');
    }
    this.#untold.delete(shard);
    for (const id of answer.ids) {
      assert(!this.#fates.has(id), `message ${id} is given once`);
      this.#fates.set(id, 'in');
    }
  }

  async #again(shard: number, letters: readonly Letter[]): Promise<readonly number[]> {
    const again = await this.ask({ kind: 'acceptLetters', shard, letters });
    return again?.kind === 'accepted' ? again.ids : [];
  }

  #letter(shard: number, sequence: number): Letter {
    const letter = letterOf(shard, sequence);
    if (!this.#prng.chance(0.1)) return letter;
    const value = new Uint8Array(LARGE_BYTES).fill(7);
    value[1] = sequence % 128;
    return { ...letter, task: { ...letter.task, value } };
  }

  #some(): readonly number[] {
    const share = this.#prng.pick([0.1, 0.5, 1]);
    return [...this.#fates.keys()].filter(() => this.#prng.chance(share));
  }

  async #purge(): Promise<void> {
    const ids = this.#some().slice(0, 1_000);
    if (ids.length === 0) return;
    const jobId = await this.#claim();
    for (const id of ids) this.#doubt(id);
    const letters = ids.map((messageId) => ({ messageId, generation: this.#generations.get(messageId) ?? 0 }));
    const answer = await this.ask({ kind: 'purgeLetters', jobId, who: 'anna', why: '', letters });
    if (answer?.kind !== 'purged') return;
    for (const id of answer.ids) this.#end(id);
    for (const id of answer.merged) this.#end(id);
    assert.deepEqual(
      [...answer.ids, ...answer.gone, ...answer.merged, ...answer.executing].toSorted(rising),
      ids.toSorted(rising),
      'a purge tells of what it was asked for',
    );
  }

  async #merge(): Promise<void> {
    const messageId = this.#prng.pick([...this.#fates.keys(), -1]);
    if (messageId < 0) return;
    const jobId = await this.#claim();
    this.#doubt(messageId);
    const answer = await this.ask({ kind: 'mergeLetter', jobId, who: 'anna', why: '', messageId, overridesLoopGuard: true });
    if (answer?.kind !== 'mergeEnded') return;
    if (answer.outcome === 'merged' || answer.outcome === 'merged-noop') this.#end(messageId);
    if (answer.outcome !== 'failed') return;
    this.#fates.set(messageId, 'in');
    if (answer.error.errorType !== 'OutcomeUnknown') this.#generations.set(messageId, (this.#generations.get(messageId) ?? 0) + 1);
  }

  /** A job tries each letter once. */
  async #claim(): Promise<string> {
    await this.ask({ kind: 'releaseClaim', jobId: `${this.#jobs}` });
    const jobId = `${++this.#jobs}`;
    await this.ask({ kind: 'claimLetters', jobId, ranges: [{ from: 0, to: 1_000_000 }] });
    return jobId;
  }

  #doubt(id: number): void {
    if (this.#fates.get(id) === 'in') this.#fates.set(id, 'open');
  }

  #end(id: number): void {
    assert.notEqual(this.#fates.get(id), 'gone', `message ${id} goes once`);
    this.#fates.set(id, 'gone');
  }

  // ── The shard: it executes each generation once, and tells what came of it as often as it is asked ──────────────────────────

  protected override execution(router: Router): LetterExecutionParts {
    router.history.attach(1, { submit: (askId, request) => this.#execute(router, askId, request), cancel: () => {} });
    const registered = { state: 'registered' } as never;
    return {
      ...super.execution(router),
      registry: { view: { namespaceById: () => registered, namespaceByName: () => undefined } },
      maxGeneration: () => 3,
    };
  }

  #execute(router: Router, askId: number, request: HistoryRequest): undefined {
    const sink = router.history.sink(1);
    const reply = this.#reply(request);
    this.clock.soon(() => sink.answer(askId, reply));
    return undefined;
  }

  #reply(request: HistoryRequest): HistoryReply {
    switch (request.kind) {
      case 'executeLetter': {
        const known = this.#outcomes.get(nameOf(request.letter)) ?? { letter: request.letter, reply: this.#outcome() };
        this.#outcomes.set(nameOf(request.letter), known);
        return known.reply;
      }
      case 'withdrawLetter':
        return this.#outcomes.get(nameOf(request.letter))?.reply ?? { kind: 'letterWithdrawn' };
      case 'listLetterMarks':
        return { kind: 'letterMarks', pending: [], ended: [...this.#outcomes.values()].map(({ letter }) => letter) };
      case 'confirmLetter':
        this.#outcomes.delete(nameOf(request.letter));
        return { kind: 'done' };
      default:
        throw new Error(`a queue asks no ${request.kind}`);
    }
  }

  #outcome(): LetterExecuted {
    const dice = this.#prng.int(0, 2);
    if (dice === 0) return { kind: 'letterExecuted', outcome: { kind: 'applied' } };
    if (dice === 1) return { kind: 'letterExecuted', outcome: { kind: 'noop', detail: 'it is closed' } };
    return { kind: 'letterExecuted', outcome: { kind: 'failed', failure: taskFailure } };
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #check(): Promise<void> {
    const counted = await this.ask({ kind: 'countLetters' });
    if (counted?.kind === 'counted') {
      const { nextId, open, quarantined, merged, purged } = counted;
      assert.equal(open + quarantined + merged + purged, nextId, 'each id is open, quarantined, merged or purged');
      assert(nextId > this.#lastId, 'ids rise');
      this.#lastId = nextId - 1;
      const listed = await this.#listed(undefined);
      // A merge that nobody waits for may have ended meanwhile.
      if (listed?.length === open + quarantined) assert.equal(counted.lowestOpen, listed[0], 'the lowest one is told');
    }
    await this.#checkList();
  }

  async #checkList(): Promise<void> {
    const ids = await this.#listed(undefined);
    if (ids === undefined) return;
    const there = new Set(ids);
    for (const [id, fate] of this.#fates) {
      if (fate === 'in') assert(there.has(id), `message ${id} is in the queue: nobody has asked for anything else`);
      if (fate === 'gone') assert(!there.has(id), `message ${id} is gone, as was told`);
    }
    for (const condition of [undefined, quarantinedOnly, secondHalf(ids)]) {
      const listed = await this.#listed(condition);
      const matched = await this.ask({ kind: 'countMatching', condition });
      const again = await this.#listed(condition);
      if (listed === undefined || matched?.kind !== 'matched') return;
      if (again?.length !== listed.length) continue;
      assert.equal(matched.count, listed.length, 'a count is the length of the list with the same filter');
    }
  }

  /** Undefined: the database is away. */
  async #listed(condition: Condition | undefined): Promise<readonly number[] | undefined> {
    const ids: number[] = [];
    for (;;) {
      const page = { condition, afterMessageId: ids.at(-1) ?? -1, max: 7, bytesMax: 1_000_000 };
      const answer = await this.ask({ kind: 'listLetters', ...page, withContent: false });
      if (answer?.kind !== 'letters') return undefined;
      for (const { row } of answer.letters) {
        const before = this.#generations.get(row.messageId) ?? 0;
        assert(row.generation >= before, `the generation of message ${row.messageId} falls from ${before} to ${row.generation}`);
        this.#generations.set(row.messageId, row.generation);
        ids.push(row.messageId);
      }
      if (answer.isLast) return ids;
    }
  }

  async #settle(): Promise<void> {
    this.mend();
    await this.takeOver();
    await this.checkpointed();
    await this.pass(10_000);
    await this.checkpointed();
    await this.#checkList();
    const inTopic = this.records().filter(({ offset, key, isTombstone }) => {
      return offset >= this.journalStart && !key.startsWith('@') && isTombstone !== true;
    });
    const keys = new Set(inTopic.map(({ key }) => Number(key)));
    for (const id of (await this.#listed(undefined)) ?? []) {
      assert(keys.has(id), `message ${id} is in the topic`);
      const read = await this.ask({ kind: 'readLetter', messageId: id });
      assert(read?.kind === 'letter' && read.letter.content?.problem === '', `message ${id} can be read`);
    }
    const { ids } = this.host.actor.memory?.core.state ?? {};
    const purged = [...keys].filter((id) => ids?.statusOf(id) === 'purged');
    assert.deepEqual(purged, [], 'nothing of what was purged can be read in the topic');
    await this.drain();
  }
}

const quarantinedOnly: Condition = { kind: 'compare', column: { name: 'State', kind: 'keyword' }, operator: '=', operand: 'quarantined' };

function secondHalf(ids: readonly number[]): Condition {
  const from = ids[Math.floor(ids.length / 2)] ?? 0;
  return { kind: 'compare', column: { name: 'MessageId', kind: 'int' }, operator: '>=', operand: from };
}

function rising(one: number, other: number): number {
  return one - other;
}

/** Rejects with what is not true, and the seed of the program. */
export async function lettersAreConserved(firstSeed: number, programs: number): Promise<void> {
  for (let seed = firstSeed; seed < firstSeed + programs; seed++) {
    await new ConservedQueue(seed).run().catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    });
  }
}

function nameOf(letter: LetterName): string {
  return JSON.stringify(letter);
}
