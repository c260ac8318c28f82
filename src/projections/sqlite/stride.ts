import { Overdue, type Connection } from './connection.ts';

/** What a stretch takes, and whoever waits for this connection waits for. */
export const stretchMs = 5;
/** What takes longer is stopped, and begun again with fewer entries. */
const statementMsMax = 25;
const firstEntries = 2_000;
const entriesMax = 100_000;

/**
 * How many entries of an index a stretch has. What a row costs depends on the condition: with two hundred of lists it is a thousand times what it is
 * without any, and other rows may cost what the first ones did not. So it goes by what the last stretch took, and no guess stands for long.
 */
export class Stride {
  #entries: number;
  readonly #isFixed: boolean;

  constructor(fixed?: number) {
    this.#entries = fixed ?? firstEntries;
    this.#isFixed = fixed !== undefined;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Reads one stretch; undefined: it was stopped, and the next has fewer entries. */
  read<T>(connection: Connection, read: (entries: number) => T): { readonly read: T } | undefined {
    const beganMs = performance.now();
    try {
      const found = {
        read: connection.within(this.#isFixed || this.#entries === 1 ? Infinity : statementMsMax, () => read(this.#entries)),
      };
      this.#adapt(performance.now() - beganMs);
      return found;
    } catch (error) {
      if (!(error instanceof Overdue)) throw error;
      this.#entries = Math.max(1, Math.floor(this.#entries / 8));
      return undefined;
    }
  }

  #adapt(tookMs: number): void {
    if (this.#isFixed) return;
    const wanted = this.#entries * Math.min(4, stretchMs / Math.max(tookMs, 0.001));
    this.#entries = Math.min(entriesMax, Math.max(1, Math.ceil(wanted)));
  }
}

/** Reads in one statement, as far as it ends in time; undefined: it did not. */
export function atOnce<T>(connection: Connection, read: () => T): { readonly read: T } | undefined {
  try {
    return { read: connection.within(statementMsMax, read) };
  } catch (error) {
    if (!(error instanceof Overdue)) throw error;
    return undefined;
  }
}
