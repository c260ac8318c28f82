/** What a namespace may ask of a server, by the names of Temporal's dynamic configuration. */
import type { ValuesOf } from './dynamic-setting.ts';
import { decimalNumber, wholeNumber } from './dynamic-setting.ts';

const perSecondMax = 1_000_000;

function rate(key: string, about: string) {
  return wholeNumber(key, { scope: 'namespace', range: [0, perSecondMax], default: 0, about });
}

function burstRatio(key: string, defaultRatio: number) {
  const about = 'Burst: how many seconds’ worth of calls may arrive at once.';
  return decimalNumber(key, { scope: 'namespace', range: [0, 1_000], default: defaultRatio, about });
}

export const namespaceLimitSettings = {
  /** There is one process: what is for all together is for it. */
  ratePerSecondInAll: rate(
    'frontend.globalNamespaceRPS',
    'Calls a second of a namespace; takes precedence over frontend.namespaceRPS. 0: not set.',
  ),
  ratePerSecond: rate('frontend.namespaceRPS', 'Calls a second of a namespace, without lists and counts. 0: no limit.'),
  burstRatio: burstRatio('frontend.namespaceBurstRatio', 2),
  visibilityPerSecondInAll: rate(
    'frontend.globalNamespaceRPS.visibility',
    'Lists and counts a second of a namespace; takes precedence over frontend.namespaceRPS.visibility. 0: not set.',
  ),
  visibilityPerSecond: rate('frontend.namespaceRPS.visibility', 'Lists and counts a second of a namespace. 0: no limit.'),
  visibilityBurstRatio: burstRatio('frontend.namespaceBurstRatio.visibility', 1),
  waitingMax: wholeNumber('frontend.namespaceCount', {
    scope: 'namespace',
    range: [1, 1_000_000],
    default: 1_200,
    about: 'Waiting calls of a namespace at a time, for each method: polls, queries, updates, waits for events.',
  }),
};

type Rate = { readonly perSecond: number; readonly burst: number };

export function namespaceLimits(values: ValuesOf<typeof namespaceLimitSettings>) {
  const { ratePerSecondInAll, ratePerSecond, visibilityPerSecondInAll, visibilityPerSecond, waitingMax } = values;
  return {
    rates: {
      execution: rateOf(ratePerSecondInAll || ratePerSecond, values.burstRatio),
      visibility: rateOf(visibilityPerSecondInAll || visibilityPerSecond, values.visibilityBurstRatio),
    },
    waitingMax,
  };
}

/** A burst of less than one call would let none in. */
function rateOf(perSecond: number, ratio: number): Rate {
  return { perSecond, burst: Math.max(1, Math.floor(perSecond * ratio)) };
}
