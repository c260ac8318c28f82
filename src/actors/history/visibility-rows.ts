/**
 * Rows for List and Count, from the record that changes what they show to whoever writes them.
 *
 *     accept ─▶ noted: a summary of the run as this record leaves it        ┐ before the commit: never given away
 *     commit ─▶ waiting: the latest of each run                             ┘
 *     take   ─▶ a batch of rows ─▶ written, or given back
 *
 * Memory is ahead of the log: at the commit a run may be further than its record. So its summary is taken when the record is accepted,
 * which is a handful of references, and released when it is committed. What a row holds of attributes is decoded when it is taken, after
 * all that has come together: a workflow that starts and closes within a flush is decoded once.
 *
 * Should whoever keeps the rows have lost them, those of all runs are given once more (`showAll`), each built when it is taken.
 *
 * Without I/O. After a takeover what is in the journal's tail waits here again.
 */
import { assert } from '../../kernel/assert.ts';
import type { RunKey } from '../../history/commands.ts';
import { changesSummary, type RunSummary } from '../../history/execution/summary.ts';
import type { HistoryCore } from '../../history/history-core.ts';
import type { HistoryRecord } from '../../history/record.ts';
import type { SearchAttributeWire } from '../../kernel/search-attributes.ts';
import type { VisibilityRow } from '../../visibility/row.ts';
import { Fifo } from '../partition/fifo.ts';
import type { RecordPosition } from '../log.ts';
import type { CommitSubscriber } from '../partition/partition-core.ts';
import { type AttributeRegistry, visibilityRow } from './visibility-row.ts';

export type VisibilityRowsOptions = {
  readonly shard: number;
  readonly core: Pick<HistoryCore, 'summaryOf' | 'runIds'>;
  /** Asked anew for each batch. */
  readonly registry: { readonly view: AttributeRegistry };
  readonly wire: SearchAttributeWire;
};

export type VisibilityBatch = {
  readonly rows: readonly VisibilityRow[];
  /** Runs of which nothing is kept any more: their rows go. None of them is in `rows`, or in a batch to come. */
  readonly retired: readonly RunKey[];
};

/** `rowsMax`: of retired runs as well. `bytesMax`: of memo and search attributes; at least one row is given, however large. */
export type BatchLimits = { readonly rowsMax: number; readonly bytesMax: number };

type Noted = { readonly record: HistoryRecord; readonly summary: RunSummary };
type Taken = { readonly runs: Map<string, RunSummary>; readonly retired: ReadonlyMap<string, RunKey> };

export class VisibilityRows implements CommitSubscriber<HistoryRecord> {
  readonly #options: VisibilityRowsOptions;
  /** In the order of their records, which are not committed. */
  readonly #noted = new Fifo<Noted>();
  /** By run id. */
  readonly #runs = new Map<string, RunSummary>();
  readonly #retired = new Map<string, RunKey>();
  #taken: Taken | undefined;
  /** Ids of runs that are to be given once more. */
  #all: Iterator<string> | undefined;

  constructor(options: VisibilityRowsOptions) {
    this.#options = options;
  }

  /** Rows that wait for somebody to take them; of `showAll`, none. */
  get waitingRows(): number {
    return this.#runs.size;
  }

  get waitingRetired(): number {
    return this.#retired.size;
  }

  /** Not all runs were given since `showAll`. */
  get showsAll(): boolean {
    return this.#all !== undefined;
  }

  /** Every run's row is given again, behind those that wait. */
  showAll(): void {
    this.#all = this.#options.core.runIds();
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
      this.#runs.set(summary.key.runId, summary);
    }
    const { namespaceId, workflowId } = record;
    for (const { runId, facts } of record.runs) {
      for (const { fact } of facts) if (fact.kind === 'runForgotten') this.#retire({ namespaceId, workflowId, runId });
    }
  }

  /** The next batch. One at a time: `written` or `giveBack` says what has become of it. */
  take({ rowsMax, bytesMax }: BatchLimits): VisibilityBatch {
    assert(this.#taken === undefined, 'one batch of visibility rows is under way at a time');
    const { shard, registry, wire } = this.#options;
    const { view } = registry;
    const runs = new Map<string, RunSummary>();
    let bytes = 0;
    for (const [runId, summary] of this.#runs) {
      bytes += attributeBytes(summary);
      if (runs.size > 0 && (runs.size >= rowsMax || bytes > bytesMax)) break;
      this.#runs.delete(runId);
      runs.set(runId, summary);
    }
    if (this.#runs.size === 0) this.#takeOfAll(runs, rowsMax, bytesMax - bytes);
    const rows = Array.from(runs.values(), (summary) => visibilityRow(summary, shard, view, wire));
    const retired = new Map<string, RunKey>();
    for (const [runId, key] of this.#retired) {
      if (retired.size >= rowsMax) break;
      this.#retired.delete(runId);
      retired.set(runId, key);
    }
    this.#taken = { runs, retired };
    return { rows, retired: [...retired.values()] };
  }

  written(): void {
    this.#taken = undefined;
  }

  /** It was not written: what is newer stays, and what has retired meanwhile is gone. */
  giveBack(): void {
    if (this.#taken === undefined) return;
    const { runs, retired } = this.#taken;
    this.#taken = undefined;
    // Behind those that wait: there may be a million of them while a database is away, and their map is not built anew for this.
    for (const [runId, summary] of runs) if (!this.#runs.has(runId)) this.#runs.set(runId, summary);
    for (const [runId, key] of retired) this.#retired.set(runId, key);
  }

  /**
   * A run whose change is not committed comes with its commit: its row is of no use to anybody before. What changes without being shown (the
   * length of an open run's history) may be ahead of the log, in `version` alone.
   */
  #takeOfAll(runs: Map<string, RunSummary>, rowsMax: number, bytesMax: number): void {
    const { core } = this.#options;
    const ahead = this.#all === undefined ? undefined : this.#notedRuns();
    for (let bytes = 0; this.#all !== undefined && runs.size < rowsMax && bytes < bytesMax;) {
      const { value: runId, done } = this.#all.next();
      if (done === true) this.#all = undefined;
      else {
        const summary = ahead?.has(runId) === true || runs.has(runId) ? undefined : core.summaryOf(runId);
        if (summary === undefined) continue;
        bytes += attributeBytes(summary);
        runs.set(runId, summary);
      }
    }
  }

  #notedRuns(): ReadonlySet<string> {
    return new Set(Array.from({ length: this.#noted.length }, (_, index) => this.#noted.at(index)?.summary.key.runId ?? ''));
  }

  #retire(key: RunKey): void {
    this.#runs.delete(key.runId);
    this.#taken?.runs.delete(key.runId);
    this.#retired.set(key.runId, key);
  }
}

function attributeBytes({ memo, searchAttributes }: RunSummary): number {
  return (memo?.length ?? 0) + (searchAttributes?.length ?? 0);
}
