/**
 * Tells the audit what stands in a journal of dead letters, or of the jobs over them: one for each memory of its owner.
 *
 *     journal   … 17 │ 18  19  20  21  22 │ committed
 *              told ─┘   └─ read, judged, made into entries ─▶ tellAudit ─▶ told: 22
 *
 * It reads what is committed from the log, always: what was missed before a crash and what was written just now go the same way. So no act is left
 * out and none is told twice, whoever dies when; and a journal may be cut up to where it was told of, no further (`toldUpTo`).
 */
import { backOffMs } from '../../../kernel/back-off.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { AuditStory } from '../../../deadletters/audit/audit-entry.ts';
import type { AuditRequest, AuditTold } from '../../../deadletters/audit/audit-requests.ts';
import type { Logger } from '../../../observability/logger.ts';
import { isAskFailure, ownWork } from '../../asks/asks.ts';
import type { AuditAsker } from '../../asks/router.ts';
import type { RecordPosition } from '../../../ports/log.ts';
import { NowAndThen } from '../../../ports/now-and-then.ts';
import { JournalReader, type JournalReaderOptions } from '../../partition/journal-reader.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import type { Clock } from '../../../ports/machine.ts';

export type AuditTellerOptions<Record> = JournalReaderOptions<Record> & {
  readonly audit: AuditAsker;
  /** A new one, for what stands behind the last that was told. */
  readonly story: () => AuditStory<Record>;
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly clock: Pick<Clock, 'monoMs'>;
  readonly logger: Logger;
};

/** What is written meanwhile is told together. */
const GATHER_MS = 20;
const ENTRIES_PER_TELL = 100;
const ASK_TIMEOUT_MS = 10_000;
const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 10_000;
const WARN_INTERVAL_MS = 60_000;
/** A takeover of the audit is nobody's business. */
const TROUBLE_AFTER_MS = 5_000;

type Telling<Record> = { readonly journal: JournalReader<Record>; readonly story: AuditStory<Record>; isAnew: boolean };

export class AuditTeller<Record> implements CommitSubscriber<Record> {
  readonly #options: AuditTellerOptions<Record>;
  readonly #warnings: NowAndThen;
  #end = 0;
  /** Undefined: the audit has to say first how far it was told. */
  #telling: Telling<Record> | undefined;
  /** All that stands before it. Before the audit has said how far it was told: nothing is known. */
  #told = 0;
  #isUnderWay = false;
  #isDue = false;
  #failures = 0;
  #failingSinceMs: number | undefined;
  #reason = '';
  #waiting: { readonly offset: number; readonly told: () => void }[] = [];

  constructor(options: AuditTellerOptions<Record>) {
    this.#options = options;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  activated(): void {
    this.#soon(0);
  }

  committed(_record: Record, { offset }: Pick<RecordPosition, 'offset'>): void {
    this.#end = offset + 1;
    this.#soon(GATHER_MS);
  }

  /** Why the audit was told nothing for a while; '' = it hears what there is. */
  get trouble(): string {
    const sinceMs = this.#failingSinceMs;
    return sinceMs === undefined || this.#options.clock.monoMs() - sinceMs < TROUBLE_AFTER_MS ? '' : this.#reason;
  }

  /** Resolves once the audit was told of all that stands before that offset; never, if the tenure ends before. */
  toldUpTo(offset: number): Promise<void> {
    if (offset <= this.#told) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ offset, told: resolve });
      this.#soon(0);
    });
  }

  /** Resolves once the audit was told of all that is committed now. */
  async toldAll(): Promise<void> {
    // A claim stands there at least, and then the end is known.
    await this.toldUpTo(1);
    await this.toldUpTo(this.#end);
  }

  #soon(delayMs: number): void {
    if (this.#isDue || this.#isUnderWay) return;
    this.#isDue = true;
    this.#options.tenure.after(delayMs, () => {
      this.#isDue = false;
      void this.#run();
    });
    // Before its tenure nothing is due: `activated` begins.
    if (!this.#options.tenure.active) this.#isDue = false;
  }

  async #run(): Promise<void> {
    this.#isUnderWay = true;
    let delayMs: number | undefined;
    try {
      await this.#tell();
      this.#failures = 0;
      this.#failingSinceMs = undefined;
    } catch (error) {
      delayMs = this.#failed(error);
    }
    this.#isUnderWay = false;
    if (delayMs !== undefined) this.#soon(delayMs);
    else if (this.#telling !== undefined && this.#telling.journal.offset < this.#end) this.#soon(GATHER_MS);
  }

  async #tell(): Promise<void> {
    const { tenure, partition } = this.#options;
    this.#telling ??= await this.#begin();
    while (tenure.active && this.#telling.journal.offset < this.#end) {
      const telling = this.#telling;
      const { journal, story } = telling;
      await journal.read(this.#end, (record, offset) => story.tell(record, offset));
      const entries = story.take();
      for (let first = 0; first < entries.length; first += ENTRIES_PER_TELL) {
        if (!tenure.active) return;
        const some = entries.slice(first, first + ENTRIES_PER_TELL);
        await this.#ask({ kind: 'tellAudit', source: partition.topic, isAnew: telling.isAnew, entries: some });
        telling.isAnew = false;
      }
      this.#letGo(journal.offset);
    }
    this.#letGo(this.#telling.journal.offset);
  }

  #letGo(told: number): void {
    this.#told = told;
    for (const waiting of this.#waiting) if (waiting.offset <= this.#told) waiting.told();
    this.#waiting = this.#waiting.filter((waiting) => waiting.offset > this.#told);
  }

  async #begin(): Promise<Telling<Record>> {
    const { log, partition, story } = this.#options;
    const told = await this.#ask({ kind: 'describeAudit', source: partition.topic });
    const { end } = await log.bounds(partition);
    // Of what a checkpoint brought nobody was told in the fold.
    this.#end = Math.max(this.#end, end);
    const isAnew = await this.#isAnother(told, end);
    return { journal: await JournalReader.behind(this.#options, isAnew ? -1 : told.offset), story: story(), isAnew };
  }

  /** The topic was deleted since, and made anew: where it was told of last stands another record, or none yet. */
  async #isAnother({ offset, timeMs }: AuditTold, end: number): Promise<boolean> {
    if (offset >= end) return true;
    const { log, partition } = this.#options;
    const { start } = await log.bounds(partition);
    const [record] = offset < start ? [] : await log.read(partition, offset, 1);
    return record?.offset === offset && record.timeMs !== timeMs;
  }

  #ask(request: Exclude<AuditRequest, { kind: 'readAudit' }>): Promise<AuditTold> {
    const { audit, clock } = this.#options;
    return new Promise((resolve, reject) => {
      audit.askAudit(request, ownWork(clock.monoMs() + ASK_TIMEOUT_MS), (answer) => {
        if (answer.kind === 'auditTold') resolve(answer);
        else reject(new Error(isAskFailure(answer) ? answer.message : answer.rejection.message));
      });
    });
  }

  /** What was told before is told again, and left out there. */
  #failed(error: unknown): number {
    const { tenure, clock, logger, partition } = this.#options;
    this.#telling = undefined;
    this.#failures += 1;
    this.#failingSinceMs ??= clock.monoMs();
    this.#reason = errorText(error);
    if (tenure.active && this.trouble !== '' && this.#warnings.now()) {
      const what = 'the audit of dead letters cannot be written: its entries are written later, and until then no journal is compacted';
      logger.warn(what, { topic: partition.topic, reason: this.#reason });
    }
    return backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX);
  }
}
