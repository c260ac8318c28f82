/** Options that clients set on a workflow that is there: a priority, and which of its parts. Temporal has no others that are built here. */
import type { PriorityChange } from '../../history/commands/operation-commands.ts';
import type { PriorityPath } from '../../history/commands/priority.ts';
import { priorityProblem } from '../../kernel/priority.ts';
import { decodePriority } from '../../wire/generated/lean/common.ts';
import type { PostResetOperation } from '../../wire/generated/lean/workflow.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import { checkOpaque } from './opaque.ts';

/** A priority is passed on as it is; a value that no queue could use is refused here. */
export function checkPriority(bytes: Uint8Array | undefined): void {
  if (bytes === undefined) return;
  checkOpaque(bytes, 'priority');
  const problem = priorityProblem(decodePriority(bytes));
  if (problem !== undefined) throw invalidArgument(problem);
}

const paths: { readonly [path: string]: PriorityPath } = {
  priority: 'priority',
  'priority.priority_key': 'priority.priorityKey',
  'priority.fairness_key': 'priority.fairnessKey',
  'priority.fairness_weight': 'priority.fairnessWeight',
};
const notBuiltYet = ['versioning_override', 'time_skipping_config'];

const optionsMessage = '"temporal.api.workflow.v1.WorkflowExecutionOptions"';

/** The options that a field mask names; what is not built is refused, also where nothing would be set. */
export function optionFields(mask: readonly string[], failing = 'error parsing UpdateMask'): readonly PriorityPath[] {
  const fields = new Set<PriorityPath>();
  for (const path of mask) {
    const field = Object.hasOwn(paths, path) ? paths[path] : undefined;
    const [option = ''] = path.split('.');
    if (field === undefined && notBuiltYet.includes(option)) throw notBuilt(option);
    if (field === undefined)
      throw invalidArgument(`${failing}: proto: invalid path ${JSON.stringify(path.slice(0, 100))} for message ${optionsMessage}`);
    fields.add(field);
  }
  return [...fields];
}

/** A reset may have so many `post_reset_operations`, for each may be an event. */
const postResetOperationsMax = 100;

/** What is done to the run that goes on, before any worker has it. Temporal has new options alone. */
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
