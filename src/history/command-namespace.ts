/** Whose command it is, for the shares of namespaces in what waits. Cheap. '' = the shard's own, about several workflows or by the id of a task. */
import type { CompleteWorkflowTask, HistoryCommand, QueryWorkflow } from './commands.ts';

export function commandNamespace(command: HistoryCommand | CompleteWorkflowTask | QueryWorkflow): string {
  switch (command.kind) {
    case 'startAndUpdate':
      return command.start.key.namespaceId;
    case 'completeWorkflowTask':
    case 'failWorkflowTask':
      return command.task.key.namespaceId;
    case 'completeActivityTask':
    case 'failActivityTask':
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat':
      return command.activity.key.namespaceId;
    case 'recordChildClosed':
      return command.parent.namespaceId;
    case 'finishQueryDispatch':
      return command.query.key.namespaceId;
    default:
      return 'key' in command ? command.key.namespaceId : '';
  }
}
