/**
 * How the work of a process shares the event loop. A turn of the loop has one budget of time, whoever asks, so that I/O, health, signals and timers
 * never wait for longer, however many ask at once:
 *
 *     turn of the event loop   │ I/O │ what serves: A B A C … ≤ 8 ms  │ a slice of long work: D │ I/O │ what serves │ a slice: E │ I/O │ …
 *     reads under way          │ D E          F E          D …          a few at a time: an answer is decoded in the turn in which it comes
 *
 * - What serves: commands that are decided, and the answers, effects and commits that leave actors. Partitions take turns, in order.
 * - Long work: folds, rows that are brought in, calls that compute. One slice in a turn; namespaces take turns, and so do calls and what the server
 *   does by itself. While other namespaces are served, calls rest behind each slice for longer than it took: whoever is served waits for
 *   its clients most of the time, and what would take each moment of that would stand before each request that comes.
 *
 * How long something takes is known only once what follows from it is done: an answer that leaves costs little here, and whoever awaits it may
 * write megabytes. So a few are let out, what follows from them is done (`Clock.settled`), and then the clock is looked at.
 *
 * Each turn of the event loop begins with a whole share of what serves.
 */
import { FairLines } from '../kernel/fair-lines.ts';
import { Fifo } from '../kernel/fifo.ts';
import type { Clock } from './machine.ts';

/** The time that serving may take in one turn. One command, or what follows from `STEPS_AT_ONCE` answers, may exceed it. */
const SERVING_MS = 8;
/** Answers, effects and commits that leave in a turn, however fast they are. */
const STEPS_PER_TURN_MAX = 512;
/** Answers that leave before the clock is looked at. */
const STEPS_AT_ONCE = 8;
/** A slice of a replay, in which the partition serves nobody yet. One record may exceed it. */
const FOLD_SLICE_MS = 8;
/** A slice of work beside serving. One step may exceed it. */
const STEPS_SLICE_MS = 2;
/** A slice of calls that compute: a reset of ten thousand events takes fifteen of them. */
const CALLS_SLICE_MS = 4;
/** The rest after a slice of calls, as a multiple of what the slice took: others have four fifths of the time. */
const CALLS_REST = 4;
/** Who was served so long ago is not waiting for its next turn. */
const SERVED_LATELY_MS = 10;
const READS_MAX = 2;
const READ_PATIENCE_MS = 500;

/** `namespaceId`: undefined = the server's own. */
type SliceWaiter = { readonly namespaceId: string | undefined; readonly ms: number; readonly begin: () => void };

export class LoopTurns {
  readonly #clock: Pick<Clock, 'monoMs' | 'after' | 'settled'>;
  readonly #stepsMax: number;
  #scheduled = false;

  /** The steps of what serves, where they have to wait. */
  readonly #serving = new Fifo<() => void>();
  /** Left of the share of what serves. */
  #msLeft = SERVING_MS;
  #stepsLeft: number;
  /** When the current stretch of serving began. It ends when all that follows from it is done. */
  #sinceMs = 0;
  #isAtWork = false;
  #isTurnNoted = false;
  #stepsAtOnce = 0;
  /** Namespaces whose commands were decided last: since the last one is, and until when the one before it was. */
  #served = '';
  #servedBefore = '';
  #servedBeforeMs = -Infinity;

  /** Slices that the server itself waits for. */
  readonly #ownSlices = new Fifo<SliceWaiter>();
  readonly #callSlices = new FairLines<SliceWaiter>();
  #wasOwnSlice = false;
  #mayBeginSlice = false;
  #sliceBeganMs = -Infinity;
  #sliceEndMs = -Infinity;
  /** Calls rest until then. */
  #restEndMs = -Infinity;
  #isResting = false;

  #reads = 0;
  readonly #readWaiters: (() => void)[] = [];

  constructor(clock: Pick<Clock, 'monoMs' | 'after' | 'settled'>, stepsMax = STEPS_PER_TURN_MAX) {
    this.#clock = clock;
    this.#stepsMax = stepsMax;
    this.#stepsLeft = stepsMax;
  }

  // ── What serves ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** There is time in this turn to decide one more command. Called for each: cheap. False: `wait`. */
  mayDecide(): boolean {
    if (this.#isAtWork) return this.#clock.monoMs() - this.#sinceMs < this.#msLeft;
    return this.#msLeft > 0 && this.#measure();
  }

  /** A command of this namespace is decided. Called for each: cheap. */
  decides(namespaceId: string): void {
    if (namespaceId === this.#served || namespaceId === '') return;
    this.#servedBefore = this.#served;
    this.#servedBeforeMs = this.#sinceMs;
    this.#served = namespaceId;
  }

  #servesOthers(namespaceId: string): boolean {
    const other = this.#served === namespaceId ? this.#servedBefore : this.#served;
    const sinceMs = this.#served === namespaceId ? this.#servedBeforeMs : this.#sinceMs;
    return other !== '' && sinceMs > this.#sliceBeganMs - SERVED_LATELY_MS;
  }

  /** One may leave. Called for each that leaves: cheap. False: `wait`. */
  mayLeave(): boolean {
    if (this.#msLeft <= 0 || this.#stepsLeft <= 0 || this.#stepsAtOnce === STEPS_AT_ONCE) return false;
    this.#stepsLeft -= 1;
    this.#stepsAtOnce += 1;
    return this.#isAtWork || this.#measure();
  }

  /** Goes on when there is a share again, behind those that wait already. */
  wait(goOn: () => void): void {
    this.#serving.push(goOn);
    if (!this.#isAtWork) this.#schedule();
  }

  #measure(): true {
    this.#isAtWork = true;
    if (!this.#isTurnNoted) {
      this.#isTurnNoted = true;
      this.#clock.after(0, this.#endTurn);
    }
    this.#sinceMs = this.#clock.monoMs();
    this.#clock.settled(this.#settled);
    return true;
  }

  readonly #endTurn = (): void => {
    this.#isTurnNoted = false;
    // Those that wait have the next share.
    if (!this.#scheduled) this.#fill();
  };

  #fill(): void {
    this.#msLeft = SERVING_MS;
    this.#stepsLeft = this.#stepsMax;
  }

  readonly #settled = (): void => {
    this.#msLeft -= this.#clock.monoMs() - this.#sinceMs;
    this.#isAtWork = false;
    this.#stepsAtOnce = 0;
    if (this.#serving.length > 0 || this.#mayBeginSlice) this.#goOn();
  };

  // ── Long work ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Resolves at the start of a slice; it lasts until `over`, or until the caller waits for something. */
  slice(ms = FOLD_SLICE_MS): Promise<void> {
    return new Promise((begin) => {
      this.#ownSlices.push({ namespaceId: undefined, ms, begin });
      this.#schedule();
    });
  }

  /** Like `slice`, for a call of a namespace: namespaces take turns. */
  sliceOfCall(namespaceId: string): Promise<void> {
    return new Promise((begin) => {
      this.#callSlices.push(namespaceId, { namespaceId, ms: CALLS_SLICE_MS, begin });
      this.#schedule();
    });
  }

  /** The slice has been used up: ask for another. */
  over(): boolean {
    return this.#clock.monoMs() >= this.#sliceEndMs;
  }

  /** Goes through the steps of that work, in slices. Rejects with what it throws. */
  async through(work: Iterable<unknown>): Promise<void> {
    const steps = work[Symbol.iterator]();
    do await this.slice(STEPS_SLICE_MS);
    while (!this.#someOf(steps));
  }

  /** Answers true if those were the last steps. */
  #someOf(steps: Iterator<unknown>): boolean {
    for (;;) {
      if (steps.next().done === true) return true;
      if (this.over()) return false;
    }
  }

  #nextSlice(nowMs: number): SliceWaiter | undefined {
    const isOwn = this.#callSlices.length === 0 || nowMs < this.#restEndMs || (this.#ownSlices.length > 0 && !this.#wasOwnSlice);
    this.#wasOwnSlice = isOwn;
    if (!isOwn) return this.#callSlices.shift();
    return this.#ownSlices.length === 0 ? undefined : this.#ownSlices.shift();
  }

  /** Whoever needs little leaves the rest of the slice to the next. */
  #beginSlice(): void {
    const nowMs = this.#clock.monoMs();
    if (!this.#mayBeginSlice && nowMs >= this.#sliceEndMs) return;
    const next = this.#nextSlice(nowMs);
    if (next === undefined) return;
    const endMs = nowMs + next.ms;
    if (this.#mayBeginSlice) this.#sliceBeganMs = nowMs;
    this.#sliceEndMs = this.#mayBeginSlice ? endMs : Math.min(this.#sliceEndMs, endMs);
    this.#mayBeginSlice = false;
    next.begin();
    const { namespaceId } = next;
    this.#clock.settled(() => this.#afterSlice(namespaceId));
  }

  #afterSlice(namespaceId: string | undefined): void {
    if (this.#ownSlices.length + this.#callSlices.length > 0) this.#beginSlice();
    if (namespaceId === undefined || !this.#servesOthers(namespaceId)) return;
    const nowMs = this.#clock.monoMs();
    this.#restEndMs = nowMs + CALLS_REST * (nowMs - this.#sliceBeganMs);
  }

  // ── Turns ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.after(0, this.#turn);
  }

  readonly #turn = (): void => {
    this.#scheduled = false;
    this.#fill();
    this.#mayBeginSlice = true;
    if (!this.#isAtWork) this.#goOn();
  };

  /** First what serves, as long as its share lasts; then a slice of long work; the others in the next turn. */
  #goOn(): void {
    try {
      while (this.#serving.length > 0 && this.#msLeft > 0 && this.#stepsLeft > 0) {
        this.#serving.shift()();
        // It goes on when what follows is done.
        if (this.#isAtWork) return;
      }
      if (this.#mayBeginSlice) this.#beginSlice();
    } finally {
      // Whatever one of them throws, the others have their turn.
      if ((this.#serving.length > 0 && !this.#isAtWork) || this.#ownSlices.length > 0) this.#schedule();
      else if (this.#callSlices.length > 0) this.#scheduleCalls();
      else if (!this.#isAtWork) this.#mayBeginSlice = false;
    }
  }

  #scheduleCalls(): void {
    const restMs = this.#restEndMs - this.#clock.monoMs();
    if (restMs <= 0) return this.#schedule();
    if (this.#isResting) return;
    this.#isResting = true;
    this.#clock.after(restMs, () => {
      this.#isResting = false;
      this.#schedule();
    });
  }

  // ── Reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Reads when few others do. One that takes long (its broker hangs) makes room for those behind it. */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reads >= READS_MAX) await new Promise<void>((resolve) => this.#readWaiters.push(resolve));
    else this.#reads += 1;
    let holds = true;
    const release = (): void => {
      if (!holds) return;
      holds = false;
      const next = this.#readWaiters.shift();
      if (next === undefined) this.#reads -= 1;
      else next();
    };
    const timer = this.#clock.after(READ_PATIENCE_MS, release);
    try {
      return await read();
    } finally {
      timer.cancel();
      release();
    }
  }
}
