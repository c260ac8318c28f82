/** What a command takes in memory while it waits, roughly: the bytes and texts that its sender chose the length of. Cheap, never exact. */
import { unreachable } from '../kernel/assert.ts';
import type { HistoryCommand, SignalAttributes, StartAttributes, WorkflowCommand } from './commands.ts';

/** Objects, ids, numbers. */
const overheadBytes = 1024;
const workflowCommandOverheadBytes = 256;

export function commandBytes(command: HistoryCommand): number {
  switch (command.kind) {
    case 'startWorkflow':
      return overheadBytes + startBytes(command.start);
    case 'signalWithStartWorkflow':
      return overheadBytes + startBytes(command.start) + signalBytes(command.signal);
    case 'signalWorkflow':
      return overheadBytes + signalBytes(command.signal);
    case 'terminateWorkflow':
      return overheadBytes + size(command.details);
    case 'completeWorkflowTask': {
      let bytes = overheadBytes + size(command.sdkMetadata) + size(command.meteringMetadata);
      for (const each of command.commands) bytes += workflowCommandBytes(each);
      for (const result of command.queryResults.values()) bytes += size(result.answer) + size(result.failure);
      return bytes;
    }
    case 'failWorkflowTask':
      return overheadBytes + size(command.failure?.bytes);
    case 'completeActivityTask':
      return overheadBytes + size(command.result);
    case 'failActivityTask':
      return overheadBytes + size(command.failure?.bytes) + size(command.lastHeartbeatDetails);
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat':
      return overheadBytes + size(command.details);
    case 'queryWorkflow':
      return overheadBytes + command.query.length;
    case 'recordChildClosed': {
      const { close } = command;
      if (close.kind === 'completed') return overheadBytes + size(close.result);
      return overheadBytes + (close.kind === 'failed' ? size(close.failure) : close.kind === 'canceled' ? size(close.details) : 0);
    }
    case 'requestCancelWorkflow':
    case 'scheduleFirstWorkflowTask':
    case 'findChild':
    case 'startWorkflowTask':
    case 'resetStickyTaskQueue':
    case 'startActivityTask':
    case 'withdrawActivityStart':
    case 'describeWorkflow':
    case 'getHistoryPosition':
    case 'fireTimer':
    case 'finishOutboxTask':
    case 'flushFinishedTasks':
    case 'putAside':
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
    case 'terminateWorkflow':
      return true;
    default:
      return false;
  }
}

function startBytes(start: StartAttributes): number {
  let bytes = size(start.input) + size(start.header) + size(start.memo) + size(start.searchAttributes) + size(start.userMetadata);
  for (const link of start.links) bytes += link.length;
  return bytes;
}

function signalBytes(signal: SignalAttributes): number {
  let bytes = size(signal.input) + size(signal.header);
  for (const link of signal.links) bytes += link.length;
  return bytes;
}

function workflowCommandBytes({ attributes, userMetadata }: WorkflowCommand): number {
  let bytes = workflowCommandOverheadBytes + size(userMetadata);
  for (const name in attributes) {
    const value: unknown = attributes[name as keyof typeof attributes];
    if (value instanceof Uint8Array || typeof value === 'string') bytes += value.length;
    else if (value instanceof Map) for (const each of value.values()) bytes += each instanceof Uint8Array ? each.length : 0;
  }
  if (attributes !== undefined && 'failure' in attributes && attributes.failure !== undefined && 'bytes' in attributes.failure) {
    bytes += attributes.failure.bytes.length;
  }
  return bytes;
}

function size(bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : bytes.length;
}
