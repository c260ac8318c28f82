/** Whether rows come in great number, at all shards together: a flush is a transaction, and sixteen shards with twenty a second do harm. */

/** Above this many rows in a second they are written once a second, so that a start and its close are one row. */
export const BUSY_ROWS_PER_S = 200;

export class FlushPace {
  /** Rows of the last second, roughly: what came earlier fades. */
  #rows = 0;
  #atMs = -Infinity;

  /** Whether many rows come, with so many more that one of the shards is about to write. */
  isBusy(rows: number, nowMs: number): boolean {
    this.#rows = this.#rows * Math.exp((this.#atMs - nowMs) / 1_000) + rows;
    this.#atMs = nowMs;
    return this.#rows > BUSY_ROWS_PER_S;
  }
}
