/** What operators set about dead letters: by the names of Temporal's dynamic configuration, of the operations guide, and `perdure.dlq` of our own. */
import { errorPattern, type ErrorPattern } from '../deadletters/error-pattern.ts';
import { durationSetting, onOff, type ReadValue, textSetting, wholeNumber } from './dynamic-setting.ts';

const anyCount = { min: 1, max: Number.MAX_SAFE_INTEGER };

/** When a task that fails becomes a letter. */
export const captureSettings = {
  enabled: onOff('history.TaskDLQEnabled', {
    default: true,
    about: 'false: tasks that fail are tried for ever, and make no dead letters; but those of a deleted namespace do.',
  }),
  internalErrorsArePermanent: onOff('history.TaskDLQInternalErrors', {
    default: false,
    about: 'true: a task that fails with an Internal error becomes a dead letter at once.',
  }),
  errorPattern: textSetting(
    'history.TaskDLQErrorPattern',
    { default: undefined, about: 'A regular expression; a task whose error it matches becomes a dead letter at once. Empty: none does.' },
    readPattern,
  ),
  failuresMax: wholeNumber('history.TaskDLQUnexpectedErrorAttempts', {
    ...anyCount,
    default: 70,
    about: 'Failures after which a task becomes a dead letter, in every category that has no number of its own. 70 take about an hour.',
  }),
  transferFailuresMax: wholeNumber('history.transferProcessorMaxRetryCount', {
    ...anyCount,
    default: undefined,
    about: 'The same for transfer tasks.',
  }),
  timerFailuresMax: wholeNumber('history.timerProcessorMaxRetryCount', {
    ...anyCount,
    default: undefined,
    about: 'The same for timer tasks.',
  }),
  replicationFailuresMax: wholeNumber('history.ReplicationExecutableTaskErrorRetryMaxAttempts', {
    ...anyCount,
    default: 80,
    about: 'The same for replication tasks.',
  }),
};

/** What is done with the letters that there are. */
export const letterSettings = {
  lettersPerStepMax: wholeNumber('history.dlqMaxMessageCount', {
    min: 1,
    max: 1_000,
    default: 100,
    about: 'Dead letters in a step of a job.',
  }),
  emitsMetrics: onOff('worker.dlqMetricsEmitterEnabled', { default: true, about: 'Whether dlq_message_count is told.' }),
  emitsReplicationMetrics: onOff('history.ReplicationEnableDLQMetrics', { default: true, about: 'Whether replication_dlq_* are told.' }),
  maxGeneration: wholeNumber('perdure.dlq.maxGeneration', {
    ...anyCount,
    default: 5,
    about: 'Merges of a dead letter that may fail; then it is in quarantine, where only a merge that says so tries it again.',
  }),
  mergeRps: wholeNumber('perdure.dlq.mergeRPS', {
    min: 1,
    max: 100_000,
    default: 100,
    about: 'Dead letters a second that a job merges at most.',
  }),
  mergeConcurrency: wholeNumber('perdure.dlq.mergeConcurrency', {
    min: 1,
    max: 1_000,
    default: 8,
    about: 'Dead letters that a job merges at a time, each of another run.',
  }),
  mergeTaskTimeoutMs: durationSetting('perdure.dlq.mergeTaskTimeout', {
    min: '1ms',
    max: '24h',
    default: 30_000,
    about: 'How long a job waits for what becomes of one dead letter.',
  }),
  requiresReason: onOff('perdure.dlq.requireReason', { default: false, about: 'true: who changes dead letters has to say why.' }),
  undoWindowMs: durationSetting('perdure.dlq.undoWindow', {
    min: '0s',
    max: '168h',
    default: 3_600_000,
    about: 'How long a purge can be undone. So long its dead letters can be read in their topic.',
  }),
  compactionMaxCarry: wholeNumber('perdure.dlq.compactionMaxCarry', {
    ...anyCount,
    default: 10_000,
    about: 'Open dead letters that a purge may have to write again so that what it purged is gone at once; with more it is gone later.',
  }),
};

/** Read so that files of Temporal's server mean what they say; both values mean the same here. */
export const deadLetterSettingsWithoutEffect = {
  replicationV2: onOff('history.enableHistoryReplicationDLQV2', { default: true, about: 'Both values use the same store.' }),
};

function readPattern(text: string): ReadValue<ErrorPattern | undefined> {
  if (text === '') return { value: undefined };
  const compiled = errorPattern(text);
  return compiled.kind === 'pattern' ? { value: compiled.pattern } : { problem: compiled.problem };
}
