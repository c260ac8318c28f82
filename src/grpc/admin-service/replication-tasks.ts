/** What a cluster asks that has letters of our workflows: the tasks behind them, with their events. Nothing else replicates yet. */
import type { RunKey } from '../../kernel/run-key.ts';
import { isUuid } from '../../kernel/uuid.ts';
import type { ServiceMessages } from '../../wire/services.ts';
import { Writer } from '../../wire/writer.ts';
import { hasCode, invalidArgument, notBuilt, statusCode, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { positionNow } from '../pages/history-pages.ts';
import type { AdminContext, AdminHandlers, RequestOf } from './admin-context.ts';

const tasksMax = 1_000;
/** The events of one answer: whoever is refused asks for fewer tasks. */
const answerBytesMax = 3 * 1024 * 1024;
const pageLimits = { eventsMax: 1_000, bytesMax: 1024 * 1024 };

type Info = RequestOf<'GetDLQReplicationMessages'>['taskInfos'][number];
type Task = ServiceMessages['adminservice']['v1']['GetDLQReplicationMessagesResponse']['prototype']['replicationTasks'][number];

export const replicationTaskHandlers: AdminHandlers = {
  GetDLQReplicationMessages: async (admin, { taskInfos }, call) => ({ replicationTasks: await tasksOf(admin, call, taskInfos) }),
};

async function tasksOf(admin: AdminContext, call: Call, infos: readonly Info[]): Promise<Task[]> {
  if (infos.length === 0) throw invalidArgument('task_infos is not set');
  if (infos.length > tasksMax) throw invalidArgument(`task_infos has ${infos.length}, and may have ${tasksMax}`);
  const wanted = infos.map((info, index) => eventsWanted(admin, info, index));
  const tasks: Task[] = [];
  const room = { bytes: answerBytesMax };
  for (const [index, events] of wanted.entries()) {
    const read = await eventsOf(admin.context, call, events, room);
    if (read.length > 0) tasks.push(taskWith(admin, infos[index] ?? {}, read));
  }
  return tasks;
}

type Wanted = { readonly key: RunKey; readonly firstEventId: number; readonly lastEventId: number };

function eventsWanted({ messages }: AdminContext, info: Info, index: number): Wanted {
  const { TaskType } = messages.enums.v1;
  const name = TaskType[info.taskType ?? 0] ?? '';
  if (!name.startsWith('TASK_TYPE_REPLICATION_')) throw invalidArgument(`task_infos[${index}].task_type is none of replication`);
  if (info.taskType !== TaskType.TASK_TYPE_REPLICATION_HISTORY) throw notBuilt(`GetDLQReplicationMessages of ${name}`);
  const { namespaceId = '', workflowId = '', runId = '' } = info;
  const key = { namespaceId: namespaceId ?? '', workflowId: workflowId ?? '', runId: runId ?? '' };
  if (key.namespaceId === '' || key.workflowId === '' || !isUuid(key.runId)) {
    throw invalidArgument(`task_infos[${index}] does not name a run by namespace_id, workflow_id and run_id`);
  }
  // All events of this server have it.
  if (info.version?.isZero() === false)
    throw invalidArgument(`task_infos[${index}].version is ${info.version.toString()}: events here have 0`);
  const firstEventId = info.firstEventId?.toNumber() ?? 0;
  const nextEventId = info.nextEventId?.toNumber() ?? 0;
  const isRange = firstEventId >= 1 && nextEventId > firstEventId && Number.isSafeInteger(nextEventId);
  if (!isRange) throw invalidArgument(`task_infos[${index}]: Invalid range of event ids: ${firstEventId} to ${nextEventId}`);
  return { key, firstEventId, lastEventId: nextEventId - 1 };
}

/** A run that is gone has none: there is nothing to replicate any more. */
async function eventsOf(context: HandlerContext, call: Call, wanted: Wanted, room: { bytes: number }): Promise<readonly Uint8Array[]> {
  const { key } = wanted;
  const lastEventId = Math.min(wanted.lastEventId, await lastEventOf(context, call, key));
  const events: Uint8Array[] = [];
  for (let firstEventId = wanted.firstEventId; firstEventId <= lastEventId; firstEventId = wanted.firstEventId + events.length) {
    const page = await context.history(call, key, { kind: 'readHistory', key, firstEventId, lastEventId, ...pageLimits });
    if (page.events.length === 0) break;
    for (const event of page.events) room.bytes -= event.length;
    if (room.bytes < 0) {
      const refusal = `the events of these tasks have more than ${answerBytesMax} bytes: ask for fewer`;
      throw new StatusError(statusCode.resourceExhausted, refusal);
    }
    events.push(...page.events);
  }
  return events;
}

/** The id of a run's last event; 0: there is no such run. */
async function lastEventOf(context: HandlerContext, call: Call, key: RunKey): Promise<number> {
  try {
    return (await positionNow(context, call, key)).lastEventId;
  } catch (error) {
    if (hasCode(error, statusCode.notFound)) return 0;
    throw error;
  }
}

/** `temporal.api.history.v1.History` has its events in field 1. */
const EVENTS_TAG = (1 << 3) | 2;

function taskWith({ messages, publicMessages }: AdminContext, info: Info, events: readonly Uint8Array[]): Task {
  const w = new Writer();
  for (const event of events) w.bytesAlways(EVENTS_TAG, event);
  const { namespaceId, workflowId, runId, firstEventId, taskId, priority } = info;
  const { REPLICATION_TASK_TYPE_HISTORY_V2_TASK } = messages.enums.v1.ReplicationTaskType;
  return Object.assign(new messages.replication.v1.ReplicationTask(), {
    taskType: REPLICATION_TASK_TYPE_HISTORY_V2_TASK,
    sourceTaskId: taskId ?? null,
    priority: priority ?? null,
    historyTaskAttributes: {
      ...{ namespaceId: namespaceId ?? '', workflowId: workflowId ?? '', runId: runId ?? '' },
      versionHistoryItems: [{ eventId: firstEventId?.add(events.length - 1) ?? null, version: null }],
      events: { encodingType: publicMessages.enums.v1.EncodingType.ENCODING_TYPE_PROTO3, data: w.finish() },
    },
  });
}
