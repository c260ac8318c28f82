/**
 * Room for tasks that take I/O of unknown length: so many of a process at once, and so many for one destination.
 *
 *     enter(place, work) ─▶ waits in the line of its namespace ─▶ turn ─▶ work … ─▶ the next
 *
 *     /mnt/a   orders ▤▤▤▤▤▤▤   billing ▤      destinations have their turns one after the other, and so have the namespaces of one:
 *     /mnt/b   stock ▤▤                        what hangs holds up what is for it, and as many places as it may have
 */
import { Fifo } from '../../../kernel/fifo.ts';

export type SideRoomLimits = { readonly placesMax: number; readonly placesPerDestinationMax: number };

/** What may hang as one, and for whom. */
export type SidePlace = { readonly destination: string; readonly namespaceId: string };

/** Never rejects. Its place is free once it has ended. */
export type SideWork = () => Promise<void>;

type Destination = {
  running: number;
  /** The line of each namespace; the one whose turn is next comes first. A line without work is removed. */
  readonly lines: Map<string, Fifo<SideWork>>;
};

export class SideRoom {
  readonly #limits: () => SideRoomLimits;
  /** The destination whose turn is next comes first. A destination without work is removed. */
  readonly #destinations = new Map<string, Destination>();
  #running = 0;
  #waiting = 0;

  constructor(limits: () => SideRoomLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  enter({ destination: name, namespaceId }: SidePlace, work: SideWork): void {
    const destination = this.#destinations.get(name) ?? { running: 0, lines: new Map<string, Fifo<SideWork>>() };
    this.#destinations.set(name, destination);
    const line = destination.lines.get(namespaceId) ?? new Fifo<SideWork>();
    destination.lines.set(namespaceId, line);
    line.push(work);
    this.#waiting++;
    this.#fill();
  }

  #fill(): void {
    const { placesMax, placesPerDestinationMax } = this.#limits();
    while (this.#waiting > 0 && this.#running < placesMax) {
      const next = this.#nextDestination(placesPerDestinationMax);
      if (next === undefined) return;
      const [name, destination] = next;
      this.#destinations.delete(name);
      this.#destinations.set(name, destination);
      void this.#run(name, destination, nextOf(destination.lines));
    }
  }

  #nextDestination(placesMax: number): [string, Destination] | undefined {
    for (const entry of this.#destinations) if (entry[1].lines.size > 0 && entry[1].running < placesMax) return entry;
    return undefined;
  }

  async #run(name: string, destination: Destination, work: SideWork): Promise<void> {
    this.#waiting--;
    destination.running++;
    this.#running++;
    try {
      await work();
    } finally {
      destination.running--;
      this.#running--;
      if (destination.running === 0 && destination.lines.size === 0) this.#destinations.delete(name);
      this.#fill();
    }
  }
}

/** Takes work of the namespace whose turn it is, which then stands behind the others. */
function nextOf(lines: Map<string, Fifo<SideWork>>): SideWork {
  for (const [namespaceId, line] of lines) {
    const work = line.shift();
    lines.delete(namespaceId);
    if (line.length > 0) lines.set(namespaceId, line);
    return work;
  }
  throw new Error('a destination that has lines has work');
}
