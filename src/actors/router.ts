/**
 * All calls between actors, and from the edge to actors.
 *
 *     caller ── ask(address, command, deadline, onReply) ──▶ router ── submit(askId, command) ──▶ actor
 *            ◀───────────── onReply(answer), once ──────────        ◀── answer / fail / abandon ──
 *            ── cancel(askId) ───────────────────────────▶          ── cancel(askId) ───────────▶
 *
 * The actor sees plain values and a number; the callback stays on this side. Every ask is answered exactly once, never before `ask` has
 * returned: with the actor's reply, or with what prevented it. An answer that nobody waits for any more is dropped. In one process
 * values pass by reference, without a codec.
 */
import { assert } from '../kernel/assert.ts';
import { NOBODY } from './asks.ts';
import { DeadlineWheel } from './deadline-wheel.ts';
import type { HistoryRequest } from '../history/commands.ts';
import type { HistoryReplyTo, Rejected, StartedActivityTask, StartedWorkflowTask } from '../history/replies.ts';
import type { MatchingRequest } from '../matching/commands.ts';
import type { MatchingRejected, MatchingReplyTo } from '../matching/replies.ts';
import type { AskFailure, AskSink } from './asks.ts';
import type { WheelEntry } from './deadline-wheel.ts';
import type { Clock } from './ports.ts';

export type Address =
  /** Shards count from 1. */
  | { readonly kind: 'history'; readonly shard: number }
  /** Partitions count from 0. */
  | { readonly kind: 'matching'; readonly partition: number }
  | { readonly kind: 'cluster' };

/** An actor, as the router sees it. */
export interface Endpoint<Command> {
  /** Undefined: accepted, answered later through the sink. */
  submit(askId: number, command: Command): AskFailure | undefined;
  cancel(askId: number): void;
}

/** An actor's way to answer. */
export interface ReplySink<Reply> extends AskSink {
  /** False: nobody waits for it any more. */
  answer(askId: number, reply: Reply): boolean;
}

/** What a matching host hands out once history has recorded its start. */
export type StartedTask = StartedWorkflowTask | StartedActivityTask;

export type HistoryAnswer<Command extends HistoryRequest> = HistoryReplyTo[Command['kind']] | Rejected | AskFailure;
export type MatchingAnswer<Request extends MatchingRequest> = MatchingReplyTo<StartedTask>[Request['kind']] | MatchingRejected | AskFailure;

/** What callers get: the router without its actors' side. `deadlineMs` is by the clock's `monoMs`, and finite: whatever is lost, no ask is open for ever. */
export interface Asker {
  askHistory<Command extends HistoryRequest>(
    shard: number,
    command: Command,
    deadlineMs: number,
    onReply: (answer: HistoryAnswer<Command>) => void,
  ): number;
  askMatching<Request extends MatchingRequest>(
    partition: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: MatchingAnswer<Request>) => void,
  ): number;
  /** For actors whose commands and replies have no table of their own; the caller names the reply. */
  ask<Command, Reply>(address: Address, command: Command, deadlineMs: number, onReply: (answer: Reply | AskFailure) => void): number;
  /** The callback is not called any more. Idempotent. */
  cancel(askId: number): void;
}

type Ask = WheelEntry & {
  readonly askId: number;
  readonly seat: Seat;
  readonly onReply: (answer: never) => void;
};

/** An address with the actor that sits there. */
type Seat = { readonly name: string; endpoint: Endpoint<never> | undefined };

export class Router implements Asker {
  readonly #clock: Clock;
  readonly #seats = new Map<string, Seat>();
  readonly #history: Seat[] = [];
  readonly #matching: Seat[] = [];
  readonly #asks = new Map<number, Ask>();
  readonly #wheel: DeadlineWheel<Ask>;
  readonly #callbackFailed: (error: unknown) => void;
  #lastAskId = NOBODY;

  /** `callbackFailed`: a caller threw out of its `onReply`. That is a bug of the caller, and no actor's business. Default: loud, later. */
  constructor(clock: Clock, callbackFailed?: (error: unknown) => void) {
    this.#clock = clock;
    this.#callbackFailed = callbackFailed ?? ((error) => clock.soon(() => rethrow(error)));
    this.#wheel = new DeadlineWheel(clock, (ask) => this.#expired(ask));
  }

  /** Asks that wait for their answer. */
  get openAsks(): number {
    return this.#asks.size;
  }

  askHistory<Command extends HistoryRequest>(
    shard: number,
    command: Command,
    deadlineMs: number,
    onReply: (answer: HistoryAnswer<Command>) => void,
  ): number {
    return this.#ask(this.#history[shard] ?? this.#seat({ kind: 'history', shard }), command, deadlineMs, onReply);
  }

  askMatching<Request extends MatchingRequest>(
    partition: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: MatchingAnswer<Request>) => void,
  ): number {
    return this.#ask(this.#matching[partition] ?? this.#seat({ kind: 'matching', partition }), request, deadlineMs, onReply);
  }

  ask<Command, Reply>(address: Address, command: Command, deadlineMs: number, onReply: (answer: Reply | AskFailure) => void): number {
    return this.#ask(this.#seat(address), command, deadlineMs, onReply);
  }

  cancel(askId: number): void {
    const ask = this.#take(askId);
    ask?.seat.endpoint?.cancel(askId);
  }

  /** Seats an actor. Its sink is made before it, so that it can answer: `sink(address)`. */
  attach<Command>(address: Address, endpoint: Endpoint<Command>): void {
    const seat = this.#seat(address);
    assert(seat.endpoint === undefined, `${seat.name} has one actor`);
    seat.endpoint = endpoint;
  }

  sink<Reply>(address: Address): ReplySink<Reply> {
    const seat = this.#seat(address);
    return {
      answer: (askId, reply) => this.#answer(askId, reply),
      fail: (askId, failure) => this.#answer(askId, failure),
      abandon: (message) => this.#abandon(seat, message),
    };
  }

  /** No deadline fires afterwards. */
  close(): void {
    this.#wheel.close();
  }

  #ask<Command, Answer>(seat: Seat, command: Command, deadlineMs: number, onReply: (answer: Answer | AskFailure) => void): number {
    assert(Number.isFinite(deadlineMs), 'an ask has a deadline');
    this.#lastAskId += 1;
    const askId = this.#lastAskId;
    const ask: Ask = { askId, seat, onReply, deadlineMs, next: undefined, previous: undefined };
    this.#asks.set(askId, ask);
    this.#wheel.add(ask);
    // Who attached the actor and who asks it agree on its commands: both go by the address.
    const endpoint = seat.endpoint as Endpoint<Command> | undefined;
    const failure =
      endpoint === undefined
        ? ({ kind: 'unavailable', message: `${seat.name} is not here`, refused: true } as const)
        : endpoint.submit(askId, command);
    if (failure !== undefined) this.#clock.soon(() => this.#answer(askId, failure));
    return askId;
  }

  #answer(askId: number, answer: unknown): boolean {
    const ask = this.#take(askId);
    if (ask === undefined) return false;
    this.#call(ask, answer);
    return true;
  }

  #expired(ask: Ask): void {
    if (this.#take(ask.askId) === undefined) return;
    ask.seat.endpoint?.cancel(ask.askId);
    const failure: AskFailure = { kind: 'deadline', message: `${ask.seat.name} did not answer in time` };
    this.#call(ask, failure);
  }

  #call(ask: Ask, answer: unknown): void {
    try {
      ask.onReply(answer as never);
    } catch (error) {
      this.#callbackFailed(error);
    }
  }

  #abandon(seat: Seat, message: string): void {
    const failure: AskFailure = { kind: 'unavailable', message };
    const abandoned: Ask[] = [];
    for (const ask of this.#asks.values()) if (ask.seat === seat) abandoned.push(ask);
    for (const ask of abandoned) this.#answer(ask.askId, failure);
  }

  #take(askId: number): Ask | undefined {
    const ask = this.#asks.get(askId);
    if (ask === undefined) return undefined;
    this.#asks.delete(askId);
    this.#wheel.remove(ask);
    return ask;
  }

  #seat(address: Address): Seat {
    const name = nameOf(address);
    let seat = this.#seats.get(name);
    if (seat === undefined) {
      seat = { name, endpoint: undefined };
      this.#seats.set(name, seat);
      if (address.kind === 'history') this.#history[address.shard] = seat;
      if (address.kind === 'matching') this.#matching[address.partition] = seat;
    }
    return seat;
  }
}

function rethrow(error: unknown): never {
  throw error;
}

function nameOf(address: Address): string {
  switch (address.kind) {
    case 'history':
      return `history shard ${address.shard}`;
    case 'matching':
      return `matching partition ${address.partition}`;
    case 'cluster':
      return 'the cluster actor';
  }
}
