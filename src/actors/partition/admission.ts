/**
 * Who may wait at one actor: so many commands, and so many bytes of the process. A namespace has as much of both as it leaves to others, as an actor has
 * of the bytes (command-budget.ts):
 *
 *     one namespace asks   │ ██████████ it │            left │      half
 *     three ask            │ ████ │ ████ │ ████ │       left │      a quarter each
 */
import { type AskFailure, NOBODY } from '../asks/asks.ts';
import type { BudgetShare, CommandBudget } from './command-budget.ts';

type Waiting = { asks: number; bytes: number };

type Weighed = { readonly askId: number; readonly namespaceId: string; readonly bytes: number };

/** Most asks are decided before the next one comes: what is counted for a namespace is not made anew each time. */
const namespacesKept = 16;

export class Admission {
  readonly #name: string;
  readonly #asksMax: number;
  readonly #share: BudgetShare;
  readonly #budget: CommandBudget;
  /** Asks that are not decided, of each namespace that has any, and of a few that had some. */
  readonly #namespaces = new Map<string, Waiting>();
  #asks = 0;

  constructor(name: string, asksMax: number, share: BudgetShare, budget: CommandBudget) {
    this.#name = name;
    this.#asksMax = asksMax;
    this.#share = share;
    this.#budget = budget;
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
      const { bytes: ofAll, bytesMax } = this.#budget;
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

  /** The actor's own is never refused: it must be heard in the end, and there is no more of it than of what the actor has under way. */
  addOwn(bytes: number): void {
    this.#share.add(bytes);
  }

  /** It is decided, or will never be. */
  leave({ askId, namespaceId, bytes }: Weighed): void {
    this.#share.giveBack(bytes);
    if (askId === NOBODY) return;
    this.#asks -= 1;
    const own = this.#namespaces.get(namespaceId);
    if (own === undefined) return;
    own.asks -= 1;
    own.bytes -= bytes;
    if (own.asks === 0 && this.#namespaces.size > namespacesKept) this.#namespaces.delete(namespaceId);
  }

  /** Nothing waits any more. */
  clear(): void {
    this.#share.giveBackAll();
    this.#namespaces.clear();
    this.#asks = 0;
  }
}
