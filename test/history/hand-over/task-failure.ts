import type { TaskFailure, TaskSubject } from '../../../src/history/commands/hand-over-commands.ts';

export const taskFailure: TaskFailure = {
  cause: 'retries-exhausted',
  disposition: 'systemic',
  errorType: 'TypeError',
  errorMessage: 'x is not a function',
  errorStack: 'at deliver (transfer-queue.ts:1:1)',
  errorChain: [{ errorType: 'RangeError', errorMessage: '' }],
  fingerprint: '0123456789abcdef',
  attempts: 70,
  firstFailureTimeMs: 1_700_000_000_001,
  lastFailureTimeMs: 1_700_000_600_000,
  handler: 'TransferQueueProcessor',
  node: 'host:7233',
  build: '0.1.0',
};

export const taskSubject: TaskSubject = {
  namespace: 'orders',
  targetNamespaceId: 'billing-id',
  targetNamespace: 'billing',
  workflowType: 'Order',
  originOffset: 17,
};

/** Of records that were written before there were subjects. */
export const unknownSubject: TaskSubject = {
  namespace: '',
  targetNamespaceId: '',
  targetNamespace: '',
  workflowType: '',
  originOffset: undefined,
};
