/** Rates of a queue and of its fairness keys, at its root: children match nothing while there is one. A lane whose next key must wait is held. */
import { laneKey } from '../kernel/task-queue.ts';
import { armQueue, type HostParts, Life, type LoadedQueue, type Offer } from './loaded-queue.ts';
import { Tally } from '../kernel/tally.ts';
import { KeyRates } from './key-rates.ts';
import { ownLane } from './lane-name.ts';
import { isExpired, type MatchingTask } from './matching-tasks.ts';
import { TokenBucket } from './token-bucket.ts';

/** Offers of a lane of several keys that are looked at for one that may go out. */
const sharedLooksMax = 64;

export class RateLimit<T> extends Life<HostParts<T>> {
  /** Counts the buckets of fairness keys by namespace. */
  readonly #buckets = new Tally();

  /** The last worker that says a limit sets it, unless operators have set one. False: it is the one that holds. */
  set(queue: LoadedQueue, wantedPerSecond: number): boolean {
    queue.workerRate = wantedPerSecond;
    return this.#apply(queue);
  }

  /** Operators have; undefined: they have not. */
  configure(queue: LoadedQueue, wantedPerSecond: number | undefined): boolean {
    queue.configuredRate = wantedPerSecond;
    return this.#apply(queue);
  }

  /** Operators alone do. True: what was held may go out now, or what was not may not. */
  configureKeys(queue: LoadedQueue, perSecond: number | undefined): boolean {
    const before = queue.keyRates?.perSecond;
    if (perSecond === undefined) {
      queue.keyRates?.clear();
      queue.keyRates = undefined;
    } else {
      queue.keyRates ??= this.#newKeyRates(queue, perSecond);
      queue.keyRates.perSecond = perSecond;
    }
    // Also where weights alone have changed.
    const hadHeld = queue.lanes.levels.map((level) => level.releaseAll()).includes(true);
    return hadHeld || before !== perSecond;
  }

  #newKeyRates({ queue, lanes }: LoadedQueue, perSecond: number): KeyRates {
    const { limits } = this.parts;
    return new KeyRates(perSecond, { namespaceId: queue.namespaceId, weightOf: lanes.weightOf, limits, ofHost: this.#buckets });
  }

  #apply(queue: LoadedQueue): boolean {
    const { decision, limits } = this.parts;
    const wantedPerSecond = queue.configuredRate ?? queue.workerRate;
    const tasksPerSecond = wantedPerSecond === undefined ? undefined : Math.min(wantedPerSecond, limits.tasksPerSecondMax);
    if (queue.bucket?.rate === tasksPerSecond) return false;
    if (tasksPerSecond === undefined) queue.bucket = undefined;
    else if (queue.bucket === undefined) queue.bucket = new TokenBucket(tasksPerSecond, decision.nowMs);
    else queue.bucket.setRate(tasksPerSecond, decision.nowMs);
    return true;
  }

  /** False: the task may not go out now; the queue is looked at when one may. */
  takeToken(queue: LoadedQueue, task: MatchingTask): boolean {
    const { bucket, keyRates } = queue;
    const { nowMs } = this.parts.decision;
    const keyReadyMs = keyRates?.readyMs(task, nowMs) ?? nowMs;
    if (keyReadyMs > nowMs) return this.#notBefore(queue, keyReadyMs);
    if (bucket !== undefined && !bucket.take(nowMs)) return this.#notBefore(queue, bucket.nextTokenMs(nowMs));
    keyRates?.take(task, nowMs);
    return true;
  }

  /** It, or, where several keys share its lane, the first whose key may go out now. undefined: none may, and the lane is held until one may. */
  firstReady(first: Offer): Offer | undefined {
    const { queue, lane } = first;
    if (queue.keyRates === undefined || lane === undefined) return first;
    const { nowMs } = this.parts.decision;
    let looks = lane.name.shared === 0 ? 1 : sharedLooksMax;
    let untilMs = Infinity;
    for (let offer: Offer | undefined = first; offer !== undefined && looks > 0; offer = offer.next, looks--) {
      // Such a one is finished when it is the first.
      if (isExpired(offer.task, nowMs)) continue;
      const readyMs = queue.keyRates.readyMs(offer.task, nowMs);
      if (readyMs <= nowMs) return offer;
      untilMs = Math.min(untilMs, readyMs);
    }
    lane.level.hold(lane, untilMs);
    return undefined;
  }

  /** Nothing else may go out: the queue is looked at when the first key may that is held. */
  awaitKeys(queue: LoadedQueue): void {
    for (const { heldUntilMs } of queue.lanes.levels) if (heldUntilMs !== undefined) this.#notBefore(queue, heldUntilMs);
  }

  #notBefore(queue: LoadedQueue, dueMs: number): false {
    queue.limitedAtMs = this.parts.decision.nowMs;
    if (dueMs !== Infinity) this.#lookAt(queue, dueMs);
    return false;
  }

  #lookAt(queue: LoadedQueue, dueMs: number): void {
    queue.pairingDueMs = queue.pairingDueMs === 0 ? dueMs : Math.min(queue.pairingDueMs, dueMs);
    armQueue(this.parts, queue);
  }

  /** The task has reached nobody: whoever gets it takes a token and a turn of its own. */
  giveBack({ queue, lane, task }: Offer): void {
    queue.bucket?.giveBack();
    queue.keyRates?.giveBack(task);
    lane?.level.giveBack(lane, task);
    this.#letGo(queue, task, lane);
    // The poll that had the token may be gone, and what else waits here is looked at when the next token is due: that may be minutes from now.
    if (queue.bucket !== undefined && queue.waitingPolls.first !== undefined) this.#lookAt(queue, this.parts.decision.nowMs);
  }

  /** What waits for that key may go out now, of each priority, whoever looks. */
  #letGo(queue: LoadedQueue, task: MatchingTask, own: Offer['lane']): void {
    if (queue.keyRates === undefined) return;
    let wasHeld = own?.level.letGo(own) === true;
    for (const level of queue.lanes.levels) {
      const lane = queue.lanes.find(laneKey(queue.queue, { ...ownLane(task), level: level.number }));
      if (lane !== undefined && level.letGo(lane)) wasHeld = true;
    }
    if (wasHeld) this.#lookAt(queue, this.parts.decision.nowMs);
  }
}
