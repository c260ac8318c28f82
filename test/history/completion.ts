import type { CompleteWorkflowTask } from '../../src/history/commands/history-commands.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';

/** A worker's answer to a workflow task, with nothing special about it. */
export function completion(task: StartedWorkflowTask, commands: readonly WorkflowCommand[]): CompleteWorkflowTask {
  const { key, scheduledEventId, startedEventId, startedTimeMs, attempt } = task;
  return {
    kind: 'completeWorkflowTask',
    task: { key, scheduledEventId, startedEventId, startedTimeMs, attempt },
    namespace: 'ns',
    identity: 'worker',
    commands,
    sticky: undefined,
    returnNewWorkflowTask: false,
    forceCreateNewWorkflowTask: false,
    queryResults: new Map(),
    messages: [],
    discardsSpeculativeEvents: false,
    sdkMetadata: undefined,
    meteringMetadata: undefined,
    workerVersion: undefined,
    binaryChecksum: '',
    newRunId: crypto.randomUUID(),
    pollRequestId: crypto.randomUUID(),
    registryPosition: 0,
    jitter: 0.5,
  };
}
