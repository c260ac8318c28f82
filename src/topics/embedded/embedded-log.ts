/**
 * The log that Perdure keeps itself: SQLite, one writer, one fsync for all batches that gathered.
 *
 *     actors ── ready ──▶ lane ── seal, encode ──▶ backend: one transaction, COMMIT, fsync ──▶ settle
 *
 * The process holds the file's lock, so it alone appends: base offsets are counted here, and reads need no barrier. A commit that fails
 * (disk full, I/O error) is never tried again, since nobody knows what it left behind: the log stops, every later append is refused,
 * and the next start reads what is really there.
 */
import { LogError, missingOffsets, partitionName } from '../../ports/log.ts';
import type { AppendOutcome, BatchSource, GrowingLog, LogAttachment, LogBounds, PartitionId, StoredRecord } from '../../ports/log.ts';
import type { TopicSpec } from '../../ports/log.ts';
import { assert } from '../../kernel/assert.ts';
import { oneAtATime } from '../../kernel/one-at-a-time.ts';
import { AppendLane, LaneSlot, type BatchUnderWay } from '../append-lane.ts';
import { inSlices } from '../in-slices.ts';
import { checkPartitions } from '../catalogue.ts';
import { decodeBatch, encodeBatch } from './batch-codec.ts';
import { openJournalBackend, type JournalBackend } from './journal-backend.ts';
import type { JournalAppend, JournalBounds, JournalEntry, JournalRow } from './journal-db.ts';

export type EmbeddedLogOptions = {
  /** Path of the file; undefined: in memory, gone with the process. */
  readonly filename: string | undefined;
  readonly topics: readonly Pick<TopicSpec, 'name' | 'partitions'>[];
  readonly pragmas?: readonly (readonly [name: string, value: string])[];
  /** The log stopped and will not recover in this process: serve no more. Called at most once. */
  readonly onFailure?: (error: LogError) => void;
};

export async function openEmbeddedLog(options: EmbeddedLogOptions): Promise<GrowingLog> {
  const { filename, topics, pragmas = [] } = options;
  const backend = await openJournalBackend({ filename, topics, pragmas });
  return new EmbeddedLog(backend, options.onFailure ?? (() => {}));
}

type Partition = {
  readonly index: number;
  /** Nothing is read below it. */
  start: number;
  /** The start that the file remembers: `start` is ahead of it while a trim takes its first step. */
  storedStart: number;
  end: number;
};

class EmbeddedLog implements GrowingLog {
  readonly exclusive = true;
  readonly #backend: JournalBackend;
  readonly #partitions = new Map<string, readonly Partition[]>();
  #indexes = 0;
  readonly #lane: AppendLane;
  readonly #onFailure: (error: LogError) => void;
  #stopped: LogError | undefined;
  #closing: Promise<void> | undefined;
  /** One behind the other: the indexes of what is added are counted here. */
  readonly #inTurn = oneAtATime();

  constructor(backend: JournalBackend, onFailure: (error: LogError) => void) {
    this.#backend = backend;
    this.#onFailure = onFailure;
    this.#lane = new AppendLane((batches, settle) => this.#append(batches, settle));
    this.#add(backend.bounds);
  }

  #add(bounds: readonly JournalBounds[]): void {
    for (const { topic, start, end } of bounds) {
      const partition = { index: this.#indexes, start, storedStart: start, end };
      this.#partitions.set(topic, [...(this.#partitions.get(topic) ?? []), partition]);
      this.#indexes += 1;
    }
  }

  async addTopic(topic: TopicSpec): Promise<void> {
    this.#check();
    await this.#inTurn(async () => {
      this.#check();
      const found = this.#partitions.get(topic.name)?.length;
      if (found === undefined) this.#add(await this.#backend.call('add', topic));
      else checkPartitions(topic, found);
    });
  }

  attach(id: PartitionId, source: BatchSource): LogAttachment {
    this.#partition(id);
    return new LaneSlot(id, source, (slot) => this.#lane.enqueue(slot));
  }

  async read(id: PartitionId, fromOffset: number, maxBytes: number): Promise<readonly StoredRecord[]> {
    const partition = this.#partition(id);
    this.#check();
    if (fromOffset < partition.start || fromOffset > partition.end) throw outOfRange(id, fromOffset, partition);
    if (fromOffset === partition.end) return [];
    const records = await inSlices(decodeRows(await this.#backend.call('read', partition.index, fromOffset, maxBytes), fromOffset));
    if (records.length === 0) throw missingOffsets(id, fromOffset, partition.end - 1);
    return records;
  }

  async bounds(id: PartitionId): Promise<LogBounds> {
    const { start, end } = this.#partition(id);
    this.#check();
    return { start, end };
  }

  async end(id: PartitionId): Promise<number> {
    this.#check();
    return this.#partition(id).end;
  }

  async truncate(id: PartitionId, beforeOffset: number): Promise<void> {
    const partition = this.#partition(id);
    this.#check();
    if (beforeOffset > partition.end) throw outOfRange(id, beforeOffset, partition);
    if (beforeOffset <= partition.start) return;
    // From now on: what is asked for behind the first step does not find what that has dropped.
    partition.start = beforeOffset;
    try {
      for (let more = true; more && this.#stopped === undefined;) {
        more = await this.#backend.call('truncate', partition.index, beforeOffset);
        partition.storedStart = Math.max(partition.storedStart, beforeOffset);
      }
    } catch (error) {
      // Another trim may have gone further meanwhile.
      if (partition.start === beforeOffset) partition.start = partition.storedStart;
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** What is under way is settled first; what was not sealed by then is refused. */
  async #close(): Promise<void> {
    this.#stopped ??= new LogError('closed', 'the log is closed');
    await this.#lane.idle();
    await this.#backend.close();
  }

  #append(batches: readonly BatchUnderWay[], settle: (outcomes: readonly AppendOutcome[]) => void): void {
    const stopped = this.#stopped;
    if (stopped !== undefined) {
      return settle(batches.map(({ batch }) => ({ kind: 'refused', generation: batch.generation, reason: stopped.message })));
    }
    const entries: JournalEntry[] = [];
    const next = new Map<Partition, number>();
    for (const { slot, batch } of batches) {
      const partition = this.#partition(slot.partition);
      const base = next.get(partition) ?? partition.end;
      next.set(partition, base + batch.records.length);
      entries.push({ index: partition.index, base, count: batch.records.length, data: encodeBatch(batch.records) });
    }
    this.#backend.append(entries, (result) => {
      if (result.ok) for (const [partition, end] of next) partition.end = end;
      else this.#stop(result.reason);
      settle(batches.map(({ batch }, index) => outcomeOf(result, batch.generation, entries[index])));
    });
  }

  #stop(reason: string): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = new LogError('unavailable', `the log stopped: ${reason}`, { recoverable: false });
    this.#onFailure(this.#stopped);
  }

  #check(): void {
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  #partition(id: PartitionId): Partition {
    const partition = this.#partitions.get(id.topic)?.[id.partition];
    assert(partition !== undefined, `${partitionName(id)} is in the catalogue`);
    return partition;
  }
}

function outcomeOf(result: JournalAppend, generation: number, entry: JournalEntry | undefined): AppendOutcome {
  assert(entry !== undefined, 'one entry per batch');
  if (result.ok) return { kind: 'appended', generation, baseOffset: entry.base };
  return { kind: result.certain ? 'refused' : 'unknown', generation, reason: result.reason };
}

function* decodeRows(rows: readonly JournalRow[], fromOffset: number): Generator<void, readonly StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (const { data, base } of rows) {
    yield* decodeBatch(data, base, fromOffset, records);
    yield;
  }
  return records;
}

function outOfRange(id: PartitionId, offset: number, { start, end }: Partition): LogError {
  return new LogError('out-of-range', `${partitionName(id)} holds offsets ${start} to ${end - 1}; asked was ${offset}`);
}
