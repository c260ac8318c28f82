/** What operators set about completion callbacks of workflows, by the names of Temporal's dynamic configuration. */
import type { AddressRule } from '../kernel/callback-address.ts';
import { durationSetting, type ReadValue, type Setting, wholeNumber } from './dynamic-setting.ts';
import { parseDurationMs } from './duration.ts';
import { shown } from './shown.ts';

const rulesExpected = 'a list of entries like {Pattern: "*.example.com:443", AllowInsecure: false, AllowPrivate: false}';

/** The fields of `BreakerSettings` (src/outbound/circuit-breaker.ts). */
type Breaker = { readonly requestsMax: number; readonly intervalMs: number; readonly timeoutMs: number };

const usualBreaker: Breaker = { requestsMax: 1, intervalMs: 0, timeoutMs: 60_000 };
const breakerExpected = 'fields like {MaxRequests: 1, Interval: 0s, Timeout: 60s}';

export const callbackSettings = {
  allowedAddresses: addressSetting('callback.allowedAddresses', {
    about: 'Addresses that completion callbacks may call, as a list of {Pattern, AllowInsecure, AllowPrivate}; none by default.',
  }),
  componentAllowedAddresses: addressSetting('component.callbacks.allowedAddresses', {
    about: 'The old name of callback.allowedAddresses, which takes precedence.',
  }),
  callbacksMax: wholeNumber('system.maxCallbacksPerWorkflow', {
    scope: 'namespace',
    // All of them stand in the row of their run, which bounds their bytes too.
    range: [0, 2_000],
    default: 2_000,
    about: 'Completion callbacks of a workflow and of its updates.',
  }),
  updateCallbacksMax: wholeNumber('system.maxCallbacksPerUpdateID', {
    scope: 'namespace',
    range: [0, 2_000],
    default: 32,
    about: 'Completion callbacks of an update.',
  }),
  urlBytesMax: wholeNumber('frontend.callbackURLMaxLength', {
    scope: 'namespace',
    range: [1, 1_000],
    default: 1_000,
    about: 'Bytes of the URL of a callback.',
  }),
  headerBytesMax: wholeNumber('frontend.callbackHeaderMaxLength', {
    scope: 'namespace',
    range: [0, 8 * 1024],
    default: 8 * 1024,
    about: 'Bytes of the header of a callback, names and values.',
  }),
};

export const callbackRequestSettings = {
  requestTimeoutMs: destinationDuration('callback.request.timeout', 'Time limit of one attempt at a callback.', 10_000),
  breaker: breakerSetting('history.outboundQueue.circuitBreakerSettings'),
};

export const callbackRetrySettings = {
  initialIntervalMs: durationSetting('callback.retryPolicy.initialInterval', {
    range: ['1ms', '24h'],
    default: 1_000,
    about: 'The pause after the first attempt at a callback; each is twice as long as the one before.',
  }),
  maxIntervalMs: durationSetting('callback.retryPolicy.maxInterval', {
    range: ['1ms', '168h'],
    default: 3_600_000,
    about: 'The longest pause between two attempts at a callback.',
  }),
};

function destinationDuration(key: string, about: string, defaultMs: number): Setting<number> {
  return durationSetting(key, { scope: 'destination', range: ['1ms', '10m'], default: defaultMs, about });
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
      'Circuit breaker of a failing callback destination: requests while it is tried again, when failures are forgotten, how long it stays open.',
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
