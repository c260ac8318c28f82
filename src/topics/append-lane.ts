/**
 * Appends in order of asking, one request at a time: the self-clocked group commit that both logs share.
 *
 *     ready() ready() ready()          ready()  ready()
 *        └───────┴───────┴─ setImmediate ─▶ seal all, send ───── answer ─▶ settle all ─ setImmediate ─▶ seal all …
 *                                            └─ what gathers meanwhile goes with the next request ─┘
 *
 * There is no linger: an idle lane sends after one turn of the event loop, a busy one as soon as the answer is in. `seal` and `settle`
 * are never called from within `ready()`.
 */
import { assert } from '../kernel/assert.ts';
import { errorText } from '../kernel/error-text.ts';
import { requestBytesMax, sealedBytes } from './append-limits.ts';
import { APPEND_BYTES_MAX, partitionName } from '../ports/log.ts';
import type { AppendOutcome, BatchSource, LogAttachment, PartitionId, SealedBatch } from '../ports/log.ts';

/** A batch on its way, and whom to tell. */
export type BatchUnderWay = { readonly slot: LaneSlot; readonly batch: SealedBatch };

/** Sends batches as one request; `settle` is called exactly once, with their outcomes in order. A bug is thrown, or told to `broke`. */
export type SendBatches = (
  batches: readonly BatchUnderWay[],
  settle: (outcomes: readonly AppendOutcome[]) => void,
  broke: (bug: unknown) => void,
) => void;

/** One attachment: a partition and the actor that appends to it. */
export class LaneSlot implements LogAttachment {
  readonly partition: PartitionId;
  readonly source: BatchSource;
  readonly #enqueue: (slot: LaneSlot) => void;
  /** Ready and not sealed since. */
  wants = false;
  /** Sealed and not settled since: nothing else of this attachment may be sent. */
  underWay = false;
  detached = false;
  /** Its last append failed: it is sent alone, so that another failure affects no other partition. */
  suspect = false;
  /** The connection on which the partition was last placed, for a log that has several. */
  connection = '';

  constructor(partition: PartitionId, source: BatchSource, enqueue: (slot: LaneSlot) => void) {
    this.partition = partition;
    this.source = source;
    this.#enqueue = enqueue;
  }

  ready(): void {
    if (this.wants || this.detached) return;
    this.wants = true;
    if (!this.underWay) this.#enqueue(this);
  }

  detach(): void {
    this.detached = true;
  }

  /** The source may say ready again while it seals: there is more than one batch can hold. */
  seal(): SealedBatch | undefined {
    this.wants = false;
    this.underWay = true;
    const batch = this.source.seal();
    if (batch !== undefined) return batch;
    this.underWay = false;
    if (this.wants) this.#enqueue(this);
    return undefined;
  }

  settle(outcome: AppendOutcome): void {
    this.underWay = false;
    this.suspect = outcome.kind !== 'appended';
    if (this.detached) return;
    if (this.wants) this.#enqueue(this);
    this.source.settle(outcome);
  }
}

export class AppendLane {
  readonly #send: SendBatches;
  readonly #open: () => boolean;
  #queue: LaneSlot[] = [];
  #scheduled = false;
  #busy = false;
  #onIdle: (() => void)[] = [];

  /** `open` is asked before anything is sealed. False: what is ready waits for `resume`: an outage leaves only what was sent in doubt. */
  constructor(send: SendBatches, open: () => boolean = () => true) {
    this.#send = send;
    this.#open = open;
  }

  /** Resolves once nothing is under way and nobody waits. */
  async idle(): Promise<void> {
    if (this.#busy || this.#queue.length > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  enqueue(slot: LaneSlot): void {
    this.#queue.push(slot);
    this.#schedule();
  }

  /** Takes back what waits, for another lane. */
  drain(): readonly LaneSlot[] {
    const waiting = this.#queue;
    this.#queue = [];
    return waiting;
  }

  resume(): void {
    this.#schedule();
  }

  #schedule(): void {
    if (this.#busy || this.#scheduled) return;
    if (this.#queue.length === 0) {
      for (const resolve of this.#onIdle.splice(0)) resolve();
      return;
    }
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#busy || this.#queue.length === 0 || !this.#open()) return;
    const batches = this.#seal();
    if (batches.length === 0) return this.#schedule();
    this.#busy = true;
    const settle = (outcomes: readonly AppendOutcome[]): void => this.#settle(batches, outcomes);
    const broke = (bug: unknown): void => this.#settle(batches, brokenOutcomes(batches, bug));
    try {
      this.#send(batches, settle, broke);
    } catch (bug) {
      broke(bug);
    }
  };

  #settle(batches: readonly BatchUnderWay[], outcomes: readonly AppendOutcome[]): void {
    assert(this.#busy && outcomes.length === batches.length, 'a request is settled once, with one outcome per batch');
    this.#busy = false;
    for (const [index, { slot }] of batches.entries()) {
      const outcome = outcomes[index];
      assert(outcome !== undefined, 'every batch has an outcome');
      slot.settle(outcome);
    }
    this.#schedule();
  }

  /** Seals what fits into one request; the rest keeps its place. */
  #seal(): readonly BatchUnderWay[] {
    const batches: BatchUnderWay[] = [];
    const later: LaneSlot[] = [];
    const partitions = new Set<string>();
    let bytes = 0;
    let alone = false;
    for (let slot = this.#queue.shift(); slot !== undefined; slot = this.#queue.shift()) {
      if (slot.detached) continue;
      const name = partitionName(slot.partition);
      // A broker that finds a partition twice in one request appends one of the batches, and tells both its offset.
      const full = alone || bytes + APPEND_BYTES_MAX > requestBytesMax || partitions.has(name);
      if (full || (slot.suspect && batches.length > 0)) {
        later.push(slot);
        continue;
      }
      const batch = this.#sealOne(slot);
      if (batch === undefined) continue;
      batches.push({ slot, batch });
      partitions.add(name);
      bytes += sealedBytes(batch);
      alone = slot.suspect;
    }
    this.#queue = later;
    return batches;
  }

  #sealOne(slot: LaneSlot): SealedBatch | undefined {
    assert(slot.wants && !slot.underWay, 'only a slot that wants to append stands in the queue, and once');
    const batch = slot.seal();
    if (batch === undefined) return undefined;
    const outcome = unfit(batch);
    if (outcome === undefined) return batch;
    setImmediate(() => slot.settle(outcome));
    return undefined;
  }
}

/** What becomes of a batch that is not sent; undefined: it may go. */
function unfit(batch: SealedBatch): AppendOutcome | undefined {
  const { generation } = batch;
  try {
    assert(batch.records.length > 0, 'a sealed batch is never empty');
    const size = sealedBytes(batch);
    if (size <= APPEND_BYTES_MAX) return undefined;
    const reason = `a batch of ${size} bytes is larger than the ${APPEND_BYTES_MAX} that one append may carry`;
    return { kind: 'refused', generation, reason, tooLarge: true };
  } catch (error) {
    return { kind: 'failed', generation, error };
  }
}

/** Nobody knows which batch met the bug, nor whether any was sent. Each goes alone now: one that meets it again stops only itself. */
function brokenOutcomes(batches: readonly BatchUnderWay[], bug: unknown): readonly AppendOutcome[] {
  const alone = batches.length === 1;
  const reason = `the request broke off: ${errorText(bug)}`;
  return batches.map(({ batch: { generation } }) =>
    alone ? { kind: 'failed', generation, error: bug } : { kind: 'unknown', generation, reason },
  );
}
