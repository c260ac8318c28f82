import type { Letter } from '../../src/deadletters/letter.ts';
import type { LetterState } from '../../src/kernel/letter-words.ts';

/** One of a shard's; what is not named does not matter to the test. */
export function letterOf(
  shard: number,
  sequence: number,
  more: { readonly generation?: number; readonly state?: LetterState } = {},
): Letter {
  return {
    handOver: { shard, sequence, clusterId: '' },
    task: {
      taskId: 1_000 * shard + sequence,
      taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
      taskVersion: undefined,
      fireTimeMs: undefined,
      createdTimeMs: undefined,
      shardId: shard,
      sourceShardId: undefined,
      namespaceId: '32049b68-7872-4094-8e63-d0dd59896a83',
      namespace: 'default',
      targetNamespaceId: '',
      targetNamespace: '',
      workflowId: `order-${sequence}`,
      runId: '0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11',
      workflowType: 'Order',
      eventId: 5,
      nextEventId: undefined,
      valueType: 'temporal.server.api.persistence.v1.TransferTaskInfo',
      value: Uint8Array.of(8, sequence % 128),
    },
    failure: {
      cause: 'retries-exhausted',
      disposition: 'exhausted',
      errorType: 'Unavailable',
      errorMessage: `connection ${sequence} refused`,
      errorStack: '',
      errorChain: [],
      fingerprint: '0123456789abcdef',
      attempts: 70,
      firstFailureTimeMs: 1_770_000_000_000,
      lastFailureTimeMs: 1_770_000_600_000,
      handler: 'TransferQueueProcessor',
      node: 'host:7233',
      build: '0.1.0',
    },
    origin: undefined,
    traceparent: '',
    deadLetterTimeMs: 1_770_000_600_001,
    generation: more.generation ?? 0,
    state: more.state ?? 'open',
    history: [],
    jobId: '',
  };
}
