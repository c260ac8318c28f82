import type { RunKey } from '../../kernel/run-key.ts';
import { isUuid } from '../../kernel/uuid.ts';
import type { WorkflowExecution } from '../../wire/generated/lean/common.ts';
import { invalidArgument } from '../errors/status-error.ts';

/** The run that a request names, `runId` '' = the current one. Form only: whether it exists is for its shard to say. */
export function runKey(namespaceId: string, execution: WorkflowExecution | undefined): RunKey {
  if (execution === undefined) throw invalidArgument('Execution is not set on request.');
  return runKeyOf(namespaceId, execution.workflowId, execution.runId);
}

/** As `runKey`, in the words of Temporal's shards: of calls that its frontend passes on without a look at their run id. */
export function shardRunKey(namespaceId: string, { workflowId, runId }: WorkflowExecution): RunKey {
  return runKeyOf(namespaceId, workflowId, runId, 'RunId is not valid UUID.');
}

export function runKeyOf(namespaceId: string, workflowId: string, runId: string, problem = 'Invalid RunId.'): RunKey {
  checkWorkflowId(workflowId);
  if (runId !== '' && !isUuid(runId)) throw invalidArgument(problem);
  return { namespaceId, workflowId, runId: runId.toLowerCase() };
}

function checkWorkflowId(workflowId: string): void {
  if (workflowId === '') throw invalidArgument('WorkflowId is not set on request.');
}
