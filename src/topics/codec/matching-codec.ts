/**
 * Records of `<prefix>.matching` as bytes: `perdure.journal.v1.BacklogChanged`. Schema 1: without priorities. Schema 2: the first form that has some,
 * configurations of queues or removed namespaces, is written so, and programs that would pass over them stop at it. Schema 3: a rate of fairness keys.
 */
import { LogError } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { MatchingRecord, SpilledTask } from '../../matching/records.ts';
import type { ConfiguredQueue } from '../../matching/task-queue-config.ts';
import type { TaskQueuePartition } from '../../matching/task-queue.ts';
import {
  type ConfiguredQueue as WireConfiguredQueue,
  decodeBacklogChanged,
  encodeBacklogChanged,
  type SpilledTask as WireSpilledTask,
  type TaskQueuePartition as WireTaskQueuePartition,
} from '../../wire/generated/journal/matching.ts';
import { TaskQueueType } from '../../wire/generated/lean/enums.ts';
import { ownLimits } from '../../wire/wire-limits.ts';

const plainSchema = 1;
const queuesSchema = 2;
const schemaMax = 3;

export const matchingCodec = {
  encode(record: MatchingRecord): EncodedRecord {
    const first = record.spilled[0];
    const { timeMs, removed, forgotten } = record;
    const configured = record.configured.map(configuredToWire);
    const value = encodeBacklogChanged({ timeMs, spilled: record.spilled.map(spilledToWire), removed, configured, forgotten });
    const coded = { schema: schemaOf(record), timeMs, value };
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

  decode(value: Uint8Array, recordSchema: number): MatchingRecord {
    if (recordSchema < plainSchema || recordSchema > schemaMax) {
      throw new LogError('corrupt', `matching records have schema ${plainSchema} to ${schemaMax}, found ${recordSchema}`);
    }
    const { timeMs, spilled, removed, configured, forgotten } = decodeBacklogChanged(value, ownLimits);
    return {
      kind: 'backlogChanged',
      timeMs,
      spilled: spilled.map(spilledFromWire),
      removed,
      configured: configured.map(configuredFromWire),
      forgotten,
    };
  },
} satisfies RecordCodec<MatchingRecord>;

/** The lowest that can say it. */
function schemaOf({ spilled, configured, forgotten }: MatchingRecord): number {
  if (configured.some(({ config }) => config.keyRate !== undefined)) return schemaMax;
  const isPlain = configured.length + forgotten.length === 0 && spilled.every(({ task }) => task.priority === undefined);
  return isPlain ? plainSchema : queuesSchema;
}

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
  return { namespaceId, name, partition, taskType: taskType === 'workflow' ? TaskQueueType.WORKFLOW : TaskQueueType.ACTIVITY };
}

function queueFromWire({ namespaceId, name, partition, taskType }: WireTaskQueuePartition, what: string): TaskQueuePartition {
  if (taskType !== TaskQueueType.WORKFLOW && taskType !== TaskQueueType.ACTIVITY) {
    throw new LogError('corrupt', `${what} has the unknown type ${taskType}`);
  }
  return { namespaceId, name, taskType: taskType === TaskQueueType.WORKFLOW ? 'workflow' : 'activity', partition, kind: 'normal' };
}
