/** Calls a second and waiting calls of a namespace: looked at before anything is asked of an actor, so what is refused was not begun. */
import type { Namespace } from '../../cluster/cluster-state.ts';
import { exhaustedCause, exhaustedScope, resourceExhausted } from '../errors/details.ts';
import { Tally } from '../../kernel/tally.ts';
import { type LimitClass, prioritiesInAll, type Priority, type Rpc } from '../rpcs/rpc.ts';

/** `perSecond` 0: no limit. */
export type RateLimit = { readonly perSecond: number; readonly burst: number };

export type LimitsOfNamespace = {
  readonly rates: Readonly<Record<LimitClass, RateLimit>>;
  /** Waiting calls of one method: who waits for the ends of workflows takes no room from the workers that bring them about. */
  readonly waitingMax: number;
};

/** What operators set is looked at so often. */
const limitsAgeMs = 1_000;
/** Beyond so many namespaces, those that ask nothing any more are dropped: a few are looked at for each that is new. */
const usersMax = 20_000;
const looksMax = 32;
/** Whoever has asked nothing for so long has its whole burst again, as one that is new. */
const idleMs = 60_000;

type User = {
  readonly rates: Readonly<Record<LimitClass, Rate>>;
  limits: LimitsOfNamespace;
  limitsAtMs: number;
  readonly waiting: Tally;
};

export class NamespaceLimits {
  readonly #limitsOf: (namespace: string) => LimitsOfNamespace;
  readonly #nowMs: () => number;
  /** Namespaces by their ids: those that asked last are the last, by the second. */
  readonly #users = new Map<string, User>();

  /** `nowMs`: of a clock that never jumps. */
  constructor(limitsOf: (namespace: string) => LimitsOfNamespace, nowMs: () => number) {
    this.#limitsOf = limitsOf;
    this.#nowMs = nowMs;
  }

  /** A call comes in. Throws RESOURCE_EXHAUSTED. */
  admit(namespace: Namespace, { limitClass, priority }: Rpc): void {
    if (limitClass === undefined) return;
    const nowMs = this.#nowMs();
    const user = this.#user(namespace, nowMs);
    if (user.rates[limitClass].take(user.limits.rates[limitClass], priority, nowMs)) return;
    throw resourceExhausted('namespace rate limit exceeded', exhaustedCause.rpsLimit, exhaustedScope.namespace);
  }

  /** A call begins to wait; what comes back ends that. Throws RESOURCE_EXHAUSTED. */
  beginWait(namespace: Namespace, { path }: Rpc): () => void {
    const { waiting, limits } = this.#user(namespace, this.#nowMs());
    if (waiting.of(path) >= limits.waitingMax) {
      throw resourceExhausted('namespace concurrent poller limit exceeded', exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    }
    waiting.add(path, 1);
    return () => waiting.add(path, -1);
  }

  #user({ id, name }: Namespace, nowMs: number): User {
    const known = this.#users.get(id);
    if (known === undefined) {
      if (this.#users.size >= usersMax) this.#dropIdle(nowMs);
      const rates = { execution: new Rate(), visibility: new Rate() };
      const user = { rates, limits: this.#limitsOf(name), limitsAtMs: nowMs, waiting: new Tally() };
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
      const isIdle = user.waiting.total === 0;
      if (looks++ === looksMax || (isIdle && nowMs - user.limitsAtMs < idleMs)) return;
      this.#users.delete(id);
      // Who waits for long is not looked at again before all others.
      if (!isIdle) this.#users.set(id, user);
    }
  }
}

/**
 * How many calls a second are let in, those of high priority first.
 *
 *     tokens of each priority    0 ▓▓▓▓▓▓▓   a call of priority 1 takes one of 1, and of all behind it
 *                                1 ▓▓▓▓▓     ◀─ so long as its own priority has one
 *                                2 ▓▓
 *                                3 (none: refused)
 *
 * Each priority has the whole rate, less what goes before it. So polls are refused while completions still come through, and
 * a flood of polls takes nothing from completions.
 */
export class Rate {
  readonly #tokens = new Float64Array(prioritiesInAll);
  #limit: RateLimit = { perSecond: 0, burst: 0 };
  #atMs = 0;

  /** Takes what a call costs, or nothing: false. */
  take(limit: RateLimit, priority: Priority, nowMs: number): boolean {
    if (limit.perSecond === 0) return true;
    if (limit.perSecond !== this.#limit.perSecond || limit.burst !== this.#limit.burst) this.#begin(limit, nowMs);
    this.#refill(nowMs);
    if ((this.#tokens[priority] as number) < 1) return false;
    for (let at = priority; at < prioritiesInAll; at++) this.#tokens[at] = Math.max((this.#tokens[at] as number) - 1, 0);
    return true;
  }

  #begin(limit: RateLimit, nowMs: number): void {
    this.#limit = limit;
    this.#tokens.fill(limit.burst);
    this.#atMs = nowMs;
  }

  #refill(nowMs: number): void {
    const gained = ((nowMs - this.#atMs) * this.#limit.perSecond) / 1_000;
    if (gained <= 0) return;
    this.#atMs = nowMs;
    for (let at = 0; at < prioritiesInAll; at++) this.#tokens[at] = Math.min((this.#tokens[at] as number) + gained, this.#limit.burst);
  }
}
