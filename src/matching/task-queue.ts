/**
 * The names of task-queue partitions.
 *
 *   (namespace, "orders", activity)  ──┬── partition 0, the root
 *                                      ├── partition 1
 *                                      └── …                       each hashes to one matching host
 *
 * Sticky queues belong to one worker process and have one partition.
 */
import { assert } from '../kernel/assert.ts';
import { fingerprint32 } from '../kernel/fingerprint.ts';

export type TaskType = 'workflow' | 'activity';

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

/** Partitions of one queue form a tree of this degree, as upstream's do. */
const forwardingDegree = 20;

/** Names a partition across the whole cluster; what hosts look entries up by. */
export function taskQueuePartitionKey(queue: TaskQueuePartition): string {
  const letter = queue.taskType === 'workflow' ? 'w' : 'a';
  return queue.kind === 'sticky'
    ? `${queue.namespaceId}/s${letter}/${queue.partition}/${queue.name}`
    : `${queue.namespaceId}/n${letter}/${queue.partition}/${queue.name}`;
}

/** What that key names; undefined: nothing. */
export function taskQueuePartitionOf(key: string): TaskQueuePartition | undefined {
  const [, namespaceId = '', kind, type, partition = '', name = ''] = /^([^/]*)\/([ns])([wa])\/(\d+)\/(.*)$/s.exec(key) ?? [];
  const taskType = type === 'w' ? 'workflow' : 'activity';
  const named: TaskQueuePartition = { namespaceId, name, taskType, partition: Number(partition), kind: kind === 's' ? 'sticky' : 'normal' };
  return taskQueuePartitionKey(named) === key ? named : undefined;
}

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
