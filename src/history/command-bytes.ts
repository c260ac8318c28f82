/** What a command takes in memory while it waits, roughly: the bytes and texts that its sender chose the length of. Cheap, never exact. */
import { failureBytes } from './hand-over/hand-over-commands.ts';
import { unreachable } from '../kernel/assert.ts';
import type { CompleteWorkflowTask, HistoryCommand, QueryWorkflow, SignalAttributes, StartAttributes } from './commands.ts';
import { attachmentBytes } from './update/pending-update.ts';
import type { UpdateAttributes } from './update/update-commands.ts';
import type { WorkflowCommand } from './workflow-commands.ts';

/** Objects, ids, numbers. */
const overheadBytes = 1024;
const runKeyBytes = 200;
const workflowCommandOverheadBytes = 256;

export function commandBytes(command: HistoryCommand | CompleteWorkflowTask | QueryWorkflow): number {
  switch (command.kind) {
    case 'startWorkflow':
      return overheadBytes + startBytes(command.start) + sizeOfAll(command.callbacks?.callbacks ?? []);
    case 'signalWithStartWorkflow':
      return overheadBytes + startBytes(command.start) + signalBytes(command.signal);
    case 'signalWorkflow':
      return overheadBytes + signalBytes(command.signal);
    case 'startAndUpdate':
      return commandBytes(command.start) + updateBytes(command.update);
    case 'updateWorkflow':
      return overheadBytes + updateBytes(command.update);
    case 'terminateWorkflow':
      return overheadBytes + command.reason.length + size(command.details) + sizeOfAll(command.links);
    case 'requestCancelWorkflow':
      return overheadBytes + command.cause.length + sizeOfAll(command.links);
    case 'completeWorkflowTask': {
      let bytes = overheadBytes + size(command.sdkMetadata) + size(command.meteringMetadata);
      bytes += size(command.workerVersion) + command.binaryChecksum.length;
      for (const each of command.commands) bytes += workflowCommandBytes(each);
      for (const [id, result] of command.queryResults) {
        bytes += id.length + result.errorMessage.length + size(result.answer) + size(result.failure);
      }
      for (const { body } of command.messages) bytes += workflowCommandOverheadBytes + anyBytes(body);
      return bytes;
    }
    case 'failWorkflowTask':
      return overheadBytes + command.binaryChecksum.length + size(command.failure?.bytes);
    case 'completeActivityTask':
      return overheadBytes + size(command.result);
    case 'failActivityTask':
      return overheadBytes + size(command.failure?.bytes) + size(command.lastHeartbeatDetails);
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat':
      return overheadBytes + size(command.details);
    case 'pauseActivity':
    case 'pauseWorkflow':
    case 'unpauseWorkflow':
      return overheadBytes + command.reason.length;
    case 'updateActivityOptions':
      return overheadBytes + anyBytes(command.change);
    case 'updateWorkflowOptions':
      return overheadBytes + size(command.priority);
    case 'resetWorkflow':
      return (
        overheadBytes +
        command.reason.length +
        sizeOfAll(command.keptEvents) +
        sizeOfAll(command.laterEvents) +
        anyBytes(command.priorityChanges)
      );
    case 'prepareReset':
      return overheadBytes + sizeOfAll(command.events);
    case 'queryWorkflow':
      return overheadBytes + command.query.length;
    case 'finishQueryDispatch': {
      const { query, outcome } = command;
      const result = outcome.kind === 'answered' ? size(outcome.result.answer) + size(outcome.result.failure) : 0;
      return overheadBytes + query.query.length + result;
    }
    case 'retireRuns':
      return overheadBytes + command.runs.length * runKeyBytes;
    case 'noteAtMatching':
      return overheadBytes + command.taskIds.length * 8;
    case 'callbackAnswered':
      return overheadBytes + (command.outcome.kind === 'failed' ? command.outcome.message.length : 0);
    case 'handOverTask':
      return overheadBytes + failureBytes(command.failure);
    case 'noteLetters':
      return overheadBytes + command.messageIds.length * 8;
    case 'executeLetter':
      return overheadBytes + command.task.length;
    case 'addTasks':
      return overheadBytes + sizeOfAll(command.tasks);
    case 'recordActionClosed':
    case 'recordChildClosed': {
      const { close } = command;
      if (close.kind === 'completed') return overheadBytes + size(close.result);
      return overheadBytes + (close.kind === 'failed' ? size(close.failure) : close.kind === 'canceled' ? size(close.details) : 0);
    }
    case 'createSchedule':
    case 'updateSchedule':
    case 'startBatch':
      return overheadBytes + command.definition.length + size(command.memo) + size(command.searchAttributes);
    case 'patchSchedule':
      return overheadBytes + command.patch.backfills.length * 100;
    case 'deleteSchedule':
    case 'describeSchedule':
    case 'stopBatch':
    case 'describeBatch':
    case 'batchStepped':
    case 'pollUpdate':
    case 'dropReset':
    case 'endSpeculative':
    case 'deleteWorkflow':
    case 'scheduleFirstWorkflowTask':
    case 'findChild':
    case 'startWorkflowTask':
    case 'resetStickyTaskQueue':
    case 'startActivityTask':
    case 'withdrawActivityStart':
    case 'unpauseActivity':
    case 'resetActivity':
    case 'describeWorkflow':
    case 'describeMutableState':
    case 'getHistoryPosition':
    case 'fireTimer':
    case 'archived':
    case 'letterChecked':
    case 'runOutboxTask':
    case 'finishOutboxTask':
    case 'flushFinishedTasks':
    case 'putAside':
    case 'confirmLetter':
    case 'withdrawLetter':
    case 'listLetterMarks':
    case 'listTasks':
    case 'removeTask':
    case 'rowRefused':
    case 'writeRow':
    case 'finishRow':
    case 'runCallback':
      return overheadBytes;
    default:
      return unreachable(command);
  }
}

/** It ends or begins what is under way already: refused last when memory is short. */
export function finishesWork(command: HistoryCommand): boolean {
  switch (command.kind) {
    case 'scheduleFirstWorkflowTask':
    case 'findChild':
    case 'startWorkflowTask':
    case 'completeWorkflowTask':
    case 'failWorkflowTask':
    case 'startActivityTask':
    case 'withdrawActivityStart':
    case 'completeActivityTask':
    case 'failActivityTask':
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat':
    case 'recordChildClosed':
    case 'recordActionClosed':
    case 'deleteSchedule':
    case 'batchStepped':
    case 'stopBatch':
    case 'terminateWorkflow':
    case 'deleteWorkflow':
    case 'confirmLetter':
    case 'withdrawLetter':
    case 'dropReset':
      return true;
    default:
      return false;
  }
}

function startBytes(start: StartAttributes): number {
  const { input, header, memo, searchAttributes, userMetadata, priority, links } = start;
  return size(input) + size(header) + size(memo) + size(searchAttributes) + size(userMetadata) + size(priority) + sizeOfAll(links);
}

function signalBytes(signal: SignalAttributes): number {
  return size(signal.input) + size(signal.header) + sizeOfAll(signal.links);
}

function workflowCommandBytes({ attributes, userMetadata, eventGroupMarkers }: WorkflowCommand): number {
  return workflowCommandOverheadBytes + size(userMetadata) + sizeOfAll(eventGroupMarkers ?? []) + anyBytes(attributes);
}

/** What a worker sent is not judged yet: any of its texts may be the long one. */
function anyBytes(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (value instanceof Uint8Array) return value.length;
  let bytes = 0;
  if (value instanceof Map) for (const [name, each] of value) bytes += anyBytes(name) + anyBytes(each);
  else for (const name in value) bytes += anyBytes(value[name as keyof typeof value]);
  return bytes;
}

function sizeOfAll(all: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const each of all) bytes += each.length;
  return bytes;
}

function size(bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : bytes.length;
}

function updateBytes({ request, attachment }: UpdateAttributes): number {
  return request.length + (attachment === undefined ? 0 : attachmentBytes(attachment));
}
