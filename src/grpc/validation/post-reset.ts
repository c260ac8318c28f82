/** `post_reset_operations`: what is done to the run that goes on, before any worker has it. Temporal has new options alone. */
import type { PriorityChange } from '../../history/execution/options-commands.ts';
import type { PostResetOperation } from '../../wire/generated/lean/workflow.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkPriority } from './priority.ts';
import { optionFields } from './workflow-options.ts';

/** Each may be an event. */
const postResetOperationsMax = 100;

export function priorityChangesOf(operations: readonly PostResetOperation[]): readonly PriorityChange[] {
  if (operations.length > postResetOperationsMax) {
    throw invalidArgument(`a reset may have ${postResetOperationsMax} post_reset_operations, not ${operations.length}`);
  }
  return operations.map(priorityChange);
}

function priorityChange({ signalWorkflow, updateWorkflowOptions }: PostResetOperation): PriorityChange {
  if (updateWorkflowOptions === undefined) {
    const type = signalWorkflow === undefined ? '<nil>' : '*workflow.PostResetOperation_SignalWorkflow_';
    throw invalidArgument(`unsupported post reset operation: ${type}`);
  }
  const { workflowExecutionOptions: options, updateMask } = updateWorkflowOptions;
  if (updateMask === undefined) throw invalidArgument('UpdateMask is required');
  const fields = optionFields(updateMask.paths, 'error applying update_options');
  checkPriority(options?.priority);
  return { fields, priority: options?.priority };
}
