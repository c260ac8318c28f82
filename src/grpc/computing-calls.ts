/**
 * Calls that take more of the processor than a turn of the event loop has: a count over thousands of workers, a search for times that are hard to find.
 * Only a few of a namespace are worked on at a time, in slices that all calls of the process share (src/actors/loop-turns.ts); the others wait.
 *
 *     run(call, namespace) ─▶ one of 4 places of the namespace ─▶ slice │ other namespaces │ slice │ … ─▶ the next of the namespace
 *                          └▶ waits for a place; 1,000 wait already ─▶ RESOURCE_EXHAUSTED
 */
import type { LoopTurns } from '../actors/loop-turns.ts';
import { Fifo } from '../kernel/fifo.ts';
import { canceled, exhaustedCause, exhaustedScope, resourceExhausted } from './errors/details.ts';
import type { Call } from './transport/call.ts';

/** Of one namespace, at a time. */
export const computingCallsMax = 4;
/** Of one namespace: those that wait for their place. */
export const waitingCallsMax = 1_000;

/** The steps of one call. */
export interface Turns {
  /** Before each step. Throws CANCELED when nobody waits for the answer any more. */
  next(): Promise<void>;
}

type Places = { taken: number; waiting: number; readonly line: Fifo<Waiter> };
type Waiter = { readonly begin: () => void; hasLeft: boolean };

export class ComputingCalls {
  readonly #turns: Pick<LoopTurns, 'sliceOfCall' | 'over'>;
  /** Of namespaces that have any. */
  readonly #places = new Map<string, Places>();

  constructor(turns: Pick<LoopTurns, 'sliceOfCall' | 'over'>) {
    this.#turns = turns;
  }

  /** Of a call that has no place: what each of these takes is bounded, or it waits for others most of the time. */
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
    const places = this.#places.get(namespaceId) ?? { taken: 0, waiting: 0, line: new Fifo<Waiter>() };
    this.#places.set(namespaceId, places);
    if (places.taken === computingCallsMax) await this.#waits(call, places);
    else places.taken += 1;
    return () => this.#leave(namespaceId, places);
  }

  async #next(call: Call, namespaceId: string): Promise<void> {
    if (this.#turns.over()) await this.#turns.sliceOfCall(namespaceId);
    if (call.cancelled) throw canceled();
  }

  /** Until it has a place. */
  async #waits(call: Call, places: Places): Promise<void> {
    if (places.waiting === waitingCallsMax) {
      const message = `${waitingCallsMax} calls of this namespace wait to be worked on`;
      throw resourceExhausted(message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    }
    places.waiting += 1;
    try {
      await new Promise<void>((begin, fail) => {
        const waiter: Waiter = { begin, hasLeft: false };
        places.line.push(waiter);
        call.onCancel(() => {
          waiter.hasLeft = true;
          fail(canceled());
        });
      });
    } finally {
      places.waiting -= 1;
    }
  }

  /** The place passes on to whoever waits next. */
  #leave(namespaceId: string, places: Places): void {
    while (places.line.length > 0) {
      const next = places.line.shift();
      if (!next.hasLeft) return next.begin();
    }
    places.taken -= 1;
    if (places.taken === 0) this.#places.delete(namespaceId);
  }
}
