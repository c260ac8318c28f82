/**
 * Which callbacks are on their way, and which wait for their turn.
 *
 *     deliver ─▶ line of its namespace and destination ── its turn ─▶ close event read ─▶ POST ─▶ outcome
 *                          │ at most 4 of a line, 50 of a namespace and 100 in all are on their way
 *                          └ while the circuit breaker of the line is open, all of it waits
 *
 * Namespaces take turns, and of a namespace its lines. So a destination that is slow holds up itself alone, and a namespace with many of them leaves
 * half of the places to others. Who may not begin is not among the turns: one costs the same however many wait.
 */
import type { CallbackDeliveries, CallbackDelivery, CallbackOutcome } from '../ports/callback-deliveries.ts';
import type { Clock, Timer } from '../ports/machine.ts';
import { addressProblem, type AddressRule, callbackUrl, type CallbackUrl, ruleFor } from '../kernel/callback-address.ts';
import { asError } from '../kernel/error-text.ts';
import { decodeCallback } from '../wire/generated/lean/callback.ts';
import * as breakers from './circuit-breaker.ts';
import { PRIVATE_ADDRESS, type Post } from './http-sender.ts';
import { completionRequest } from './nexus-completion.ts';
import type { DeliveryOutcome } from './completion-answer.ts';

export const deliveryLimits = {
  /** Callbacks that are on their way at a time. */
  underWayMax: 100,
  ofNamespaceMax: 50,
  ofLineMax: 4,
  /** Callbacks that wait stand in tables of their shards as well, and come again when they find no room here. */
  waitingOfLineMax: 1_000,
  waitingOfNamespaceMax: 5_000,
  /** Each namespace finds room for a few callbacks, however many wait of others: whoever is down may stay so for days. */
  waitingMax: 20_000,
  waitingOfNamespaceMin: 100,
  /** Beyond so many idle lines their breakers are forgotten, those first that are idle for longest. */
  idleLinesMax: 10_000,
} as const;

const LOOK_AGAIN_MS_MAX = 60_000;
const ADDRESS_NOT_ALLOWED = 'AddressNotAllowed';

export type DeliverySettings = {
  readonly requestTimeoutMs: number;
  readonly breaker: breakers.BreakerSettings;
  /** The addresses that the namespace may call. */
  readonly allowedAddresses: readonly AddressRule[];
};

export type CallbackSenderOptions = {
  readonly clock: Pick<Clock, 'monoMs' | 'after'>;
  /** The settings of a destination now. */
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
  breaker: breakers.CircuitBreaker;
  /** Somebody waits for the breaker. */
  wake: Timer | undefined;
};

type Namespace = {
  readonly namespaceId: string;
  waiting: number;
  underWay: number;
  /** Lines that may begin, in the order of their turns. */
  readonly ready: Set<Line>;
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
  /** Lines of which callbacks wait or are under way, and lines whose breaker has something to remember. */
  readonly #lines = new Map<string, Line>();
  /** Lines that stay for their breaker alone, in the order in which they became idle. */
  readonly #idle = new Set<Line>();
  /** Namespaces of which a callback waits or is under way. */
  readonly #namespaces = new Map<string, Namespace>();
  /** Namespaces that may begin with a callback, in the order of their turns. */
  readonly #turns = new Set<Namespace>();
  #underWay = 0;
  #waiting = 0;

  constructor(options: CallbackSenderOptions) {
    this.#options = options;
  }

  deliver(delivery: CallbackDelivery, answer: (outcome: CallbackOutcome) => void): () => void {
    const address = callbackUrl(urlOf(delivery.callback));
    // Why not is told with the whole URL, which only its caller is to know.
    if (typeof address === 'string')
      return this.#later(() => answer({ kind: 'refused', errorType: 'InvalidURL', message: 'the URL of the callback cannot be called' }));
    if (this.isFull(delivery.namespaceId, address.destination))
      return this.#later(() => answer({ kind: 'full', message: `too many callbacks wait for ${address.destination}` }));
    const line = this.#lineOf(delivery.namespaceId, address.destination);
    const waiting: Waiting = { delivery, address, answer, giveUp: undefined, isOver: false };
    line.waiting.add(waiting);
    this.#countWaiting(line, 1);
    this.#place(line);
    this.#run();
    return () => this.#giveUp(line, waiting);
  }

  isFull(namespaceId: string, destination: string): boolean {
    const { waitingMax, waitingOfLineMax, waitingOfNamespaceMax, waitingOfNamespaceMin } = deliveryLimits;
    const ofNamespace = this.#namespaces.get(namespaceId)?.waiting ?? 0;
    if (ofNamespace >= waitingOfNamespaceMax || (this.#waiting >= waitingMax && ofNamespace >= waitingOfNamespaceMin)) return true;
    return (this.#lines.get(nameOf(namespaceId, destination))?.waiting.size ?? 0) >= waitingOfLineMax;
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
    const breaker = breakers.closedBreaker(this.#options.clock.monoMs());
    const line: Line = { name, namespaceId, destination, waiting: new Set(), underWay: 0, breaker, wake: undefined };
    this.#lines.set(name, line);
    return line;
  }

  #namespaceOf({ namespaceId }: Line): Namespace {
    let namespace = this.#namespaces.get(namespaceId);
    if (namespace === undefined) {
      namespace = { namespaceId, waiting: 0, underWay: 0, ready: new Set() };
      this.#namespaces.set(namespaceId, namespace);
    }
    return namespace;
  }

  // ── Turns ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** One of each namespace that may, again and again, until none may: whoever has had a turn stands behind the others. */
  #run(): void {
    for (const namespace of this.#turns) {
      if (this.#underWay >= deliveryLimits.underWayMax) return;
      const [line] = namespace.ready;
      if (line !== undefined) this.#begin(namespace, line);
    }
  }

  #begin(namespace: Namespace, line: Line): void {
    const [next] = line.waiting;
    if (next === undefined) return;
    line.waiting.delete(next);
    namespace.ready.delete(line);
    this.#turns.delete(namespace);
    this.#countWaiting(line, -1);
    this.#countUnderWay(line, 1);
    const { generation } = (line.breaker = breakers.begun(line.breaker));
    this.#place(line);
    void this.#attempt(line, next, generation);
  }

  /** Whatever happens to a line, it stands where it belongs by then, and so does its namespace. */
  #place(line: Line): void {
    const namespace = this.#namespaceOf(line);
    if (this.#mayBegin(line)) namespace.ready.add(line);
    else namespace.ready.delete(line);
    if (namespace.ready.size > 0 && namespace.underWay < deliveryLimits.ofNamespaceMax) this.#turns.add(namespace);
    else this.#turns.delete(namespace);
    if (namespace.waiting === 0 && namespace.underWay === 0) this.#namespaces.delete(namespace.namespaceId);
    this.#forget(line);
  }

  /** Once its breaker may let one through again, it is placed anew. */
  #mayBegin(line: Line): boolean {
    line.wake?.cancel();
    line.wake = undefined;
    const [first] = line.waiting;
    if (first === undefined || line.underWay >= deliveryLimits.ofLineMax) return false;
    const { clock, settingsOf } = this.#options;
    const { breaker: settings } = settingsOf(first.delivery.namespace, line.destination);
    const nowMs = clock.monoMs();
    line.breaker = breakers.breakerAt(line.breaker, nowMs, settings);
    const openForMs = breakers.openMs(line.breaker, nowMs, settings);
    // Looked at again before that: how long may have become less.
    if (openForMs > 0) line.wake = clock.after(Math.min(Math.max(1, openForMs), LOOK_AGAIN_MS_MAX), () => this.#wake(line));
    return breakers.letsThrough(line.breaker, settings);
  }

  #wake(line: Line): void {
    this.#place(line);
    this.#run();
  }

  /** What nobody waits for is kept for what its breaker remembers. */
  #forget(line: Line): void {
    this.#idle.delete(line);
    if (line.waiting.size > 0 || line.underWay > 0) return;
    if (line.breaker.state === 'closed' && line.breaker.failuresInARow === 0) return void this.#lines.delete(line.name);
    this.#idle.add(line);
    if (this.#idle.size <= deliveryLimits.idleLinesMax) return;
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    this.#idle.delete(oldest);
    this.#lines.delete(oldest.name);
  }

  #countWaiting(line: Line, change: 1 | -1): void {
    this.#waiting += change;
    this.#namespaceOf(line).waiting += change;
  }

  #countUnderWay(line: Line, change: 1 | -1): void {
    line.underWay += change;
    this.#underWay += change;
    this.#namespaceOf(line).underWay += change;
  }

  // ── An attempt ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Never rejects. */
  async #attempt(line: Line, waiting: Waiting, generation: number): Promise<void> {
    const { delivery, address } = waiting;
    const { clock, post, settingsOf } = this.#options;
    const settings = settingsOf(delivery.namespace, line.destination);
    const end = (outcome: CallbackOutcome): void => this.#end(line, waiting, generation, outcome);
    // A letter tells of it, and people read that who are not to know what else stands in the URL.
    const problem = addressProblem({ ...address, url: address.destination }, settings.allowedAddresses);
    waiting.giveUp = () => this.#end(line, waiting, generation, undefined);
    try {
      // What was allowed when the workflow started may be forbidden by now.
      if (problem !== undefined) return void this.#later(() => end({ kind: 'refused', errorType: ADDRESS_NOT_ALLOWED, message: problem }));
      const closeEvent = delivery.update?.failed === undefined ? await delivery.closeEvent() : new Uint8Array();
      const request = await completionRequest({ ...delivery, closeEvent });
      if (waiting.isOver) return;
      const startMs = clock.monoMs();
      const allowPrivate = ruleFor(address, settings.allowedAddresses)?.allowPrivate === true;
      const { headers, body } = request;
      const { namespaceId } = delivery;
      const abort = post({ namespaceId, address, headers, body, timeoutMs: settings.requestTimeoutMs, allowPrivate }, (outcome) => {
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

  /** An attempt has ended. `outcome` undefined: nobody wants to know. */
  #end(line: Line, waiting: Waiting, generation: number, outcome: CallbackOutcome | undefined): void {
    if (waiting.isOver) return;
    waiting.isOver = true;
    this.#countUnderWay(line, -1);
    const { breaker: settings } = this.#options.settingsOf(waiting.delivery.namespace, line.destination);
    line.breaker =
      outcome !== undefined && saysOfDestination(outcome)
        ? breakers.ended(line.breaker, generation, outcome.kind === 'failed', this.#options.clock.monoMs(), settings)
        : breakers.givenUp(line.breaker, generation);
    this.#place(line);
    if (outcome !== undefined) waiting.answer(outcome);
    this.#run();
  }

  #giveUp(line: Line, waiting: Waiting): void {
    if (waiting.giveUp !== undefined) return waiting.giveUp();
    if (!line.waiting.delete(waiting)) return;
    waiting.isOver = true;
    this.#countWaiting(line, -1);
    this.#place(line);
  }
}

/** False: the destination was not asked, so nobody knows whether it is there. */
function saysOfDestination(outcome: CallbackOutcome): boolean {
  if (outcome.kind === 'refused') return outcome.errorType !== ADDRESS_NOT_ALLOWED && outcome.errorType !== PRIVATE_ADDRESS;
  return outcome.kind === 'delivered' || outcome.kind === 'failed';
}

function nameOf(namespaceId: string, destination: string): string {
  return `${namespaceId} ${destination}`;
}

function urlOf(callback: Uint8Array): string {
  return decodeCallback(callback).nexus?.url ?? '';
}
