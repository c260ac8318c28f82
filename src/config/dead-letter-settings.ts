/** What operators set about dead letters: by the names of Temporal's dynamic configuration, of the operations guide, and `perdure.dlq` of our own. */
import { durationSetting, onOff, type ReadValue, textSetting, wholeNumber } from './dynamic-setting.ts';
import { errorPattern, type ErrorPattern } from './error-pattern.ts';

const anyCount = { range: [1, Number.MAX_SAFE_INTEGER] } as const;

export const captureSettings = {
  enabled: onOff('history.TaskDLQEnabled', {
    default: true,
    about: 'false: failing tasks are tried for ever and do not become dead letters, except those of a deleted namespace.',
  }),
  internalErrorsArePermanent: onOff('history.TaskDLQInternalErrors', {
    default: false,
    about: 'true: a task that fails with an Internal error becomes a dead letter at once.',
  }),
  errorPattern: textSetting(
    'history.TaskDLQErrorPattern',
    {
      default: undefined,
      about: 'A regular expression in RE2 syntax. A task whose error it matches becomes a dead letter at once. Empty: no task does.',
    },
    readPattern,
  ),
  failuresMax: wholeNumber('history.TaskDLQUnexpectedErrorAttempts', {
    ...anyCount,
    default: 70,
    about: 'Failures after which a task becomes a dead letter, unless its category has its own key. 70 failures take about an hour.',
  }),
  transferFailuresMax: wholeNumber('history.transferProcessorMaxRetryCount', {
    ...anyCount,
    default: undefined,
    about: 'Failures after which a transfer task becomes a dead letter, in place of TaskDLQUnexpectedErrorAttempts.',
  }),
  timerFailuresMax: wholeNumber('history.timerProcessorMaxRetryCount', {
    ...anyCount,
    default: undefined,
    about: 'Failures after which a timer task becomes a dead letter, in place of TaskDLQUnexpectedErrorAttempts.',
  }),
  replicationFailuresMax: wholeNumber('history.ReplicationExecutableTaskErrorRetryMaxAttempts', {
    ...anyCount,
    default: 80,
    about: 'Failures after which a replication task becomes a dead letter.',
  }),
};

export const letterSettings = {
  lettersPerStepMax: wholeNumber('history.dlqMaxMessageCount', {
    range: [1, 1_000],
    default: 100,
    about: 'How many dead letters a job takes in one step.',
  }),
  emitsMetrics: onOff('worker.dlqMetricsEmitterEnabled', { default: true, about: 'Whether dlq_message_count is reported.' }),
  emitsReplicationMetrics: onOff('history.ReplicationEnableDLQMetrics', {
    default: true,
    about: 'Whether replication_dlq_* are reported.',
  }),
  maxGeneration: wholeNumber('perdure.dlq.maxGeneration', {
    ...anyCount,
    default: 5,
    about: 'Failed merges after which a dead letter is quarantined. Then only a merge with --override-loop-guard tries it again.',
  }),
  mergeRps: wholeNumber('perdure.dlq.mergeRPS', {
    range: [1, 100_000],
    default: 100,
    about: 'How many dead letters a job merges per second, at most.',
  }),
  mergeConcurrency: wholeNumber('perdure.dlq.mergeConcurrency', {
    range: [1, 1_000],
    default: 8,
    about: 'How many dead letters a job merges at a time, each from another run.',
  }),
  mergeTaskTimeoutMs: durationSetting('perdure.dlq.mergeTaskTimeout', {
    range: ['1ms', '24h'],
    default: 30_000,
    about: 'How long a job waits for the outcome of one dead letter.',
  }),
  requiresReason: onOff('perdure.dlq.requireReason', { default: false, about: 'true: every change of dead letters needs a reason.' }),
  undoWindowMs: durationSetting('perdure.dlq.undoWindow', {
    range: ['0s', '168h'],
    default: 3_600_000,
    about: 'How long a purge can be undone. Until then its dead letters can be read in their topic.',
  }),
  compactionMaxCarry: wholeNumber('perdure.dlq.compactionMaxCarry', {
    ...anyCount,
    default: 10_000,
    about:
      'If a purge leaves at most this many open dead letters, they are rewritten and the purged ones are removed from the topic at once; otherwise that happens later.',
  }),
};

/** Read so that files of Temporal's server mean what they say; both values mean the same here. */
export const deadLetterSettingsWithoutEffect = {
  replicationV2: onOff('history.enableHistoryReplicationDLQV2', { default: true, about: 'Has no effect: both values use the same store.' }),
};

function readPattern(text: string): ReadValue<ErrorPattern | undefined> {
  if (text === '') return { value: undefined };
  const compiled = errorPattern(text);
  return compiled.kind === 'pattern' ? { value: compiled.pattern } : { problem: compiled.problem };
}
