/**
 * How many stored tasks of a lane are rows alone: nobody knows after a takeover, which reads the first rows of each lane. They are counted while
 * the host serves, some thousands of one lane at a time. Until then a queue tells of those that are known, and of one more.
 *
 *     window │ counted │ uncounted ─────────────▶        a stretch at a time, whatever is read of the rows meanwhile
 *
 * Rows of tasks that a fold has removed stand there until the next checkpoint: it is waited for, or they would be counted.
 */
import type { Backlog } from './backlog.ts';
import type { StoredLane } from './stored-lane.ts';
import type { StoredTasksCounted } from './commands.ts';
import type { HostParts } from './host-parts.ts';
import type { LoadedQueue } from './loaded-queue.ts';
import type { Windows } from './windows.ts';

export class ColdCount<T> {
  readonly #parts: HostParts<T>;
  readonly #backlog: Backlog;
  readonly #windows: Windows<T>;
  /** Of which a stretch is being counted. */
  #lane: StoredLane | undefined = undefined;

  constructor(parts: HostParts<T>, backlog: Backlog, windows: Windows<T>) {
    this.#parts = parts;
    this.#backlog = backlog;
    this.#windows = windows;
  }

  /** Something may be counted now that could not be before. */
  goOn(): void {
    if (this.#lane !== undefined) return;
    const stored = this.#backlog.toCount;
    const uncounted = stored?.cold?.uncounted;
    if (stored === undefined || uncounted === undefined) return;
    this.#lane = stored;
    const { key } = stored;
    const { queue } = stored.of;
    const { afterId: afterTaskId, untilId: untilTaskId } = uncounted;
    const max = this.#parts.limits.countedTasksPerReadMax;
    this.#parts.decision.act({ kind: 'countStoredTasks', queue, key, afterTaskId, untilTaskId, max });
  }

  /** `queue`: where it is in memory. */
  counted({ afterTaskId, upToTaskId, count }: StoredTasksCounted, queue: LoadedQueue | undefined): void {
    const stored = this.#lane;
    if (stored === undefined) return;
    this.#lane = undefined;
    const more = this.#backlog.counted(stored, { afterId: afterTaskId, untilId: upToTaskId }, count);
    const lane = queue?.lanes.find(stored.key);
    if (lane !== undefined) this.#windows.changeRest(lane, more);
    if (lane?.coldRead === undefined) this.#backlog.settleCounted(stored);
    this.goOn();
  }
}
