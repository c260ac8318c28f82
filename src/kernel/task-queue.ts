/**
 * Partitions of task queues, and their names.
 *
 *   (namespace, "orders", activity)  ──┬── partition 0, the root
 *                                      ├── partition 1
 *                                      └── …                       each hashes to one matching host
 *
 * Sticky queues belong to one worker process and have one partition.
 */
import { assert } from './assert.ts';
import { fingerprint32 } from './fingerprint.ts';
import { priorityKeyDefault } from './priority.ts';

export type TaskQueuePartition = {
  readonly namespaceId: string;
  /** The base name, as workers know it. */
  readonly name: string;
  readonly taskType: TaskType;
  /** 0 = the root. */
  readonly partition: number;
  readonly kind: 'normal' | 'sticky';
};

/** `stored`: how many tasks wait there. */
export type QueueWithTasks = { readonly queue: TaskQueuePartition; readonly stored: number };

/** Which lane of its queue (src/matching/lane-name.ts). `shared`: 0 = the lane of its fairness key alone. */
export type LaneName = { readonly level: number; readonly fairnessKey: string; readonly shared: number };

/** The lane of tasks without a priority and without a fairness key. */
export const plainLane: LaneName = { level: priorityKeyDefault, fairnessKey: '', shared: 0 };

/** STICKY of `temporal.api.enums.v1.TaskQueueKind`. */
const stickyKind = 2;

/** Partitions of one queue form a tree of this degree, as upstream's do. */
const forwardingDegree = 20;

/** The queue that a message names. `draw` says which of its partitions, if it may have several. */
export function partitionOf(
  namespaceId: string,
  { name, kind }: { readonly name: string; readonly kind: number },
  taskType: TaskType,
  draw: () => number = () => 0,
): TaskQueuePartition {
  if (kind === stickyKind) return { namespaceId, name, taskType, partition: 0, kind: 'sticky' };
  return { namespaceId, name, taskType, partition: draw(), kind: 'normal' };
}

// ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Names a partition across the whole cluster; what hosts look entries up by. */
export function taskQueuePartitionKey(queue: TaskQueuePartition): string {
  return keyOf(queue, '');
}

/** Names a lane of it; what rows stand under. Those of the plain lane stand under the key of the partition, as before there were lanes. */
export function laneKey(queue: TaskQueuePartition, { level, fairnessKey, shared }: LaneName): string {
  if (level === priorityKeyDefault && fairnessKey === '' && shared === 0) return keyOf(queue, '');
  // The fairness key's length says where it ends: it may hold any character.
  return keyOf(queue, `p${level}s${shared}k${fairnessKey.length}/${fairnessKey}`);
}

function keyOf({ namespaceId, name, taskType, partition, kind }: TaskQueuePartition, lane: string): string {
  return `${namespaceId}/${kind === 'sticky' ? 's' : 'n'}${taskTypes[taskType].letter}/${partition}${lane}/${name}`;
}

/** What such a key names; undefined: nothing. */
export function parseLaneKey(key: string): { readonly queue: TaskQueuePartition; readonly lane: LaneName } | undefined {
  const parts = /^([^/]*)\/([ns])([^/])\/(\d+)(?:p(\d)s(\d+)k(\d+))?\/(.*)$/s.exec(key);
  const [, namespaceId = '', kind, letter, partition, level, shared, length, rest = ''] = parts ?? [];
  const taskType = allTaskTypes.find((type) => taskTypes[type].letter === letter);
  if (taskType === undefined) return undefined;
  const fairnessKey = rest.slice(0, Number(length ?? 0));
  const lane = level === undefined ? plainLane : { level: Number(level), fairnessKey, shared: Number(shared) };
  const name = level === undefined ? rest : rest.slice(fairnessKey.length + 1);
  const queue = { namespaceId, name, taskType, partition: Number(partition), kind: kind === 's' ? 'sticky' : 'normal' } as const;
  return laneKey(queue, lane) === key ? { queue, lane } : undefined;
}

/** The names by which Temporal's servers tell partitions apart begin so; clients may not use them. */
export const partitionNamePrefix = '/_sys/';

/** The name of a partition's queue. The root has the queue's own. */
export function partitionName(name: string, partition: number): string {
  return partition === 0 ? name : `${partitionNamePrefix}${name}/${partition}`;
}

// ── Tree and hosts ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Where a partition without matching poll or task looks next; undefined for the root and for sticky queues. */
export function parentPartition(queue: TaskQueuePartition): TaskQueuePartition | undefined {
  if (queue.partition === 0) return undefined;
  return { ...queue, partition: Math.floor((queue.partition - 1) / forwardingDegree) };
}

/** Partition of the matching topic (counted from 0) whose actor hosts this task-queue partition. Stable for ever. */
export function matchingPartitionOf(queue: TaskQueuePartition, matchingPartitions: number): number {
  assert(matchingPartitions > 0, `a matching topic has partitions, found ${matchingPartitions}`);
  return fingerprint32(taskQueuePartitionKey(queue)) % matchingPartitions;
}

/** The types of task queues, each with a row: without one a type does not compile, nor does a part that must decide about a new type. */
type TypeRow<Type extends string> = {
  /** `temporal.api.enums.v1.TaskQueueType`. */
  readonly wire: number;
  /** Names the type in keys of partitions, under which rows are stored. */
  readonly letter: string;
  /** What a matching host is asked. */
  readonly poll: `poll${Capitalize<Type>}Task`;
  readonly add: `add${Capitalize<Type>}Task`;
  /** Workers and operators may limit how many tasks leave it each second. */
  readonly hasRate: boolean;
  /** History takes back a start that has reached no worker; otherwise that task waits for its timeout. */
  readonly takesBackStarts: boolean;
};

export type TaskType = 'workflow' | 'activity';

export const taskTypes = {
  workflow: { wire: 1, letter: 'w', poll: 'pollWorkflowTask', add: 'addWorkflowTask', hasRate: false, takesBackStarts: false },
  activity: { wire: 2, letter: 'a', poll: 'pollActivityTask', add: 'addActivityTask', hasRate: true, takesBackStarts: true },
} as const satisfies { readonly [Type in TaskType]: TypeRow<Type> };

/** Which type a task for a worker is of. */
export const typeOfTask: { readonly [Type in TaskType as `${Type}Task`]: Type } = { workflowTask: 'workflow', activityTask: 'activity' };

export const allTaskTypes = Object.keys(taskTypes) as readonly TaskType[];

/** undefined: there are no queues of that type. */
export function taskTypeOfWire(wire: number): TaskType | undefined {
  return allTaskTypes.find((type) => taskTypes[type].wire === wire);
}
