/**
 * Asks to the actors of one kind, each under its number.
 *
 *     caller ── ask(number, request, deadline, onReply) ──▶ switchboard ── submit(askId, request) ──▶ actor
 *            ◀───────────── onReply(answer), once ───────────────       ◀── answer / fail / abandon ──
 *            ── cancel(askId) ────────────────────────────▶            ── cancel(askId) ───────────▶
 *
 * The actor sees plain values and a number; the callback stays on this side. Every ask is answered exactly once, never before `ask` has
 * returned: with the actor's reply, or with what prevented it. An answer that nobody waits for any more is dropped, and one that the table
 * of replies does not allow for the request is a bug of the actor. In one process values pass by reference, without a codec.
 */
import { assert } from '../../kernel/assert.ts';
import { isAskFailure, NOBODY } from './asks.ts';
import { DeadlineWheel } from './deadline-wheel.ts';
import type { AskFailure, AskSink } from './asks.ts';
import type { WheelEntry } from './deadline-wheel.ts';
import type { LoopTurns } from '../loop-turns.ts';
import type { Clock } from '../ports.ts';

type Kinded = { readonly kind: string };

/** Kind of request -> its reply. */
export type ReplyTable = Readonly<Record<string, Kinded>>;

/** The same table when the types are gone: kind of request -> kinds of reply. */
export type ReplyKinds<To extends ReplyTable> = { readonly [Kind in keyof To]: { readonly [Reply in To[Kind]['kind']]: true } };

export type AnswerTo<To extends ReplyTable, Rejected, Kind extends keyof To> = To[Kind] | Rejected | AskFailure;

/** An actor, as those who ask it see it. */
export interface Endpoint<Request> {
  /** Undefined: accepted, answered later through the sink. */
  submit(askId: number, request: Request): AskFailure | undefined;
  cancel(askId: number): void;
}

/** An actor's way to answer. */
export interface ReplySink<Reply> extends AskSink {
  /** False: nobody waits for it any more. */
  answer(askId: number, reply: Reply): boolean;
}

/** What all switchboards of a process share. */
export type SwitchboardOptions = {
  readonly clock: Clock;
  readonly turns: LoopTurns;
  /** An ask is known by its number whoever is asked. */
  readonly newAskId: () => number;
  /** A caller threw out of its `onReply`. That is a bug of the caller, and no actor's business. */
  readonly callbackFailed: (error: unknown) => void;
};

/** The place of an actor. */
type Seat<Request> = { readonly name: string; endpoint: Endpoint<Request> | undefined };

/** What is done with an ask whatever its request is. */
interface OpenAsk<Request, Answer> extends WheelEntry {
  readonly askId: number;
  readonly seat: Seat<Request>;
  /** What it will be told, unless its reply comes before. */
  failure: AskFailure | undefined;
  answer(answer: Answer): void;
}

export class Switchboard<
  To extends ReplyTable,
  Request extends { readonly kind: keyof To & string },
  Rejected extends { readonly kind: 'rejected' },
> {
  readonly #options: SwitchboardOptions;
  readonly #replyKinds: Readonly<Record<string, Readonly<Record<string, true>>>>;
  readonly #nameOf: (actor: number) => string;
  readonly #seats: Seat<Request>[] = [];
  readonly #asks = new Map<number, OpenAsk<Request, AnswerTo<To, Rejected, keyof To>>>();
  readonly #wheel: DeadlineWheel<OpenAsk<Request, AnswerTo<To, Rejected, keyof To>>>;

  constructor(options: SwitchboardOptions, replyKinds: ReplyKinds<To>, nameOf: (actor: number) => string) {
    this.#options = options;
    this.#replyKinds = replyKinds;
    this.#nameOf = nameOf;
    this.#wheel = new DeadlineWheel(options.clock, (ask) => this.#expired(ask));
  }

  /** Asks that wait for their answer, or to be told that they get none. */
  get openAsks(): number {
    return this.#asks.size;
  }

  /** `deadlineMs` is by the clock's `monoMs`, and finite: whatever is lost, no ask is open for ever. */
  ask<Asked extends Request>(
    actor: number,
    request: Asked,
    deadlineMs: number,
    onReply: (answer: AnswerTo<To, Rejected, Asked['kind']>) => void,
  ): number {
    assert(Number.isFinite(deadlineMs), 'an ask has a deadline');
    const seat = this.#seat(actor);
    const askId = this.#options.newAskId();
    const ask = new Ask<To, Request, Rejected, Asked['kind']>(this, askId, seat, request.kind, deadlineMs, onReply);
    this.#asks.set(askId, ask);
    this.#wheel.add(ask);
    const failure: AskFailure | undefined =
      seat.endpoint === undefined
        ? { kind: 'notHere', message: `${seat.name} is not here`, hint: '', epoch: 0 }
        : seat.endpoint.submit(askId, request);
    if (failure !== undefined) this.#options.clock.soon(() => this.#answer(askId, failure));
    return askId;
  }

  /** The callback is not called any more. Idempotent. */
  cancel(askId: number): void {
    this.#take(askId)?.seat.endpoint?.cancel(askId);
  }

  /** Seats an actor. Its sink is made before it, so that it can answer: `sink(actor)`. */
  attach(actor: number, endpoint: Endpoint<Request>): void {
    const seat = this.#seat(actor);
    assert(seat.endpoint === undefined, `${seat.name} has one actor`);
    seat.endpoint = endpoint;
  }

  sink(actor: number): ReplySink<To[keyof To] | Rejected> {
    const seat = this.#seat(actor);
    return {
      answer: (askId, reply) => this.#answer(askId, reply),
      fail: (askId, failure) => void this.#answer(askId, failure),
      failAll: (askIds, failure) => this.#failAll(askIds, failure),
      abandon: (message) => this.#abandon(seat, message),
    };
  }

  /** No deadline fires afterwards. */
  close(): void {
    this.#wheel.close();
  }

  isAnswerTo<Kind extends keyof To & string>(kind: Kind, answer: AnswerTo<To, Rejected, keyof To>): answer is AnswerTo<To, Rejected, Kind> {
    return this.#replyKinds[kind]?.[answer.kind] === true || answer.kind === 'rejected' || isAskFailure(answer);
  }

  #answer(askId: number, answer: AnswerTo<To, Rejected, keyof To>): boolean {
    const ask = this.#take(askId);
    if (ask === undefined) return false;
    this.#tell(ask, answer);
    return true;
  }

  #expired(ask: OpenAsk<Request, AnswerTo<To, Rejected, keyof To>>): void {
    if (this.#take(ask.askId) === undefined) return;
    ask.seat.endpoint?.cancel(ask.askId);
    this.#tell(ask, { kind: 'deadline', message: `${ask.seat.name} did not answer in time` });
  }

  #tell(ask: OpenAsk<Request, AnswerTo<To, Rejected, keyof To>>, answer: AnswerTo<To, Rejected, keyof To>): void {
    try {
      ask.answer(answer);
    } catch (error) {
      this.#options.callbackFailed(error);
    }
  }

  /** What was said first stands: a command that was not decided has not happened, whatever becomes of its actor before its turn comes. */
  #failAll(askIds: readonly number[], failure: AskFailure): void {
    for (const askId of askIds) {
      const ask = this.#asks.get(askId);
      if (ask !== undefined) ask.failure ??= failure;
    }
    this.#failFrom(0, askIds);
  }

  #abandon(seat: Seat<Request>, message: string): void {
    const abandoned: number[] = [];
    for (const ask of this.#asks.values()) if (ask.seat === seat && ask.failure === undefined) abandoned.push(ask.askId);
    this.#failAll(abandoned, { kind: 'unavailable', message });
  }

  #failFrom(first: number, askIds: readonly number[]): void {
    const { turns } = this.#options;
    for (let nth = first; nth < askIds.length; nth++) {
      const ask = this.#asks.get(askIds[nth] ?? NOBODY);
      if (ask?.failure === undefined) continue;
      if (!turns.mayLeave()) return turns.wait(() => this.#failFrom(nth, askIds));
      this.#answer(ask.askId, ask.failure);
    }
  }

  #take(askId: number): OpenAsk<Request, AnswerTo<To, Rejected, keyof To>> | undefined {
    const ask = this.#asks.get(askId);
    if (ask === undefined) return undefined;
    this.#asks.delete(askId);
    this.#wheel.remove(ask);
    return ask;
  }

  #seat(actor: number): Seat<Request> {
    return (this.#seats[actor] ??= { name: this.#nameOf(actor), endpoint: undefined });
  }
}

/** An ask that knows which answers its request may get. */
class Ask<
  To extends ReplyTable,
  Request extends { readonly kind: keyof To & string },
  Rejected extends { readonly kind: 'rejected' },
  Kind extends keyof To & string,
> implements OpenAsk<Request, AnswerTo<To, Rejected, keyof To>> {
  readonly askId: number;
  readonly seat: Seat<Request>;
  readonly deadlineMs: number;
  failure: AskFailure | undefined = undefined;
  next: WheelEntry | undefined = undefined;
  previous: WheelEntry | undefined = undefined;
  readonly #switchboard: Switchboard<To, Request, Rejected>;
  readonly #kind: Kind;
  readonly #onReply: (answer: AnswerTo<To, Rejected, Kind>) => void;

  constructor(
    switchboard: Switchboard<To, Request, Rejected>,
    askId: number,
    seat: Seat<Request>,
    kind: Kind,
    deadlineMs: number,
    onReply: (answer: AnswerTo<To, Rejected, Kind>) => void,
  ) {
    this.#switchboard = switchboard;
    this.askId = askId;
    this.seat = seat;
    this.#kind = kind;
    this.deadlineMs = deadlineMs;
    this.#onReply = onReply;
  }

  answer(answer: AnswerTo<To, Rejected, keyof To>): void {
    if (this.#switchboard.isAnswerTo(this.#kind, answer)) this.#onReply(answer);
    else this.#onReply({ kind: 'internal', message: `${this.seat.name} answered ${this.#kind} with ${answer.kind}` });
  }
}
