/**
 * The step before a decision: the state that a command needs must be in memory, because deciding never waits.
 *
 *     mailbox ─▶ in memory? ──────────────────────────────▶ decide
 *                    └ no ─▶ parked by key ─▶ loaded ─▶ all of that key, in order, as soon as commands are decided
 *
 * Commands of other keys overtake; those of one key never do.
 *
 * No actor of the server brings a `Prefetch` yet: all state is in memory. It is how executions that were evicted will come back.
 */
import { NOBODY } from '../asks/asks.ts';
import type { CommandMail } from './mailbox.ts';

export interface Prefetch<Command> {
  /** The execution that a command is about. */
  keyOf(command: Command): string;
  resident(key: string): boolean;
  /** `done` is called once, later, when the key is resident; it must not leave memory before `done` has returned. */
  load(key: string, done: () => void): void;
}

/** Where a command waits; `mail` is undefined once it was taken out. */
type Place<Command> = { mail: CommandMail<Command> | undefined };

export class Parking<Command> {
  readonly #prefetch: Prefetch<Command> | undefined;
  readonly #onLoaded: () => void;
  readonly #parked = new Map<string, Place<Command>[]>();
  readonly #byAsk = new Map<number, Place<Command>>();
  /** Whose state is in memory by now, in the order in which it came. */
  #loaded: Place<Command>[] = [];
  #count = 0;

  /** `onLoaded`: there is something for `takeLoaded`, which may have to wait. */
  constructor(prefetch: Prefetch<Command> | undefined, onLoaded: () => void) {
    this.#prefetch = prefetch;
    this.#onLoaded = onLoaded;
  }

  /** How many commands are here. */
  get count(): number {
    return this.#count;
  }

  get hasLoaded(): boolean {
    return this.#loaded.length > 0;
  }

  /** True when the command waits for its state. */
  park(mail: CommandMail<Command>): boolean {
    const prefetch = this.#prefetch;
    if (prefetch === undefined) return false;
    const key = prefetch.keyOf(mail.command);
    const waiting = this.#parked.get(key);
    if (waiting === undefined && prefetch.resident(key)) return false;
    const place: Place<Command> = { mail };
    this.#count += 1;
    if (mail.askId !== NOBODY) this.#byAsk.set(mail.askId, place);
    if (waiting !== undefined) {
      waiting.push(place);
      return true;
    }
    const places = [place];
    this.#parked.set(key, places);
    prefetch.load(key, () => {
      if (this.#parked.get(key) !== places) return;
      this.#parked.delete(key);
      this.#loaded.push(...places);
      this.#onLoaded();
    });
    return true;
  }

  /** The commands whose state is in memory: those of one key in order. */
  takeLoaded(): readonly CommandMail<Command>[] {
    if (this.#loaded.length === 0) return [];
    const places = this.#loaded;
    this.#loaded = [];
    const mails: CommandMail<Command>[] = [];
    for (const { mail } of places) {
      if (mail === undefined) continue;
      this.#byAsk.delete(mail.askId);
      mails.push(mail);
    }
    this.#count -= mails.length;
    return mails;
  }

  /** Takes out a command that was parked, so that nothing of it happens; undefined: it is not here. */
  take(askId: number): CommandMail<Command> | undefined {
    const place = this.#byAsk.get(askId);
    const mail = place?.mail;
    if (place === undefined || mail === undefined) return undefined;
    place.mail = undefined;
    this.#byAsk.delete(askId);
    this.#count -= 1;
    return mail;
  }

  /** Takes out everything that somebody waits for. */
  takeAsks(): CommandMail<Command>[] {
    const taken: CommandMail<Command>[] = [];
    for (const place of this.#byAsk.values()) {
      if (place.mail !== undefined) taken.push(place.mail);
      place.mail = undefined;
    }
    this.#byAsk.clear();
    this.#count -= taken.length;
    return taken;
  }

  clear(): void {
    this.#parked.clear();
    this.#byAsk.clear();
    this.#loaded = [];
    this.#count = 0;
  }
}
