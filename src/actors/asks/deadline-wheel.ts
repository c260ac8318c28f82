/**
 * Many deadlines, few timers: entries hang in slots of `TICK_MS`, a slot is looked at when its time has come.
 *
 *     slot     0    1    2    3   …  511       an entry further away than one round stays for the next
 *              ●──●      ●
 *
 * Adding and removing cost a few pointer writes. An entry expires at its deadline or up to two ticks later, never before; where thousands are
 * due at once (the process was suspended), some hundred in each turn of the event loop.
 */
import type { Clock, Timer } from '../../ports/machine.ts';

const TICK_MS = 16;
const SLOTS = 512;
const EXPIRED_PER_TURN_MAX = 512;

/** What hangs in the wheel. The links are the wheel's own. */
export type WheelEntry = {
  /** Finite, by the clock's `monoMs`. */
  readonly deadlineMs: number;
  next: WheelEntry | undefined;
  previous: WheelEntry | undefined;
};

export class DeadlineWheel<Entry extends WheelEntry> {
  readonly #clock: Clock;
  readonly #expired: (entry: Entry) => void;
  /** Ring heads: a slot's entries lie between its head and itself. */
  readonly #slots: WheelEntry[];
  size = 0;
  /** The first tick whose slot was not looked at yet. */
  #tick: number;
  #timer: Timer | undefined;
  #timerTick = Infinity;

  constructor(clock: Clock, expired: (entry: Entry) => void) {
    this.#clock = clock;
    this.#expired = expired;
    this.#tick = tickOf(clock.monoMs());
    this.#slots = Array.from({ length: SLOTS }, ringHead);
  }

  add(entry: Entry): void {
    if (this.size === 0) this.#tick = Math.max(this.#tick, tickOf(this.#clock.monoMs()));
    const tick = Math.max(tickOf(entry.deadlineMs), this.#tick);
    const head = this.#slots[tick % SLOTS] as WheelEntry;
    entry.next = head;
    entry.previous = head.previous;
    (head.previous as WheelEntry).next = entry;
    head.previous = entry;
    this.size += 1;
    if (tick < this.#timerTick) this.#arm(tick);
  }

  /** Idempotent. */
  remove(entry: Entry): void {
    const { next, previous } = entry;
    if (next === undefined || previous === undefined) return;
    previous.next = next;
    next.previous = previous;
    entry.next = undefined;
    entry.previous = undefined;
    this.size -= 1;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerTick = Infinity;
  }

  #arm(tick: number): void {
    this.#timer?.cancel();
    this.#timerTick = tick;
    // A tick is looked at once it has passed, so that nothing in it expires early.
    this.#timer = this.#clock.after(Math.max(0, (tick + 1) * TICK_MS - this.#clock.monoMs()), () => this.#turn());
  }

  #turn(): void {
    this.#timer = undefined;
    this.#timerTick = Infinity;
    const nowMs = this.#clock.monoMs();
    const until = tickOf(nowMs);
    const first = Math.max(this.#tick, until - SLOTS);
    this.#tick = Math.max(this.#tick, until);
    let left = EXPIRED_PER_TURN_MAX;
    for (let tick = first; tick < until; tick++) {
      left -= this.#expire(this.#slots[tick % SLOTS] as WheelEntry, nowMs, left);
      if (left > 0) continue;
      this.#tick = tick;
      return this.#arm(tick);
    }
    const next = this.#nextTick();
    if (next !== undefined && next < this.#timerTick) this.#arm(next);
  }

  #expire(head: WheelEntry, nowMs: number, countMax: number): number {
    // Looked up first: a callback may add to this slot again.
    const due: Entry[] = [];
    for (let entry = head.next; entry !== head && entry !== undefined && due.length < countMax; entry = entry.next) {
      if (entry.deadlineMs <= nowMs) due.push(entry as Entry);
    }
    for (const entry of due) {
      if (entry.next === undefined) continue;
      this.remove(entry);
      this.#expired(entry);
    }
    return due.length;
  }

  #nextTick(): number | undefined {
    if (this.size === 0) return undefined;
    for (let tick = this.#tick; tick < this.#tick + SLOTS; tick++) {
      const head = this.#slots[tick % SLOTS] as WheelEntry;
      if (head.next !== head) return tick;
    }
    return undefined;
  }
}

function ringHead(): WheelEntry {
  const head: WheelEntry = { deadlineMs: Infinity, next: undefined, previous: undefined };
  head.next = head;
  head.previous = head;
  return head;
}

function tickOf(timeMs: number): number {
  return Math.floor(timeMs / TICK_MS);
}
