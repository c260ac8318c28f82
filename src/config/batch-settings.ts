/** Batch operations, by the names that Temporal's dynamic configuration has for them. */
import { wholeNumber } from './dynamic-setting.ts';

const ofNamespace = { scope: 'namespace' } as const;

export const batchSettings = {
  perSecondMax: {
    ...wholeNumber('worker.batcherRPS', { min: 1, max: 100_000, default: 50, about: 'Executions a second of one batch job, at most.' }),
    ...ofNamespace,
  },
  concurrencyMax: {
    ...wholeNumber('worker.batcherConcurrency', { min: 1, max: 1_000, default: 5, about: 'Executions of one batch job at a time.' }),
    ...ofNamespace,
  },
  jobsMax: {
    ...wholeNumber('frontend.MaxConcurrentBatchOperationPerNamespace', {
      min: 0,
      max: 1_000,
      default: 1,
      about: 'Batch jobs of a namespace that run at a time.',
    }),
    ...ofNamespace,
  },
  executionsMax: {
    ...wholeNumber('frontend.MaxExecutionCountBatchOperationPerNamespace', {
      min: 1,
      max: 10_000,
      default: 1_000,
      about: 'Executions that a batch job may be given as a list.',
    }),
    ...ofNamespace,
  },
};
