import { jobIdOf } from '../../batches/job-id.ts';
import type { Condition } from '../../filter/condition.ts';
import { columnNamed } from '../../projections/visibility/columns.ts';
import { fieldOf } from '../../wire/fields.ts';
import type { BatchOperationInfo } from '../../wire/generated/lean/batch.ts';
import { decodePayload } from '../../wire/generated/lean/common.ts';
import { BatchOperationState, WorkflowExecutionStatus } from '../../wire/generated/lean/enums.ts';
import type { WorkflowExecutionInfo } from '../../wire/generated/lean/workflow.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { operations } from './batch-definition.ts';

export const batchesQuery = `TemporalNamespaceDivision = 'TemporalBatcher'`;

export const openBatches: Condition = {
  kind: 'and',
  conditions: [
    { kind: 'compare', column: columnNamed('TemporalNamespaceDivision'), operator: '=', operand: 'TemporalBatcher' },
    { kind: 'compare', column: columnNamed('ExecutionStatus'), operator: '=', operand: WorkflowExecutionStatus.RUNNING },
  ],
};

export function batchInfo({ execution, status, startTimeMs, closeTimeMs, memo }: WorkflowExecutionInfo): BatchOperationInfo {
  return {
    jobId: jobIdOf({ workflowId: execution?.workflowId ?? '' }),
    state: batchState(status),
    startTimeMs,
    closeTimeMs,
    operationType: typeIn(memo),
  };
}

export function batchState(status: number): number {
  if (status === WorkflowExecutionStatus.RUNNING) return BatchOperationState.RUNNING;
  return status === WorkflowExecutionStatus.COMPLETED ? BatchOperationState.COMPLETED : BatchOperationState.FAILED;
}

const known = new Map<string, { readonly type: number }>(Object.entries(operations));

function typeIn(memo: Uint8Array | undefined): number {
  const payload = memo && fieldOf(memo, 'batch_operation_type');
  if (payload === undefined) return 0;
  const name = Buffer.from(decodePayload(payload, ownLimits).data).toString().slice(1, -1);
  return known.get(name)?.type ?? 0;
}
