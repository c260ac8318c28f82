/** Those who wait until the database has what was committed when they came. */
import { DatabaseError } from '../database-port.ts';
import { Fifo } from '../../kernel/fifo.ts';

type Wait = { readonly records: number; readonly resolve: () => void; readonly reject: (error: DatabaseError) => void };

export class WaitsForWritten {
  /** Who came later waits for as many records or more. */
  readonly #waits = new Fifo<Wait>();

  get areEmpty(): boolean {
    return this.#waits.length === 0;
  }

  /** Waits until the database has so many records. Rejects with DatabaseError. */
  until(records: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waits.push({ records, resolve, reject }));
  }

  written(records: number): void {
    for (let wait = this.#waits.peek(); wait !== undefined && wait.records <= records; wait = this.#waits.peek()) {
      this.#waits.shift();
      wait.resolve();
    }
  }

  /** The database does not have them now; whoever asks again may have more luck. */
  failed(reason: string): void {
    while (!this.areEmpty) this.#waits.shift().reject(new DatabaseError('unavailable', reason));
  }
}
