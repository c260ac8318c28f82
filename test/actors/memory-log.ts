/** The log port in a few lines, for tests that need nothing to go wrong. */
import { LogError, partitionName } from '../../src/ports/log.ts';
import type { BatchSource, Log, LogAttachment, LogBounds, PartitionId, StoredRecord } from '../../src/ports/log.ts';

export class MemoryLog implements Log {
  readonly exclusive: boolean;
  readonly partitions = new Map<string, StoredRecord[]>();
  /** Where partitions start that were trimmed. Their records are kept: a trim may be undone. */
  readonly starts = new Map<string, number>();
  /** As a compaction of the broker does it; never the last one. */
  readonly #removed = new Map<string, Set<number>>();
  /** Appends stop being answered while it is set. */
  held = false;
  /** Appends land, but nobody is told. */
  unknown = false;
  /** Appends are refused; with `denied`, for want of rights. */
  refusing: { readonly denied: boolean } | undefined;
  appends = 0;
  /** Of one read. */
  recordsPerRead = Infinity;
  /** Whoever asks where the log ends waits until `tellEnds`. */
  endsHeld = false;
  #endsAsked: (() => void)[] = [];
  readonly #ready = new Map<BatchSource, PartitionId>();
  #scheduled = false;

  constructor(options: { readonly exclusive: boolean } = { exclusive: true }) {
    this.exclusive = options.exclusive;
  }

  attach(partition: PartitionId, source: BatchSource): LogAttachment {
    let attached = true;
    return {
      ready: () => {
        if (!attached) return;
        this.#ready.set(source, partition);
        this.#schedule();
      },
      detach: () => {
        attached = false;
        this.#ready.delete(source);
      },
    };
  }

  /** Answers what was held. */
  letGo(): void {
    this.held = false;
    this.#schedule();
  }

  read(partition: PartitionId, fromOffset: number): Promise<readonly StoredRecord[]> {
    const records = this.records(partition);
    if (fromOffset > records.length || fromOffset < this.#start(partition)) {
      return Promise.reject(new LogError('out-of-range', `no offset ${fromOffset}`));
    }
    const removed = this.#removed.get(partitionName(partition));
    const left = removed === undefined ? records : records.filter(({ offset }) => !removed.has(offset));
    const from = removed === undefined ? fromOffset : left.findIndex(({ offset }) => offset >= fromOffset);
    return Promise.resolve(from < 0 ? [] : left.slice(from, from + this.recordsPerRead));
  }

  bounds(partition: PartitionId): Promise<LogBounds> {
    return Promise.resolve({ start: this.#start(partition), end: this.records(partition).length });
  }

  async end(partition: PartitionId): Promise<number> {
    if (this.endsHeld) await new Promise<void>((resolve) => this.#endsAsked.push(resolve));
    return this.records(partition).length;
  }

  tellEnds(): void {
    this.endsHeld = false;
    for (const tell of this.#endsAsked.splice(0)) tell();
  }

  trouble(): string {
    return this.endsHeld ? 'as the test wants it' : '';
  }

  truncate(partition: PartitionId, beforeOffset: number): Promise<void> {
    this.starts.set(partitionName(partition), Math.max(this.#start(partition), beforeOffset));
    return Promise.resolve();
  }

  remove(partition: PartitionId, offset: number): void {
    const name = partitionName(partition);
    this.#removed.set(name, (this.#removed.get(name) ?? new Set()).add(offset));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #start(partition: PartitionId): number {
    return this.starts.get(partitionName(partition)) ?? 0;
  }

  records(partition: PartitionId): StoredRecord[] {
    const name = partitionName(partition);
    let records = this.partitions.get(name);
    if (records === undefined) this.partitions.set(name, (records = []));
    return records;
  }

  #schedule(): void {
    if (this.#scheduled || this.held || this.#ready.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.held) this.#flush();
    });
  }

  #flush(): void {
    const sources = [...this.#ready];
    this.#ready.clear();
    const outcomes: (() => void)[] = [];
    for (const [source, partition] of sources) {
      const batch = source.seal();
      if (batch === undefined) continue;
      if (this.refusing !== undefined) {
        const { generation } = batch;
        const { denied } = this.refusing;
        outcomes.push(() => source.settle({ kind: 'refused', generation, reason: 'NOT_TODAY', denied }));
        continue;
      }
      const records = this.records(partition);
      const baseOffset = records.length;
      for (const record of batch.records) records.push({ ...record, offset: records.length });
      this.appends += 1;
      const { generation } = batch;
      if (this.unknown) outcomes.push(() => source.settle({ kind: 'unknown', generation, reason: 'as the test wants it' }));
      else outcomes.push(() => source.settle({ kind: 'appended', generation, baseOffset }));
    }
    if (outcomes.length > 0) setImmediate(() => outcomes.forEach((settle) => settle()));
  }
}
