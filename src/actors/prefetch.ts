/**
 * The step before a decision: the state that a command needs must be in memory, because deciding never waits.
 *
 *     mailbox ─▶ in memory? ──────────────────────────────▶ decide
 *                    └ no ─▶ parked by key ─▶ loaded ─▶ all of that key, in order
 *
 * Commands of other keys overtake; those of one key never do.
 */

export interface Prefetch<Command> {
  /** The execution that a command is about. */
  keyOf(command: Command): string;
  resident(key: string): boolean;
  /** `done` is called once, later, when the key is resident; it must not leave memory before `done` has returned. */
  load(key: string, done: () => void): void;
}

export type Mail<Command> =
  | { readonly kind: 'command'; readonly askId: number; readonly command: Command }
  | { readonly kind: 'cancel'; readonly askId: number };

export type CommandMail<Command> = Extract<Mail<Command>, { kind: 'command' }>;

export class Parking<Command> {
  readonly #prefetch: Prefetch<Command> | undefined;
  readonly #parked = new Map<string, CommandMail<Command>[]>();
  #count = 0;

  constructor(prefetch: Prefetch<Command> | undefined) {
    this.#prefetch = prefetch;
  }

  get count(): number {
    return this.#count;
  }

  /** True when the command waits for its state; `unpark` gets the commands of its key, in order, once it is there. */
  park(mail: CommandMail<Command>, unpark: (mails: readonly CommandMail<Command>[]) => void): boolean {
    const prefetch = this.#prefetch;
    if (prefetch === undefined) return false;
    const key = prefetch.keyOf(mail.command);
    const waiting = this.#parked.get(key);
    if (waiting === undefined && prefetch.resident(key)) return false;
    this.#count += 1;
    if (waiting !== undefined) {
      waiting.push(mail);
      return true;
    }
    const mails = [mail];
    this.#parked.set(key, mails);
    prefetch.load(key, () => {
      if (this.#parked.get(key) !== mails) return;
      this.#parked.delete(key);
      this.#count -= mails.length;
      unpark(mails);
    });
    return true;
  }

  /** True when the command was parked: it is forgotten, nothing of it happened. */
  cancel(askId: number): boolean {
    for (const mails of this.#parked.values()) {
      const index = mails.findIndex((mail) => mail.askId === askId);
      if (index === -1) continue;
      mails.splice(index, 1);
      this.#count -= 1;
      return true;
    }
    return false;
  }

  clear(): void {
    this.#parked.clear();
    this.#count = 0;
  }
}
