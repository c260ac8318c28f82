/**
 * Room for tasks that take I/O of unknown length: so many of a process at once, and so many for one destination.
 *
 *     enter(place, work) ─▶ waits in the line of its namespace ─▶ turn ─▶ work … ─▶ the next
 *
 *     /mnt/a   orders ▤▤▤▤▤▤▤   billing ▤      destinations have their turns one after the other, and so have the namespaces of one:
 *     /mnt/b   stock ▤▤                        what hangs holds up what is for it, and as many places as it may have
 */
import { FairLines } from '../../../kernel/fair-lines.ts';

export type SideRoomLimits = { readonly placesMax: number; readonly placesPerDestinationMax: number };

/** What may hang as one, and for whom. */
export type SidePlace = { readonly destination: string; readonly namespaceId: string };

/** Never rejects. Its place is free once it has ended. */
export type SideWork = () => Promise<void>;

/** `lines`: one for each namespace. */
type Destination = { running: number; readonly lines: FairLines<SideWork> };

export class SideRoom {
  readonly #limits: () => SideRoomLimits;
  /** The destination whose turn is next comes first. A destination without work is removed. */
  readonly #destinations = new Map<string, Destination>();
  running = 0;
  waiting = 0;

  constructor(limits: () => SideRoomLimits) {
    this.#limits = limits;
  }

  enter({ destination: name, namespaceId }: SidePlace, work: SideWork): void {
    const destination = this.#destinations.get(name) ?? { running: 0, lines: new FairLines<SideWork>() };
    this.#destinations.set(name, destination);
    destination.lines.push(namespaceId, work);
    this.waiting++;
    this.#fill();
  }

  #fill(): void {
    const { placesMax, placesPerDestinationMax } = this.#limits();
    while (this.waiting > 0 && this.running < placesMax) {
      const next = this.#nextDestination(placesPerDestinationMax);
      if (next === undefined) return;
      const [name, destination] = next;
      this.#destinations.delete(name);
      this.#destinations.set(name, destination);
      void this.#run(name, destination);
    }
  }

  #nextDestination(placesMax: number): [string, Destination] | undefined {
    for (const entry of this.#destinations) if (entry[1].lines.length > 0 && entry[1].running < placesMax) return entry;
    return undefined;
  }

  async #run(name: string, destination: Destination): Promise<void> {
    this.waiting--;
    destination.running++;
    this.running++;
    try {
      await destination.lines.shift()?.();
    } finally {
      destination.running--;
      this.running--;
      if (destination.running === 0 && destination.lines.length === 0) this.#destinations.delete(name);
      this.#fill();
    }
  }
}
