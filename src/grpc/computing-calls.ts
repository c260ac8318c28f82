/**
 * Calls that take more of the processor than a turn of the event loop has: a count over thousands of workers, a search for times that are hard to find.
 * Only a few of a namespace are worked on at a time, in slices that all calls of the process share (src/ports/loop-turns.ts); the others wait.
 *
 *     run(call, namespace) ─▶ one of 4 places of the namespace ─▶ slice │ other namespaces │ slice │ … ─▶ the next of the namespace
 *                          └▶ waits for a place; 1,000 wait already ─▶ RESOURCE_EXHAUSTED
 */
import type { LoopTurns } from '../ports/loop-turns.ts';
import { LinkedList, type Linked } from '../kernel/linked-list.ts';
import { canceled, exhaustedCause, exhaustedScope, resourceExhausted } from './errors/details.ts';
import type { Call } from './transport/call.ts';

export const computingCallsMax = 4;
export const waitingCallsMax = 1_000;

export interface Turns {
  /** Before each step. Throws CANCELED when nobody waits for the answer any more. */
  next(): Promise<void>;
}

/** `line`: those that wait. Whoever gives up leaves it at once. */
type Places = { taken: number; readonly line: LinkedList<Waiter> };
type Waiter = Linked<Waiter> & { readonly begin: () => void };

export class ComputingCalls {
  readonly #turns: Pick<LoopTurns, 'sliceOfCall' | 'over'>;
  /** By the ids of namespaces that have a call here. */
  readonly #places = new Map<string, Places>();

  constructor(turns: Pick<LoopTurns, 'sliceOfCall' | 'over'>) {
    this.#turns = turns;
  }

  /** The steps of a call that has no place: each takes bounded time, or waits for others most of it. */
  turnsOf(call: Call, namespaceId: string): Turns {
    return { next: () => this.#next(call, namespaceId) };
  }

  async run<Result>(call: Call, namespaceId: string, work: (turns: Turns) => Promise<Result>): Promise<Result> {
    const leave = await this.enter(call, namespaceId);
    try {
      return await work(this.turnsOf(call, namespaceId));
    } finally {
      leave();
    }
  }

  /** Takes a place, for a call that knows only on its way that it needs one. What comes back gives it up: once. */
  async enter(call: Call, namespaceId: string): Promise<() => void> {
    const places = this.#places.get(namespaceId) ?? { taken: 0, line: new LinkedList<Waiter>() };
    this.#places.set(namespaceId, places);
    if (places.taken === computingCallsMax) await this.#waits(call, places.line);
    else places.taken += 1;
    return () => this.#leave(namespaceId, places);
  }

  async #next(call: Call, namespaceId: string): Promise<void> {
    if (this.#turns.over()) await this.#turns.sliceOfCall(namespaceId);
    if (call.cancelled) throw canceled();
  }

  async #waits(call: Call, line: LinkedList<Waiter>): Promise<void> {
    if (line.size === waitingCallsMax) {
      const message = `${waitingCallsMax} calls of this namespace wait to be worked on`;
      throw resourceExhausted(message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    }
    await new Promise<void>((begin, fail) => {
      const waiter: Waiter = { begin, prev: undefined, next: undefined, linked: false };
      line.push(waiter);
      call.onCancel(() => {
        if (!waiter.linked) return;
        line.remove(waiter);
        fail(canceled());
      });
    });
  }

  #leave(namespaceId: string, places: Places): void {
    const next = places.line.shift();
    if (next !== undefined) return next.begin();
    places.taken -= 1;
    if (places.taken === 0) this.#places.delete(namespaceId);
  }
}
