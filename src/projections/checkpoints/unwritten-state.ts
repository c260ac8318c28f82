/**
 * What is in memory because no database has taken it yet, of all journals of a process, and what people are told of it before it is too much.
 *
 *     0 ──────────────────── 2/5 ──────── half ─────────────────────── limit ───▶
 *                             │            └ WARN, once; health says so   └ no workflow is started: WARN, once a minute
 *                             └ falling: a line says so
 */
import type { Logger } from '../../observability/logger.ts';
import { NowAndThen } from '../../ports/now-and-then.ts';
import type { Clock, Timer } from '../../ports/machine.ts';

const ALARM_SHARE = 1 / 2;
/** Below this share it is calm again: what is unwritten falls and rises with each checkpoint. */
const CALM_SHARE = 2 / 5;
/** A look is due after records of this share of the limit. With all that a record makes of memory that is some hundredths of the limit. */
const LOOK_SHARE = 1 / 128;
/** How often it is looked at while it is high: it falls where no record says so. */
const LOOK_INTERVAL_MS = 1_000;
const FULL_WARN_INTERVAL_MS = 60_000;
const mebibyte = 2 ** 20;

type Part = {
  readonly unwrittenBytes: number;
  /** Why what was begun is not written. */
  readonly writeTrouble: { readonly reason: string } | undefined;
};

export type UnwrittenStateOptions = {
  readonly bytesMax: number;
  readonly clock: Pick<Clock, 'monoMs' | 'after'>;
  readonly logger: Logger;
};

export class UnwrittenState {
  readonly #options: UnwrittenStateOptions;
  readonly #fullWarnings: NowAndThen;
  readonly #parts = new Set<Part>();
  #isHigh = false;
  #bytesSinceLook = 0;
  #look: Timer | undefined;

  constructor(options: UnwrittenStateOptions) {
    this.#options = options;
    this.#fullWarnings = new NowAndThen(options.clock, FULL_WARN_INTERVAL_MS);
  }

  join(part: Part): void {
    this.#parts.add(part);
  }

  leave(part: Part): void {
    this.#parts.delete(part);
    if (this.#isHigh) this.#review();
  }

  /** Called for each record: cheap. */
  committed(bytes: number): void {
    this.#bytesSinceLook += bytes;
    if (this.#bytesSinceLook >= LOOK_SHARE * this.#options.bytesMax) this.#review();
  }

  /** The database is so far behind that memory must not grow by new work; what was begun goes on. */
  get isFull(): boolean {
    return this.#bytes >= this.#options.bytesMax;
  }

  /** For health, in words; undefined: there is nothing to say. */
  get concern(): string | undefined {
    if (!this.#isHigh) return undefined;
    const past = this.isFull ? 'no workflow is started until the database has written them' : 'past the limit no workflow is started';
    const because = this.#reason === undefined ? '' : ` (${this.#reason})`;
    return `${mib(this.#bytes)} MiB of state wait in memory for the database, of at most ${mib(this.#options.bytesMax)} MiB (perdure.unwrittenStateBytesMax): ${past}. ${whatToDo}${because}`;
  }

  get #bytes(): number {
    let bytes = 0;
    for (const { unwrittenBytes } of this.#parts) bytes += unwrittenBytes;
    return bytes;
  }

  get #reason(): string | undefined {
    for (const { writeTrouble } of this.#parts) if (writeTrouble !== undefined) return writeTrouble.reason;
    return undefined;
  }

  #review(): void {
    const { bytesMax, clock } = this.#options;
    const bytes = this.#bytes;
    this.#bytesSinceLook = 0;
    const wasHigh = this.#isHigh;
    this.#isHigh = bytes >= (wasHigh ? CALM_SHARE : ALARM_SHARE) * bytesMax;
    if (this.#isHigh !== wasHigh) this.#say(bytes);
    if (bytes >= bytesMax && this.#fullWarnings.now()) this.#sayFull(bytes);
    if (this.#isHigh) {
      this.#look ??= clock.after(LOOK_INTERVAL_MS, () => {
        this.#look = undefined;
        this.#review();
      });
    } else {
      this.#look?.cancel();
      this.#look = undefined;
    }
  }

  #say(bytes: number): void {
    const { logger } = this.#options;
    const fields = this.#fields(bytes);
    if (this.#isHigh) logger.warn(`the database is falling behind: half of the memory for unwritten state is in use. ${whatToDo}`, fields);
    else logger.info('the database has caught up: little unwritten state is left in memory', fields);
  }

  #sayFull(bytes: number): void {
    const message = 'no workflow is started until the database has written what waits in memory; running workflows continue.';
    this.#options.logger.warn(`${message} ${whatToDo}`, this.#fields(bytes));
  }

  #fields(bytes: number): { readonly 'unwritten-mib': number; readonly 'limit-mib': number; readonly reason: string | undefined } {
    return { 'unwritten-mib': mib(bytes), 'limit-mib': mib(this.#options.bytesMax), reason: this.#reason };
  }
}

const whatToDo = 'Bring the database back, or see what slows it (its disk, its CPU, locks); do not restart the server';

function mib(bytes: number): number {
  return Math.ceil(bytes / mebibyte);
}
