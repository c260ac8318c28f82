/**
 * The task-queue partitions that a host has in memory, in the order of their last use. A command or the journal loads one. It is evicted
 * when nobody has used it for long, or when a new one needs its place.
 *
 *     longest unused ─▶ q1 ─ q2 ─ q3 ─ … ─ qn ◀─ just used        full: an idle one near the front makes room for a new name
 *
 * A name costs its caller nothing: a client that polls made-up names fills a host in seconds. The queues that it leaves behind are idle and
 * are evicted first. Queues that it keeps busy (open polls, tasks without a worker) fill the host for its own namespace alone: every other
 * namespace may still load its even share. So a host of n namespaces holds at most 1 + 1/2 + … + 1/n times its limit.
 */
import { LinkedList } from '../kernel/linked-list.ts';
import { Tally } from '../kernel/tally.ts';
import type { Backlog } from './backlog.ts';
import { coldHint, hasCold, type StoredLane, type StoredQueue } from './stored-lane.ts';
import type { Configs } from './configs.ts';
import type { Forwarding } from './forwarding.ts';
import { armQueue, type HostParts, Life, LoadedQueue } from './loaded-queue.ts';
import type { Offers } from './offers.ts';
import type { Windows } from './windows.ts';
import { priorityKeyDefault } from '../kernel/priority.ts';
import type { LevelDescription, TaskQueueDescription } from './matching-replies.ts';
import { type QueueWithTasks, taskQueuePartitionKey, type TaskQueuePartition } from '../kernel/task-queue.ts';

type Oldest = { readonly id: number; readonly storedAtMs: number };

type QueueTableParts<T> = HostParts<T> & {
  readonly configs: Configs<T>;
  readonly windows: Windows<T>;
  readonly offers: Offers<T>;
  readonly forwarding: Forwarding<T>;
};

export class QueueTable<T> extends Life<QueueTableParts<T>> {
  readonly #byKey = new Map<string, LoadedQueue>();
  readonly #byUse = new LinkedList<LoadedQueue>();
  readonly #byNamespace = new Tally();
  /** What a takeover has not come to yet; undefined: nothing. */
  #storedQueues: Iterator<StoredQueue> | undefined = undefined;

  get size(): number {
    return this.#byKey.size;
  }

  values(): Iterable<LoadedQueue> {
    return this.#byKey.values();
  }

  find(partition: TaskQueuePartition): LoadedQueue | undefined {
    return this.#byKey.get(taskQueuePartitionKey(partition));
  }

  /** A worker polls it, or did a moment ago: what a sticky queue needs to take a task or a query. */
  isPolled(partition: TaskQueuePartition): boolean {
    const { decision, limits } = this.parts;
    return this.find(partition)?.polledWithin(limits.stickyPollWindowMs, decision.nowMs) ?? false;
  }

  describe(partition: TaskQueuePartition): TaskQueueDescription {
    const { decision, limits } = this.parts;
    const { nowMs } = decision;
    const key = taskQueuePartitionKey(partition);
    const loaded = this.#byKey.get(key);
    const queue = loaded ?? this.#newQueue(key, partition);
    const stored = this.parts.backlog.queues.get(key);
    const oldest = stored === undefined ? undefined : this.#oldest(stored);
    return {
      kind: 'taskQueueDescription',
      pollers: queue.describePollers(nowMs),
      backlogCountHint: loaded?.lanes.stored ?? (stored === undefined ? 0 : storedIn(stored)),
      backlogAgeMs: oldest === undefined ? 0 : Math.max(0, nowMs - oldest.storedAtMs),
      ackLevel: oldest === undefined ? this.parts.backlog.lastId : oldest.id - 1,
      readLevel: this.parts.backlog.lastId,
      ratePerSecond: queue.bucket?.rate,
      isRateLimited: nowMs - queue.limitedAtMs < limits.rateLimitedMemoryMs,
      levels: this.#describeLevels(queue, stored),
      config: this.parts.backlog.configs.get(key),
    };
  }

  #describeLevels(queue: LoadedQueue, stored: StoredQueue | undefined): readonly LevelDescription[] {
    const { nowMs } = this.parts.decision;
    const lanes = [...(stored?.lanes.values() ?? [])].map((lane) => ({ lane, count: this.#countIn(queue, lane) }));
    const held = lanes.filter(({ count }) => count > 0);
    const numbers = new Set([priorityKeyDefault, ...queue.ratedLevels, ...held.map(({ lane }) => lane.name.level)]);
    return [...numbers]
      .toSorted((one, other) => one - other)
      .map((priorityKey) => {
        let backlogCount = 0;
        let oldestMs = nowMs;
        for (const { lane, count } of held) {
          if (lane.name.level !== priorityKey) continue;
          backlogCount += count;
          oldestMs = Math.min(oldestMs, this.#oldestIn(lane)?.storedAtMs ?? nowMs);
        }
        const addRate = queue.rateOf(priorityKey, 'added', nowMs);
        const dispatchRate = queue.rateOf(priorityKey, 'dispatched', nowMs);
        return { priorityKey, backlogCount, backlogAgeMs: nowMs - oldestMs, addRate, dispatchRate };
      });
  }

  /** The tasks of a lane. If it is not in use, removed ones may still be in the journal. */
  #countIn(queue: LoadedQueue, lane: StoredLane): number {
    return queue.lanes.find(lane.key)?.stored ?? storedInLane(lane) - this.parts.removals.countIn(lane.tasks);
  }

  #oldest({ lanes }: StoredQueue): Oldest | undefined {
    let oldest: Oldest | undefined;
    for (const lane of lanes.values()) {
      const first = this.#oldestIn(lane);
      if (first !== undefined && (oldest === undefined || first.id < oldest.id)) oldest = first;
    }
    return oldest;
  }

  /** Where it is not in memory: what is known of those close to it. */
  #oldestIn({ tasks, cold, newer }: StoredLane): Oldest | undefined {
    for (const task of tasks.values()) if (!this.parts.removals.has(task.id)) return task;
    if (cold !== undefined && hasCold(cold)) return { id: cold.afterId + 1, storedAtMs: cold.sinceMs };
    return newer.values().next().value;
  }

  // ── Loading ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Offers tasks that are stored: a new owner offers what the journal holds. One turn's worth now, the rest with `loadMore`. */
  loadStored(): void {
    this.#storedQueues = this.parts.backlog.queues.values();
    this.loadMore();
  }

  get hasUnloaded(): boolean {
    return this.#storedQueues !== undefined;
  }

  loadMore(): void {
    let room = this.parts.limits.storedTasksPerTurnMax;
    while (room > 0 && this.#storedQueues !== undefined) {
      const next = this.#storedQueues.next();
      if (next.done === true) this.#storedQueues = undefined;
      else room -= next.value.lanes.size + (this.load(next.value.queue)?.openOffers ?? 0);
    }
  }

  /** Undefined: the host holds as many queues as it may for this namespace. */
  load(partition: TaskQueuePartition): LoadedQueue | undefined {
    const key = taskQueuePartitionKey(partition);
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      known.lastUseMs = this.parts.decision.nowMs;
      if (known !== this.#byUse.last) this.#toTheEnd(known);
      return known;
    }
    const stored = this.parts.backlog.queues.get(key);
    if (stored === undefined && !this.#makeRoom(partition.namespaceId)) return undefined;
    const queue = this.#newQueue(key, partition);
    this.#add(queue);
    if (stored !== undefined) this.parts.windows.addStored(queue, stored);
    armQueue(this.parts, queue);
    this.parts.forwarding.offerBacklog(queue);
    return queue;
  }

  #newQueue(key: string, partition: TaskQueuePartition): LoadedQueue {
    const queue = new LoadedQueue(key, partition, this.parts.limits);
    this.parts.configs.apply(queue);
    return queue;
  }

  #add(queue: LoadedQueue): void {
    this.#byKey.set(queue.key, queue);
    this.#byNamespace.add(queue.queue.namespaceId, 1);
    this.#byUse.push(queue);
    queue.lastUseMs = this.parts.decision.nowMs;
  }

  // ── Use ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A deadline of the queue has come: polls and offers are paired, the parent is asked again, or the unused queue is evicted. */
  due(queue: LoadedQueue): void {
    const { decision, limits } = this.parts;
    if (queue.pairingDueMs !== 0 && queue.pairingDueMs <= decision.nowMs) {
      queue.pairingDueMs = 0;
      this.parts.offers.startWaiting(queue);
    }
    if (queue.forwardDueMs !== 0 && queue.forwardDueMs <= decision.nowMs) {
      queue.forwardDueMs = 0;
      this.parts.forwarding.forwardWaitingPolls(queue);
      this.parts.forwarding.offerBacklog(queue);
    }
    if (queue.restDueMs !== 0 && queue.restDueMs <= decision.nowMs) {
      queue.restDueMs = 0;
      this.parts.windows.lookAgain(queue);
      this.parts.offers.startWaiting(queue);
      this.parts.forwarding.offerBacklog(queue);
    }
    if (queue.lastUseMs + limits.queueIdleMs <= decision.nowMs) {
      if (queue.sticky && queue.polls.size === 0) this.parts.offers.sendStickyAway(queue);
      if (queue.idle) return this.#unload(queue);
      queue.lastUseMs = decision.nowMs;
    }
    armQueue(this.parts, queue);
  }

  // ── Eviction ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #makeRoom(namespaceId: string): boolean {
    const { queuesPerHostMax } = this.parts.limits;
    while (this.#byKey.size >= queuesPerHostMax) {
      const idle = this.#longestIdle();
      if (idle === undefined) return this.#byNamespace.isBelowShare(namespaceId, queuesPerHostMax);
      this.#unload(idle);
    }
    return true;
  }

  /** An idle queue, to be evicted. Busy queues that are passed on the way move to the end of the list: a later bounded search gets further. */
  #longestIdle(): LoadedQueue | undefined {
    for (let looks = 0; looks < this.parts.limits.evictionLooksMax; looks++) {
      const queue = this.#byUse.first;
      if (queue === undefined || queue.idle) return queue;
      this.#toTheEnd(queue);
    }
    return undefined;
  }

  #unload(queue: LoadedQueue): void {
    this.parts.deadlines.remove(queue);
    queue.keyRates?.clear();
    this.#byKey.delete(queue.key);
    this.#byUse.remove(queue);
    this.#byNamespace.add(queue.queue.namespaceId, -1);
  }

  #toTheEnd(queue: LoadedQueue): void {
    this.#byUse.remove(queue);
    this.#byUse.push(queue);
  }
}

/** Queues of a namespace, with how many tasks each has, or a few more. */
export function storedQueues({ queues }: Backlog, namespaceId: string): readonly QueueWithTasks[] {
  const wanted = [...queues.values()].filter(({ queue }) => queue.namespaceId === namespaceId);
  return wanted.map((stored) => ({ queue: stored.queue, stored: storedIn(stored) }));
}

/** That one, if it has any. */
export function storedQueue({ queues }: Backlog, queue: TaskQueuePartition): readonly QueueWithTasks[] {
  const stored = queues.get(taskQueuePartitionKey(queue));
  return stored === undefined ? [] : [{ queue, stored: storedIn(stored) }];
}

function storedIn({ lanes }: StoredQueue): number {
  let count = 0;
  for (const lane of lanes.values()) count += storedInLane(lane);
  return count;
}

function storedInLane({ tasks, cold, newer }: StoredLane): number {
  return tasks.size + newer.size + (cold === undefined ? 0 : coldHint(cold));
}
