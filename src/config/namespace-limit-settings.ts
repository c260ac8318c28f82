/** What a namespace may ask of a server, by the names of Temporal's dynamic configuration. */
import type { ValuesOf } from './dynamic-setting.ts';
import { decimalNumber, wholeNumber } from './dynamic-setting.ts';

const ofNamespace = { scope: 'namespace' } as const;
const perSecondMax = 1_000_000;

function rate(key: string, about: string) {
  return { ...wholeNumber(key, { min: 0, max: perSecondMax, default: 0, about }), ...ofNamespace };
}

function burstRatio(key: string, defaultRatio: number) {
  const about = 'How many seconds of that rate may come at once.';
  return { ...decimalNumber(key, { min: 0, max: 1_000, default: defaultRatio, about }), ...ofNamespace };
}

export const namespaceLimitSettings = {
  /** There is one process: what is for all together is for it. */
  ratePerSecondInAll: rate('frontend.globalNamespaceRPS', 'Calls a second of a namespace; goes before frontend.namespaceRPS. 0: not set.'),
  ratePerSecond: rate('frontend.namespaceRPS', 'Calls a second of a namespace but those that list and count. 0: no limit.'),
  burstRatio: burstRatio('frontend.namespaceBurstRatio', 2),
  visibilityPerSecondInAll: rate(
    'frontend.globalNamespaceRPS.visibility',
    'Lists and counts a second of a namespace; goes before frontend.namespaceRPS.visibility. 0: not set.',
  ),
  visibilityPerSecond: rate('frontend.namespaceRPS.visibility', 'Lists and counts a second of a namespace. 0: no limit.'),
  visibilityBurstRatio: burstRatio('frontend.namespaceBurstRatio.visibility', 1),
  waitingMax: {
    ...wholeNumber('frontend.namespaceCount', {
      min: 1,
      max: 1_000_000,
      default: 1_200,
      about: 'Calls of a namespace that wait at a time, of each method: polls, queries, updates, waits for events.',
    }),
    ...ofNamespace,
  },
};

type Rate = { readonly perSecond: number; readonly burst: number };

/** As the frontend counts. */
export function namespaceLimits(values: ValuesOf<typeof namespaceLimitSettings>): {
  readonly rates: { readonly execution: Rate; readonly visibility: Rate };
  readonly waitingMax: number;
} {
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
