import type { ReadValue, Setting } from './dynamic-setting.ts';
import { shown } from './shown.ts';

/**
 * The limits that an operator can change, by the names that Temporal's dynamic configuration has for them. Nearly all of them can only be
 * lowered: records, messages and the work of one decision are made for the defaults.
 */
type LimitKey = {
  /** As `HistoryLimits` calls it; edge and core work with the same. */
  readonly limit: string;
  readonly min: number;
  readonly max: number;
  /** `max` where it is absent. */
  readonly default?: number;
  readonly about: string;
};

const kib = 1024;
const mib = 1024 * kib;

export const limitKeys = {
  'limit.blobSize.error': { limit: 'blobBytesMax', min: kib, max: 2 * mib, about: 'Bytes of an input, a result, details or a failure.' },
  'limit.memoSize.error': { limit: 'memoBytesMax', min: kib, max: 2 * mib, about: 'Bytes of a memo.' },
  'limit.maxIDLength': { limit: 'idBytesMax', min: 36, max: 1_000, about: 'Bytes of an id or a name.' },
  'limit.historySize.error': {
    limit: 'historyBytesMax',
    min: mib,
    max: 50 * mib,
    about: 'Bytes of a history; beyond it the run is terminated.',
  },
  'limit.historySize.suggestContinueAsNew': {
    limit: 'historyBytesSuggest',
    min: kib,
    max: 4 * mib,
    about: 'Bytes of a history from which workers are told to continue as new.',
  },
  'limit.historyCount.error': {
    limit: 'historyEventsMax',
    min: 100,
    max: 51_200,
    about: 'Events of a history; beyond it the run is terminated.',
  },
  'limit.historyCount.suggestContinueAsNew': {
    limit: 'historyEventsSuggest',
    min: 10,
    max: 4_096,
    about: 'Events of a history from which workers are told to continue as new.',
  },
  'limit.numPendingActivities.error': { limit: 'pendingActivitiesMax', min: 1, max: 2_000, about: 'Activities of a run at a time.' },
  'limit.numPendingChildExecutions.error': { limit: 'pendingChildrenMax', min: 1, max: 2_000, about: 'Children of a run at a time.' },
  'limit.numPendingSignals.error': {
    limit: 'pendingExternalSignalsMax',
    min: 1,
    max: 2_000,
    about: 'Signals of a run to other workflows that are on their way.',
  },
  'limit.numPendingCancelRequests.error': {
    limit: 'pendingExternalCancelsMax',
    min: 1,
    max: 2_000,
    about: 'Cancel requests of a run to other workflows that are on their way.',
  },
  'history.maximumSignalsPerExecution': { limit: 'signalsPerRunMax', min: 1, max: 10_000, about: 'Signals that a run takes.' },
  'history.maximumBufferedEventsBatch': {
    limit: 'bufferedEventsMax',
    min: 1,
    max: 100,
    about: 'Events that wait while a worker has the workflow task.',
  },
  'history.maximumBufferedEventsSizeInBytes': { limit: 'bufferedBytesMax', min: kib, max: 2 * mib, about: 'The same, in bytes.' },
  'history.MaxBufferedQueryCount': {
    limit: 'bufferedQueriesMax',
    min: 1,
    max: 100,
    default: 1,
    about: 'Queries of a run that wait for a worker while a workflow task is pending; 2 MiB of them, if they are more than one.',
  },
} as const satisfies Readonly<Record<string, LimitKey>>;

export type LimitName = (typeof limitKeys)[keyof typeof limitKeys]['limit'];

/** By the names that edge and core have for them. */
export const limitSettings = Object.fromEntries(
  Object.entries<LimitKey>(limitKeys).map(([key, known]) => [known.limit, limitSetting(key, known)]),
) as Readonly<Record<LimitName, Setting<number>>>;

/** A value above the maximum counts as the maximum: whoever raises a limit for Temporal's server can start this one all the same. */
function limitSetting(key: string, { min, max, about, default: usual = max }: LimitKey): Setting<number> {
  const note = usual === max ? 'this limit can be lowered, not raised: the default holds' : `this limit can be ${max} at most: that holds`;
  const expected = `a whole number from ${min} to ${max}`;
  const read = (value: unknown): ReadValue<number> => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min)
      return { problem: `expected ${expected}, got ${shown(value)}` };
    return value > max ? { value: max, note } : { value };
  };
  return { key, scope: 'global', needsRestart: true, default: usual, about, expected, defaultText: String(usual), read };
}

export function isLimit(key: string): boolean {
  return Object.hasOwn(limitKeys, key);
}
