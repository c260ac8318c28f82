/** A worker has polled for a workflow task: what it is given. */
import type { StartWorkflowTask } from '../commands/history-commands.ts';
import type { Draft } from '../draft/draft.ts';
import { findRun, workflowBehind, workflowTaskNotFound } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { isRunning } from '../run/state.ts';
import { startSpeculative } from '../steps/speculative.ts';
import { describeStarted, writeStarted } from '../steps/workflow-task.ts';
import { workflowTaskOf } from '../run/volatile.ts';

export function startWorkflowTask(draft: Draft, command: StartWorkflowTask): HistoryReply {
  const run = findRun(draft.shard, command.key);
  if (run === undefined && draft.shard.isBehind(command.key.runId)) return workflowBehind;
  if (run === undefined || !isRunning(run) || draft.shard.aside.has(run.key.runId)) return workflowTaskNotFound;
  const workflowTask = workflowTaskOf(draft.volatile, run);
  if (workflowTask === undefined || workflowTask.scheduledEventId !== command.scheduledEventId) return workflowTaskNotFound;
  if (workflowTask.stamp !== command.stamp) return workflowTaskNotFound;
  if (workflowTask.startedEventId !== 0) {
    // The same poll asks again: its first answer was lost. Anyone else comes too late.
    return workflowTask.requestId === command.pollRequestId ? describeStarted(draft, run, workflowTask) : workflowTaskNotFound;
  }
  if (workflowTask.kind === 'speculative') {
    // Nobody polls the sticky queue: whoever has it now knows nothing of the workflow. Its end shows whether that is worth a record.
    const isElsewhere = run.sticky !== undefined && command.taskQueue.name !== run.sticky.taskQueue.name;
    const scheduled = isElsewhere ? { ...workflowTask, taskQueue: run.start.taskQueue } : workflowTask;
    const by = { requestId: command.pollRequestId, identity: command.identity };
    return describeStarted(draft, run, startSpeculative(draft, run, scheduled, by));
  }

  const starting = draft.open(run);
  const { sticky } = run;
  if (sticky !== undefined && command.taskQueue.name !== sticky.taskQueue.name) starting.addFact({ kind: 'stickyCleared' });
  return writeStarted(starting, command.pollRequestId, command.identity);
}
