/** Records of `<prefix>.matching` as bytes. Schema 1: `perdure.journal.v1.BacklogChanged`. */
import { LogError } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { MatchingRecord, SpilledTask } from '../../matching/records.ts';
import { decodeBacklogChanged, encodeBacklogChanged, type SpilledTask as WireSpilledTask } from '../../wire/generated/journal/matching.ts';
import { TaskQueueType } from '../../wire/generated/lean/enums.ts';
import { ownLimits } from '../../wire/wire-limits.ts';

const schema = 1;

export const matchingCodec = {
  encode(record: MatchingRecord): EncodedRecord {
    const first = record.spilled[0];
    const { timeMs } = record;
    const value = encodeBacklogChanged({ timeMs, spilled: record.spilled.map(spilledToWire), removed: record.removed });
    if (first === undefined) {
      return { key: '@backlog', schema, type: 'TasksRemoved', namespace: '', workflowId: '', runId: '', timeMs, value };
    }
    const { namespaceId, name } = first.queue;
    const { workflowId, runId } = first.task.key;
    return { key: `${namespaceId}/${name}`, schema, type: 'TasksStored', namespace: namespaceId, workflowId, runId, timeMs, value };
  },

  decode(value: Uint8Array, recordSchema: number): MatchingRecord {
    if (recordSchema !== schema) throw new LogError('corrupt', `matching records have schema ${schema}, found ${recordSchema}`);
    const { timeMs, spilled, removed } = decodeBacklogChanged(value, ownLimits);
    return { kind: 'backlogChanged', timeMs, spilled: spilled.map(spilledFromWire), removed };
  },
} satisfies RecordCodec<MatchingRecord>;

export function spilledToWire({ id, queue, task }: SpilledTask): WireSpilledTask {
  const { namespaceId, name, partition } = queue;
  const { key, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId } = task;
  return {
    id,
    queue: { namespaceId, name, partition, taskType: queue.taskType === 'workflow' ? TaskQueueType.WORKFLOW : TaskQueueType.ACTIVITY },
    task: { workflowId: key.workflowId, runId: key.runId, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId },
  };
}

export function spilledFromWire({ id, queue, task }: WireSpilledTask): SpilledTask {
  if (queue === undefined || task === undefined)
    throw new LogError('corrupt', `stored task ${id} has no ${queue === undefined ? 'queue' : 'task'}`);
  if (queue.taskType !== TaskQueueType.WORKFLOW && queue.taskType !== TaskQueueType.ACTIVITY) {
    throw new LogError('corrupt', `stored task ${id} has the unknown type ${queue.taskType}`);
  }
  const { namespaceId, name, partition } = queue;
  const { workflowId, runId, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId } = task;
  return {
    id,
    queue: { namespaceId, name, partition, taskType: queue.taskType === TaskQueueType.WORKFLOW ? 'workflow' : 'activity', kind: 'normal' },
    task: { key: { namespaceId, workflowId, runId }, historyShard, scheduledEventId, stamp, expiryTimeMs, taskId },
  };
}
