/**
 * What the journal holds for a queue and is no offer yet. Half a second passes until 200,000 tasks are offers: so they become offers some at
 * a time, when the next one is needed.
 *
 *     in the queue's list:   1 2 3 │ 9 10          9 and 10 came meanwhile: places 4 to 8 are kept for those in between
 *                    journal │ new
 */
import type { StoredQueue, StoredTask } from './backlog.ts';
import { type LoadedQueue, noAsk, Offer, type Unloaded } from './loaded-queue.ts';

export class UnloadedTasks implements Unloaded {
  readonly #queue: LoadedQueue;
  /** In rising order of ids; others are removed and stored while this goes on. */
  readonly #tasks: Iterator<StoredTask>;
  readonly #tasksPerTurnMax: number;
  readonly #lastId: number;
  readonly #lastOrder: number;
  #nextOrder: number;
  #count: number;

  /** The offers get the places from `firstOrder` on. */
  constructor(
    queue: LoadedQueue,
    stored: StoredQueue,
    options: { readonly lastId: number; readonly firstOrder: number; readonly tasksPerTurnMax: number },
  ) {
    this.#queue = queue;
    this.#tasks = stored.tasks.values();
    this.#tasksPerTurnMax = options.tasksPerTurnMax;
    this.#lastId = options.lastId;
    this.#nextOrder = options.firstOrder;
    this.#lastOrder = options.firstOrder + stored.tasks.size - 1;
    this.#count = stored.tasks.size;
    queue.openOffers += this.#count;
    queue.storedTasks += this.#count;
  }

  areBefore(offer: Offer): boolean {
    return this.#lastOrder < offer.order;
  }

  /** Those before them are gone, so they stand at the front. */
  load(): void {
    const newer = this.#queue.offers.first;
    for (let loaded = 0; this.#count > 0 && loaded < this.#tasksPerTurnMax; loaded++) {
      const stored = this.#tasks.next().value as StoredTask | undefined;
      if (stored === undefined || stored.id > this.#lastId) this.#forgetRest();
      else this.#offer(stored, newer);
    }
    if (this.#count === 0) this.#queue.unloaded = undefined;
  }

  /** The queue was in memory before, and those were finished then: their removal has been journaled meanwhile. */
  #forgetRest(): void {
    this.#queue.openOffers -= this.#count;
    this.#queue.storedTasks -= this.#count;
    this.#count = 0;
  }

  #offer({ id, task, storedAtMs }: StoredTask, newer: Offer | undefined): void {
    const queue = this.#queue;
    const offer = new Offer(queue, task, { order: this.#nextOrder++, sinceMs: storedAtMs, askId: noAsk, fromChild: false, holdUntilMs: 0 });
    offer.storedId = id;
    this.#count--;
    queue.offers.insertBefore(offer, newer);
  }
}

/** The offer whose turn it is, loaded if need be; it stays in the list. */
export function firstOffer(queue: LoadedQueue): Offer | undefined {
  const { offers } = queue;
  while (queue.unloaded !== undefined && (offers.first === undefined || queue.unloaded.areBefore(offers.first))) queue.unloaded.load();
  return offers.first;
}
