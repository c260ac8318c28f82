/** Letters of tasks that another cluster has sent here, and that failed here for good. */
import { failureFingerprint } from '../../deadletters/failure-fingerprint.ts';
import type { Letter, LetterFailure, LetterTask } from '../../deadletters/letter.ts';
import { saidError } from '../../deadletters/task-failure.ts';
import type { DeadLetterCause, LetterDisposition } from '../../kernel/letter-words.ts';

export type ForeignTask = Pick<
  LetterTask,
  | ('taskId' | 'taskType' | 'taskVersion' | 'fireTimeMs' | 'shardId' | 'sourceShardId' | 'namespaceId' | 'namespace')
  | ('workflowId' | 'runId' | 'eventId' | 'nextEventId' | 'valueType' | 'value')
>;

export type ForeignFailure = Pick<
  LetterFailure,
  'cause' | 'errorType' | 'errorMessage' | 'attempts' | 'firstFailureTimeMs' | 'lastFailureTimeMs' | 'handler' | 'build'
>;

const dispositions: { readonly [cause in DeadLetterCause]: LetterDisposition } = {
  'retries-exhausted': 'exhausted',
  'permanent-error': 'poison',
  'namespace-deleted': 'target-gone',
};

/** `sequence`: of its shard's letters for that queue. */
export function foreignLetter(sequence: number, task: ForeignTask, failure: ForeignFailure, deadLetterTimeMs: number): Letter {
  const error = saidError(failure.errorType, failure.errorMessage);
  const { namespaceId, namespace, workflowId, runId } = task;
  return {
    handOver: { shard: task.shardId, sequence, clusterId: '' },
    task: { ...task, createdTimeMs: undefined, targetNamespaceId: '', targetNamespace: '', workflowType: '' },
    failure: {
      ...failure,
      ...error,
      disposition: dispositions[failure.cause],
      fingerprint: failureFingerprint(error, task.taskType, [namespaceId, namespace, workflowId, runId]),
      node: '',
    },
    deadLetterTimeMs,
    ...{ origin: undefined, traceparent: '', generation: 0, state: 'open' as const, history: [], jobId: '' },
  };
}
