import type { PriorityPath } from '../../history/priority.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';

const paths: { readonly [path: string]: PriorityPath } = {
  priority: 'priority',
  'priority.priority_key': 'priority.priorityKey',
  'priority.fairness_key': 'priority.fairnessKey',
  'priority.fairness_weight': 'priority.fairnessWeight',
};
const notBuiltYet = ['versioning_override', 'time_skipping_config'];

/** The options that a field mask names; what is not built is refused, also where nothing would be set. */
export function optionFields(mask: readonly string[], failing = 'error parsing UpdateMask'): readonly PriorityPath[] {
  const fields = new Set<PriorityPath>();
  for (const path of mask) {
    const field = Object.hasOwn(paths, path) ? paths[path] : undefined;
    const [option = ''] = path.split('.');
    if (field === undefined && notBuiltYet.includes(option)) throw notBuilt(option);
    if (field === undefined) throw invalidArgument(`${failing}: ${unknownPath(path)}`);
    fields.add(field);
  }
  return [...fields];
}

function unknownPath(path: string): string {
  return `proto: invalid path ${JSON.stringify(path.slice(0, 100))} for message "temporal.api.workflow.v1.WorkflowExecutionOptions"`;
}
