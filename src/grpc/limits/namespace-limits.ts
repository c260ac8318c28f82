/**
 * What a namespace may ask of this process: calls a second, and calls that wait at a time. Looked at when a call says its namespace, before
 * anything is asked of an actor; so what is refused was not begun.
 */
import type { Namespace } from '../../cluster/cluster-state.ts';
import { exhaustedCause, exhaustedScope, resourceExhausted } from '../errors/details.ts';
import { classOf, priorityOf, type CallClass } from './call-classes.ts';
import { Rate, type RateLimit } from './rate.ts';

export type LimitsOfNamespace = {
  readonly rates: Readonly<Record<CallClass, RateLimit>>;
  /** Of each method: who waits for the ends of workflows takes no room from the workers that bring them about. */
  readonly waitingMax: number;
};

/** What operators set is looked at so often. */
const limitsAgeMs = 1_000;
/** Beyond so many, those that are used no more are dropped: a few are looked at for each that is new. */
const usersMax = 20_000;
const looksMax = 32;
/** Whoever has asked nothing for so long has its whole burst again, as one that is new. */
const idleMs = 60_000;

type User = {
  readonly rates: Readonly<Record<CallClass, Rate>>;
  limits: LimitsOfNamespace;
  limitsAtMs: number;
  /** By method; those that nobody waits in are not there. */
  readonly waiting: Map<string, number>;
};

export class NamespaceLimits {
  readonly #limitsOf: (namespace: string) => LimitsOfNamespace;
  readonly #nowMs: () => number;
  /** Those that asked last are the last, by the second. */
  readonly #users = new Map<string, User>();

  /** `nowMs`: of a clock that never jumps. */
  constructor(limitsOf: (namespace: string) => LimitsOfNamespace, nowMs: () => number) {
    this.#limitsOf = limitsOf;
    this.#nowMs = nowMs;
  }

  /** A call comes in. Throws RESOURCE_EXHAUSTED. */
  admit(namespace: Namespace, method: string): void {
    const nowMs = this.#nowMs();
    const user = this.#user(namespace, nowMs);
    const callClass = classOf(method);
    if (user.rates[callClass].take(user.limits.rates[callClass], priorityOf(method), nowMs)) return;
    throw resourceExhausted('namespace rate limit exceeded', exhaustedCause.rpsLimit, exhaustedScope.namespace);
  }

  /** A call begins to wait; what comes back ends that. Throws RESOURCE_EXHAUSTED. */
  beginWait(namespace: Namespace, method: string): () => void {
    const { waiting, limits } = this.#user(namespace, this.#nowMs());
    const before = waiting.get(method) ?? 0;
    if (before >= limits.waitingMax) {
      throw resourceExhausted('namespace concurrent poller limit exceeded', exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    }
    waiting.set(method, before + 1);
    return () => {
      const left = (waiting.get(method) ?? 1) - 1;
      if (left === 0) waiting.delete(method);
      else waiting.set(method, left);
    };
  }

  #user({ id, name }: Namespace, nowMs: number): User {
    const known = this.#users.get(id);
    if (known === undefined) {
      if (this.#users.size >= usersMax) this.#dropIdle(nowMs);
      const limits = this.#limitsOf(name);
      const user = {
        rates: { execution: new Rate(), visibility: new Rate() },
        limits,
        limitsAtMs: nowMs,
        waiting: new Map<string, number>(),
      };
      this.#users.set(id, user);
      return user;
    }
    if (nowMs - known.limitsAtMs >= limitsAgeMs) {
      known.limits = this.#limitsOf(name);
      known.limitsAtMs = nowMs;
      this.#users.delete(id);
      this.#users.set(id, known);
    }
    return known;
  }

  #dropIdle(nowMs: number): void {
    let looks = 0;
    for (const [id, user] of this.#users) {
      const isIdle = user.waiting.size === 0;
      if (looks++ === looksMax || (isIdle && nowMs - user.limitsAtMs < idleMs)) return;
      this.#users.delete(id);
      // Who waits for long is not looked at again before all others.
      if (!isIdle) this.#users.set(id, user);
    }
  }
}
