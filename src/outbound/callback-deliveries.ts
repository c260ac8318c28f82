/**
 * Which callbacks are on their way, and which wait for their turn.
 *
 *     deliver ─▶ line of its namespace and destination ── its turn ─▶ close event read ─▶ POST ─▶ outcome
 *                          │ at most 4 of a line, 50 of a namespace and 100 in all are on their way
 *                          └ while the circuit breaker of the line is open, all of it waits
 *
 * The lines take turns. So a destination that is slow holds up itself alone, and a namespace with many of them leaves half of the places to others.
 */
import type { CallbackDeliveries, CallbackDelivery, CallbackOutcome } from '../actors/callback-deliveries.ts';
import type { Clock, Timer } from '../actors/ports.ts';
import { addressProblem, type AddressRule, callbackUrl, type CallbackUrl, ruleFor } from '../kernel/callback-address.ts';
import { asError } from '../kernel/error-text.ts';
import { decodeCallback } from '../wire/generated/lean/callback.ts';
import {
  begun,
  breakerAt,
  type BreakerSettings,
  type CircuitBreaker,
  closedBreaker,
  ended,
  givenUp,
  letsThrough,
} from './circuit-breaker.ts';
import type { Post } from './http-sender.ts';
import { completionRequest } from './nexus-completion.ts';
import type { DeliveryOutcome } from './completion-answer.ts';

export const deliveryLimits = {
  /** On their way at a time. */
  underWayMax: 100,
  ofNamespaceMax: 50,
  ofLineMax: 4,
  /** Those that wait stand in tables of their shards as well, and come again when they find no room here. */
  waitingOfLineMax: 1_000,
  waitingMax: 20_000,
  /** Beyond that breakers of lines that are idle are forgotten, the oldest first. */
  linesMax: 10_000,
} as const;

export type DeliverySettings = {
  readonly requestTimeoutMs: number;
  readonly breaker: BreakerSettings;
  /** Of the namespace. */
  readonly allowedAddresses: readonly AddressRule[];
};

export type CallbackSenderOptions = {
  readonly clock: Pick<Clock, 'monoMs' | 'after'>;
  /** As of now. */
  readonly settingsOf: (namespace: string, destination: string) => DeliverySettings;
  readonly post: (post: Post, answer: (outcome: DeliveryOutcome) => void) => () => void;
  /** One attempt has ended. */
  readonly attempted: (attempt: AttemptMade) => void;
};

export type AttemptMade = {
  readonly namespace: string;
  readonly destination: string;
  readonly outcome: DeliveryOutcome;
  readonly durationMs: number;
};

type Line = {
  readonly name: string;
  readonly namespaceId: string;
  readonly destination: string;
  readonly waiting: Set<Waiting>;
  underWay: number;
  breaker: CircuitBreaker;
};

type Waiting = {
  readonly delivery: CallbackDelivery;
  readonly address: CallbackUrl;
  readonly answer: (outcome: CallbackOutcome) => void;
  /** What ends the attempt; undefined: it has not begun. */
  giveUp: (() => void) | undefined;
  isOver: boolean;
};

export class CallbackSender implements CallbackDeliveries {
  readonly #options: CallbackSenderOptions;
  /** Those that wait or are under way, and those whose breaker has something to remember. */
  readonly #lines = new Map<string, Line>();
  /** Of those, where somebody waits, in the order of their turns. */
  readonly #turns = new Set<Line>();
  readonly #underWayOf = new Map<string, number>();
  #underWay = 0;
  #waiting = 0;
  #wake: { readonly atMs: number; readonly timer: Timer } | undefined;

  constructor(options: CallbackSenderOptions) {
    this.#options = options;
  }

  deliver(delivery: CallbackDelivery, answer: (outcome: CallbackOutcome) => void): () => void {
    const address = callbackUrl(urlOf(delivery.callback));
    if (typeof address === 'string') return this.#later(() => answer({ kind: 'refused', errorType: 'InvalidURL', message: address }));
    const line = this.#lineOf(delivery.namespaceId, address.destination);
    if (this.isFull(delivery.namespaceId, address.destination))
      return this.#later(() => answer({ kind: 'full', message: `too many callbacks wait for ${address.destination}` }));
    const waiting: Waiting = { delivery, address, answer, giveUp: undefined, isOver: false };
    line.waiting.add(waiting);
    this.#turns.add(line);
    this.#waiting++;
    this.#run();
    return () => this.#giveUp(line, waiting);
  }

  isFull(namespaceId: string, destination: string): boolean {
    const { waitingMax, waitingOfLineMax } = deliveryLimits;
    return this.#waiting >= waitingMax || (this.#lines.get(nameOf(namespaceId, destination))?.waiting.size ?? 0) >= waitingOfLineMax;
  }

  isBlocked(namespaceId: string, callback: Uint8Array): boolean {
    const address = callbackUrl(urlOf(callback));
    const line = typeof address === 'string' ? undefined : this.#lines.get(nameOf(namespaceId, address.destination));
    return line !== undefined && line.breaker.state !== 'closed';
  }

  #later(go: () => void): () => void {
    const timer = this.#options.clock.after(0, go);
    return () => timer.cancel();
  }

  #lineOf(namespaceId: string, destination: string): Line {
    const name = nameOf(namespaceId, destination);
    const known = this.#lines.get(name);
    if (known !== undefined) return known;
    if (this.#lines.size >= deliveryLimits.linesMax) this.#forgetIdle();
    const breaker = closedBreaker(this.#options.clock.monoMs());
    const line: Line = { name, namespaceId, destination, waiting: new Set(), underWay: 0, breaker };
    this.#lines.set(name, line);
    return line;
  }

  #forgetIdle(): void {
    for (const line of this.#lines.values()) if (isIdle(line)) return void this.#lines.delete(line.name);
  }

  // ── Turns ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One of each line that may, again and again, until none may. */
  #run(): void {
    for (let hasBegun = true; hasBegun && this.#underWay < deliveryLimits.underWayMax;) {
      hasBegun = false;
      for (const line of [...this.#turns]) {
        if (!this.#mayBegin(line)) continue;
        this.#begin(line);
        hasBegun = true;
      }
    }
  }

  #mayBegin(line: Line): boolean {
    if (line.waiting.size === 0 || this.#underWay >= deliveryLimits.underWayMax || line.underWay >= deliveryLimits.ofLineMax) return false;
    if ((this.#underWayOf.get(line.namespaceId) ?? 0) >= deliveryLimits.ofNamespaceMax) return false;
    const { breaker: settings } = this.#settingsOf(line);
    line.breaker = breakerAt(line.breaker, this.#options.clock.monoMs(), settings);
    if (line.breaker.state === 'open') this.#wakeAt(line.breaker.untilMs);
    return letsThrough(line.breaker, settings);
  }

  #settingsOf(line: Line): DeliverySettings {
    const [first] = line.waiting;
    return this.#options.settingsOf(first?.delivery.namespace ?? '', line.destination);
  }

  #begin(line: Line): void {
    const [next] = line.waiting;
    if (next === undefined) return;
    line.waiting.delete(next);
    this.#waiting--;
    // Behind the others.
    this.#turns.delete(line);
    if (line.waiting.size > 0) this.#turns.add(line);
    this.#count(line, 1);
    const { generation } = (line.breaker = begun(line.breaker));
    void this.#attempt(line, next, generation);
  }

  #count(line: Line, change: 1 | -1): void {
    line.underWay += change;
    this.#underWay += change;
    const ofNamespace = (this.#underWayOf.get(line.namespaceId) ?? 0) + change;
    if (ofNamespace === 0) this.#underWayOf.delete(line.namespaceId);
    else this.#underWayOf.set(line.namespaceId, ofNamespace);
  }

  /** When the first breaker may let one through again. */
  #wakeAt(atMs: number): void {
    if (this.#wake !== undefined && this.#wake.atMs <= atMs) return;
    this.#wake?.timer.cancel();
    const { clock } = this.#options;
    const timer = clock.after(Math.max(1, atMs - clock.monoMs()), () => {
      this.#wake = undefined;
      this.#run();
    });
    this.#wake = { atMs, timer };
  }

  // ── An attempt ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Never rejects. */
  async #attempt(line: Line, waiting: Waiting, generation: number): Promise<void> {
    const { delivery, address } = waiting;
    const { clock, post, settingsOf } = this.#options;
    const settings = settingsOf(delivery.namespace, line.destination);
    const end = (outcome: CallbackOutcome): void => this.#end(line, waiting, generation, outcome);
    const problem = addressProblem(address, settings.allowedAddresses);
    waiting.giveUp = () => this.#end(line, waiting, generation, undefined);
    try {
      // What was allowed when the workflow started may be forbidden by now.
      if (problem !== undefined) return void this.#later(() => end({ kind: 'refused', errorType: 'AddressNotAllowed', message: problem }));
      const request = await completionRequest({ ...delivery, closeEvent: await delivery.closeEvent() });
      if (waiting.isOver) return;
      const startMs = clock.monoMs();
      const allowPrivate = ruleFor(address, settings.allowedAddresses)?.allowPrivate === true;
      const { headers, body } = request;
      const abort = post({ address, headers, body, timeoutMs: settings.requestTimeoutMs, allowPrivate }, (outcome) => {
        const { namespace } = delivery;
        this.#options.attempted({ namespace, destination: line.destination, outcome, durationMs: clock.monoMs() - startMs });
        end(outcome);
      });
      waiting.giveUp = () => {
        abort();
        this.#end(line, waiting, generation, undefined);
      };
    } catch (error) {
      end({ kind: 'unread', error: asError(error) });
    }
  }

  /** undefined: nobody wants to know. */
  #end(line: Line, waiting: Waiting, generation: number, outcome: CallbackOutcome | undefined): void {
    if (waiting.isOver) return;
    waiting.isOver = true;
    this.#count(line, -1);
    const { breaker: settings } = this.#options.settingsOf(waiting.delivery.namespace, line.destination);
    const wasAsked = outcome !== undefined && outcome.kind !== 'unread' && outcome.kind !== 'full';
    line.breaker = wasAsked
      ? ended(line.breaker, generation, outcome.kind === 'failed', this.#options.clock.monoMs(), settings)
      : givenUp(line.breaker, generation);
    if (line.breaker.state === 'closed' && line.breaker.failuresInARow === 0 && isIdle(line)) this.#lines.delete(line.name);
    if (outcome !== undefined) waiting.answer(outcome);
    this.#run();
  }

  #giveUp(line: Line, waiting: Waiting): void {
    if (waiting.giveUp !== undefined) return waiting.giveUp();
    if (!line.waiting.delete(waiting)) return;
    waiting.isOver = true;
    this.#waiting--;
    if (line.waiting.size === 0) this.#turns.delete(line);
  }
}

function isIdle({ waiting, underWay }: Line): boolean {
  return waiting.size === 0 && underWay === 0;
}

function nameOf(namespaceId: string, destination: string): string {
  return `${namespaceId} ${destination}`;
}

function urlOf(callback: Uint8Array): string {
  return decodeCallback(callback).nexus?.url ?? '';
}
