/** What operators have said of a task queue (UpdateTaskQueueConfig): it is journaled, and goes before what workers say. */
import type { TaskQueuePartition } from './task-queue.ts';

export type ConfiguredRate = {
  /** undefined: unset again. */
  readonly perSecond: number | undefined;
  readonly reason: string;
  readonly identity: string;
  readonly timeMs: number;
};

/** How much of its level's turns a fairness key gets, whatever its tasks say. */
export type FairnessWeight = { readonly key: string; readonly weight: number };

export type TaskQueueConfig = {
  /** Counts the changes of this queue: partitions hear of them in any order. */
  readonly version: number;
  /** undefined: never said. */
  readonly queueRate: ConfiguredRate | undefined;
  /** In the order of their keys. */
  readonly weights: readonly FairnessWeight[];
};

/** At one partition: all of it at the root; of the others, which match nothing while there is a rate, only that one. */
export type ConfiguredQueue = { readonly queue: TaskQueuePartition; readonly config: TaskQueueConfig };

export type RateUpdate = {
  /** At least 0 (nothing leaves the queue); undefined: there is none any more. */
  readonly perSecond: number | undefined;
  readonly reason: string;
};

export type ConfigChange = {
  readonly identity: string;
  readonly queueRate: RateUpdate | undefined;
  readonly setWeights: readonly FairnessWeight[];
  readonly unsetWeights: readonly string[];
};

export const emptyConfig: TaskQueueConfig = { version: 0, queueRate: undefined, weights: [] };

export function isNoChange({ queueRate, setWeights, unsetWeights }: ConfigChange): boolean {
  return queueRate === undefined && setWeights.length === 0 && unsetWeights.length === 0;
}

export function changedConfig(config: TaskQueueConfig, change: ConfigChange, timeMs: number): TaskQueueConfig {
  const { identity, queueRate } = change;
  return {
    version: config.version + 1,
    queueRate: queueRate === undefined ? config.queueRate : { ...queueRate, identity, timeMs },
    weights: changedWeights(config.weights, change),
  };
}

function changedWeights(weights: readonly FairnessWeight[], { setWeights, unsetWeights }: ConfigChange): readonly FairnessWeight[] {
  if (setWeights.length === 0 && unsetWeights.length === 0) return weights;
  const byKey = new Map(weights.map(({ key, weight }) => [key, weight]));
  for (const key of unsetWeights) byKey.delete(key);
  for (const { key, weight } of setWeights) byKey.set(key, weight);
  return Array.from(byKey, ([key, weight]) => ({ key, weight })).toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

/** What partitions beside the root need of it. */
export function childConfig({ version, queueRate }: TaskQueueConfig): TaskQueueConfig {
  return { version, queueRate: queueRate && { ...queueRate, reason: '', identity: '' }, weights: [] };
}

/** In memory, in a record and in each checkpoint, roughly: two bytes a character. */
export function configBytes({ queue, config: { queueRate, weights } }: ConfiguredQueue): number {
  const rateBytes = queueRate === undefined ? 0 : 100 + 2 * (queueRate.reason.length + queueRate.identity.length);
  return weights.reduce((bytes, { key }) => bytes + 60 + 2 * key.length, 300 + 4 * queue.name.length + rateBytes);
}
