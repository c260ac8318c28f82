/** Records of `<prefix>.matching` as bytes: `perdure.journal.v1.BacklogChanged`. */
import { LogError } from '../ports/log.ts';
import type { EncodedRecord, RecordCodec } from '../actors/partition/partition-core.ts';
import type { MatchingRecord, SpilledTask } from '../matching/matching-records.ts';
import type { ConfiguredQueue } from '../matching/task-queue-config.ts';
import { type TaskQueuePartition, taskTypeOfWire, taskTypes } from '../kernel/task-queue.ts';
import {
  type ConfiguredQueue as WireConfiguredQueue,
  decodeBacklogChanged,
  encodeBacklogChanged,
  type SpilledTask as WireSpilledTask,
  type TaskQueuePartition as WireTaskQueuePartition,
} from '../wire/generated/journal/matching.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { checkRecordSchema, recordSchema } from './record-schema.ts';

export const matchingCodec = {
  encode(record: MatchingRecord): EncodedRecord {
    const first = record.spilled[0];
    const { timeMs, removed, forgotten } = record;
    const configured = record.configured.map(configuredToWire);
    const value = encodeBacklogChanged({ timeMs, spilled: record.spilled.map(spilledToWire), removed, configured, forgotten });
    const coded = { schema: recordSchema, timeMs, value };
    const queue = first?.queue ?? record.configured[0]?.queue;
    if (queue === undefined) {
      const type = forgotten.length > 0 ? 'NamespaceForgotten' : 'TasksRemoved';
      return { ...coded, key: '@backlog', type, namespace: forgotten[0] ?? '', workflowId: '', runId: '' };
    }
    const { namespaceId, name } = queue;
    const key = `${namespaceId}/${name}`;
    if (first === undefined) return { ...coded, key, type: 'TaskQueueConfigured', namespace: namespaceId, workflowId: '', runId: '' };
    const { workflowId, runId } = first.task.key;
    return { ...coded, key, type: 'TasksStored', namespace: namespaceId, workflowId, runId };
  },

  decode(value: Uint8Array, schema: number): MatchingRecord {
    checkRecordSchema(schema);
    const { timeMs, spilled, removed, configured, forgotten } = decodeBacklogChanged(value, ownLimits);
    const lists = { spilled: spilled.map(spilledFromWire), removed, configured: configured.map(configuredFromWire), forgotten };
    return { kind: 'backlogChanged', timeMs, ...lists };
  },
} satisfies RecordCodec<MatchingRecord>;

export function configuredToWire({ queue, config }: ConfiguredQueue): WireConfiguredQueue {
  return { queue: queueToWire(queue), config };
}

export function configuredFromWire({ queue, config }: WireConfiguredQueue): ConfiguredQueue {
  if (queue === undefined || config === undefined) throw new LogError('corrupt', 'a configured queue has no name, or no configuration');
  return { queue: queueFromWire(queue, 'a configured queue'), config };
}

export function spilledToWire({ id, queue, task, shared }: SpilledTask): WireSpilledTask {
  const { key, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority } = task;
  return {
    id,
    queue: queueToWire(queue),
    task: { workflowId: key.workflowId, runId: key.runId, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority },
    sharedLane: shared,
  };
}

export function spilledFromWire({ id, queue, task, sharedLane }: WireSpilledTask): SpilledTask {
  if (queue === undefined || task === undefined)
    throw new LogError('corrupt', `stored task ${id} has no ${queue === undefined ? 'queue' : 'task'}`);
  const { workflowId, runId, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority } = task;
  const { namespaceId } = queue;
  return {
    id,
    queue: queueFromWire(queue, `stored task ${id}`),
    task: { key: { namespaceId, workflowId, runId }, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority },
    shared: sharedLane,
  };
}

function queueToWire({ namespaceId, name, partition, taskType }: TaskQueuePartition): WireTaskQueuePartition {
  return { namespaceId, name, partition, taskType: taskTypes[taskType].wire };
}

function queueFromWire({ namespaceId, name, partition, taskType: wireType }: WireTaskQueuePartition, what: string): TaskQueuePartition {
  const taskType = taskTypeOfWire(wireType);
  if (taskType === undefined) throw new LogError('corrupt', `${what} has the unknown type ${wireType}`);
  return { namespaceId, name, taskType, partition, kind: 'normal' };
}
