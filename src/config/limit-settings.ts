import type { ReadValue, Setting } from './dynamic-setting.ts';
import { shown } from './shown.ts';

type LimitSetting = Setting<number> & { readonly range: readonly [min: number, max: number] };

const kib = 1024;
const mib = 1024 * kib;

/** The limits that an operator can change. Nearly all can only be lowered: records, messages and decisions are made for the defaults. */
export const limitSettings = {
  blobBytesMax: limit('limit.blobSize.error', [kib, 2 * mib], 'Bytes of an input, a result, details or a failure.'),
  memoBytesMax: limit('limit.memoSize.error', [kib, 2 * mib], 'Bytes of a memo.'),
  idBytesMax: limit('limit.maxIDLength', [36, 1_000], 'Bytes of an id or a name.'),
  historyBytesMax: limit('limit.historySize.error', [mib, 50 * mib], 'Bytes of a history; beyond it the run is terminated.'),
  historyBytesSuggest: limit(
    'limit.historySize.suggestContinueAsNew',
    [kib, 4 * mib],
    'Bytes of a history; beyond it workers are told to continue as new.',
  ),
  historyEventsMax: limit('limit.historyCount.error', [100, 51_200], 'Events of a history; beyond it the run is terminated.'),
  historyEventsSuggest: limit(
    'limit.historyCount.suggestContinueAsNew',
    [10, 4_096],
    'Events of a history; beyond it workers are told to continue as new.',
  ),
  pendingActivitiesMax: limit('limit.numPendingActivities.error', [1, 2_000], 'Activities of a run at a time.'),
  pendingChildrenMax: limit('limit.numPendingChildExecutions.error', [1, 2_000], 'Children of a run at a time.'),
  pendingExternalSignalsMax: limit(
    'limit.numPendingSignals.error',
    [1, 2_000],
    'Signals of a run to other workflows that are on their way.',
  ),
  pendingExternalCancelsMax: limit(
    'limit.numPendingCancelRequests.error',
    [1, 2_000],
    'Cancel requests of a run to other workflows that are on their way.',
  ),
  signalsPerRunMax: limit('history.maximumSignalsPerExecution', [1, 10_000], 'Signals that a run accepts.'),
  bufferedEventsMax: limit('history.maximumBufferedEventsBatch', [1, 100], 'Events that wait while a worker has the workflow task.'),
  bufferedBytesMax: limit('history.maximumBufferedEventsSizeInBytes', [kib, 2 * mib], 'Bytes of buffered events of a run.'),
  bufferedQueriesMax: limit(
    'history.MaxBufferedQueryCount',
    [1, 100],
    'Queries of a run that wait while a workflow task is pending; several of them may have 2 MiB in all.',
    1,
  ),
};

/** A value above the maximum counts as the maximum: whoever raises a limit for Temporal's server can start this one all the same. */
function limit(key: string, range: LimitSetting['range'], about: string, usual = range[1]): LimitSetting {
  const [min, max] = range;
  const note =
    usual === max ? 'this limit can be lowered, not raised: the default applies' : `this limit can be at most ${max}: that applies`;
  const expected = `a whole number from ${min} to ${max}`;
  const read = (value: unknown): ReadValue<number> => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min)
      return { problem: `expected ${expected}, got ${shown(value)}` };
    return value > max ? { value: max, note } : { value };
  };
  const expectation = { expected, defaultText: String(usual) };
  return { key, range, scope: 'global', needsRestart: true, default: usual, about, ...expectation, read };
}

export function isLimit(key: string): boolean {
  return Object.values(limitSettings).some((setting) => setting.key === key);
}
