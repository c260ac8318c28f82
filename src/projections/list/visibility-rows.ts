/**
 * Rows for List and Count, from the record that changes what they show to whoever writes them.
 *
 *     accept ─▶ noted: a summary of the run as this record leaves it        ┐ before the commit: never given away
 *     commit ─▶ waiting: the latest of each run, in the order of commits    ┘
 *     take   ─▶ a batch of rows ─▶ written, or given back
 *     checkpoint ─▶ rows of all that waits or is under way ─▶ stored, or not: what was not written otherwise waits until then
 *
 * Memory is ahead of the log: at the commit a run may be further than its record. So its summary is taken when the record is accepted,
 * which is a handful of references, and released when it is committed. What a row holds of attributes is decoded when it is taken, after
 * all that has come together: a workflow that starts and closes within a flush is decoded once.
 *
 * A checkpoint has the rows of all records up to its own, because the journal may be trimmed behind it, and a restart does not meet them
 * again. It may have newer ones, which are committed as well. A run that has retired is no business of its rows: whoever retires runs deletes
 * what is shown of them.
 *
 * Should whoever keeps the rows have lost them, those of all runs are given once more (`showAll`), each built when it is taken.
 *
 * Without I/O. After a takeover what is in the journal's tail waits here again.
 */
import { assert } from '../../kernel/assert.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { changesSummary, type RunSummary } from '../../history/run/summary.ts';
import type { HistoryCore } from '../../history/history-core.ts';
import type { HistoryRecord } from '../../history/run/record.ts';
import { LinkedList, type Linked } from '../../kernel/linked-list.ts';
import type { SearchAttributeWire } from '../../kernel/search-attributes.ts';
import type { VisibilityRow } from '../visibility/row.ts';
import { Fifo } from '../../kernel/fifo.ts';
import type { RecordPosition } from '../../ports/log.ts';
import type { CommitSubscriber } from '../../ports/commit-subscriber.ts';
import { type AttributeRegistry, visibilityRow } from './visibility-row.ts';

export type VisibilityRowsOptions = {
  readonly shard: number;
  readonly core: Pick<HistoryCore, 'summaryOf'> & { readonly shard: Pick<HistoryCore['shard'], 'runs'> };
  /** Asked anew for each batch. */
  readonly registry: { readonly isFolded: boolean; readonly view: AttributeRegistry & { readonly position: number } };
  readonly wire: SearchAttributeWire;
};

export type VisibilityBatch = {
  readonly rows: readonly VisibilityRow[];
  /** Runs of which nothing is kept any more: their rows go. None of them is in `rows`, or in a batch to come. */
  readonly retired: readonly RunKey[];
};

/** `rowsMax`: retired runs count as well. `bytesMax`: of memo and search attributes; at least one row is given, however large. */
export type BatchLimits = { readonly rowsMax: number; readonly bytesMax: number };

type Noted = { readonly record: HistoryRecord; readonly summary: RunSummary };

/** What is shown of a run has changed: at least once, since it was last taken. */
type Change = Linked<Change> & {
  /** The number of the first of those changes: they are counted as they are committed. */
  readonly number: number;
  readonly key: RunKey;
  /** The latest; undefined: the run has retired, its row is to go. */
  summary: RunSummary | undefined;
  /** Written, or not to be written any more. */
  isOver: boolean;
};

export class VisibilityRows implements CommitSubscriber<HistoryRecord> {
  readonly #options: VisibilityRowsOptions;
  /** Changes of records that are not committed, in their order. */
  readonly #noted = new Fifo<Noted>();
  /** Changes that wait, by number. */
  readonly #queue = new LinkedList<Change>();
  /** Changes of the queue by run id. */
  readonly #waiting = new Map<string, Change>();
  /** The batch that is under way, before all of the queue. */
  #taken: readonly Change[] | undefined;
  /** How much of the registry the rows of that batch were made with, or a row of it. */
  #takenWith = 0;
  #last = 0;
  /** Summaries in the checkpoint that is being made or written, by run id. */
  #captured = new Map<string, RunSummary>();
  #capturedWith = 0;
  /** Runs of that checkpoint that have retired since: such a row comes back with the checkpoint, and goes once more. */
  #retiredSince: RunKey[] = [];
  /** Ids of runs that are to be given once more. */
  #all: Iterator<string> | undefined;

  constructor(options: VisibilityRowsOptions) {
    this.#options = options;
  }

  /** Rows and retired runs that wait for somebody to take them; of `showAll`, none. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether it is known which attributes there are: a row that is made before would lack them. */
  get canBeMade(): boolean {
    return this.#options.registry.isFolded;
  }

  /** Marks all that is committed by now; for `isWritten`. */
  get mark(): number {
    return this.#last;
  }

  isWritten(mark: number): boolean {
    const first = this.#taken?.[0] ?? this.#queue.first;
    return first === undefined || first.number > mark;
  }

  /** Rows under way, in a batch or a checkpoint, know that much of the registry: else they may hold what is of a removed attribute. */
  areMadeWith(registryPosition: number): boolean {
    if (this.#options.registry.view.position < registryPosition) return false;
    if (this.#taken !== undefined && this.#takenWith < registryPosition) return false;
    return this.#captured.size === 0 || this.#capturedWith >= registryPosition;
  }

  /** Not all runs were given since `showAll`. */
  get showsAll(): boolean {
    return this.#all !== undefined;
  }

  /** Every run's row is given again, behind those that wait. */
  showAll(): void {
    this.#all = this.#options.core.shard.runs.keys();
  }

  /** The record has taken effect in memory. Called for each record: cheap. */
  accepted(record: HistoryRecord): void {
    for (const change of record.runs) {
      if (!changesSummary(change)) continue;
      const summary = this.#options.core.summaryOf(change.runId);
      if (summary !== undefined) this.#noted.push({ record, summary });
    }
  }

  committed(record: HistoryRecord, _position: RecordPosition, replayed: boolean): void {
    // Nothing is ahead of the log then.
    if (replayed) this.accepted(record);
    for (let head = this.#noted.peek(); head?.record === record; head = this.#noted.peek()) {
      const { summary } = this.#noted.shift();
      this.#change(summary);
    }
    const { namespaceId, workflowId, retiredRuns } = record;
    if (retiredRuns !== undefined) for (const key of retiredRuns) this.#retire(key);
    for (const { runId, facts } of record.runs) {
      for (const { fact } of facts) if (fact.kind === 'runForgotten') this.#retire({ namespaceId, workflowId, runId });
    }
  }

  /** The next batch. One at a time: `written` or `giveBack` says what has become of it. */
  take({ rowsMax, bytesMax }: BatchLimits): VisibilityBatch {
    assert(this.#taken === undefined, 'one batch of visibility rows is under way at a time');
    const taken: Change[] = [];
    let bytes = 0;
    for (let { first } = this.#queue; first !== undefined && taken.length < rowsMax; { first } = this.#queue) {
      bytes += attributeBytes(first.summary);
      if (taken.length > 0 && bytes > bytesMax) break;
      this.#unqueue(first);
      taken.push(first);
    }
    if (this.#queue.size === 0) this.#takeOfAll(taken, rowsMax, bytesMax - bytes);
    this.#taken = taken;
    const { shard, registry, wire } = this.#options;
    const { view } = registry;
    this.#takenWith = view.position;
    const rows: VisibilityRow[] = [];
    const retired: RunKey[] = [];
    for (const { key, summary } of taken) {
      if (summary === undefined) retired.push(key);
      else rows.push(visibilityRow(summary, shard, view, wire));
    }
    return { rows, retired };
  }

  /** Rows of runs that have not changed, with pauses. To be written in the same turn of the lane: else `areMadeWith` would not be true. */
  *buildAgain(summaries: readonly RunSummary[]): Generator<VisibilityRow, void> {
    const { shard, registry, wire } = this.#options;
    for (const summary of summaries) yield visibilityRow(summary, shard, registry.view, wire);
  }

  written(): void {
    for (const change of this.#taken ?? []) change.isOver = true;
    this.#taken = undefined;
  }

  /** The batch was not written: what is newer counts, and what has retired meanwhile is gone. */
  giveBack(): void {
    const taken = this.#taken ?? [];
    this.#taken = undefined;
    for (const change of taken.toReversed()) {
      if (change.isOver) continue;
      const newer = this.#waiting.get(change.key.runId);
      if (newer !== undefined) {
        change.summary = newer.summary;
        this.#unqueue(newer);
      }
      this.#queue.unshift(change);
      this.#waiting.set(change.key.runId, change);
    }
  }

  // ── Checkpoints ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Gives the rows of all that is committed when this begins and not written when its turn comes, with pauses between them if need be. */
  *rowsOfCheckpoint(): Generator<VisibilityRow, void> {
    const { shard, registry, wire } = this.#options;
    this.#captured = new Map();
    this.#capturedWith = registry.view.position;
    this.#retiredSince = [];
    for (const change of this.#unwritten()) {
      const { key, isOver } = change;
      const { summary } = this.#waiting.get(key.runId) ?? change;
      if (isOver || summary === undefined || this.#captured.get(key.runId) === summary) continue;
      this.#captured.set(key.runId, summary);
      yield visibilityRow(summary, shard, registry.view, wire);
    }
  }

  /** What the checkpoint has written leaves while the answer is gone through, with pauses: there may be a hundred thousand rows. */
  stored(): Iterable<undefined> {
    const captured = this.#captured;
    this.#captured = new Map();
    for (const change of this.#taken ?? []) {
      const { key, summary } = change;
      if (summary !== undefined && captured.get(key.runId) === summary) change.isOver = true;
    }
    for (const key of this.#retiredSince.splice(0)) if (!this.#waiting.has(key.runId)) this.#enqueue(key, undefined);
    return this.#leaving(captured);
  }

  *#leaving(captured: ReadonlyMap<string, RunSummary>): Generator<undefined, void> {
    for (const [runId, summary] of captured) {
      const waiting = this.#waiting.get(runId);
      if (waiting?.summary === summary) this.#drop(waiting);
      yield;
    }
  }

  #unwritten(): readonly Change[] {
    const changes = [...(this.#taken ?? [])];
    for (let change = this.#queue.first; change !== undefined; change = change.next) changes.push(change);
    return changes;
  }

  /** What is committed of it was not shown as it came. False: it is not in memory. */
  show(runId: string): boolean {
    const summary = this.#options.core.summaryOf(runId);
    if (summary !== undefined) this.#change(summary);
    return summary !== undefined;
  }

  // ── Changes ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What waits keeps its place: a run that changes without end is written nevertheless. */
  #change(summary: RunSummary): void {
    const waiting = this.#waiting.get(summary.key.runId);
    if (waiting === undefined) this.#enqueue(summary.key, summary);
    else waiting.summary = summary;
  }

  #retire(key: RunKey): void {
    const waiting = this.#waiting.get(key.runId);
    if (waiting !== undefined) this.#drop(waiting);
    if (this.#captured.has(key.runId)) this.#retiredSince.push(key);
    this.#enqueue(key, undefined);
  }

  #enqueue(key: RunKey, summary: RunSummary | undefined): void {
    const change = this.#counted(key, summary);
    this.#queue.push(change);
    this.#waiting.set(key.runId, change);
  }

  #counted(key: RunKey, summary: RunSummary | undefined): Change {
    this.#last += 1;
    return { number: this.#last, key, summary, isOver: false, prev: undefined, next: undefined, linked: false };
  }

  #unqueue(change: Change): void {
    this.#queue.remove(change);
    this.#waiting.delete(change.key.runId);
  }

  #drop(change: Change): void {
    this.#unqueue(change);
    change.isOver = true;
  }

  /** A run whose change is not committed comes with that. What is not shown (history length while open) is ahead in `version` alone. */
  #takeOfAll(taken: Change[], rowsMax: number, bytesMax: number): void {
    if (this.#all === undefined) return;
    const { core } = this.#options;
    const others = this.#notedRuns();
    for (const { key } of taken) others.add(key.runId);
    for (let bytes = 0; taken.length < rowsMax && bytes < bytesMax;) {
      const { value: runId, done } = this.#all.next();
      if (done === true) {
        this.#all = undefined;
        return;
      }
      const summary = others.has(runId) ? undefined : core.summaryOf(runId);
      if (summary === undefined) continue;
      bytes += attributeBytes(summary);
      taken.push(this.#counted(summary.key, summary));
    }
  }

  #notedRuns(): Set<string> {
    return new Set(Array.from({ length: this.#noted.length }, (_, index) => this.#noted.at(index)?.summary.key.runId ?? ''));
  }
}

function attributeBytes(summary: RunSummary | undefined): number {
  return (summary?.memo?.length ?? 0) + (summary?.searchAttributes?.length ?? 0);
}
