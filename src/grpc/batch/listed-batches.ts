/** Batch jobs in List: rows like workflows, in a division of their own. */
import { jobIdOf } from '../../batches/job-id.ts';
import type { Column, Condition } from '../../filter/condition.ts';
import { assert } from '../../kernel/assert.ts';
import { predefinedColumns, systemColumns } from '../../visibility/columns.ts';
import { fieldOf } from '../../wire/fields.ts';
import type { BatchOperationInfo } from '../../wire/generated/lean/batch.ts';
import { decodePayload } from '../../wire/generated/lean/common.ts';
import { BatchOperationState, WorkflowExecutionStatus } from '../../wire/generated/lean/enums.ts';
import type { WorkflowExecutionInfo } from '../../wire/generated/lean/workflow.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { operationTypes } from './batch-definition.ts';

export const batchesQuery = `TemporalNamespaceDivision = 'TemporalBatcher'`;

export const openBatches: Condition = {
  kind: 'and',
  conditions: [
    { kind: 'compare', column: columnOf('TemporalNamespaceDivision'), operator: '=', operand: 'TemporalBatcher' },
    { kind: 'compare', column: columnOf('ExecutionStatus'), operator: '=', operand: WorkflowExecutionStatus.RUNNING },
  ],
};

function columnOf(name: string): Column {
  const column = systemColumns.get(name) ?? predefinedColumns.get(name);
  assert(column !== undefined, `${name} is a column of every row`);
  return column;
}

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

/** 0: nobody can tell. */
function typeIn(memo: Uint8Array | undefined): number {
  const payload = memo && fieldOf(memo, 'batch_operation_type');
  if (payload === undefined) return 0;
  const name = Buffer.from(decodePayload(payload, ownLimits).data).toString().slice(1, -1);
  return new Map(Object.entries(operationTypes)).get(name) ?? 0;
}
