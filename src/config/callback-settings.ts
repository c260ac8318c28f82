/** What operators set about completion callbacks of workflows, by the names of Temporal's dynamic configuration. */
import type { AddressRule } from '../kernel/callback-address.ts';
import { durationSetting, type ReadValue, type Setting, wholeNumber } from './dynamic-setting.ts';
import { parseDurationMs } from './duration.ts';
import { shown } from './shown.ts';

const rulesExpected = 'a list of entries like {Pattern: "*.example.com:443", AllowInsecure: false, AllowPrivate: false}';

/** Of `BreakerSettings` (src/outbound/circuit-breaker.ts). */
type Breaker = { readonly requestsMax: number; readonly intervalMs: number; readonly timeoutMs: number };

const usualBreaker: Breaker = { requestsMax: 1, intervalMs: 0, timeoutMs: 60_000 };
const breakerExpected = 'fields like {MaxRequests: 1, Interval: 0s, Timeout: 60s}';

/** What a callback may be. */
export const callbackSettings = {
  allowedAddresses: addressSetting('callback.allowedAddresses', {
    about: 'Where completion callbacks may go, as a list of {Pattern, AllowInsecure, AllowPrivate}; none by default.',
  }),
  /** By its name of old. */
  componentAllowedAddresses: addressSetting('component.callbacks.allowedAddresses', {
    about: 'The same by its name of old; callback.allowedAddresses goes before it.',
  }),
  callbacksMax: {
    ...wholeNumber('system.maxCallbacksPerWorkflow', {
      min: 0,
      // All of them stand in the row of their run, which bounds their bytes too.
      max: 2_000,
      default: 2_000,
      about: 'Completion callbacks of a workflow and of its updates.',
    }),
    scope: 'namespace' as const,
  },
  updateCallbacksMax: {
    ...wholeNumber('system.maxCallbacksPerUpdateID', { min: 0, max: 2_000, default: 32, about: 'Completion callbacks of an update.' }),
    scope: 'namespace' as const,
  },
  urlBytesMax: {
    ...wholeNumber('frontend.callbackURLMaxLength', { min: 1, max: 1_000, default: 1_000, about: 'Bytes of the URL of a callback.' }),
    scope: 'namespace' as const,
  },
  headerBytesMax: {
    ...wholeNumber('frontend.callbackHeaderMaxLength', {
      min: 0,
      max: 8 * 1024,
      default: 8 * 1024,
      about: 'Bytes of the header of a callback, names and values.',
    }),
    scope: 'namespace' as const,
  },
};

/** How one is delivered. */
export const callbackRequestSettings = {
  requestTimeoutMs: destinationDuration('callback.request.timeout', 'How long one attempt at a callback may take.', 10_000),
  breaker: breakerSetting('history.outboundQueue.circuitBreakerSettings'),
};

/** When the next attempt is made. */
export const callbackRetrySettings = {
  initialIntervalMs: durationSetting('callback.retryPolicy.initialInterval', {
    min: '1ms',
    max: '24h',
    default: 1_000,
    about: 'The pause after the first attempt at a callback; each is twice as long as the one before.',
  }),
  maxIntervalMs: durationSetting('callback.retryPolicy.maxInterval', {
    min: '1ms',
    max: '168h',
    default: 3_600_000,
    about: 'The longest pause between two attempts at a callback.',
  }),
};

function destinationDuration(key: string, about: string, defaultMs: number): Setting<number> {
  return { ...durationSetting(key, { min: '1ms', max: '10m', default: defaultMs, about }), scope: 'destination' };
}

/** Undefined: nothing is set. */
function addressSetting(key: string, { about }: { readonly about: string }): Setting<readonly AddressRule[] | undefined> {
  const read = (value: unknown): ReadValue<readonly AddressRule[]> => {
    if (!Array.isArray(value)) return { problem: `expected ${rulesExpected}, got ${shown(value)}` };
    const rules = value.map(addressRule);
    const wrong = rules.findIndex((rule) => rule === undefined);
    // One that is not understood would be missed in silence otherwise: then nothing of it counts.
    if (wrong >= 0) return { problem: `entry ${wrong + 1} is not like {Pattern: "*.example.com:443"}: ${shown(value[wrong])}` };
    return { value: rules.filter((rule) => rule !== undefined) };
  };
  return { key, scope: 'namespace', needsRestart: false, default: undefined, about, expected: rulesExpected, defaultText: '[]', read };
}

const ruleFields: ReadonlySet<string> = new Set(['pattern', 'allowinsecure', 'allowprivate']);

function addressRule(entry: unknown): AddressRule | undefined {
  const fields = lowerFields(entry);
  if (fields === undefined || [...fields.keys()].some((name) => !ruleFields.has(name))) return undefined;
  const pattern = fields.get('pattern');
  const allowInsecure = fields.get('allowinsecure') ?? false;
  const allowPrivate = fields.get('allowprivate') ?? false;
  if (typeof pattern !== 'string' || pattern === '') return undefined;
  if (typeof allowInsecure !== 'boolean' || typeof allowPrivate !== 'boolean') return undefined;
  return { pattern, allowInsecure, allowPrivate };
}

/** Temporal reads the names of fields whatever their case. */
function lowerFields(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
}

function breakerSetting(key: string): Setting<Breaker> {
  const read = (value: unknown): ReadValue<Breaker> => {
    const breaker = breakerOf(lowerFields(value));
    return breaker === undefined ? { problem: `expected ${breakerExpected}, got ${shown(value)}` } : { value: breaker };
  };
  return {
    key,
    scope: 'destination',
    needsRestart: false,
    default: usualBreaker,
    about:
      'When a destination of callbacks that fails is left alone: requests while it is tried again, when failures are forgotten, how long.',
    expected: breakerExpected,
    defaultText: '{MaxRequests: 1, Interval: 0s, Timeout: 60s}',
    read,
  };
}

/** 0 is the default, as Temporal reads them. */
function breakerOf(fields: ReadonlyMap<string, unknown> | undefined): Breaker | undefined {
  if (fields === undefined) return undefined;
  const requestsMax = fields.get('maxrequests') ?? 0;
  const intervalMs = durationMs(fields.get('interval') ?? 0);
  const timeoutMs = durationMs(fields.get('timeout') ?? 0);
  if (!Number.isSafeInteger(requestsMax) || Number(requestsMax) < 0 || intervalMs === undefined || timeoutMs === undefined)
    return undefined;
  return { requestsMax: Number(requestsMax) || usualBreaker.requestsMax, intervalMs, timeoutMs: timeoutMs || usualBreaker.timeoutMs };
}

function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value * 1_000 : undefined;
  return typeof value === 'string' ? parseDurationMs(value) : undefined;
}
