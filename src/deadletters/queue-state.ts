/**
 * What the journal of a queue adds up to. Folding may begin anywhere behind a compaction: letters are written again there, in the order of their
 * ids, and control records tell what is not there any more.
 */
import { unreachable } from '../kernel/assert.ts';
import { type HandedOver, HandOvers } from './hand-overs.ts';
import { LetterIds, type LetterIdsSnapshot } from './letter-ids.ts';
import type { DeadLetterRecord, HeadRecord, LetterRecord } from './records.ts';

export type QueueSnapshot = { readonly ids: LetterIdsSnapshot; readonly handOvers: ReadonlyMap<number, readonly HandedOver[]> };

export class QueueState {
  readonly ids: LetterIds;
  readonly handOvers = new HandOvers();

  /** Throws what no snapshot can be. */
  constructor(snapshot?: QueueSnapshot) {
    this.ids = snapshot === undefined ? new LetterIds() : LetterIds.of(snapshot.ids);
    for (const [shard, recent] of snapshot?.handOvers ?? []) this.handOvers.replace(shard, recent);
  }

  evolve(record: DeadLetterRecord): void {
    switch (record.kind) {
      case 'letter':
        return this.#letter(record);
      case 'damaged':
        return this.#giveUpTo(record.messageId + 1, record.messageId);
      case 'resolved':
        this.#giveUpTo(record.messageId + 1);
        return this.ids.set(record.messageId, record.how === 'purged' ? 'purged' : 'merged');
      case 'head':
        return this.#giveUpTo(record.nextId);
      case 'handedOver':
        return this.handOvers.replace(record.shard, record.recent);
      default:
        return unreachable(record);
    }
  }

  /** For the command that writes these, in order: what stands behind them. */
  headAfter(records: readonly DeadLetterRecord[], timeMs: number): HeadRecord {
    const given = records.flatMap((record) => (record.kind === 'letter' ? [record.messageId + 1] : []));
    const nextId = Math.max(this.ids.nextId, ...given);
    const gone = new Set(records.flatMap((record) => (record.kind === 'resolved' ? [record.messageId] : [])));
    let lowestOpen = this.ids.firstLetter();
    while (lowestOpen !== undefined && gone.has(lowestOpen)) lowestOpen = this.ids.firstLetter(lowestOpen + 1);
    return { kind: 'head', timeMs, nextId, lowestOpen: lowestOpen ?? Math.min(nextId, ...given.map((next) => next - 1)) };
  }

  snapshot(): QueueSnapshot {
    return { ids: this.ids.snapshot(), handOvers: new Map([...this.handOvers.all].map(([shard, recent]) => [shard, [...recent]])) };
  }

  /** For tests: the same text for the same state. */
  canonical(): string {
    const statuses = Array.from({ length: this.ids.nextId }, (_, id) => this.ids.statusOf(id));
    return JSON.stringify({ statuses, handOvers: [...this.handOvers.all].sort(([one], [other]) => one - other) });
  }

  #letter({ messageId, letter }: LetterRecord): void {
    const { shard, sequence } = letter.handOver;
    const isNew = messageId >= this.ids.nextId;
    if (isNew && sequence > this.handOvers.last(shard)) this.handOvers.note(shard, { sequence, messageId });
    this.#giveUpTo(messageId + 1, messageId);
    // The last record of an id counts, as for every reader of the topic: of one that a compaction has written again, younger ones may stand before it.
    this.ids.set(messageId, letter.state);
  }

  /** Ids that are given and not seen were resolved, and left out by a compaction. `open`: but this one. */
  #giveUpTo(nextId: number, open = -1): void {
    while (this.ids.nextId < nextId) {
      const id = this.ids.add();
      if (id !== open) this.ids.set(id, 'purged');
    }
  }
}
