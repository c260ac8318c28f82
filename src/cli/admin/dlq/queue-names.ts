import type { QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';

/** `transfer/active` */
export function queueText(queue: QueueName | undefined): string {
  return queue === undefined ? '' : [queue.category, queue.sourceCluster].filter((part) => part !== '').join('/');
}

/** `1 dead letter`, `2 dead letters` */
export function deadLetters(count: number): string {
  return `${count} dead ${count === 1 ? 'letter' : 'letters'}`;
}

export function isOfOtherClusters(category: string): boolean {
  return category === 'replication' || category === 'namespace-replication';
}

/** Both categories of replication, or the one that `--dlq-type` names. */
export function replicationCategories(type: string | undefined): readonly string[] {
  switch (type) {
    case undefined:
      return ['replication', 'namespace-replication'];
    case 'replication':
      return ['replication'];
    case 'namespace':
    case 'namespace-replication':
      return ['namespace-replication'];
    default:
      throw usageError(`--dlq-type: expected replication or namespace, got "${type}"`);
  }
}
