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
 */
import { DatabaseError } from '../../src/actors/database.ts';
import { MemoryDatabase, MemoryTables } from '../support/memory-database.ts';
import type { Database } from '../../src/actors/database.ts';
import type { LedgerDatabase } from '../actors/ledger-checkpoints.ts';
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
};

export class SimDisk {
  readonly world: World;
  readonly plan: DatabasePlan;
  readonly tables = new MemoryTables();
  readonly injected = new Map<string, number>();
  /** Nothing is answered until then. */
  downUntilMs = 0;
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

  delayMs(): number {
    return this.world.random.int(1, this.plan.delayMsMax);
  }
}

const TIMEOUT_MS = 60;

/** The connection of one process. */
export class SimDatabase implements LedgerDatabase {
  readonly #disk: SimDisk;
  readonly #node: SimNode;
  readonly #memory: MemoryDatabase;

  constructor(disk: SimDisk, node: SimNode) {
    this.#disk = disk;
    this.#node = node;
    this.#memory = new MemoryDatabase(disk.tables);
  }

  restore(...given: Parameters<Database['restore']>): ReturnType<Database['restore']> {
    return this.#request((database) => database.restore(...given));
  }

  position(...given: Parameters<Database['position']>): ReturnType<Database['position']> {
    return this.#request((database) => database.position(...given));
  }

  matchingTasks(...given: Parameters<Database['matchingTasks']>): ReturnType<Database['matchingTasks']> {
    return this.#request((database) => database.matchingTasks(...given));
  }

  write(...given: Parameters<Database['write']>): ReturnType<Database['write']> {
    const { world } = this.#node;
    const write = (database: MemoryDatabase): ReturnType<Database['write']> => database.write(...given);
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
    return this.#request(write);
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
    return new Promise((resolve) => {
      reply(delayMs, () => {
        world.promiseSettled();
        resolve(answer());
      });
    });
  }

  /** There, the rows, and back: what is answered was true when the database looked. */
  #request<T>(call: (database: MemoryDatabase) => Promise<T>): Promise<T> {
    const { world } = this.#node;
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
          (value) => answer(() => resolve(value)),
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    });
  }
}
