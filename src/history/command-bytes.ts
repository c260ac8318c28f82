/** What a command takes in memory while it waits, roughly: the bytes and texts that its sender chose the length of. Cheap, never exact. */
import type { StartBatch } from './commands/batch-commands.ts';
import type { CompleteWorkflowTask, SignalAttributes, StartAttributes } from './commands/history-commands.ts';
import { attachmentBytes } from './commands/pending-update.ts';
import type { UpdateAttributes } from './commands/update-commands.ts';
import type { WorkflowCommand } from './commands/workflow-commands.ts';

/** Objects, ids, numbers. */
export const overheadBytes = 1024;
const workflowCommandOverheadBytes = 256;

export function completionBytes(command: CompleteWorkflowTask): number {
  let bytes = size(command.sdkMetadata) + size(command.meteringMetadata) + size(command.workerVersion) + command.binaryChecksum.length;
  for (const each of command.commands) bytes += workflowCommandBytes(each);
  for (const [id, result] of command.queryResults) {
    bytes += id.length + result.errorMessage.length + size(result.answer) + size(result.failure);
  }
  for (const { body } of command.messages) bytes += workflowCommandOverheadBytes + anyBytes(body);
  return bytes;
}

export function definitionBytes(begun: Pick<StartBatch, 'definition' | 'memo' | 'searchAttributes'>): number {
  return begun.definition.length + size(begun.memo) + size(begun.searchAttributes);
}

export function startBytes(start: StartAttributes): number {
  const { input, header, memo, searchAttributes, userMetadata, priority, links } = start;
  return size(input) + size(header) + size(memo) + size(searchAttributes) + size(userMetadata) + size(priority) + sizeOfAll(links);
}

export function signalBytes(signal: SignalAttributes): number {
  return size(signal.input) + size(signal.header) + sizeOfAll(signal.links);
}

function workflowCommandBytes({ attributes, userMetadata, eventGroupMarkers }: WorkflowCommand): number {
  return workflowCommandOverheadBytes + size(userMetadata) + sizeOfAll(eventGroupMarkers ?? []) + anyBytes(attributes);
}

/** What a worker sent is not judged yet: any of its texts may be the long one. */
export function anyBytes(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (value instanceof Uint8Array) return value.length;
  let bytes = 0;
  if (value instanceof Map) for (const [name, each] of value) bytes += anyBytes(name) + anyBytes(each);
  else for (const name in value) bytes += anyBytes(value[name as keyof typeof value]);
  return bytes;
}

export function sizeOfAll(all: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const each of all) bytes += each.length;
  return bytes;
}

export function size(bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : bytes.length;
}

export function updateBytes({ request, attachment }: UpdateAttributes): number {
  return request.length + (attachment === undefined ? 0 : attachmentBytes(attachment));
}
