/**
 * Room for tasks that take I/O of unknown length: so many of a process at once, and so many for one destination.
 *
 *     enter(destination, work) ─▶ waits in the line of its destination ─▶ turn ─▶ work … ─▶ the next
 *
 * Lines have their turns one after the other: a destination that hangs holds up what is for it, and as many places as it may have.
 */
export type SideRoomLimits = {
  /** Of the process. */
  readonly placesMax: number;
  readonly placesPerDestinationMax: number;
};

/** Never rejects. */
export type SideWork = () => Promise<void>;

type Line = { running: number; readonly waiting: SideWork[] };

export class SideRoom {
  readonly #limits: () => SideRoomLimits;
  /** By destination, those first whose turn is next. One without work is gone. */
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #waiting = 0;

  /** Asked whenever a place may be taken. */
  constructor(limits: () => SideRoomLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  enter(destination: string, work: SideWork): void {
    let line = this.#lines.get(destination);
    if (line === undefined) {
      line = { running: 0, waiting: [] };
      this.#lines.set(destination, line);
    }
    line.waiting.push(work);
    this.#waiting++;
    this.#fill();
  }

  #fill(): void {
    const { placesMax, placesPerDestinationMax } = this.#limits();
    while (this.#waiting > 0 && this.#running < placesMax) {
      const next = this.#nextLine(placesPerDestinationMax);
      if (next === undefined) return;
      const [destination, line] = next;
      const work = line.waiting.shift();
      if (work === undefined) return;
      this.#waiting--;
      // Behind the others.
      this.#lines.delete(destination);
      this.#lines.set(destination, line);
      void this.#run(destination, line, work);
    }
  }

  #nextLine(placesMax: number): [string, Line] | undefined {
    for (const entry of this.#lines) if (entry[1].waiting.length > 0 && entry[1].running < placesMax) return entry;
    return undefined;
  }

  async #run(destination: string, line: Line, work: SideWork): Promise<void> {
    line.running++;
    this.#running++;
    try {
      await work();
    } finally {
      line.running--;
      this.#running--;
      if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(destination);
      this.#fill();
    }
  }
}
