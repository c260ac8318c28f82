/**
 * Lets the journal of plans and jobs begin later: each step of a job writes all of it again, and the last record of each is what counts.
 *
 *     many dead records ─▶ a claim of our own: the cut ─▶ plans and jobs that stand before it, a page at a time ─▶ head: the cut ─▶ the log forgets
 *
 * The cut lies at a claim, so the journal can be folded from there. Whatever does not work is tried again later.
 */
import type { JobsCore } from '../../../deadletters/jobs/jobs-core.ts';
import type { JobsRecord } from '../../../deadletters/jobs/jobs-records.ts';
import type { JobsCommand } from '../../../deadletters/jobs/own-commands.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Log, PartitionId } from '../../log.ts';
import type { Tenure } from '../../partition/tenure.ts';

export type JobsCompactionOptions = {
  readonly core: { readonly state: Pick<JobsCore['state'], 'size' | 'cut'> };
  readonly log: Pick<Log, 'bounds' | 'truncate'>;
  readonly partition: PartitionId;
  readonly tenure: Pick<Tenure<JobsCommand>, 'active' | 'after' | 'submit' | 'claimAnew'>;
  readonly logger: Logger;
  /** Once the audit has been told of all that stands before that offset. Absent: nobody audits. */
  readonly audited?: (offset: number) => Promise<void>;
};

/** Fewer are worth no work of their own. */
const DEAD_RECORDS_MIN = 1_000;
/** Of each record that is kept. */
const DEAD_RECORDS_FOLD = 4;
const RETRY_MS = 60_000;
const RETRY_MS_MAX = 30 * 60_000;

export class JobsCompaction {
  readonly #options: JobsCompactionOptions;
  #step: 'opening' | 'idle' | 'claiming' | 'carrying' | 'cutting' | 'resting' = 'opening';
  #start = 0;
  #end = 0;
  #failures = 0;

  constructor(options: JobsCompactionOptions) {
    this.#options = options;
  }

  activated(): void {
    void this.#quietly(async () => {
      const { start, end } = await this.#options.log.bounds(this.#options.partition);
      this.#start = start;
      this.#end = Math.max(this.#end, end);
      this.#rest();
    });
  }

  committed(_record: JobsRecord, offset: number): void {
    this.#end = offset + 1;
    this.#consider();
  }

  /** The effect of its commands. `isAll`: nothing that counts stands before the cut any more. */
  carried(cut: number, isAll: boolean): void {
    if (this.#step !== 'carrying') return;
    if (!isAll) return this.#carry(cut, false);
    this.#step = 'cutting';
    void this.#quietly(() => this.#cut(cut));
  }

  /** One of its commands could not be decided, or its record not be written. It has been logged. */
  failed(reason: string): void {
    this.#giveUp(reason);
  }

  #rest(): void {
    this.#step = 'idle';
    this.#consider();
  }

  #consider(): void {
    const { core, tenure } = this.#options;
    if (!tenure.active || this.#step !== 'idle') return;
    const { cut, size } = core.state;
    if (cut > this.#start) {
      // Carried, and the log refused, or the owner before us was gone.
      this.#step = 'cutting';
      return void this.#quietly(() => this.#cut(cut));
    }
    const dead = this.#end - this.#start - size;
    if (dead < Math.max(DEAD_RECORDS_MIN, DEAD_RECORDS_FOLD * size)) return;
    this.#step = 'claiming';
    tenure.claimAnew((offset) => {
      this.#step = 'carrying';
      this.#carry(offset, true);
    });
  }

  #carry(cut: number, isFirst: boolean): void {
    const failure = this.#options.tenure.submit({ kind: 'carryJobs', cut, isFirst });
    if (failure !== undefined) this.#giveUp(failure.message);
  }

  async #cut(cut: number): Promise<void> {
    const { log, partition, logger, audited } = this.#options;
    await audited?.(cut);
    await log.truncate(partition, cut);
    logger.info('the journal of jobs over dead letters begins later', { offset: cut, records: cut - this.#start });
    this.#start = cut;
    this.#failures = 0;
    this.#rest();
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#giveUp(errorText(error));
    }
  }

  #giveUp(reason: string): void {
    const { tenure, logger } = this.#options;
    if (!tenure.active) return;
    const wasOpening = this.#step === 'opening';
    this.#step = 'resting';
    this.#failures += 1;
    logger.warn('the journal of jobs over dead letters cannot be cut: it grows until it can', { reason });
    tenure.after(backOffMs(this.#failures, RETRY_MS, RETRY_MS_MAX), () => (wasOpening ? this.activated() : this.#rest()));
  }
}
