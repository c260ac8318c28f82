/**
 * The step before a decision: the state that a command needs must be in memory, because deciding never waits.
 *
 *     mailbox ─▶ in memory? ──────────────────────────────▶ decide
 *                    └ no ─▶ parked by key ─┬─▶ loaded ─▶ all of that key, in order, as soon as commands are decided
 *                                           └─▶ cannot be loaded ─▶ all of that key: whoever asked is told, nothing has happened
 *
 * Commands of other keys overtake; those of one key never do. What was loaded is looked at once more: a command may lack more than could be
 * told before, and the next one of its key something else.
 */
import { NOBODY } from '../asks/asks.ts';
import { Fifo } from '../../kernel/fifo.ts';
import type { CommandMail } from './mailbox.ts';

export interface Prefetch<Command> {
  /** It needs something that is not in memory. Called for each command: cheap. */
  lacks(command: Command): boolean;
  /** The execution that a command is about, if it is about one. */
  keyOf(command: Command): string | undefined;
  /** Calls `done` once, and later. What it brought stays in memory until the callbacks that `Clock.soon` runs next have returned. */
  load(key: string, command: Command, done: (trouble?: LoadTrouble) => void): void;
  ownWaits(command: Command): void;
  /** One of the actor's own has not happened: it is tried again later, however often that takes. */
  ownNotLoaded(command: Command, reason: string): void;
}

export type LoadTrouble = {
  /** `away`: trying again later may help. `damaged`: what is there cannot be read. `full`: too many wait already. */
  readonly kind: 'away' | 'damaged' | 'full';
  readonly message: string;
};

/** Where a command waits; `mail` is undefined once it was taken out. */
type Place<Command> = { mail: CommandMail<Command> | undefined };

export type ParkingOptions<Command> = {
  /** undefined: all state is in memory. */
  readonly prefetch: Prefetch<Command> | undefined;
  /** Commands that somebody waits for; past it those that would have to wait fail. */
  readonly asksMax: number;
  readonly onLoaded: () => void;
  /** These commands are done with, and nothing of them has happened. */
  readonly onTrouble: (mails: readonly CommandMail<Command>[], trouble: LoadTrouble) => void;
};

export class Parking<Command> {
  readonly #options: ParkingOptions<Command>;
  readonly #parked = new Map<string, Place<Command>[]>();
  readonly #byAsk = new Map<number, Place<Command>>();
  readonly #asksOf = new Map<string, number>();
  /** Commands whose state is in memory by now, in the order in which it came. */
  readonly #loaded = new Fifo<Place<Command>>();
  count = 0;

  constructor(options: ParkingOptions<Command>) {
    this.#options = options;
  }

  get hasLoaded(): boolean {
    return this.#loaded.length > 0;
  }

  /** True when the command waits for its state, or is done with. */
  park(mail: CommandMail<Command>): boolean {
    const { prefetch } = this.#options;
    if (prefetch === undefined) return false;
    const { command } = mail;
    const waiting = this.#parked.size === 0 ? undefined : this.#parked.get(prefetch.keyOf(command) ?? '');
    if (waiting === undefined && !prefetch.lacks(command)) return false;
    const left = this.#options.asksMax - this.#byAsk.size;
    if (mail.askId !== NOBODY && (left <= 0 || (mail.namespaceId !== '' && (this.#asksOf.get(mail.namespaceId) ?? 0) >= left))) {
      this.#options.onTrouble([mail], { kind: 'full', message: `${this.#byAsk.size} commands wait for workflows that are not in memory` });
      return true;
    }
    const place: Place<Command> = { mail };
    this.count += 1;
    if (mail.askId === NOBODY) prefetch.ownWaits(command);
    else {
      this.#byAsk.set(mail.askId, place);
      this.#asksOf.set(mail.namespaceId, (this.#asksOf.get(mail.namespaceId) ?? 0) + 1);
    }
    if (waiting === undefined) this.#load(prefetch, place, command);
    else waiting.push(place);
    return true;
  }

  #load(prefetch: Prefetch<Command>, place: Place<Command>, command: Command): void {
    const key = prefetch.keyOf(command) ?? '';
    const places = [place];
    this.#parked.set(key, places);
    prefetch.load(key, command, (trouble) => {
      if (this.#parked.get(key) !== places) return;
      this.#parked.delete(key);
      if (trouble !== undefined) return this.#options.onTrouble(this.#takeOut(places), trouble);
      for (const each of places) this.#loaded.push(each);
      this.#options.onLoaded();
    });
  }

  /** The next command whose state is in memory: those of one key in order. */
  nextLoaded(): CommandMail<Command> | undefined {
    while (this.#loaded.length > 0) {
      const [mail] = this.#takeOut([this.#loaded.shift()]);
      if (mail !== undefined) return mail;
    }
    return undefined;
  }

  #takeOut(places: readonly Place<Command>[]): readonly CommandMail<Command>[] {
    const mails: CommandMail<Command>[] = [];
    for (const { mail } of places) {
      if (mail === undefined) continue;
      this.#forget(mail);
      mails.push(mail);
    }
    this.count -= mails.length;
    return mails;
  }

  /** Takes out a command that was parked, so that nothing of it happens; undefined: it is not here. */
  take(askId: number): CommandMail<Command> | undefined {
    const place = this.#byAsk.get(askId);
    const mail = place?.mail;
    if (place === undefined || mail === undefined) return undefined;
    place.mail = undefined;
    this.#forget(mail);
    this.count -= 1;
    return mail;
  }

  #forget({ askId, namespaceId }: CommandMail<Command>): void {
    if (!this.#byAsk.delete(askId)) return;
    const left = (this.#asksOf.get(namespaceId) ?? 1) - 1;
    if (left === 0) this.#asksOf.delete(namespaceId);
    else this.#asksOf.set(namespaceId, left);
  }

  takeAsks(): CommandMail<Command>[] {
    const taken: CommandMail<Command>[] = [];
    for (const place of this.#byAsk.values()) {
      if (place.mail !== undefined) taken.push(place.mail);
      place.mail = undefined;
    }
    this.#byAsk.clear();
    this.#asksOf.clear();
    this.count -= taken.length;
    return taken;
  }
}
