/**
 * Asks to the actors of one kind, each under its number.
 *
 *     caller ── ask(number, request, context, onReply) ──▶ switchboard ── submit(askId, request, context) ──▶ actor
 *            ◀──────────── onReply(answer), once ───────────────       ◀────── answer / fail / abandon ──────
 *            ── cancel(askId) ───────────────────────────▶            ── cancel(askId) ───────────────────▶
 *
 * The actor sees plain values and a number; the callback stays on this side. Every ask is answered exactly once, never before `ask` has
 * returned: with the actor's reply, or with what prevented it. An answer that nobody waits for any more is dropped, and one that the table
 * of replies does not allow for the request is a bug of the actor. In one process values pass by reference, without a codec.
 */
import { assert } from '../../kernel/assert.ts';
import { isAskFailure, NOBODY, type AskContext, type AskFailure, type AskSink } from './asks.ts';
import { DeadlineWheel, type WheelEntry } from './deadline-wheel.ts';
import type { LoopTurns } from '../../ports/loop-turns.ts';
import type { Clock } from '../../ports/machine.ts';

/** Kind of request -> its reply. */
export type ReplyTable = Readonly<Record<string, { readonly kind: string }>>;

/** The reply table without its types: kind of request -> a row with the kinds of reply. */
export type ReplyRows<To extends ReplyTable> = { readonly [Kind in keyof To]: { readonly replies: readonly To[Kind]['kind'][] } };

export type AnswerTo<To extends ReplyTable, Rejected, Kind extends keyof To> = To[Kind] | Rejected | AskFailure;

export interface Endpoint<Request> {
  /** Undefined: accepted, answered later through the sink. */
  submit(askId: number, request: Request, context: AskContext): AskFailure | undefined;
  cancel(askId: number): void;
}

export interface ReplySink<Reply> extends AskSink {
  /** False: nobody waits for it any more. */
  answer(askId: number, reply: Reply): boolean;
}

export type SwitchboardOptions = {
  readonly clock: Clock;
  readonly turns: LoopTurns;
  /** An ask is known by its number whoever is asked. */
  readonly newAskId: () => number;
  /** A caller threw out of its `onReply`. That is a bug of the caller, and no actor's business. */
  readonly callbackFailed: (error: unknown) => void;
};

type Seat<Request> = { readonly name: string; endpoint: Endpoint<Request> | undefined };

/** `onReply` takes the answers to a request of its kind, and is given no others (`#tell`). */
interface OpenAsk<Request, Answer> extends WheelEntry {
  readonly askId: number;
  readonly kind: string;
  readonly seat: Seat<Request>;
  /** The failure that is told unless a reply comes before. */
  failure: AskFailure | undefined;
  onReply(answer: Answer): void;
}

export class Switchboard<
  To extends ReplyTable,
  Request extends { readonly kind: keyof To & string },
  Rejected extends { readonly kind: 'rejected' },
> {
  readonly #options: SwitchboardOptions;
  readonly #rows: Readonly<Record<string, { readonly replies: readonly string[] }>>;
  readonly #nameOf: (actor: number) => string;
  readonly #seats: Seat<Request>[] = [];
  readonly #asks = new Map<number, OpenAsk<Request, AnswerTo<To, Rejected, keyof To>>>();
  readonly #wheel: DeadlineWheel<OpenAsk<Request, AnswerTo<To, Rejected, keyof To>>>;

  constructor(options: SwitchboardOptions, rows: ReplyRows<NoInfer<To>>, nameOf: (actor: number) => string) {
    this.#options = options;
    this.#rows = rows;
    this.#nameOf = nameOf;
    this.#wheel = new DeadlineWheel(options.clock, (ask) => this.#expired(ask));
  }

  /** Asks that wait for their answer, or to be told that they get none. */
  get openAsks(): number {
    return this.#asks.size;
  }

  ask<Asked extends Request>(
    actor: number,
    request: Asked,
    context: AskContext,
    onReply: (answer: AnswerTo<To, Rejected, Asked['kind']>) => void,
  ): number {
    const { deadlineMs } = context;
    assert(Number.isFinite(deadlineMs), 'an ask has a deadline');
    const seat = this.#seat(actor);
    const askId = this.#options.newAskId();
    const { kind } = request;
    const ask = { askId, kind, seat, deadlineMs, onReply, failure: undefined, next: undefined, previous: undefined };
    this.#asks.set(askId, ask);
    this.#wheel.add(ask);
    const failure: AskFailure | undefined =
      seat.endpoint === undefined
        ? { kind: 'notHere', message: `${seat.name} is not here`, hint: '', epoch: 0 }
        : seat.endpoint.submit(askId, request, context);
    if (failure !== undefined) this.#options.clock.soon(() => this.#answer(askId, failure));
    return askId;
  }

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
    const { kind, seat } = ask;
    const isItsOwn = this.#rows[kind]?.replies.includes(answer.kind) === true || answer.kind === 'rejected' || isAskFailure(answer);
    try {
      ask.onReply(isItsOwn ? answer : { kind: 'internal', message: `${seat.name} answered ${kind} with ${answer.kind}` });
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
