/**
 * The bytes of all commands that a process has accepted and not answered: those that wait to be decided, and the records of those that wait
 * for their commit, with what their effects carry. One budget for all its actors: while a log hangs, callers go on asking, and what they
 * were told about a command does not take the command out of memory.
 *
 *     0 ──────────── requests ─────────────▶ │ ─ what finishes work ─▶ │
 *                                     bytesMax − reserved           bytesMax
 *
 * What finishes work that was begun (a worker's answer, another actor's news) is refused last: it frees memory, here or elsewhere. An
 * actor's own commands are small and are never refused; records that are decided are counted, not refused.
 */
export const COMMAND_BYTES_MAX = 256 * 1024 * 1024;
export const COMMAND_BYTES_RESERVED = 64 * 1024 * 1024;

export class CommandBudget {
  readonly bytesMax: number;
  readonly #requestBytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number = COMMAND_BYTES_MAX, bytesReserved: number = COMMAND_BYTES_RESERVED) {
    this.bytesMax = bytesMax;
    this.#requestBytesMax = bytesMax - bytesReserved;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False: there is no room for it now. */
  admit(bytes: number, finishesWork: boolean): boolean {
    if (this.#bytes + bytes > (finishesWork ? this.bytesMax : this.#requestBytesMax)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Counted in any case. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}
