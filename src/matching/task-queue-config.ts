/** What operators have said of a task queue (UpdateTaskQueueConfig): it is journaled, and goes before what workers say. */
import type { TaskQueuePartition } from '../kernel/task-queue.ts';

export type RateUpdate = {
  /** A rate of at least 0 (nothing leaves the queue); undefined: there is none any more. */
  readonly perSecond: number | undefined;
  readonly reason: string;
};

export type ConfiguredRate = RateUpdate & { readonly identity: string; readonly timeMs: number };

/** How much of its level's turns a fairness key gets, whatever its tasks say. */
export type FairnessWeight = { readonly key: string; readonly weight: number };

export type TaskQueueConfig = {
  /** Counts the changes of this queue: partitions hear of them in any order. */
  readonly version: number;
  /** undefined: never said. */
  readonly queueRate: ConfiguredRate | undefined;
  /** Configured weights, in the order of their keys. */
  readonly weights: readonly FairnessWeight[];
  /** The rate of each fairness key, times its weight. undefined: never configured. */
  readonly keyRate: ConfiguredRate | undefined;
};

/** What one partition knows: all of it at the root; of the others, which match nothing while there is a rate, only the rates. */
export type ConfiguredQueue = { readonly queue: TaskQueuePartition; readonly config: TaskQueueConfig };

export type ConfigChange = {
  readonly identity: string;
  /** undefined: as it is. */
  readonly queueRate: RateUpdate | undefined;
  readonly keyRate: RateUpdate | undefined;
  readonly setWeights: readonly FairnessWeight[];
  readonly unsetWeights: readonly string[];
};

export const emptyConfig: TaskQueueConfig = { version: 0, queueRate: undefined, weights: [], keyRate: undefined };

export function isNoChange({ setWeights, unsetWeights, ...rates }: ConfigChange): boolean {
  return !changesRates(rates) && setWeights.length === 0 && unsetWeights.length === 0;
}

/** Whether a change only takes away. A full host accepts such a change, or a rate of 0 would stay, and a namespace with it. */
export function takesAway({ queueRate, keyRate, setWeights }: ConfigChange): boolean {
  const isUnset = (rate: RateUpdate | undefined): boolean => rate === undefined || (rate.perSecond === undefined && rate.reason === '');
  return isUnset(queueRate) && isUnset(keyRate) && setWeights.length === 0;
}

/** What partitions beside the root have to hear of. */
export function changesRates({ queueRate, keyRate }: Pick<ConfigChange, 'queueRate' | 'keyRate'>): boolean {
  return queueRate !== undefined || keyRate !== undefined;
}

export function changedConfig(config: TaskQueueConfig, change: ConfigChange, timeMs: number): TaskQueueConfig {
  const { identity, queueRate, keyRate } = change;
  return {
    version: config.version + 1,
    queueRate: queueRate === undefined ? config.queueRate : { ...queueRate, identity, timeMs },
    weights: changedWeights(config.weights, change),
    keyRate: keyRate === undefined ? config.keyRate : { ...keyRate, identity, timeMs },
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
export function childConfig({ version, queueRate, keyRate }: TaskQueueConfig): TaskQueueConfig {
  return { version, queueRate: queueRate && nobodySaid(queueRate), weights: [], keyRate: keyRate && nobodySaid(keyRate) };
}

function nobodySaid(rate: ConfiguredRate): ConfiguredRate {
  return { ...rate, reason: '', identity: '' };
}

/** Approximate bytes of a configuration in memory, in a record and in each checkpoint: two a character. */
export function configBytes({ queue, config: { queueRate, keyRate, weights } }: ConfiguredQueue): number {
  const withoutWeights = 300 + 4 * queue.name.length + rateBytes(queueRate) + rateBytes(keyRate);
  return weights.reduce((bytes, { key }) => bytes + 60 + 2 * key.length, withoutWeights);
}

function rateBytes(rate: ConfiguredRate | undefined): number {
  return rate === undefined ? 0 : 100 + 2 * (rate.reason.length + rate.identity.length);
}
