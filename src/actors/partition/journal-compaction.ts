/**
 * Lets a journal begin later of which most no longer counts. Its memory holds all that does, and writes it again:
 *
 *     much that is dead ─▶ a claim of our own: the cut ─▶ what counts, a page at a time ─▶ a record that says so: the cut ─▶ the log forgets
 *
 * The cut lies at a claim, so the journal can be folded from there. Commands come and go meanwhile: what a page says is so when it is written, and
 * records behind it change it. Whatever does not work is tried again later: the journal keeps all until then.
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import { partitionName, type Log, type PartitionId } from '../../ports/log.ts';
import type { CommitSubscriber } from '../../ports/commit-subscriber.ts';
import type { Tenure } from './partition-core.ts';
import { isClaim } from '../ownership/effective.ts';

export type JournalCompactionOptions<Command, Record> = {
  readonly log: Pick<Log, 'read' | 'bounds' | 'truncate'>;
  readonly partition: PartitionId;
  readonly tenure: Pick<Tenure<Command>, 'active' | 'after' | 'submit' | 'claimAnew'>;
  readonly logger: Logger;
  readonly journal: string;
  /** All that counts and stood before that offset stands behind it as well, as records say that were folded or decided. */
  readonly cut: () => number;
  readonly weigh: (record: Record) => number;
  /** What a journal would weigh that holds nothing but what counts. Asked when there may be much else; it may take a while. */
  readonly kept: () => Promise<number>;
  readonly deadMin: number;
  /** Some more of what counts is written again. `isFirst`: nothing is. */
  readonly carry: (cut: number, isFirst: boolean) => Command;
  /** Resolves once the audit was told of all that stands before that offset. Absent: nobody audits. */
  readonly audited?: (offset: number) => Promise<void>;
};

/** Dead weight that is worth a compaction, as a multiple of what is kept. */
const DEAD_FOLD = 4;
const RETRY_MS = 60_000;
const RETRY_MS_MAX = 30 * 60_000;

export class JournalCompaction<Command, Record> implements CommitSubscriber<Record> {
  readonly #options: JournalCompactionOptions<Command, Record>;
  #step: 'opening' | 'idle' | 'weighing' | 'claiming' | 'carrying' | 'cutting' | 'resting' = 'opening';
  #start = 0;
  /** The weight of all records of the journal, and of those before the claim. */
  #weight = 0;
  #weightBefore = 0;
  /** There may be enough that is dead. */
  #weightDue: number;
  #failures = 0;

  constructor(options: JournalCompactionOptions<Command, Record>) {
    this.#options = options;
    this.#weightDue = options.deadMin;
  }

  activated(): void {
    void this.#quietly(async () => {
      this.#start = (await this.#options.log.bounds(this.#options.partition)).start;
      this.#rest();
    });
  }

  committed(record: Record): void {
    this.#weight += this.#options.weigh(record);
    this.#consider();
  }

  /** The effect of its commands. `isAll`: nothing that counts stands before the cut alone any more. */
  carried(cut: number, isAll: boolean): void {
    if (this.#step !== 'carrying') return;
    if (!isAll) return this.#carry(cut, false);
    this.#step = 'cutting';
    void this.#quietly(() => this.#cut(cut));
  }

  /** One of its commands could not be decided, or its record not be written. It has been logged. */
  failed(reason: string): void {
    const { tenure, logger, journal } = this.#options;
    if (!tenure.active) return;
    const wasOpening = this.#step === 'opening';
    this.#step = 'resting';
    this.#failures += 1;
    logger.warn(`the journal of ${journal} cannot be compacted: it grows until it can`, { reason });
    tenure.after(backOffMs(this.#failures, RETRY_MS, RETRY_MS_MAX), () => (wasOpening ? this.activated() : this.#rest()));
  }

  #rest(): void {
    this.#step = 'idle';
    this.#consider();
  }

  #consider(): void {
    if (!this.#options.tenure.active || this.#step !== 'idle') return;
    if (this.#weight < this.#weightDue && !this.#isUncut) return;
    this.#step = 'weighing';
    void this.#quietly(() => this.#weigh());
  }

  /** Carried, and the log refused, or the owner before us was gone. */
  get #isUncut(): boolean {
    return this.#options.cut() > this.#start;
  }

  async #weigh(): Promise<void> {
    const { tenure, cut, deadMin, kept } = this.#options;
    const weight = this.#weight;
    const keptWeight = await kept();
    if (!tenure.active) return;
    if (this.#isUncut) {
      this.#weightBefore = Math.max(0, weight - keptWeight);
      this.#step = 'cutting';
      return await this.#cut(cut());
    }
    this.#weightDue = keptWeight + Math.max(deadMin, DEAD_FOLD * keptWeight);
    if (this.#weight < this.#weightDue) return void (this.#step = 'idle');
    this.#step = 'claiming';
    tenure.claimAnew((offset) => {
      this.#weightBefore = this.#weight;
      this.#step = 'carrying';
      this.#carry(offset, true);
    });
  }

  /** If it is not accepted, the partition is let go, and the next owner begins anew. */
  #carry(cut: number, isFirst: boolean): void {
    this.#options.tenure.submit(this.#options.carry(cut, isFirst));
  }

  async #cut(cut: number): Promise<void> {
    const { log, partition, logger, audited, journal } = this.#options;
    await audited?.(cut);
    await cutAtClaim(log, partition, cut);
    logger.info(`the journal of ${journal} was compacted`, { offset: cut, records: cut - this.#start });
    this.#start = cut;
    this.#weight -= this.#weightBefore;
    this.#weightBefore = 0;
    this.#failures = 0;
    this.#rest();
  }

  #quietly(work: () => Promise<void>): Promise<void> {
    return work().catch((error: unknown) => this.failed(errorText(error)));
  }
}

/** Rejects if no claim is there: records were numbered anew, and others stand in front. If only the claim is gone, it is the one before. */
export async function cutAtClaim(log: Pick<Log, 'read' | 'bounds' | 'truncate'>, partition: PartitionId, cut: number): Promise<void> {
  const { start, end } = await log.bounds(partition);
  if (cut <= start) return;
  const [record] = cut < end ? await log.read(partition, cut, 1) : [];
  if (record === undefined || (record.offset === cut && !isClaim(record))) {
    throw new Error(
      `there is no claim at offset ${cut} of ${partitionName(partition)}: was the topic restored from a copy with other offsets?`,
    );
  }
  await log.truncate(partition, cut);
}
