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
import { taskBytes } from '../tasks.ts';
import { backlogSchemaOf, type BacklogWire } from './backlog-wire.ts';
import type { BacklogCheckpoint, TaskRow } from './rows.ts';

/** Of a removal, in memory and in a record, roughly. */
export const REMOVAL_BYTES = 16;

class ChangeSet {
  readonly stored = new Map<number, StoredTask>();
  /** Of those that the cut before has, or a row. */
  readonly removed = new Set<number>();
  #storedBytes = 0;

  put(task: StoredTask): void {
    this.stored.set(task.id, task);
    this.#storedBytes += taskBytes(task.task);
  }

  /** It was stored, and removed, since the last cut. */
  take(id: number): boolean {
    const task = this.stored.get(id);
    if (task === undefined) return false;
    this.#storedBytes -= taskBytes(task.task);
    return this.stored.delete(id);
  }

  get bytes(): number {
    return this.#storedBytes + this.removed.size * REMOVAL_BYTES;
  }

  get size(): number {
    return this.stored.size + this.removed.size;
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
    this.#cut = new Cut(this.#backlog, this.#since, this.#wire);
    this.#since = new ChangeSet();
  }

  /** Encodes a task, and then as many more as `goOn` allows. undefined: some are left. The same rows whenever it is asked again. */
  capture(goOn: () => boolean): BacklogCheckpoint | undefined {
    assert(this.#cut !== undefined, 'a cut is captured');
    return this.#cut.capture(goOn);
  }

  /** Answers up to which id there are rows of all that are stored now. */
  durable(): number {
    assert(this.#cut?.captured === true, 'what is durable was captured');
    const { lastId } = this.#cut;
    this.#cut = undefined;
    return lastId;
  }

  /** Stored tasks and removals that no row knows of. */
  get size(): number {
    return this.#since.size + (this.#cut?.size ?? 0);
  }

  /** What those take in memory, roughly. */
  get bytes(): number {
    return this.#since.bytes + (this.#cut?.bytes ?? 0);
  }
}

class Cut {
  readonly #changes: ChangeSet;
  readonly #wire: BacklogWire;
  readonly lastId: number;
  readonly #timeMs: number;
  readonly #configs: readonly ConfiguredQueue[];
  readonly #encoding: Generator<undefined, BacklogCheckpoint>;
  #checkpoint: BacklogCheckpoint | undefined;

  constructor({ lastId, timeMs, configs }: Backlog, changes: ChangeSet, wire: BacklogWire) {
    this.#changes = changes;
    this.#wire = wire;
    this.lastId = lastId;
    this.#timeMs = timeMs;
    this.#configs = [...configs.values()];
    this.#encoding = this.#encode();
  }

  get captured(): boolean {
    return this.#checkpoint !== undefined;
  }

  get size(): number {
    return this.#changes.size;
  }

  get bytes(): number {
    return this.#changes.bytes;
  }

  capture(goOn: () => boolean): BacklogCheckpoint | undefined {
    while (this.#checkpoint === undefined) {
      const next = this.#encoding.next();
      if (next.done === true) this.#checkpoint = next.value;
      else if (!goOn()) return undefined;
    }
    return this.#checkpoint;
  }

  *#encode(): Generator<undefined, BacklogCheckpoint> {
    const tasks: TaskRow[] = [];
    for (const { id, lane, task, storedAtMs } of this.#changes.stored.values()) {
      const spilled = { id, queue: lane.of.queue, task, shared: lane.name.shared };
      tasks.push({ taskId: id, queue: lane.key, task: this.#wire.encodeTask({ spilled, storedAtMs }) });
      yield;
    }
    const goneTasks = yield* collected(this.#changes.removed);
    const counters = this.#wire.encodeCounters({ lastId: this.lastId, configs: this.#configs });
    return { schema: backlogSchemaOf(this.#configs), delta: { tasks, goneTasks }, counters, timeMs: this.#timeMs };
  }
}
