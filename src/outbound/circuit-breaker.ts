/**
 * A circuit breaker: a destination that does not answer is left alone for a while.
 *
 *     closed ── more than 5 failures in a row ─▶ open ── after a minute ─▶ half open: one request at a time is tried
 *        ▲                                        ▲                           │
 *        └──────────── it succeeds ───────────────┼───────────────────────────┤
 *                                                 └─────── it fails ──────────┘
 *
 * The states and numbers are those of Temporal's (sony/gobreaker). Pure: times come with each step.
 */

export type BreakerSettings = {
  /** Requests that may be under way while the breaker is half open; as many successes in a row close it. */
  readonly requestsMax: number;
  /** How long a closed one counts failures before it forgets them; 0: for ever. */
  readonly intervalMs: number;
  /** How long the breaker is open. */
  readonly timeoutMs: number;
};

/** `generation`: a request tells of the one that it was begun in. */
export type CircuitBreaker = { readonly generation: number } & (
  | { readonly state: 'closed'; readonly failuresInARow: number; readonly sinceMs: number }
  | { readonly state: 'open'; readonly sinceMs: number }
  | { readonly state: 'halfOpen'; readonly begun: number; readonly succeeded: number }
);

const FAILURES_IN_A_ROW_MAX = 5;

export function closedBreaker(nowMs: number): CircuitBreaker {
  return { generation: 0, state: 'closed', failuresInARow: 0, sinceMs: nowMs };
}

/** The breaker as it is by now. */
export function breakerAt(breaker: CircuitBreaker, nowMs: number, settings: BreakerSettings): CircuitBreaker {
  const generation = breaker.generation + 1;
  if (breaker.state === 'open' && openMs(breaker, nowMs, settings) === 0) return { generation, state: 'halfOpen', begun: 0, succeeded: 0 };
  return isClosedAnew(breaker, nowMs, settings) ? { generation, state: 'closed', failuresInARow: 0, sinceMs: nowMs } : breaker;
}

/** How long the breaker is open yet: operators may have changed that since it opened. */
export function openMs(breaker: CircuitBreaker, nowMs: number, { timeoutMs }: BreakerSettings): number {
  return breaker.state === 'open' ? Math.max(0, breaker.sinceMs + timeoutMs - nowMs) : 0;
}

/** Whether the interval of a breaker is over; or its tries succeeded when it took more of them, and nobody would begin another by which to tell. */
function isClosedAnew(breaker: CircuitBreaker, nowMs: number, { intervalMs, requestsMax }: BreakerSettings): boolean {
  if (breaker.state === 'closed') return intervalMs > 0 && nowMs - breaker.sinceMs >= intervalMs;
  return breaker.state === 'halfOpen' && breaker.succeeded >= requestsMax;
}

export function letsThrough(breaker: CircuitBreaker, { requestsMax }: BreakerSettings): boolean {
  return breaker.state === 'closed' || (breaker.state === 'halfOpen' && breaker.begun < requestsMax);
}

export function begun(breaker: CircuitBreaker): CircuitBreaker {
  return breaker.state === 'halfOpen' ? { ...breaker, begun: breaker.begun + 1 } : breaker;
}

/** A request was given up before anybody could say what the destination makes of it. */
export function givenUp(breaker: CircuitBreaker, generation: number): CircuitBreaker {
  if (breaker.generation !== generation || breaker.state !== 'halfOpen') return breaker;
  return { ...breaker, begun: breaker.begun - 1 };
}

/** What was begun in an earlier generation says nothing of this one. */
export function ended(
  breaker: CircuitBreaker,
  generation: number,
  isDown: boolean,
  nowMs: number,
  settings: BreakerSettings,
): CircuitBreaker {
  if (breaker.generation !== generation) return breaker;
  const next = generation + 1;
  const open: CircuitBreaker = { generation: next, state: 'open', sinceMs: nowMs };
  switch (breaker.state) {
    case 'open':
      return breaker;
    case 'closed': {
      const failuresInARow = isDown ? breaker.failuresInARow + 1 : 0;
      return failuresInARow > FAILURES_IN_A_ROW_MAX ? open : { ...breaker, failuresInARow };
    }
    case 'halfOpen': {
      if (isDown) return open;
      const succeeded = breaker.succeeded + 1;
      if (succeeded < settings.requestsMax) return { ...breaker, succeeded };
      return { generation: next, state: 'closed', failuresInARow: 0, sinceMs: nowMs };
    }
  }
}
