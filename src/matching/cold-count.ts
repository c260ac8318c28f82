/**
 * How many stored tasks of a queue are rows alone: nobody knows after a takeover, which reads the first rows of each queue. They are counted while
 * the host serves, some thousands of one queue at a time. Until then a queue tells of those that are known, and of one more.
 *
 *     window │ counted │ uncounted ─────────────▶        a stretch at a time, whatever is read of the rows meanwhile
 *
 * Rows of tasks that a fold has removed stand there until the next checkpoint: it is waited for, or they would be counted.
 */
import type { Backlog, StoredQueue } from './backlog.ts';
import type { StoredTasksCounted } from './commands.ts';
import type { HostParts } from './host-parts.ts';
import type { LoadedQueue } from './loaded-queue.ts';

export class ColdCount<T> {
  readonly #parts: HostParts<T>;
  readonly #backlog: Backlog;
  /** Of which a stretch is being counted. */
  #queue: StoredQueue | undefined = undefined;

  constructor(parts: HostParts<T>, backlog: Backlog) {
    this.#parts = parts;
    this.#backlog = backlog;
  }

  /** Something may be counted now that could not be before. */
  goOn(): void {
    if (this.#queue !== undefined) return;
    const stored = this.#backlog.toCount;
    const uncounted = stored?.cold?.uncounted;
    if (stored === undefined || uncounted === undefined) return;
    this.#queue = stored;
    const { queue, key } = stored;
    const { afterId: afterTaskId, untilId: untilTaskId } = uncounted;
    const max = this.#parts.limits.countedTasksPerReadMax;
    this.#parts.decision.act({ kind: 'countStoredTasks', queue, key, afterTaskId, untilTaskId, max });
  }

  /** `queue`: where it is in memory. */
  counted({ afterTaskId, upToTaskId, count }: StoredTasksCounted, queue: LoadedQueue | undefined): void {
    const stored = this.#queue;
    if (stored === undefined) return;
    this.#queue = undefined;
    const more = this.#backlog.counted(stored, { afterId: afterTaskId, untilId: upToTaskId }, count);
    if (queue !== undefined) {
      queue.rest += more;
      queue.storedTasks += more;
    }
    if (queue?.coldRead === undefined) this.#backlog.settleCounted(stored);
    this.goOn();
  }
}
