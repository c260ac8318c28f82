/**
 * Records of `<prefix>.matching` as bytes: `perdure.journal.v1.BacklogChanged`. Schema 1: without priorities. Schema 2: the first form that has some
 * is written so, and programs that would pass over them stop at it.
 */
import { LogError } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { MatchingRecord, SpilledTask } from '../../matching/records.ts';
import { decodeBacklogChanged, encodeBacklogChanged, type SpilledTask as WireSpilledTask } from '../../wire/generated/journal/matching.ts';
import { TaskQueueType } from '../../wire/generated/lean/enums.ts';
import { ownLimits } from '../../wire/wire-limits.ts';

const plainSchema = 1;
const schemaMax = 2;

export const matchingCodec = {
  encode(record: MatchingRecord): EncodedRecord {
    const first = record.spilled[0];
    const { timeMs } = record;
    const schema = record.spilled.some(({ task }) => task.priority !== undefined) ? schemaMax : plainSchema;
    const value = encodeBacklogChanged({ timeMs, spilled: record.spilled.map(spilledToWire), removed: record.removed });
    if (first === undefined) {
      return { key: '@backlog', schema, type: 'TasksRemoved', namespace: '', workflowId: '', runId: '', timeMs, value };
    }
    const { namespaceId, name } = first.queue;
    const { workflowId, runId } = first.task.key;
    return { key: `${namespaceId}/${name}`, schema, type: 'TasksStored', namespace: namespaceId, workflowId, runId, timeMs, value };
  },

  decode(value: Uint8Array, recordSchema: number): MatchingRecord {
    if (recordSchema < plainSchema || recordSchema > schemaMax) {
      throw new LogError('corrupt', `matching records have schema ${plainSchema} to ${schemaMax}, found ${recordSchema}`);
    }
    const { timeMs, spilled, removed } = decodeBacklogChanged(value, ownLimits);
    return { kind: 'backlogChanged', timeMs, spilled: spilled.map(spilledFromWire), removed };
  },
} satisfies RecordCodec<MatchingRecord>;

export function spilledToWire({ id, queue, task, shared }: SpilledTask): WireSpilledTask {
  const { namespaceId, name, partition } = queue;
  const { key, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority } = task;
  return {
    id,
    queue: { namespaceId, name, partition, taskType: queue.taskType === 'workflow' ? TaskQueueType.WORKFLOW : TaskQueueType.ACTIVITY },
    task: { workflowId: key.workflowId, runId: key.runId, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority },
    sharedLane: shared,
  };
}

export function spilledFromWire({ id, queue, task, sharedLane }: WireSpilledTask): SpilledTask {
  if (queue === undefined || task === undefined)
    throw new LogError('corrupt', `stored task ${id} has no ${queue === undefined ? 'queue' : 'task'}`);
  if (queue.taskType !== TaskQueueType.WORKFLOW && queue.taskType !== TaskQueueType.ACTIVITY) {
    throw new LogError('corrupt', `stored task ${id} has the unknown type ${queue.taskType}`);
  }
  const { namespaceId, name, partition } = queue;
  const { workflowId, runId, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority } = task;
  return {
    id,
    queue: { namespaceId, name, partition, taskType: queue.taskType === TaskQueueType.WORKFLOW ? 'workflow' : 'activity', kind: 'normal' },
    task: { key: { namespaceId, workflowId, runId }, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId, priority },
    shared: sharedLane,
  };
}
