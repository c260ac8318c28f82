/**
 * The checkpoints of one matching host, and what must hold of them:
 *
 *     records ──▶ core ── cut, capture, write ──▶ Table ── install ──▶ equals the records folded up to the cut
 */
import assert from 'node:assert/strict';
import type { BacklogCheckpoint, BacklogCounters, TaskRow } from '../../src/matching/checkpoint/rows.ts';
import { MatchingCore } from '../../src/matching/matching-core.ts';
import type { MatchingRecord } from '../../src/matching/matching-records.ts';
import { matchingQueuesOf } from '../support/memory-database.ts';
import { matchingStateCodec } from '../../src/codec/matching-state-codec.ts';
import type { Started } from './fixtures.ts';

/** `failed`: nothing was written. `lost`: it was written, and nobody knows. */
export type WriteFault = 'failed' | 'lost';

/** Rows of a database, and how many records they stand for. */
export class Table {
  readonly rows = new Map<number, TaskRow>();
  counters: BacklogCounters | undefined;
  records = 0;
  /** Rows that were ever written. */
  written = 0;

  write({ delta, counters, timeMs }: BacklogCheckpoint, records: number): void {
    const ids = [...delta.tasks.map(({ taskId }) => taskId), ...delta.goneTasks];
    assert.equal(new Set(ids).size, ids.length, 'a task stands once in a checkpoint, as a row or among the gone');
    for (const taskId of delta.goneTasks) this.rows.delete(taskId);
    for (const row of delta.tasks) this.rows.set(row.taskId, row);
    this.written += delta.tasks.length;
    this.counters = { counters, timeMs };
    this.records = records;
  }

  get sorted(): readonly TaskRow[] {
    return [...this.rows.values()].toSorted((one, other) => one.taskId - other.taskId);
  }

  /** Queue by queue, as a database gives them. */
  installInto(core: MatchingCore<Started>): void {
    if (this.counters === undefined) return;
    for (const queue of matchingQueuesOf(this.rows.values())) {
      core.install([{ ...queue, tasks: queue.tasks.slice(0, core.windowTasksMax) }]);
    }
    core.installed(this.counters);
  }
}

/** Of one memory of a host. */
export class CheckpointedBacklog {
  readonly #core: MatchingCore<Started>;
  readonly #table: Table;
  #cutRecords: number | undefined;
  #checkpoint: BacklogCheckpoint | undefined;

  constructor(core: MatchingCore<Started>, table: Table) {
    this.#core = core;
    this.#table = table;
  }

  /** `records`: how many memory has taken. */
  cut(records: number): void {
    if (this.#cutRecords !== undefined) return;
    this.#core.cut();
    this.#cutRecords = records;
  }

  capture(tasksMax: number): void {
    let left = tasksMax;
    if (this.#cutRecords !== undefined) this.#checkpoint = this.#core.capture(() => --left > 0);
  }

  /** If all of it is captured, and the journal has its records. */
  write(journal: readonly MatchingRecord[], fault: WriteFault | undefined): void {
    const [records, checkpoint] = [this.#cutRecords, this.#checkpoint];
    if (records === undefined || checkpoint === undefined || journal.length < records) return;
    assert.equal(
      this.#core.capture(() => true),
      checkpoint,
      'what is tried again is the same',
    );
    if (fault === 'failed') return;
    this.#table.write(checkpoint, records);
    const installed = coreWithTable(0);
    this.#table.installInto(installed);
    const folded = new MatchingCore<Started>({ firstCorrelation: 0 });
    for (const record of journal.slice(0, records)) folded.evolve(record);
    assert.equal(installed.canonicalState(), folded.canonicalState(), 'the rows are the journal, folded up to the cut');
    if (fault === 'lost') return;
    this.#core.durable();
    this.#cutRecords = undefined;
    this.#checkpoint = undefined;
  }
}

export function coreWithTable(firstCorrelation: number): MatchingCore<Started> {
  return new MatchingCore<Started>({ firstCorrelation, backlogWire: matchingStateCodec });
}
