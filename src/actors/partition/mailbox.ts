/**
 * What an actor was asked and has not decided, in order.
 *
 *     [ask 7] [own] [ask 9] [left] [cancel 8] [ask 12] …
 *
 * An ask that is given up before its turn leaves at once: only its empty place stays, until its turn comes or half of the places are
 * empty. It is found by halving, because asks are numbered in the order in which they are made.
 */
import { NOBODY } from '../asks/asks.ts';
import { Fifo } from '../../kernel/fifo.ts';

export type CommandMail<Command> = {
  readonly kind: 'command';
  /** The highest ask up to here. */
  readonly order: number;
  readonly askId: number;
  readonly command: Command;
  /** Bytes that this mail takes of the command budget. */
  readonly bytes: number;
};

export type Mail<Command> = CommandMail<Command> | { readonly kind: 'cancel'; readonly order: number; readonly askId: number };

type Place<Command> = Mail<Command> | { readonly kind: 'left'; readonly order: number };

const EMPTY_PLACES_KEPT = 1024;

export class Mailbox<Command> {
  #places = new Fifo<Place<Command>>();
  #empty = 0;
  #order = 0;

  /** How many mails wait. */
  get length(): number {
    return this.#places.length - this.#empty;
  }

  pushCommand(askId: number, command: Command, bytes: number): void {
    if (askId > this.#order) this.#order = askId;
    this.#places.push({ kind: 'command', order: this.#order, askId, command, bytes });
  }

  pushCancel(askId: number): void {
    this.#places.push({ kind: 'cancel', order: this.#order, askId });
  }

  shift(): Mail<Command> | undefined {
    while (this.#places.length > 0) {
      const place = this.#places.shift();
      if (place.kind !== 'left') return place;
      this.#empty -= 1;
    }
    return undefined;
  }

  /** Takes an ask out that is not decided yet; undefined: it is not here. */
  take(askId: number): CommandMail<Command> | undefined {
    const index = this.#indexOf(askId);
    const place = this.#places.at(index);
    if (place?.kind !== 'command' || place.askId !== askId) return undefined;
    this.#leave(index, place);
    this.#tidy();
    return place;
  }

  /** Takes out everything that somebody waits for. The actor's own stays. */
  takeAsks(): CommandMail<Command>[] {
    const taken: CommandMail<Command>[] = [];
    for (let index = 0; index < this.#places.length; index++) {
      const place = this.#places.at(index);
      if (place?.kind !== 'command' || place.askId === NOBODY) continue;
      taken.push(place);
      this.#leave(index, place);
    }
    this.#tidy();
    return taken;
  }

  clear(): void {
    this.#places.clear();
    this.#empty = 0;
  }

  #leave(index: number, { order }: CommandMail<Command>): void {
    this.#places.set(index, { kind: 'left', order });
    this.#empty += 1;
  }

  /** Index of the first place whose order is at least `askId`. */
  #indexOf(askId: number): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = this.#places.at(middle)?.order ?? 0;
      if (order < askId) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #tidy(): void {
    if (this.#empty <= EMPTY_PLACES_KEPT || this.#empty * 2 < this.#places.length) return;
    const places = this.#places;
    this.#places = new Fifo();
    this.#empty = 0;
    while (places.length > 0) {
      const place = places.shift();
      if (place.kind !== 'left') this.#places.push(place);
    }
  }
}
