/** The answer to a start: alone, or within that to an update that came with it. */
import type { StartReply } from '../../history/replies.ts';
import type * as wire from '../../wire/generated/peer/history.ts';
import { workflowTaskFromWire, workflowTaskToWire } from './started-task-codec.ts';

export function startReplyToWire({ workflowTask, ...reply }: StartReply): wire.StartReply {
  return { ...reply, workflowTask: workflowTask === undefined ? undefined : workflowTaskToWire(workflowTask) };
}

export function startReplyFromWire({ workflowTask, ...reply }: wire.StartReply): StartReply {
  return { ...reply, kind: 'started', ...(workflowTask === undefined ? {} : { workflowTask: workflowTaskFromWire(workflowTask) }) };
}
