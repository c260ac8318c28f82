/**
 * What a host's next checkpoint has to write, net: a task that came and went since the last cut is in no row, and most do.
 *
 *     since the last cut:  change set ── cut ──▶ Cut: captured, then written ── durable ──▶ nothing
 *                          change set (empty)          └ a write that failed is tried again with the same rows
 *
 * Stored tasks never change, so a reference is all that a row needs, and a cut is the state after one record however long it takes to write
 * it. One cut at a time.
 */
import { assert } from '../../kernel/assert.ts';
import { collected } from '../../kernel/collected.ts';
import type { Backlog, ChangeNotes } from '../backlog.ts';
import type { StoredTask } from '../stored-lane.ts';
import type { ConfiguredQueue } from '../task-queue-config.ts';
import { taskBytes } from '../matching-tasks.ts';
import type { BacklogWire } from './backlog-wire.ts';
import type { BacklogCheckpoint, TaskRow } from './rows.ts';

/** Approximate bytes of a removal, in memory and in a record. */
export const REMOVAL_BYTES = 16;

class ChangeSet {
  readonly stored = new Map<number, StoredTask>();
  /** Removed tasks that the cut before has, or a row. */
  readonly removed = new Set<number>();
  #storedBytes = 0;

  put(task: StoredTask): void {
    this.stored.set(task.id, task);
    this.#storedBytes += taskBytes(task.task);
  }

  /** True: the task was stored, and removed, since the last cut. */
  take(id: number): boolean {
    const task = this.stored.get(id);
    if (task === undefined) return false;
    this.#storedBytes -= taskBytes(task.task);
    return this.stored.delete(id);
  }

  get bytes(): number {
    return this.#storedBytes + this.removed.size * REMOVAL_BYTES;
  }
}

export class Changes implements ChangeNotes {
  readonly #backlog: Backlog;
  readonly #wire: BacklogWire;
  #since = new ChangeSet();
  #cut: Cut | undefined;

  constructor(backlog: Backlog, wire: BacklogWire) {
    this.#backlog = backlog;
    this.#wire = wire;
  }

  // ── What `Backlog` tells ───────────────────────────────────────────────────────────────────────────────────────────────────

  taskStored(stored: StoredTask): void {
    this.#since.put(stored);
  }

  taskRemoved(id: number): void {
    if (!this.#since.take(id)) this.#since.removed.add(id);
  }

  // ── For whoever writes checkpoints ─────────────────────────────────────────────────────────────────────────────────────────

  cut(): void {
    assert(this.#cut === undefined, 'one cut at a time');
    const { lastId, timeMs, configs } = this.#backlog;
    const encoding = encode(this.#since, { lastId, timeMs, configs: [...configs.values()] }, this.#wire);
    this.#cut = { changes: this.#since, lastId, encoding, checkpoint: undefined };
    this.#since = new ChangeSet();
  }

  /** Encodes a task, and then as many more as `goOn` allows. undefined: some are left. The same rows whenever it is asked again. */
  capture(goOn: () => boolean): BacklogCheckpoint | undefined {
    const cut = this.#cut;
    assert(cut !== undefined, 'a cut is captured');
    while (cut.checkpoint === undefined) {
      const next = cut.encoding.next();
      if (next.done === true) cut.checkpoint = next.value;
      else if (!goOn()) return undefined;
    }
    return cut.checkpoint;
  }

  /** Answers up to which id there are rows of all that are stored now. */
  durable(): number {
    assert(this.#cut?.checkpoint !== undefined, 'what is durable was captured');
    const { lastId } = this.#cut;
    this.#cut = undefined;
    return lastId;
  }

  /** What stored tasks and removals that no row knows of take in memory, roughly. */
  get bytes(): number {
    return this.#since.bytes + (this.#cut?.changes.bytes ?? 0);
  }
}

type Cut = {
  readonly changes: ChangeSet;
  readonly lastId: number;
  readonly encoding: Generator<undefined, BacklogCheckpoint>;
  checkpoint: BacklogCheckpoint | undefined;
};

/** The state at the cut beside its tasks. */
type AtCut = { readonly lastId: number; readonly timeMs: number; readonly configs: readonly ConfiguredQueue[] };

function* encode(changes: ChangeSet, { lastId, timeMs, configs }: AtCut, wire: BacklogWire): Generator<undefined, BacklogCheckpoint> {
  const tasks: TaskRow[] = [];
  for (const { id, lane, task, storedAtMs } of changes.stored.values()) {
    const spilled = { id, queue: lane.of.queue, task, shared: lane.name.shared };
    tasks.push({ taskId: id, queue: lane.key, task: wire.encodeTask({ spilled, storedAtMs }) });
    yield;
  }
  const goneTasks = yield* collected(changes.removed);
  return { delta: { tasks, goneTasks }, counters: wire.encodeCounters({ lastId, configs }), timeMs };
}
