/**
 * Virtual time. Events are popped from a heap keyed (time, seeded tie-break, order of scheduling); time jumps from one to the next.
 *
 *     pop ─▶ run ─▶ if a promise was settled: let its continuations run ─▶ pop …
 *
 * Nothing else happens during a run: no real timer, no I/O. So the order of continuations depends on the seed alone.
 */
import type { Prng } from './prng.ts';

export type SimEvent = { readonly run: () => void; canceled: boolean };

type Entry = { readonly timeMs: number; readonly tie: number; readonly order: number; readonly event: SimEvent };

const TRACE_KEPT = 200;

/** Before every other event of its time: what a process does before it gets to its I/O. */
export const AT_ONCE = -1;

export class World {
  readonly random: Prng;
  nowMs = 0;
  steps = 0;
  readonly #heap: Entry[] = [];
  #order = 0;
  #marks = 0;
  #settled = false;
  readonly #trace: string[] = [];
  #hash = 0x811c9dc5;

  constructor(random: Prng) {
    this.random = random;
  }

  at(delayMs: number, run: () => void, tie = this.random.u32()): SimEvent {
    const event = { run, canceled: false };
    this.#push({ timeMs: this.nowMs + Math.max(0, delayMs), tie, order: this.#order++, event });
    return event;
  }

  /** A number for "before" and "after" that is finer than time. */
  mark(): number {
    this.#marks += 1;
    return this.#marks;
  }

  /** A promise was settled: its continuations must run before the next event. */
  promiseSettled(): void {
    this.#settled = true;
  }

  trace(text: string): void {
    const line = `${this.nowMs} ${text}`;
    for (let index = 0; index < line.length; index++) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(index), 0x01000193);
    this.#trace.push(line);
    if (this.#trace.length > TRACE_KEPT * 2) this.#trace.splice(0, TRACE_KEPT);
  }

  get traceHash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  get lastTrace(): readonly string[] {
    return this.#trace.slice(-TRACE_KEPT);
  }

  /** Runs until `done`, or nothing is left, or time is up; true when done. */
  async run(untilMs: number, done: () => boolean = () => false): Promise<boolean> {
    while (!done()) {
      const next = this.#heap[0];
      if (next === undefined || next.timeMs > untilMs) {
        this.nowMs = Math.max(this.nowMs, untilMs);
        return done();
      }
      this.#pop();
      if (next.event.canceled) continue;
      this.nowMs = next.timeMs;
      this.steps += 1;
      next.event.run();
      if (this.#settled) {
        this.#settled = false;
        await continuations();
      }
    }
    return true;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Entry;
      if (!before(entry, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Entry, heap[child] as Entry)) child += 1;
      if (!before(heap[child] as Entry, last)) break;
      heap[index] = heap[child] as Entry;
      index = child;
    }
    heap[index] = last;
  }
}

function before(left: Entry, right: Entry): boolean {
  if (left.timeMs !== right.timeMs) return left.timeMs < right.timeMs;
  if (left.tie !== right.tie) return left.tie < right.tie;
  return left.order < right.order;
}

const macrotask = setImmediate;

/** All microtasks have run once the next macrotask comes. */
function continuations(): Promise<void> {
  return new Promise((resolve) => macrotask(resolve));
}
