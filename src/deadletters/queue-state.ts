/** What the journal of a queue adds up to, from behind any compaction: that writes letters again, by id, and tells what is gone. */
import { unreachable } from '../kernel/assert.ts';
import { HandOvers, taskFingerprint, type HandedOver } from './hand-overs.ts';
import { LetterIds, type LetterIdsSnapshot } from './letter-ids.ts';
import type { HandOver } from './letter.ts';
import type { DeadLetterRecord, HeadRecord } from './letter-records.ts';
import type { LetterState } from '../kernel/letter-words.ts';

export type QueueSnapshot = {
  readonly ids: LetterIdsSnapshot;
  readonly handOvers: ReadonlyMap<number, readonly HandedOver[]>;
  /** The cut of the last head. */
  readonly cut: number;
  /** Letters that were purged, and can still be read in the journal. */
  readonly uncutPurges: number;
  /** 0: there was no letter yet. */
  readonly incarnation: number;
};

export class QueueState {
  readonly ids: LetterIds;
  readonly handOvers = new HandOvers();
  /** The cluster whose letters the queue takes. Its topic may hold letters of an earlier cluster. */
  readonly clusterId: string;
  lastTimeMs: number;
  /** What the last head says. `cut`: where the journal may begin. */
  cut: number;
  uncutPurges: number;
  incarnation: number;
  #lowestOpen = 0;
  /** Ids that no record was seen of, the first and the last: resolved long ago, or lost. */
  #unseen: { readonly from: number; readonly to: number } | undefined;

  /** Throws what no snapshot can be. */
  constructor(snapshot?: QueueSnapshot, lastTimeMs = 0, clusterId = '') {
    this.clusterId = clusterId;
    this.lastTimeMs = lastTimeMs;
    this.ids = snapshot === undefined ? new LetterIds() : LetterIds.of(snapshot.ids);
    for (const [shard, recent] of snapshot?.handOvers ?? []) this.handOvers.replace(shard, recent);
    this.cut = snapshot?.cut ?? 0;
    this.uncutPurges = snapshot?.uncutPurges ?? 0;
    this.incarnation = snapshot?.incarnation ?? 0;
  }

  /** If the journal has lost records: ids of letters that may have been in the queue, and are not known any more. */
  get missingIds(): { readonly from: number; readonly to: number } | undefined {
    if (this.#unseen === undefined) return undefined;
    const from = Math.max(this.#unseen.from, this.#lowestOpen);
    return from <= this.#unseen.to ? { from, to: this.#unseen.to } : undefined;
  }

  evolve(record: DeadLetterRecord): void {
    this.lastTimeMs = record.timeMs;
    switch (record.kind) {
      case 'letter':
        return this.#letter(record.messageId, record.letter.state, record.letter.handOver, taskFingerprint(record.letter.task));
      case 'damaged':
        return this.#letter(record.messageId, record.state, record.handOver, undefined);
      case 'resolved':
        if (record.how === 'purged') this.uncutPurges += 1;
        this.#notSeen(record.messageId);
        this.ids.addPurged(record.messageId + 1);
        return this.ids.set(record.messageId, record.how === 'purged' ? 'purged' : 'merged');
      case 'head':
        if (record.cut > this.cut) this.uncutPurges = record.uncutPurges;
        this.cut = Math.max(this.cut, record.cut);
        this.incarnation = record.incarnation;
        this.#lowestOpen = Math.max(this.#lowestOpen, record.lowestOpen);
        this.#notSeen(record.nextId);
        return this.ids.addPurged(record.nextId);
      case 'handedOver':
        if (record.clusterId === this.clusterId) this.handOvers.replace(record.shard, record.recent);
        return;
      default:
        return unreachable(record);
    }
  }

  /** The head that holds behind these records, for the command that writes them in this order. */
  headAfter(records: readonly DeadLetterRecord[], timeMs: number, incarnation = this.incarnation): HeadRecord {
    const given = records.flatMap((record) => (record.kind === 'letter' ? [record.messageId + 1] : []));
    const nextId = Math.max(this.ids.nextId, ...given);
    const gone = new Set(records.flatMap((record) => (record.kind === 'resolved' ? [record.messageId] : [])));
    let lowestOpen = this.ids.firstLetter();
    while (lowestOpen !== undefined && gone.has(lowestOpen)) lowestOpen = this.ids.firstLetter(lowestOpen + 1);
    const lowest = Math.min(lowestOpen ?? nextId, ...given.map((next) => next - 1));
    return { kind: 'head', timeMs, nextId, lowestOpen: lowest, cut: this.cut, uncutPurges: 0, incarnation };
  }

  snapshot(): QueueSnapshot {
    const handOvers = new Map([...this.handOvers.all].map(([shard, recent]) => [shard, [...recent]]));
    return { ids: this.ids.snapshot(), handOvers, cut: this.cut, uncutPurges: this.uncutPurges, incarnation: this.incarnation };
  }

  /** For tests: equal states give equal texts. */
  canonical(): string {
    const statuses = Array.from({ length: this.ids.nextId }, (_, id) => this.ids.statusOf(id));
    const { incarnation } = this;
    return JSON.stringify({ incarnation, statuses, handOvers: [...this.handOvers.all].sort(([one], [other]) => one - other) });
  }

  /** A hand-over that nobody can read any more is not known when it is repeated. */
  #letter(messageId: number, state: LetterState, handOver: HandOver | undefined, task: number | undefined): void {
    const isNew = messageId >= this.ids.nextId;
    if (isNew && handOver?.clusterId === this.clusterId) {
      this.handOvers.note(handOver.shard, { sequence: handOver.sequence, messageId, ...(task === undefined ? {} : { task }) });
    }
    // Ids that are given and not seen were resolved, and left out by a compaction.
    this.#notSeen(messageId);
    this.ids.addPurged(messageId);
    if (isNew) this.ids.add();
    // The last record of an id counts, as for every reader of the topic: of one that a compaction has written again, younger ones may stand before it.
    this.ids.set(messageId, state);
  }

  /** All ids that are below and were not given. */
  #notSeen(nextId: number): void {
    if (nextId > this.ids.nextId) this.#unseen = { from: this.#unseen?.from ?? this.ids.nextId, to: nextId - 1 };
  }
}

/**
 * The port through which a checkpoint turns what is one for all rows of a queue into bytes, and back. What is encoded can be decoded, and means the
 * same. Decoding throws where the bytes cannot be what was written.
 */
export interface QueueStateWire {
  encodeCounters(snapshot: QueueSnapshot): Uint8Array;
  decodeCounters(bytes: Uint8Array): QueueSnapshot;
}
