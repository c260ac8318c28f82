/** The rate limit of a whole queue: one bucket, at its root partition; while there is one, child partitions match nothing themselves. */
import { armQueue, type HostParts } from './host-parts.ts';
import type { LoadedQueue, Offer } from './loaded-queue.ts';
import { TokenBucket } from './token-bucket.ts';

export class RateLimit<T> {
  readonly #parts: HostParts<T>;

  constructor(parts: HostParts<T>) {
    this.#parts = parts;
  }

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

  #apply(queue: LoadedQueue): boolean {
    const { decision, limits } = this.#parts;
    const wantedPerSecond = queue.configuredRate ?? queue.workerRate;
    const tasksPerSecond = wantedPerSecond === undefined ? undefined : Math.min(wantedPerSecond, limits.tasksPerSecondMax);
    if (queue.bucket?.rate === tasksPerSecond) return false;
    if (tasksPerSecond === undefined) queue.bucket = undefined;
    else if (queue.bucket === undefined) queue.bucket = new TokenBucket(tasksPerSecond, decision.nowMs);
    else queue.bucket.setRate(tasksPerSecond, decision.nowMs);
    return true;
  }

  /** False: no task may go out now; the queue is looked at when one may. */
  takeToken(queue: LoadedQueue): boolean {
    const { bucket } = queue;
    const { nowMs } = this.#parts.decision;
    if (bucket === undefined || bucket.take(nowMs)) return true;
    queue.limitedAtMs = nowMs;
    const nextMs = bucket.nextTokenMs(nowMs);
    queue.pairingDueMs = nextMs === Infinity ? 0 : nextMs;
    armQueue(this.#parts, queue);
    return false;
  }

  /** The task has reached nobody: whoever gets it takes a token and a turn of its own. */
  giveBack({ queue, lane, task }: Offer): void {
    queue.bucket?.giveBack();
    lane?.level.giveBack(lane, task);
  }
}
