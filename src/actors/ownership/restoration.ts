/**
 * Where a takeover begins: at the last checkpoint that the database holds of a journal, or, where there is no database, at its start.
 *
 *     restore() ── raises the fence ──▶ position ──▶ the journal must reach from there ──▶ install() ──▶ fold from there
 *         ▲                                                                                   │
 *         └──────────────── after a rest: the database is away, or another has restored ──────┘
 *
 * A database that is away is waited for: nothing is served meanwhile, and nothing is lost by it. Whatever else it says fails the partition.
 */
import { errorText } from '../../kernel/error-text.ts';
import { isOutage, type Restored } from '../../projections/database-port.ts';
import type { Retries } from './retries.ts';

export interface CheckpointSource {
  /** Raises the fence: whoever restored before writes and reads nothing from then on. Rejects with DatabaseError. */
  restore(): Promise<Restored>;
}

export type RestorationOptions = {
  /** Absent: there are no checkpoints, the journal is folded from its start. */
  readonly checkpoints: CheckpointSource | undefined;
  readonly retries: Retries;
  readonly onReasonChanged: () => void;
};

export class Restoration {
  readonly #options: RestorationOptions;
  /** Why it goes on waiting for the database; '' when it does not. */
  reason = '';
  isFenced = false;

  constructor(options: RestorationOptions) {
    this.#options = options;
  }

  get usesCheckpoints(): boolean {
    return this.#options.checkpoints !== undefined;
  }

  /** Tries as often as it takes. 'over': the term of ownership has ended. Throws what waiting cannot repair. */
  async restore(): Promise<Restored | 'over' | undefined> {
    const { checkpoints, retries } = this.#options;
    if (checkpoints === undefined) return undefined;
    const restored = await retries.persist(() =>
      checkpoints.restore().catch((error: unknown) => {
        this.failed(error);
        throw error;
      }),
    );
    if (restored === undefined) return 'over';
    this.isFenced = false;
    return restored;
  }

  /** The rows of a checkpoint, or its position, could not be read. True: trying again may help. */
  failed(error: unknown): boolean {
    const mayPass = isOutage(error);
    this.#tell(mayPass ? `its checkpoint cannot be read: ${errorText(error)}` : '');
    return mayPass;
  }

  /** Rows that the fold needs. Whoever tries again says so as well. */
  async reading<Rows>(rows: Promise<Rows>): Promise<Rows> {
    try {
      const read = await rows;
      this.over();
      return read;
    } catch (error) {
      this.failed(error);
      throw error;
    }
  }

  /** All that was needed of the database is there, or nobody waits for it any more. */
  over(): void {
    this.#tell('');
  }

  #tell(reason: string): void {
    if (reason === this.reason) return;
    this.reason = reason;
    this.#options.onReasonChanged();
  }
}
