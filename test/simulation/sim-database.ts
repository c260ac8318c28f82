/**
 * A database that misbehaves as a real one may: one on the disk, a connection for each process. A process that was paused or fenced still
 * holds its own, and what it sent before it died arrives.
 *
 *     fate of a call   database                    the process hears
 *     ok               does it                     what became of it
 *     databaseFails    –                           unavailable
 *     commitLost       –                           a write: unknown
 *     answerLost       writes                      a write: unknown, after a timeout
 *     writeLate        writes, much later          a write: unknown, after a timeout, long before
 *
 * A backup is a copy of all that stood on the disk, and is put in its place while those who use it go on. So is a copy of the rows of List
 * alone, which no owner can see: it builds them again when it is asked.
 */
import { callMethod, everyMethod } from '../../src/projections/database-methods.ts';
import { type Database, DatabaseError, type JournalId, type Loaded, type RunRow } from '../../src/projections/database-port.ts';
import type { VisibilityRow } from '../../src/projections/visibility/row.ts';
import { MemoryDatabase, MemoryTables } from '../support/memory-database.ts';
import type { SimNode } from './sim-node.ts';
import type { World } from './world.ts';

export const databaseFates = ['databaseFails', 'commitLost', 'answerLost', 'writeLate'] as const;
type DatabaseFate = (typeof databaseFates)[number];

export type DatabasePlan = {
  /** Probability by kind. */
  readonly rates: Partial<Record<DatabaseFate, number>>;
  /** Between two checkpoints of a memory. */
  readonly writeMsMax: number;
  /** Of durable checkpoints: the journal is trimmed behind them. */
  readonly trimShare: number;
  readonly delayMsMax: number;
  readonly lateMsMax: number;
  /** Now and then it is copied, and such a copy put in its place. */
  readonly backups?: boolean;
  /** Of rows of runs that are read: they are damaged from then on, until somebody mends them. */
  readonly damagedShare?: number;
};

const DAMAGED_MS_MAX = 900;

export class SimDisk {
  readonly world: World;
  readonly plan: DatabasePlan;
  readonly tables = new MemoryTables();
  readonly injected = new Map<string, number>();
  #backups: MemoryTables[] = [];
  /** What List had at some time: none, at first. */
  #olderList: readonly (readonly [string, VisibilityRow])[] = [];
  /** Grows when rows of List come back that were gone: not by a process, but by somebody's hand. */
  listEdition = 0;
  /** Runs whose rows cannot be read until then. */
  readonly #damaged = new Map<string, number>();
  /** Those that could not be read at some time. */
  readonly everDamaged = new Set<string>();
  /** Nothing is answered until then. */
  downUntilMs = 0;
  /** A checkpoint has been written; the next call waits for it. */
  onWritten: (journal: JournalId) => Promise<void> = () => Promise.resolve();
  onFlushed: () => void = () => {};
  /** All is well from now on, and no more checkpoints are written. */
  calm = false;

  constructor(world: World, plan: DatabasePlan) {
    this.world = world;
    this.plan = plan;
  }

  hits(fate: DatabaseFate): boolean {
    const hit = !this.calm && this.world.random.chance(this.plan.rates[fate] ?? 0);
    if (hit) this.count(fate);
    return hit;
  }

  count(kind: string): void {
    this.injected.set(kind, (this.injected.get(kind) ?? 0) + 1);
  }

  get down(): boolean {
    return this.world.nowMs < this.downUntilMs;
  }

  heal(): void {
    this.downUntilMs = 0;
    this.calm = true;
    this.#damaged.clear();
  }

  /** As it is read now. */
  read(loaded: Loaded): Loaded {
    const { run } = loaded;
    if (run === undefined || !this.#isDamaged(run.runId)) return loaded;
    return { ...loaded, run: torn(run) };
  }

  readRuns(runs: readonly RunRow[]): readonly RunRow[] {
    return runs.map((run) => (this.#isDamaged(run.runId) ? torn(run) : run));
  }

  #isDamaged(runId: string): boolean {
    const { damagedShare = 0 } = this.plan;
    if (damagedShare === 0 || this.calm) return false;
    const untilMs = this.#damaged.get(runId);
    // A row that was mended stays so.
    if (untilMs !== undefined) return this.world.nowMs < untilMs;
    if (!this.world.random.chance(damagedShare)) return false;
    this.count('rowDamaged');
    this.everDamaged.add(runId);
    this.#damaged.set(runId, this.world.nowMs + this.world.random.int(20, DAMAGED_MS_MAX));
    this.world.trace(`database: the row of ${runId} is damaged`);
    return true;
  }

  get takesBackups(): boolean {
    return this.plan.backups === true;
  }

  backUp(): void {
    this.#backups.push(this.tables.copy());
    this.world.trace('database: a backup');
  }

  /** One that may still be used: of each journal `reaches` says whether it holds what follows on the offset where its checkpoint ends. */
  restoreBackup(reaches: (partition: number, lastOffset: number) => boolean): void {
    const usable = this.#backups.filter((tables) =>
      [...tables.positions()].every(([{ partition }, position]) => reaches(partition, position.lastOffset)),
    );
    if (usable.length === 0) return;
    this.tables.become(this.world.random.pick(usable));
    this.listEdition += 1;
    this.count('backupRestored');
    this.world.trace('database: a backup is restored');
  }

  copyList(): void {
    this.#olderList = [...this.tables.visibility];
  }

  /** Somebody puts the rows of List of a shard in place that were copied last. */
  setListBack(shard: number): void {
    const { visibility } = this.tables;
    for (const [key, row] of [...visibility]) if (row.shard === shard) visibility.delete(key);
    for (const [key, row] of this.#olderList) if (row.shard === shard) visibility.set(key, row);
    this.listEdition += 1;
    this.count('listSetBack');
    this.world.trace(`database: List of shard ${shard} is set back`);
  }

  delayMs(): number {
    return this.world.random.int(1, this.plan.delayMsMax);
  }
}

function torn(run: RunRow): RunRow {
  return { ...run, state: run.state.slice(0, -1) };
}

const TIMEOUT_MS = 60;
/** Of what a rebuild of List reads at once: a shard of the simulation has a few dozen runs. */
const PAGE_RUNS = 3;
const PAGE_ROWS = 5;

/** The connection of one process. */
export function simDatabase(disk: SimDisk, node: SimNode): Database {
  const connection = new Connection(disk, node);
  return {
    ...everyMethod('simulated', (method, args) => connection.request(method, (database) => callMethod(database, method, args))),
    load: (...given) =>
      connection.request('load', async (database) => {
        const { rows, ...generation } = await database.load(...given);
        return { ...generation, rows: rows.map((row) => disk.read(row)) };
      }),
    runs: (journal, afterRunId, max, bytesMax) =>
      connection.request('runs', async (database) => {
        const { rows, ...generation } = await database.runs(journal, afterRunId, Math.min(max, PAGE_RUNS), bytesMax);
        return { ...generation, rows: disk.readRuns(rows) };
      }),
    strayRows: (journal, after, max) =>
      connection.request('strayRows', (database) => database.strayRows(journal, after, Math.min(max, PAGE_ROWS))),
    write: (...given) => connection.write(...given),
    flush: (...given) => connection.flush(...given),
    rewrite: (...given) => connection.rewrite(...given),
    noteRebuild: (...given) => connection.noteRebuild(...given),
    close: () => Promise.resolve(),
  };
}

class Connection {
  readonly #disk: SimDisk;
  readonly #node: SimNode;
  readonly #memory: MemoryDatabase;

  constructor(disk: SimDisk, node: SimNode) {
    this.#disk = disk;
    this.#node = node;
    this.#memory = new MemoryDatabase(disk.tables);
  }

  write(...given: Parameters<Database['write']>): ReturnType<Database['write']> {
    const { world } = this.#node;
    const write = async (database: MemoryDatabase): ReturnType<Database['write']> => {
      const outcome = await database.write(...given);
      if (outcome.kind === 'written') await this.#disk.onWritten(given[0]);
      return outcome;
    };
    const unknownAfter = (delayMs: number): ReturnType<Database['write']> =>
      this.#answered(delayMs, () => ({ kind: 'unknown', reason: 'simulated' }));
    if (this.#disk.hits('commitLost')) return unknownAfter(this.#disk.delayMs());
    if (this.#disk.hits('answerLost')) {
      this.#arrives(this.#disk.delayMs(), write);
      return unknownAfter(TIMEOUT_MS);
    }
    if (this.#disk.hits('writeLate')) {
      this.#arrives(TIMEOUT_MS + world.random.int(0, this.#disk.plan.lateMsMax), write);
      return unknownAfter(TIMEOUT_MS);
    }
    return this.request('write', write);
  }

  flush(...given: Parameters<Database['flush']>): ReturnType<Database['flush']> {
    return this.#again('flush', async (database) => {
      const outcome = await database.flush(...given);
      if (outcome === 'flushed') this.#disk.onFlushed();
      return outcome;
    });
  }

  rewrite(...given: Parameters<Database['rewrite']>): ReturnType<Database['rewrite']> {
    return this.#again('rewrite', async (database) => {
      const outcome = await database.rewrite(...given);
      if (outcome === 'flushed') this.#disk.onFlushed();
      return outcome;
    });
  }

  noteRebuild(...given: Parameters<Database['noteRebuild']>): ReturnType<Database['noteRebuild']> {
    return this.#again('noteRebuild', (database) => database.noteRebuild(...given));
  }

  /** Writing the same again changes nothing: so there is no unknown outcome. */
  #again<Outcome>(what: string, write: (database: MemoryDatabase) => Promise<Outcome>): Promise<Outcome> {
    const isAnswerLost = this.#disk.hits('answerLost');
    if (!isAnswerLost && !this.#disk.hits('commitLost')) return this.request(what, write);
    if (isAnswerLost) this.#arrives(this.#disk.delayMs(), write);
    return this.#answered(TIMEOUT_MS, () => {
      throw new DatabaseError('unavailable', 'simulated: the connection was lost');
    });
  }

  /** Whatever became of its sender. */
  #arrives(delayMs: number, call: (database: MemoryDatabase) => Promise<unknown>): void {
    const { world } = this.#node;
    world.at(delayMs, () => {
      world.promiseSettled();
      void call(this.#memory).then((outcome) => world.trace(`database: a write of ${this.#node.name} arrives, ${JSON.stringify(outcome)}`));
    });
  }

  #answered<T>(delayMs: number, answer: () => T): Promise<T> {
    const { world } = this.#node;
    const reply = this.#node.replyTo();
    return new Promise((resolve, reject) => {
      reply(delayMs, () => {
        world.promiseSettled();
        try {
          resolve(answer());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
    });
  }

  /** There, the rows, and back: what is answered was true when the database looked. */
  request<T>(what: string, call: (database: MemoryDatabase) => Promise<T>): Promise<T> {
    const { world } = this.#node;
    if (this.#node.diesAt(`${what} asked`)) return new Promise(() => {});
    const reply = this.#node.replyTo();
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void): void => {
        reply(this.#disk.delayMs(), () => {
          world.promiseSettled();
          settle();
        });
      };
      world.at(this.#disk.delayMs(), () => {
        if (this.#disk.down || this.#disk.hits('databaseFails')) {
          return answer(() => reject(new DatabaseError('unavailable', 'simulated: no connection')));
        }
        world.promiseSettled();
        call(this.#memory).then(
          (value) => {
            this.#node.diesAt(`${what} done`);
            answer(() => resolve(value));
          },
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    });
  }
}
