/**
 * Retires closed runs that are not in memory: those that are have timers (history/execution/retire.ts).
 *
 *     now and then ─▶ what the table shows as due ─▶ what of that is cold ─▶ retireRuns ─▶ a record ─▶ the next checkpoint deletes their rows
 *           ▲                        └ a full page ─ soon ─┐
 *           └──────────────────────────────────────────────┘
 *
 * What is retired and still has its row is shown again, and passed over; past some thousands of those, checkpoints have to delete them first.
 *
 * A run whose messages to other shards are not answered stays in the table. Each try of such a message brings it into memory, and there its timer
 * looks after it.
 */
import { asError } from '../../../kernel/error-text.ts';
import { isOutage } from '../../database.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryCommand, RetireRuns } from '../../../history/commands.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Tenure } from '../../partition/tenure.ts';
import type { ShardTable } from './shard-table.ts';

export type RetirementOptions = {
  readonly core: Pick<HistoryCore, 'isCold' | 'keepsAll' | 'beginLoad' | 'retiredWithRows'>;
  readonly table: ShardTable<'dueRuns'>;
  readonly tenure: Pick<Tenure<HistoryCommand>, 'active' | 'after' | 'nowMs' | 'fenced'>;
  readonly submit: (command: RetireRuns) => void;
  readonly logger: Logger;
};

/** Retention is hours long at the least. */
const LOOK_INTERVAL_MS = 30_000;
const LOOK_AGAIN_MS = 1_000;
/** In one record. */
const RUNS_MAX = 500;
/** So many that have gone already are passed over: a checkpoint under load may take ten seconds to delete their rows. */
const PASSED_OVER_MAX = 5_000;

export class Retirement {
  readonly #options: RetirementOptions;

  constructor(options: RetirementOptions) {
    this.#options = options;
  }

  activated(): void {
    this.#lookAfter(LOOK_INTERVAL_MS);
  }

  #lookAfter(delayMs: number): void {
    this.#options.tenure.after(delayMs, () => void this.#look().then((nextMs) => this.#lookAfter(nextMs)));
  }

  /** Never rejects. Answers when to look again. */
  async #look(): Promise<number> {
    const { core, table, tenure, submit, logger } = this.#options;
    if (core.keepsAll) return LOOK_INTERVAL_MS;
    const begunAt = core.beginLoad();
    const rowsMax = RUNS_MAX + Math.min(core.retiredWithRows, PASSED_OVER_MAX);
    try {
      const due = await table.read((database, journal) => database.dueRuns(journal, tenure.nowMs(), rowsMax));
      if (!tenure.active) return LOOK_INTERVAL_MS;
      if (due === 'fenced') {
        tenure.fenced();
        return LOOK_INTERVAL_MS;
      }
      // Rows were deleted since, which it may have read.
      if (core.beginLoad() !== begunAt) return LOOK_AGAIN_MS;
      const runs = this.#firstCold(due);
      if (runs.length > 0) submit({ kind: 'retireRuns', runs });
      return due.length < rowsMax ? LOOK_INTERVAL_MS : LOOK_AGAIN_MS;
    } catch (error) {
      const problem = asError(error);
      if (tenure.active && !isOutage(error))
        logger.warn('closed workflows whose retention is over cannot be looked for: tried again', { error: problem });
      return LOOK_INTERVAL_MS;
    }
  }

  #firstCold(due: Iterable<RunKey>): readonly RunKey[] {
    const { core } = this.#options;
    const runs: RunKey[] = [];
    for (const key of due) {
      if (runs.length === RUNS_MAX) break;
      const { namespaceId, workflowId, runId } = key;
      if (core.isCold(key)) runs.push({ namespaceId, workflowId, runId });
    }
    return runs;
  }
}
