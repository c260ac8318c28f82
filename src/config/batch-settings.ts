/** Batch operations, by the names that Temporal's dynamic configuration has for them. */
import { wholeNumber } from './dynamic-setting.ts';

export const batchSettings = {
  perSecondMax: wholeNumber('worker.batcherRPS', {
    scope: 'namespace',
    range: [1, 100_000],
    default: 50,
    about: 'Executions a second of one batch job, at most.',
  }),
  concurrencyMax: wholeNumber('worker.batcherConcurrency', {
    scope: 'namespace',
    range: [1, 1_000],
    default: 5,
    about: 'Executions of one batch job at a time.',
  }),
  jobsMax: wholeNumber('frontend.MaxConcurrentBatchOperationPerNamespace', {
    scope: 'namespace',
    range: [0, 1_000],
    default: 1,
    about: 'Batch jobs of a namespace that run at a time.',
  }),
  executionsMax: wholeNumber('frontend.MaxExecutionCountBatchOperationPerNamespace', {
    scope: 'namespace',
    range: [1, 10_000],
    default: 1_000,
    about: 'Executions in the list of a batch job, at most.',
  }),
};
