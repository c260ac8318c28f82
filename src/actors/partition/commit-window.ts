/**
 * What is decided but not yet committed, in the order of decision.
 * Nothing leaves before the records that it rests on (docs/protocol.md, R8).
 *
 *     held       [commit 7] [answer] [commit 8] [commit 9] [wait] …      replies and effects that wait
 *     records     1 ………… 6 │ 7 8 │ 9 …
 *                committed  sent   open                                  one append under way, the rest gathers
 *
 * Records are counted from 1 in the life of one memory. Each held entry names the last record that it rests on, and, if it is no
 * commit itself, the mark of the read barrier that it must pass. Entries leave strictly from the head.
 */
import { assert } from '../../kernel/assert.ts';
import { askOf, type Handled } from '../../kernel/handled.ts';
import type { BudgetShare } from './command-budget.ts';
import { Fifo } from '../../kernel/fifo.ts';
import { NOBODY } from '../asks/asks.ts';
import { APPEND_BYTES_MAX, type LogRecord, type RecordPosition } from '../../ports/log.ts';
import type { CommitSubscriber } from '../../ports/commit-subscriber.ts';
import type { EffectSink, EncodedRecord, RecordCodec } from './partition-core.ts';
import type { ReadBarrier } from '../ownership/read-barrier.ts';
import type { LoopTurns } from '../../ports/loop-turns.ts';

/** Records gather up to this many bytes for one append: one request carries the batches of many partitions. */
const BATCH_BYTES_MAX = 6 * 1024 * 1024;
/** The overhead of a batch with one record: its head, and the record's key and headers with names of 1,000 bytes. */
const MESSAGE_OVERHEAD_BYTES_MAX = 16 * 1024;
/**
 * The value of one record. A record above BATCH_BYTES_MAX makes a batch of its own. Larger ones are refused before they are applied: what
 * a completed workflow task can write is its request (4 MiB), the events that waited for it (2 MiB), and numbers beside each of them.
 */
export const RECORD_BYTES_MAX = APPEND_BYTES_MAX - MESSAGE_OVERHEAD_BYTES_MAX;
/** Header names, lengths and numbers of one record, generously. */
const RECORD_OVERHEAD_BYTES = 256;
/** An answer that waits: what it shows is in memory anyway. */
const ANSWER_BYTES = 256;

const HEADER_OVERHEAD_BYTES = 8;
const NO_MARK = -1;
const noEffects: readonly never[] = [];

type Held<Reply, Record, Effect> = {
  /** The last record that this rests on; of a commit, its own. */
  readonly rests: number;
  readonly mark: number;
  readonly askId: number;
  readonly record: Record | undefined;
  readonly reply: Reply | undefined;
  readonly effects: readonly Effect[];
  readonly bytes: number;
};

type Commit<Reply, Record, Effect> = Extract<Handled<Record, Reply, Effect>, { readonly kind: 'commit' }>;

type Outside<Reply, Record, Effect> = {
  readonly shell: EffectSink<Reply, Effect>;
  readonly subscribers: readonly CommitSubscriber<Record>[];
};

/** One append: its records, and where the first of them stands. */
type Batch = { readonly first: number; readonly last: number; readonly base: RecordPosition };

export type CommitWindowOptions = {
  readonly barrier: ReadBarrier;
  readonly share: BudgetShare;
  readonly turns: LoopTurns;
  readonly onTurn: () => void;
};

export class CommitWindow<Reply, Record, Effect> {
  readonly #options: CommitWindowOptions;
  readonly #held = new Fifo<Held<Reply, Record, Effect>>();
  readonly #open = new Fifo<EncodedRecord>();
  openBytes = 0;
  #recorded = 0;
  #committed = 0;
  /** Mark of the youngest entry that waits at the barrier. */
  #youngestMark = NO_MARK;
  /** Committed, and not all of it has left. */
  readonly #batches = new Fifo<Batch>();
  awaitsTurn = false;
  /** The effects of the entry that left last, which go on at `nextEffect`: one close may answer thousands who waited for it. */
  #effects: readonly Effect[] = noEffects;
  #nextEffect = 0;
  /** The position of the record that leaves now. The object is reused, so that no record costs one. */
  readonly #at = { epoch: 0, sequence: 0, offset: 0 };

  constructor(options: CommitWindowOptions) {
    this.#options = options;
  }

  get held(): number {
    return this.#held.length;
  }

  get openRecords(): number {
    return this.#open.length;
  }

  get empty(): boolean {
    return this.#held.length === 0 && this.#recorded === this.#committed && this.#nextEffect === this.#effects.length;
  }

  /** The mark of a read that no record so far lets pass; undefined when there is none. */
  get waitingMark(): number | undefined {
    if (this.#youngestMark === NO_MARK || this.#options.barrier.passed(this.#youngestMark)) return undefined;
    return this.#youngestMark;
  }

  /** `commandBytes`: what the command took of the budget. Effects may carry its content (a query, answers to queries). */
  commit(askId: number, { record, before, reply, effects }: Commit<Reply, Record, Effect>, encoded: EncodedCommit, commandBytes = 0): void {
    if (before !== undefined) {
      for (const [index, each] of encoded.before.entries()) this.#record(NOBODY, before[index], each, undefined, noEffects, 0);
    }
    this.#record(askId, record, encoded.last, reply, effects, commandBytes);
  }

  #record(
    askId: number,
    record: Record | undefined,
    encoded: EncodedRecord,
    reply: Reply | undefined,
    effects: readonly Effect[],
    commandBytes: number,
  ): void {
    this.#recorded += 1;
    this.#open.push(encoded);
    const size = sizeOf(encoded);
    this.openBytes += size;
    // Its events stand in memory twice: encoded one by one, and as the record.
    const bytes = 2 * size + (effects.length > 0 ? commandBytes : 0);
    this.#hold({ rests: this.#recorded, mark: NO_MARK, askId, record, reply, effects, bytes });
  }

  /** An answer or effects without a record: they leave once everything before them is committed and the barrier is passed. */
  hold(askId: number, reply: Reply | undefined, effects: readonly Effect[], commandBytes = 0): void {
    const mark = this.#options.barrier.mark();
    this.#youngestMark = mark;
    const bytes = ANSWER_BYTES + (effects.length > 0 ? commandBytes : 0);
    this.#hold({ rests: this.#recorded, mark, askId, record: undefined, reply, effects, bytes });
  }

  #hold(held: Held<Reply, Record, Effect>): void {
    this.#held.push(held);
    this.#options.share.add(held.bytes);
  }

  /** The asks whose answers wait here: as a reply, in an effect, or behind an effect with which their answer only begins (a direct query). */
  waitingAsks(): readonly number[] {
    const asks: number[] = [];
    addAsksOf(this.#effects, this.#nextEffect, asks);
    for (let index = 0; index < this.#held.length; index++) {
      const held = this.#held.at(index);
      if (held === undefined) break;
      if (held.reply !== undefined && held.askId !== NOBODY) asks.push(held.askId);
      addAsksOf(held.effects, 0, asks);
    }
    return asks;
  }

  /** Closes the open batch, as much of it as one append takes, and stamps its records. */
  seal(epoch: number, sequence: number): LogRecord[] {
    const batch: LogRecord[] = [];
    let bytes = 0;
    for (let next = this.#open.peek(); next !== undefined; next = this.#open.peek()) {
      const size = sizeOf(next);
      if (batch.length > 0 && bytes + size > BATCH_BYTES_MAX) break;
      this.#open.shift();
      bytes += size;
      const { key, schema, type, namespace, workflowId, runId, timeMs, value, headers, isTombstone } = next;
      const at = sequence + batch.length;
      batch.push({ key, schema, epoch, sequence: at, type, namespace, workflowId, runId, timeMs, value, headers, isTombstone });
    }
    this.openBytes -= bytes;
    return batch;
  }

  /** The oldest `count` records that were not committed yet are in the log for good, one behind the other. */
  committed(count: number, first: RecordPosition): void {
    assert(this.#committed + count + this.#open.length <= this.#recorded, 'only what was sealed is committed');
    this.#batches.push({ first: this.#committed + 1, last: this.#committed + count, base: first });
    this.#committed += count;
  }

  /** What may go in this turn, or all `atOnce`. `stopped` ends it early: the shell's callbacks may have closed the actor. */
  release({ shell, subscribers }: Outside<Reply, Record, Effect>, stopped: () => boolean, atOnce = false): void {
    if (this.awaitsTurn && !atOnce) return;
    if (!this.#actOn(this.#effects, this.#nextEffect, shell, atOnce) || stopped()) return;
    for (let head = this.#held.peek(); head !== undefined; head = this.#held.peek()) {
      if (head.rests > this.#committed) return;
      if (head.mark !== NO_MARK && !this.#options.barrier.passed(head.mark)) return;
      if (!this.#options.turns.mayLeave() && !atOnce) return this.#awaitTurn();
      this.#held.shift();
      this.#options.share.giveBack(head.bytes);
      if (head.record !== undefined) {
        const at = this.#positionOf(head.rests);
        for (const subscriber of subscribers) subscriber.committed(head.record, at, false);
      }
      if (head.reply !== undefined && head.askId !== NOBODY) shell.answer(head.askId, head.reply);
      if (!this.#actOn(head.effects, 0, shell, atOnce) || stopped()) return;
    }
  }

  /** False: the other effects wait for a turn. */
  #actOn(effects: readonly Effect[], first: number, shell: EffectSink<Reply, Effect>, atOnce: boolean): boolean {
    this.#effects = noEffects;
    this.#nextEffect = 0;
    for (let next = first; next < effects.length; next++) {
      const effect = effects[next];
      if (!this.#options.turns.mayLeave() && !atOnce) {
        this.#effects = effects;
        this.#nextEffect = next;
        this.#awaitTurn();
        return false;
      }
      if (effect !== undefined) shell.act(effect);
    }
    return true;
  }

  #awaitTurn(): void {
    this.awaitsTurn = true;
    this.#options.turns.wait(() => {
      this.awaitsTurn = false;
      this.#options.onTurn();
    });
  }

  /** The position of the record that leaves now: records leave in order, and so do their batches. */
  #positionOf(record: number): RecordPosition {
    let batch = this.#batches.peek();
    for (; batch !== undefined && batch.last < record; batch = this.#batches.peek()) this.#batches.shift();
    assert(batch !== undefined && batch.first <= record, 'commits leave with their own batch');
    const nth = record - batch.first;
    this.#at.epoch = batch.base.epoch;
    this.#at.sequence = batch.base.sequence + nth;
    this.#at.offset = batch.base.offset + nth;
    return this.#at;
  }
}

/** Adds the asks of the effects from `first` on, one by one, because there may be more than a call takes arguments. */
function addAsksOf(effects: readonly unknown[], first: number, asks: number[]): void {
  for (let next = first; next < effects.length; next++) {
    const askId = askOf(effects[next]) ?? NOBODY;
    if (askId !== NOBODY) asks.push(askId);
  }
}

/** An upper bound of what the record takes on the wire: three bytes are the most that UTF-8 needs for one unit of a string. */
function sizeOf(encoded: EncodedRecord): number {
  const { key, type, namespace, workflowId, runId } = encoded;
  const named = 3 * (key.length + type.length + namespace.length + workflowId.length + runId.length);
  return contentBytes(encoded) + named + RECORD_OVERHEAD_BYTES;
}

/** A decision's records, made before it takes effect: what cannot be encoded, or is too large, has not happened. `before`: those before `last`. */
export type EncodedCommit = { readonly last: EncodedRecord; readonly before: readonly EncodedRecord[] };

const none: readonly EncodedRecord[] = [];

/** Throws what cannot be encoded. undefined: nothing is written. */
export function encodeCommit<Record>(
  codec: Pick<RecordCodec<Record>, 'encode'>,
  handled: Handled<Record, unknown, unknown>,
): EncodedCommit | undefined {
  if (handled.kind !== 'commit') return undefined;
  const { before } = handled;
  return { last: codec.encode(handled.record), before: before === undefined ? none : before.map((record) => codec.encode(record)) };
}

/** The content of the largest record, without key and stamp. */
export function largestBytes(encoded: EncodedCommit | undefined): number {
  if (encoded === undefined) return 0;
  const { last, before } = encoded;
  // Called for each command, and hardly any writes more than one.
  if (before.length === 0) return contentBytes(last);
  return before.reduce((bytes, record) => Math.max(bytes, contentBytes(record)), contentBytes(last));
}

/** The bytes of a record's value and headers; three bytes are the most that UTF-8 needs for one unit of a string. */
function contentBytes({ value, headers }: Pick<EncodedRecord, 'value' | 'headers'>): number {
  if (headers === undefined) return value.byteLength;
  return headers.reduce((bytes, header) => bytes + HEADER_OVERHEAD_BYTES + header[0].length + 3 * header[1].length, value.byteLength);
}
