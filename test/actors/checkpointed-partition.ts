/**
 * A partition that is killed and started again, over one log and one database.
 *
 *     CheckpointedPartition ─▶ its actor (real loop) ─┬─ MemoryLog        stays
 *                                                     └─ MemoryDatabase   a connection for each start, over tables that stay
 */
import assert from 'node:assert/strict';
import { Router } from '../../src/actors/asks/router.ts';
import { CheckpointSchedule, type CheckpointScheduleLimits } from '../../src/projections/checkpoints/checkpoint-schedule.ts';
import { type Database, DatabaseError, type JournalId } from '../../src/projections/database-port.ts';
import { partitionName, type StoredRecord } from '../../src/ports/log.ts';
import { effective, type LogCursor } from '../../src/actors/ownership/effective.ts';
import type { PartitionStatus } from '../../src/actors/ownership/partition-owner.ts';
import { createLogger, type Logger } from '../../src/observability/logger.ts';
import { turns } from '../support/event-loop.ts';
import { HandClock } from '../support/hand-clock.ts';
import { type DatabaseFaults, MemoryDatabase, MemoryTables, type ReadName, type WriteFault } from '../support/memory-database.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { jsonClaims } from './ledger.ts';
import { MemoryLog } from './memory-log.ts';

/** What stands around the actor: a history shard, a matching host. */
export type Hosted = { readonly actor: { start(): void; drain(): Promise<void>; status(): PartitionStatus } };

export type CheckpointedPartitionOptions = {
  readonly topic: string;
  readonly journal: JournalId;
  /** Of the topic, where it has another number than its rows. */
  readonly partition?: number;
  readonly scheduleLimits?: Partial<CheckpointScheduleLimits>;
  /** Where it is not the twin. */
  readonly database?: () => Database;
};

export abstract class CheckpointedPartition<Host extends Hosted> {
  readonly log = new MemoryLog();
  readonly tables = new MemoryTables();
  readonly clock = new HandClock();
  /** What is said to people, warnings too. */
  readonly lines: string[] = [];
  readonly logger: Logger = createLogger({ level: 'warn', format: 'text', write: (line) => void this.lines.push(line), nowMs: () => 0 });
  readonly random = new SeededRandom();
  readonly schedule: CheckpointSchedule;
  readonly #journal: JournalId;
  readonly #partition: { readonly topic: string; readonly partition: number };
  readonly #database: (() => Database) | undefined;
  /** What befalls checkpoints from now on; `hangs` until it is mended. */
  fault: WriteFault | 'hangs' | 'data' | undefined;
  /** Likewise what is flushed between them. */
  flushFault: WriteFault | 'hangs' | undefined;
  /** Before each read from now on; it fails with what this throws. */
  onRead: (what: ReadName) => void | Promise<void> = () => {};
  #mended: (() => void)[] = [];
  #router = new Router(this.clock);
  #host: Host | undefined;
  #reads = 0;
  writes = 0;
  flushes = 0;

  constructor({ topic, journal, partition = journal.partition, database, scheduleLimits }: CheckpointedPartitionOptions) {
    this.schedule = new CheckpointSchedule({ ...scheduleLimits, clock: this.clock, logger: this.logger });
    this.#journal = journal;
    this.#partition = { topic, partition };
    this.#database = database;
  }

  /** A process: asks of others go through its router. */
  protected abstract open(router: Router, database: Database): Host;

  /** A connection to tables that stay. */
  protected twin(faults: DatabaseFaults): Database {
    return new MemoryDatabase(this.tables, faults);
  }

  /** A takeover waits for its database. */
  protected mendReads(): void {}

  get router(): Router {
    return this.#router;
  }

  get host(): Host {
    return (this.#host ??= this.open(this.#router, this.#connect()));
  }

  get position(): { readonly lastOffset: number; readonly nextOffset: number } | undefined {
    return this.tables.journal(this.#journal).position;
  }

  get fence(): number {
    return this.tables.journal(this.#journal).fence;
  }

  /** Another process restores, and goes no further. */
  raiseFence(): void {
    this.tables.journal(this.#journal).fence += 1;
  }

  async start(): Promise<void> {
    this.host.actor.start();
    await this.serving();
  }

  async serving(): Promise<void> {
    // An owner that does not know yet may restore once more, and the new one then again, after a pause.
    for (let tries = 0; this.host.actor.status().state !== 'active'; tries++) {
      assert(tries < 1_000, `it serves in the end, and is ${JSON.stringify(this.host.actor.status())}: ${this.lines.join()}`);
      if (tries === 10) this.mendReads();
      // It was fenced, has claimed once more, and has won: it is not as dead as it seemed. It is left in peace for a moment: it reads tables as
      // soon as it serves, and one that fenced it right then would be fenced in turn, for ever while no time passes.
      if (this.host.actor.status().state === 'unassigned') {
        await this.pass(100);
        return await this.takeOver();
      }
      await (tries < 20 ? turns() : this.pass(100));
    }
    await this.quiet();
  }

  /**
   * Another process takes over, while this one is frozen or only slow: it does not know yet, and still holds its connection to the database.
   * What it had sent to the log may have landed.
   */
  async takeOver(): Promise<void> {
    this.anotherProcess();
    await this.start();
  }

  /** It has not begun yet. */
  anotherProcess(): void {
    this.#router.close();
    this.#router = new Router(this.clock);
    this.#host = undefined;
  }

  async drainAndStart(): Promise<void> {
    await this.drain();
    await this.takeOver();
  }

  /** A last checkpoint is waited for as long as it may take. */
  async drain(): Promise<void> {
    let drained = false;
    const draining = this.host.actor.drain().then(() => (drained = true));
    while (!drained) await this.pass(100);
    await draining;
  }

  get journalStart(): number {
    return this.log.starts.get(partitionName(this.#partition)) ?? 0;
  }

  /** The journal, up to the last record that the database has. */
  async trim(): Promise<void> {
    if (this.position !== undefined) await this.log.truncate(this.#partition, this.position.lastOffset);
  }

  mend(): void {
    this.fault = undefined;
    this.flushFault = undefined;
    for (const mended of this.#mended.splice(0)) mended();
    this.mendReads();
  }

  /** Nothing comes any more by itself. */
  async quiet(): Promise<void> {
    for (let still = 0, seen = -1; still < 12; still++) {
      const happened = this.log.records(this.#partition).length + this.#reads;
      if (seen !== happened) still = 0;
      seen = happened;
      await turns();
    }
  }

  /** Time passes in small steps, so that what one timer brings has time to happen before the next. */
  async pass(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      await turns(2);
    }
  }

  /** Until the database has all that is committed. */
  async checkpointed(): Promise<void> {
    await this.quiet();
    for (let tries = 0; tries < 100 && !this.isAllWritten; tries++) await this.pass(1_000);
    assert(this.isAllWritten, 'what is committed is written in the end');
  }

  get isAllWritten(): boolean {
    const last = this.records().at(-1);
    return last === undefined || this.position?.lastOffset === last.offset;
  }

  /** Those that count. */
  records(): readonly StoredRecord[] {
    const cursor: LogCursor = { epoch: 0, sequence: 0, offset: 0 };
    return this.log.records(this.#partition).filter((record) => effective(cursor, record, jsonClaims) === 'record');
  }

  #connect(): Database {
    return (
      this.#database?.() ??
      this.twin({
        onRead: async (_journal, what) => {
          // A slow one ends later than it begins.
          this.#reads += 1;
          await this.onRead(what);
          this.#reads += 1;
        },
        onWrite: async (_journal, what) => {
          if (what === 'write') this.writes += 1;
          else this.flushes += 1;
          const fault = what === 'write' ? this.fault : this.flushFault;
          if (fault === 'data') throw new DatabaseError('data', 'as the test wants it');
          if (fault !== 'hangs') return fault;
          await new Promise<void>((resolve) => this.#mended.push(resolve));
          return undefined;
        },
      })
    );
  }
}
