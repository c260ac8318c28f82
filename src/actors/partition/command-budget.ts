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
import { NOBODY, type AskFailure } from '../asks/asks.ts';

export const COMMAND_BYTES_MAX = 256 * 1024 * 1024;
/** The part of the budget that only commands which finish work may use. */
const RESERVED_SHARE = 1 / 4;
/** What one actor may have, as a multiple of what it leaves. */
const SHARE_OF_REST_MAX = 1;

export class CommandBudget {
  readonly bytesMax: number;
  readonly #requestBytesMax: number;
  bytes = 0;

  constructor(bytesMax: number = COMMAND_BYTES_MAX, bytesReserved: number = RESERVED_SHARE * bytesMax) {
    this.bytesMax = bytesMax;
    this.#requestBytesMax = bytesMax - bytesReserved;
  }

  left(finishesWork: boolean): number {
    return (finishesWork ? this.bytesMax : this.#requestBytesMax) - this.bytes;
  }
}

export class BudgetShare {
  readonly budget: CommandBudget;
  bytes = 0;

  constructor(budget: CommandBudget) {
    this.budget = budget;
  }

  /** False: there is no room for it now. `ofNamespace`: what its namespace has here of what is not decided. */
  admit(bytes: number, finishesWork: boolean, ofNamespace = 0): boolean {
    // A namespace has no more of it than it leaves to the others here.
    if (this.bytes + bytes + ofNamespace > SHARE_OF_REST_MAX * this.budget.left(finishesWork)) return false;
    this.add(bytes);
    return true;
  }

  add(bytes: number): void {
    this.bytes += bytes;
    this.budget.bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.add(-bytes);
  }
}

/** Most asks are decided before the next one comes: what is counted for a namespace is not made anew each time. */
const namespacesKept = 16;

/** Who may wait at one actor: so many commands and bytes of the process. A namespace has as much of both as it leaves to others. */
export class Admission {
  readonly #name: string;
  readonly #asksMax: number;
  readonly #share: BudgetShare;
  /** Asks that are not decided, of each namespace that has any, and of a few that had some. */
  readonly #namespaces = new Map<string, { asks: number; bytes: number }>();
  #asks = 0;

  constructor(name: string, asksMax: number, share: BudgetShare) {
    this.#name = name;
    this.#asksMax = asksMax;
    this.#share = share;
  }

  /** Undefined: there is room for it, and it is taken. */
  admit(namespaceId: string, bytes: number, finishesWork: boolean): AskFailure | undefined {
    const own = this.#namespaces.get(namespaceId);
    const left = this.#asksMax - this.#asks;
    if (left <= 0) return { kind: 'busy', message: `${this.#name} has ${this.#asksMax} commands waiting` };
    if (own !== undefined && namespaceId !== '' && own.asks >= left) {
      return { kind: 'busy', message: `${this.#name} has ${own.asks} commands of this namespace waiting` };
    }
    if (!this.#share.admit(bytes, finishesWork, namespaceId === '' ? 0 : own?.bytes)) {
      const { bytes: ofAll, bytesMax } = this.#share.budget;
      const message = `commands of ${this.#share.bytes} bytes wait at ${this.#name}, of ${ofAll} bytes in this server, which takes ${bytesMax}`;
      return { kind: 'busy', message };
    }
    this.#asks += 1;
    if (own === undefined) this.#namespaces.set(namespaceId, { asks: 1, bytes });
    else {
      own.asks += 1;
      own.bytes += bytes;
    }
    return undefined;
  }

  /** It is decided, or will never be. */
  leave({ askId, namespaceId, bytes }: { readonly askId: number; readonly namespaceId: string; readonly bytes: number }): void {
    this.#share.giveBack(bytes);
    if (askId === NOBODY) return;
    this.#asks -= 1;
    const own = this.#namespaces.get(namespaceId);
    if (own === undefined) return;
    own.asks -= 1;
    own.bytes -= bytes;
    if (own.asks === 0 && this.#namespaces.size > namespacesKept) this.#namespaces.delete(namespaceId);
  }

  clear(): void {
    this.#share.giveBack(this.#share.bytes);
    this.#namespaces.clear();
    this.#asks = 0;
  }
}
