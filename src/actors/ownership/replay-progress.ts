/** How far a fold of a journal has come, for those who wait for it. */
import { NowAndThen } from '../now-and-then.ts';
import type { Logger } from '../../observability/logger.ts';
import type { StoredRecord } from '../log.ts';
import type { Clock } from '../ports.ts';

/** What this owner has read of its journal, in all its replays. */
export type Replayed = { readonly records: number; readonly bytes: number; readonly ms: number };

const SAY_EVERY_MS = 5_000;
const TELL_EVERY_MS = 1_000;

export class ReplayProgress {
  readonly #clock: Pick<Clock, 'monoMs'>;
  readonly #logger: Logger;
  /** Told about once a second while it moves. */
  readonly #onMoved: () => void;
  #records = 0;
  #bytes = 0;
  #ms = 0;
  #current: { readonly from: number; readonly until: number; readonly startMs: number; records: number; bytes: number } | undefined;
  #say: NowAndThen;
  #tell: NowAndThen;

  constructor(clock: Pick<Clock, 'monoMs'>, logger: Logger, onMoved: () => void) {
    this.#clock = clock;
    this.#logger = logger;
    this.#onMoved = onMoved;
    this.#say = new NowAndThen(clock, SAY_EVERY_MS);
    this.#tell = new NowAndThen(clock, TELL_EVERY_MS);
  }

  get replayed(): Replayed {
    const now = this.#current;
    if (now === undefined) return { records: this.#records, bytes: this.#bytes, ms: this.#ms };
    const ms = this.#ms + this.#clock.monoMs() - now.startMs;
    return { records: this.#records + now.records, bytes: this.#bytes + now.bytes, ms };
  }

  begin(from: number, until: number): void {
    this.end();
    this.#current = { from, until, startMs: this.#clock.monoMs(), records: 0, bytes: 0 };
    this.#say = new NowAndThen(this.#clock, SAY_EVERY_MS);
    // It has only just begun: nothing to say yet.
    this.#say.now();
    this.#logger.debug('replaying', { records: until - from });
  }

  folded({ key, value }: StoredRecord): void {
    if (this.#current === undefined) return;
    this.#current.records += 1;
    this.#current.bytes += key.length + value.byteLength;
  }

  /** To be called every few milliseconds of a fold. */
  tick(): void {
    const now = this.#current;
    if (now === undefined || !this.#tell.now()) return;
    this.#onMoved();
    if (!this.#say.now()) return;
    const seconds = Math.max(this.#clock.monoMs() - now.startMs, 1) / 1000;
    this.#logger.info('replaying', {
      records: now.records,
      bytes: now.bytes,
      percent: Math.floor((100 * now.records) / Math.max(1, now.until - now.from)),
      'records-per-second': Math.round(now.records / seconds),
      'bytes-per-second': Math.round(now.bytes / seconds),
    });
  }

  end(): void {
    const { records, bytes, ms } = this.replayed;
    this.#current = undefined;
    [this.#records, this.#bytes, this.#ms] = [records, bytes, ms];
  }
}
