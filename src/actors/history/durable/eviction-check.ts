/**
 * Of the workflows that are to leave memory, one in a thousand is compared with its row first. It must be the same: what has left is read
 * from there, and nobody would notice for weeks that a change had not been written.
 *
 *     may leave ─▶ the 1,000th ─▶ its row is read ─┬─ the same ───────▶ it leaves, next time it is looked at
 *                                                  ├─ changed meanwhile ─▶ says nothing
 *                                                  └─ another ────────▶ it stays as long as this memory, and people are told
 *
 * One at a time, for one memory.
 */
import { errorMessage } from '../../../kernel/error-text.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { LoadRuns } from './events-left-out.ts';

export type EvictionCheckOptions = {
  readonly core: Pick<HistoryCore, 'writtenState' | 'rewrittenState'>;
  readonly load: LoadRuns;
  readonly logger: Logger;
  readonly every: number;
};

export const EVICTIONS_PER_CHECK = 1_000;

export class EvictionCheck {
  readonly #options: EvictionCheckOptions;
  /** What is being compared, and what was found to be another. */
  readonly #kept = new Set<string>();
  /** The last run that was found to be the same: it may leave. */
  #same: string | undefined;
  #passed = 0;
  #isBusy = false;

  constructor(options: EvictionCheckOptions) {
    this.#options = options;
  }

  keeps(key: RunKey): boolean {
    if (this.#kept.has(key.runId)) return true;
    if (this.#same === key.runId) return false;
    this.#passed += 1;
    if (this.#isBusy || this.#passed < this.#options.every) return false;
    const state = this.#options.core.writtenState(key.runId);
    if (state === undefined) return false;
    this.#passed = 0;
    this.#isBusy = true;
    this.#kept.add(key.runId);
    void this.#compare(key, state);
    return true;
  }

  /** Never rejects. A database that is away proves nothing. */
  async #compare(key: RunKey, state: Uint8Array): Promise<void> {
    const trouble = await this.#troubleOf(key, state).catch(() => undefined);
    this.#isBusy = false;
    if (trouble === undefined) {
      this.#kept.delete(key.runId);
      this.#same = key.runId;
    } else this.#options.logger.error(`a workflow differs from its row in the database, and stays in memory: ${trouble}`, { ...key });
  }

  async #troubleOf(key: RunKey, state: Uint8Array): Promise<string | undefined> {
    const { core, load } = this.#options;
    const rows = await load([{ kind: 'run', ...key }]);
    const now = core.writtenState(key.runId);
    // Else it has changed, and may have been written again behind what was read.
    if (rows === 'fenced' || now === undefined || Buffer.compare(now, state) !== 0) return undefined;
    const row = rows[0]?.run;
    if (row === undefined) return 'the row is not there';
    try {
      return Buffer.compare(core.rewrittenState(row), state) === 0 ? undefined : 'the row holds another state';
    } catch (error) {
      return errorMessage(error);
    }
  }
}
