/**
 * Checkpoints of a ledger, for one memory of it: what it was told of commits is what it writes, an entry a row. The ledger has no database
 * tables of its own: its entries are tasks of a matching partition.
 */
import assert from 'node:assert/strict';
import { DatabaseError } from '../../src/projections/database-port.ts';
import type { LedgerCore, LedgerRecord } from './ledger.ts';
import type { CheckpointPosition, Database, Fence, JournalId, MatchingTaskRow, Restored } from '../../src/projections/database-port.ts';
import type { RecordPosition } from '../../src/ports/log.ts';
import type { CommitSubscriber } from '../../src/ports/commit-subscriber.ts';

export type LedgerRow = { readonly id: string; readonly offset: number; readonly timeMs: number };

/** What a ledger needs of a database. */
export type LedgerDatabase = Pick<Database, 'restore' | 'position' | 'write' | 'matchingTasks'>;

/** `written`: durable, or there was nothing to write. `unknown`: and whether it was, could not be learned. */
export type Written = 'written' | 'fenced' | 'unknown';

const QUEUE = 'ledger';
const PAGE_ROWS = 7;

export function ledgerJournal(partition: number): JournalId {
  return { kind: 'matching', partition };
}

/** Rows as they stand, whoever reads them, and the fence under which they were read. */
export async function ledgerRows(
  database: Pick<Database, 'matchingTasks'>,
  journal: JournalId,
): Promise<{ readonly fences: ReadonlySet<Fence>; readonly rows: LedgerRow[] }> {
  const rows: LedgerRow[] = [];
  const fences = new Set<Fence>();
  for (;;) {
    const page = await database.matchingTasks(journal, QUEUE, rows.length, PAGE_ROWS);
    fences.add(page.fence);
    for (const { taskId, task } of page.rows) {
      assert.equal(taskId, rows.length + 1, 'rows are the entries, one after the other');
      rows.push(JSON.parse(new TextDecoder().decode(task)) as LedgerRow);
    }
    if (page.rows.length < PAGE_ROWS) return { fences, rows };
  }
}

export function ledgerRow(row: LedgerRow, taskId: number): MatchingTaskRow {
  return { taskId, queue: QUEUE, task: new TextEncoder().encode(JSON.stringify(row)) };
}

/** Each row as of that position. */
export function ledgerPosition(at: RecordPosition, timeMs: number): CheckpointPosition {
  const { epoch, sequence, offset } = at;
  return { epoch, sequence, nextOffset: offset + 1, lastOffset: offset, timeMs, schema: 1, counters: new Uint8Array(0), trimPoints: [] };
}

export class LedgerCheckpoints implements CommitSubscriber<LedgerRecord> {
  readonly #database: LedgerDatabase;
  readonly #journal: JournalId;
  readonly #core: LedgerCore;
  readonly #rows: LedgerRow[] = [];
  #fence: Fence = 0;
  #position: CheckpointPosition | undefined;
  #durable: CheckpointPosition | undefined;
  #durableRows = 0;

  constructor(database: LedgerDatabase, journal: JournalId, core: LedgerCore) {
    this.#database = database;
    this.#journal = journal;
    this.#core = core;
  }

  /** What has been committed, the rows of the checkpoint first. */
  get rows(): readonly LedgerRow[] {
    return this.#rows;
  }

  get durable(): CheckpointPosition | undefined {
    return this.#durable;
  }

  async install({ fence, position }: Restored): Promise<void> {
    this.#fence = fence;
    if (position === undefined) return;
    const { fences, rows } = await ledgerRows(this.#database, this.#journal);
    if (fences.size !== 1 || !fences.has(fence)) throw new DatabaseError('unavailable', 'the rows were read under another fence');
    this.#core.install(
      rows.map(({ id }) => id),
      rows.at(-1)?.timeMs ?? 0,
    );
    this.#rows.push(...rows);
    this.#position = this.#durable = position;
    this.#durableRows = rows.length;
  }

  committed({ id, timeMs }: LedgerRecord, position: RecordPosition): void {
    this.#rows.push({ id, offset: position.offset, timeMs });
    this.#position = ledgerPosition(position, timeMs);
  }

  /** One at a time. Rejects with DatabaseError. */
  async write(): Promise<Written> {
    const position = this.#position;
    const count = this.#rows.length;
    if (position === undefined || position === this.#durable) return 'written';
    const tasks = this.#rows.slice(this.#durableRows).map((row, index) => ledgerRow(row, this.#durableRows + index + 1));
    const outcome = await this.#database.write(this.#journal, this.#fence, { kind: 'matching', position, delta: { tasks, goneTasks: [] } });
    if (outcome.kind === 'unknown') return await this.#learn(position, count);
    if (outcome.kind === 'written') this.#isDurable(position, count);
    return outcome.kind;
  }

  async #learn(position: CheckpointPosition, count: number): Promise<Written> {
    const { fence, position: found } = await this.#database.position(this.#journal);
    if (fence !== this.#fence) return 'fenced';
    if (found?.nextOffset !== position.nextOffset) return 'unknown';
    this.#isDurable(position, count);
    return 'written';
  }

  #isDurable(position: CheckpointPosition, count: number): void {
    this.#durable = position;
    this.#durableRows = count;
  }
}
