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
 *
 * Whoever hangs leaves room for the others: an actor has as much as is left, and no more.
 *
 *     one hangs     │ ██████████ it │            left │      half
 *     three hang    │ ████ │ ████ │ ████ │       left │      a quarter each
 */
export const COMMAND_BYTES_MAX = 256 * 1024 * 1024;
/** Of it, for what finishes work. */
const RESERVED_SHARE = 1 / 4;
/** What one actor may have, as a multiple of what it leaves. */
const SHARE_OF_REST_MAX = 1;

export class CommandBudget {
  readonly bytesMax: number;
  readonly #requestBytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number = COMMAND_BYTES_MAX, bytesReserved: number = RESERVED_SHARE * bytesMax) {
    this.bytesMax = bytesMax;
    this.#requestBytesMax = bytesMax - bytesReserved;
  }

  /** What all actors have taken together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How much may still be taken before anything is refused. */
  left(finishesWork: boolean): number {
    return (finishesWork ? this.bytesMax : this.#requestBytesMax) - this.#bytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }
}

/** One actor's part of the budget. */
export class BudgetShare {
  readonly #budget: CommandBudget;
  #bytes = 0;

  constructor(budget: CommandBudget) {
    this.#budget = budget;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False: there is no room for it now. `ofNamespace`: what its namespace has here of what is not decided. */
  admit(bytes: number, finishesWork: boolean, ofNamespace = 0): boolean {
    const left = this.#budget.left(finishesWork);
    // A namespace has no more of it than it leaves to the others here.
    if (this.#bytes + bytes + ofNamespace > SHARE_OF_REST_MAX * left) return false;
    this.add(bytes);
    return true;
  }

  /** Adds bytes that are never refused. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.add(bytes);
  }

  giveBack(bytes: number): void {
    this.add(-bytes);
  }

  /** Gives everything back: the memory that it was counted for is dropped. */
  giveBackAll(): void {
    this.add(-this.#bytes);
  }
}
