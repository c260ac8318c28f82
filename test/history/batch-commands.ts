/** What a shard is asked about batch jobs: one that terminates, unless a test says otherwise. */
import { jobKeptAs } from '../../src/batches/job-id.ts';
import type { StartBatch } from '../../src/history/commands/batch-commands.ts';
import { emptyStartBatchOperationRequest, encodeStartBatchOperationRequest } from '../../src/wire/generated/lean/batch.ts';
import { bytes, fields, namespaceId } from './shard-under-test.ts';

export const aJobKey = { namespaceId, workflowId: jobKeptAs('nightly'), runId: '' };

const definition = encodeStartBatchOperationRequest({
  ...emptyStartBatchOperationRequest(),
  namespace: 'ns',
  visibilityQuery: `WorkflowType = 'Report'`,
  jobId: 'nightly',
  reason: 'cleaning up',
  terminationOperation: { details: bytes('details'), identity: 'client' },
});

export function startBatch(change: Partial<StartBatch> = {}): StartBatch {
  return {
    kind: 'startBatch',
    key: aJobKey,
    namespace: 'ns',
    newRunId: '00000000-0000-4000-8000-0000000000fe',
    definition,
    total: 0,
    identity: 'client',
    memo: fields({ batch_operation_type: '"terminate"' }),
    searchAttributes: fields({ TemporalNamespaceDivision: '"TemporalBatcher"' }),
    retentionMs: 3_600_000,
    ...change,
  };
}
