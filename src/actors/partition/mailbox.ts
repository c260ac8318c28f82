/**
 * What an actor was asked and has not decided. Namespaces take turns, so one that asks a lot holds up no other; within a namespace it is in order.
 *
 *     orders   [ask 7] [own] [ask 9] [left] [ask 12] …
 *     billing  [ask 10]
 *     nobody's [own] [cancel 8]                          every second turn, where there is any
 *
 * An ask that is given up before its turn leaves at once: only its empty place stays, until its turn comes or half of the places are
 * empty. It is found by halving, because asks are numbered in the order in which they are made.
 */
import { NOBODY } from '../asks/asks.ts';
import { Fifo } from '../../kernel/fifo.ts';
import { firstPlace } from '../../kernel/sorted-keys.ts';

export type CommandMail<Command> = {
  readonly kind: 'command';
  /** The highest ask up to here. */
  readonly order: number;
  readonly askId: number;
  readonly command: Command;
  /** The namespace that the command belongs to; '' = none. */
  readonly namespaceId: string;
  readonly bytes: number;
};

export type Mail<Command> = CommandMail<Command> | { readonly kind: 'cancel'; readonly order: number; readonly askId: number };

type Place<Command> = Mail<Command> | { readonly kind: 'left'; readonly order: number };

const EMPTY_PLACES_KEPT = 1024;

export class Mailbox<Command> {
  readonly #nobodys = new Line<Command>();
  /** The one whose turn is next comes first. An empty line stays until its turn: the next mail is nearly always for it. */
  readonly #lines = new Map<string, Line<Command>>();
  length = 0;
  #order = 0;
  #wasNobodys = false;
  #last: CommandMail<Command> | undefined;

  pushCommand(askId: number, command: Command, namespaceId: string, bytes: number): void {
    if (askId > this.#order) this.#order = askId;
    this.#push(namespaceId, { kind: 'command', order: this.#order, askId, command, namespaceId, bytes });
  }

  pushLast(command: Command): void {
    this.#last = { kind: 'command', order: this.#order, askId: NOBODY, command, namespaceId: '', bytes: 0 };
    this.length += 1;
  }

  pushCancel(askId: number): void {
    this.#push('', { kind: 'cancel', order: this.#order, askId });
  }

  #push(namespaceId: string, mail: Mail<Command>): void {
    let line = namespaceId === '' ? this.#nobodys : this.#lines.get(namespaceId);
    if (line === undefined) {
      line = new Line();
      this.#lines.set(namespaceId, line);
    }
    line.push(mail);
    this.length += 1;
  }

  shift(): Mail<Command> | undefined {
    const mail = this.#shiftLines() ?? this.#last;
    if (mail === undefined) return undefined;
    if (mail === this.#last) this.#last = undefined;
    this.length -= 1;
    return mail;
  }

  #shiftLines(): Mail<Command> | undefined {
    const nobodys = this.#nobodys.length;
    const others = this.length - nobodys - (this.#last === undefined ? 0 : 1);
    this.#wasNobodys = nobodys > 0 && (!this.#wasNobodys || others === 0);
    if (this.#wasNobodys) return this.#nobodys.shift();
    if (others === 0) return undefined;
    for (const [namespaceId, line] of this.#lines) {
      const mail = line.shift();
      if (mail === undefined) {
        this.#lines.delete(namespaceId);
        continue;
      }
      // Where there is one alone it keeps its place.
      if (this.#lines.size > 1) {
        this.#lines.delete(namespaceId);
        this.#lines.set(namespaceId, line);
      }
      return mail;
    }
    return undefined;
  }

  /** Takes an ask out that is not decided yet; undefined: it is not here. */
  take(askId: number): CommandMail<Command> | undefined {
    let mail = this.#nobodys.take(askId);
    for (const line of this.#lines.values()) mail ??= line.take(askId);
    if (mail !== undefined) this.length -= 1;
    return mail;
  }

  /** Takes out everything that somebody waits for. The actor's own stays. */
  takeAsks(): CommandMail<Command>[] {
    const taken: CommandMail<Command>[] = [];
    this.#nobodys.takeAsks(taken);
    for (const line of this.#lines.values()) line.takeAsks(taken);
    this.length -= taken.length;
    return taken;
  }

  clear(): void {
    this.#nobodys.clear();
    this.#lines.clear();
    this.#last = undefined;
    this.length = 0;
  }
}

class Line<Command> {
  #places = new Fifo<Place<Command>>();
  #empty = 0;

  get length(): number {
    return this.#places.length - this.#empty;
  }

  push(mail: Mail<Command>): void {
    this.#places.push(mail);
  }

  shift(): Mail<Command> | undefined {
    while (this.#places.length > 0) {
      const place = this.#places.shift();
      if (place.kind !== 'left') return place;
      this.#empty -= 1;
    }
    return undefined;
  }

  take(askId: number): CommandMail<Command> | undefined {
    const index = firstPlace(this.#places.length, (at) => (this.#places.at(at)?.order ?? 0) >= askId);
    const place = this.#places.at(index);
    if (place?.kind !== 'command' || place.askId !== askId) return undefined;
    this.#leave(index, place);
    this.#tidy();
    return place;
  }

  takeAsks(taken: CommandMail<Command>[]): void {
    for (let index = 0; index < this.#places.length; index++) {
      const place = this.#places.at(index);
      if (place?.kind !== 'command' || place.askId === NOBODY) continue;
      taken.push(place);
      this.#leave(index, place);
    }
    this.#tidy();
  }

  clear(): void {
    this.#places.clear();
    this.#empty = 0;
  }

  #leave(index: number, { order }: CommandMail<Command>): void {
    this.#places.set(index, { kind: 'left', order });
    this.#empty += 1;
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
