/**
 * What operators say of a queue reaches all its partitions:
 *
 *     UpdateTaskQueueConfig ──▶ root: journaled, answered ──tellPartition──▶ each other partition: journaled there, confirmed
 *                                       └── again after each takeover of the root
 *
 * Each keeps what it has heard in its own journal: a queue that is loaded again, or taken over, asks nobody. Until another partition has heard of
 * a rate it matches its own polls and tasks as before, for a moment, or as long as its host is away.
 */
import type { ConfigurePartition, UpdateTaskQueueConfig } from './matching-commands.ts';
import { type HostParts, Life, type LoadedQueue } from './loaded-queue.ts';
import type { RateLimit } from './rate-limit.ts';
import { configsFull, tooManyWeights } from './rejections.ts';
import { done, type MatchingRejected, type TaskQueueConfigured } from './matching-replies.ts';
import { changedConfig, changesRates, childConfig, emptyConfig, isNoChange, takesAway } from './task-queue-config.ts';
import type { ConfigChange, ConfiguredQueue, TaskQueueConfig } from './task-queue-config.ts';
import { taskQueuePartitionKey } from '../kernel/task-queue.ts';

type ConfigsParts<T> = HostParts<T> & { readonly rateLimit: RateLimit<T> };

export class Configs<T> extends Life<ConfigsParts<T>> {
  /** How many partitions each queue has. */
  readonly #partitions: number;

  constructor(parts: ConfigsParts<T>, partitions: number) {
    super(parts);
    this.#partitions = partitions;
  }

  /** Changes the config at the root. True: it has changed. */
  update({ queue, ...change }: UpdateTaskQueueConfig, askId: number): boolean {
    const { decision, limits } = this.parts;
    const stored = this.parts.backlog.configs.get(taskQueuePartitionKey(queue));
    const known = stored ?? emptyConfig;
    const changed = (by: ConfigChange): ConfiguredQueue => ({ queue, config: changedConfig(known, by, decision.nowMs) });
    const configured = changed(change);
    const { weights } = configured.config;
    const hasRoom = this.parts.backlog.configs.hasRoom(configured, limits.configBytesPerHostMax);
    if (isNoChange(change)) return this.#unchanged(known, askId);
    if (weights.length > limits.fairnessWeightsPerQueueMax) return this.#refused(tooManyWeights, askId);
    if (hasRoom) return this.#configured(configured, change, askId);
    if (!takesAway(change)) return this.#refused(configsFull(limits), askId);
    // A record of nothing would stay until its namespace is removed.
    if (stored === undefined) return this.#unchanged(known, askId);
    // The name of who has said so may be 1,000 bytes long.
    return this.#configured(changed({ ...change, identity: '' }), change, askId);
  }

  #configured(configured: ConfiguredQueue, change: ConfigChange, askId: number): true {
    const { decision } = this.parts;
    decision.configured.push(configured);
    decision.reply(askId, configuredReply(configured.config));
    if (changesRates(change)) this.#tellPartitions(configured);
    return true;
  }

  #unchanged(known: TaskQueueConfig, askId: number): false {
    const { decision } = this.parts;
    decision.barrier = true;
    decision.reply(askId, configuredReply(known));
    return false;
  }

  #refused(rejected: MatchingRejected, askId: number): false {
    this.parts.decision.reply(askId, rejected);
    return false;
  }

  /** Takes the config at another partition. True: it is news. */
  hear({ queue, config }: ConfigurePartition, askId: number): boolean {
    const { decision } = this.parts;
    decision.reply(askId, done);
    const known = this.parts.backlog.configs.get(taskQueuePartitionKey(queue));
    if (known !== undefined && known.version >= config.version) {
      // The record of the earlier one may not be committed yet, and this answer rests on it.
      decision.barrier = true;
      return false;
    }
    decision.configured.push({ queue, config });
    return true;
  }

  forget(namespaceId: string, askId: number): void {
    const { decision } = this.parts;
    decision.reply(askId, done);
    if (this.parts.backlog.configs.hasNamespace(namespaceId)) decision.forgotten.push(namespaceId);
    // What was folded before may not be committed yet, and this answer rests on it.
    else decision.barrier = true;
    decision.act({ kind: 'forgetNews', namespaceId });
  }

  /** A new owner does not know who has heard. */
  tellAll(): void {
    for (const configured of this.parts.backlog.configs.values()) {
      if (configured.queue.partition === 0 && changesRates(configured.config)) this.#tellPartitions(configured);
    }
  }

  #tellPartitions({ queue, config }: ConfiguredQueue): void {
    for (let partition = 1; partition < this.#partitions; partition++) {
      const command = { kind: 'configurePartition', queue: { ...queue, partition }, config: childConfig(config) } as const;
      this.parts.decision.act({ kind: 'tellPartition', command });
    }
  }

  /** What is known of the queue holds for it from now on. True: its rates are others than before. */
  apply(queue: LoadedQueue): boolean {
    const decided = this.parts.decision.configured.findLast((configured) => taskQueuePartitionKey(configured.queue) === queue.key);
    const config = decided?.config ?? this.parts.backlog.configs.get(queue.key);
    if (config === undefined) return false;
    queue.weights = new Map(config.weights.map(({ key, weight }) => [key, weight]));
    const ofKeys = this.parts.rateLimit.configureKeys(queue, config.keyRate?.perSecond);
    return this.parts.rateLimit.configure(queue, config.queueRate?.perSecond) || ofKeys;
  }
}

function configuredReply(config: TaskQueueConfigured['config']): TaskQueueConfigured {
  return { kind: 'taskQueueConfigured', config };
}
