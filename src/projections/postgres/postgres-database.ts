/**
 * The database port on PostgreSQL.
 *
 * Three pools: checkpoints and loads must not wait behind somebody's count of a million rows, nor reads of dead letters, and they want another
 * planner. Theirs looks up by keys alone, for before the first ANALYZE it takes every table for small and reads it whole; the others may choose.
 */
import { DatabaseError, type Database } from '../database-port.ts';
import { checkpointWrites } from './checkpoint-writes.ts';
import { Connections } from './connections.ts';
import { letterReads } from './letter-reads.ts';
import { kept, migrate } from './migrate.ts';
import { nameOf, quoted, schemaName } from './names.ts';
import { stateReads } from './reads.ts';
import { slotClearing } from './slot-clearing.ts';
import { RevocableReads } from './revocable-reads.ts';
import { visibilityReads } from './visibility-reads.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';
import type { Logger } from '../../observability/logger.ts';

/** A namespace has two lists and counts under way at most: its slow ones, whom nobody may wait for any more, never take all of these. */
const visibilityConnectionsMax = 4;
/** Whoever looks at dead letters in an incident does not wait behind the lists of others. */
const letterConnectionsMax = 2;

/** Settings of every session: trimming the journal rests on what a COMMIT promises. */
const durable = ['synchronous_commit=on', 'client_encoding=UTF8', 'DateStyle=ISO', 'jit=off'];
const byKey = ['enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off'];

export type PostgresDatabase = Database & {
  /** The tables are there, and of the age that this program knows. Every call sees to it first, until it has been so once. */
  readonly prepare: () => Promise<void>;
};

export function postgresDatabase(options: PostgresOptions, logger: Logger): PostgresDatabase {
  const name = nameOf(options);
  const schema = schemaName(options.topicPrefix);
  const tables = new Tables(options);
  const before = async (): Promise<void> => (tables.areReady ? undefined : await tables.prepare());
  const state = new Connections(options, Math.max(1, options.connectionsMax), [...durable, ...byKey], before);
  const ofLists = new Connections(options, visibilityConnectionsMax, durable, before);
  const ofLetters = new Connections(options, letterConnectionsMax, durable, before);
  const lists = new RevocableReads(ofLists, state);
  const letters = new RevocableReads(ofLetters, state);
  return {
    name,
    prepare: () => tables.prepare(),
    cluster: () => state.use((session) => kept(session, schema, 'cluster')),
    bind: (clusterId) =>
      state.use(async (session) => {
        const text = `INSERT INTO ${quoted(schema)}.perdure (name, value) VALUES ('cluster', $1) ON CONFLICT (name) DO NOTHING`;
        await session.query({ text }, [clusterId]);
        const owner = await kept(session, schema, 'cluster');
        if (owner === undefined) throw new DatabaseError('corrupt', `${name} has lost whose it is while it was asked`);
        return owner;
      }),
    ...stateReads(state, schema),
    ...checkpointWrites(state, schema, logger),
    clearSlots: slotClearing(state, schema),
    ...visibilityReads(lists, schema),
    ...letterReads(letters, schema),
    giveUp: async (asked) => {
      await Promise.all([lists.giveUp(asked), letters.giveUp(asked)]);
    },
    close: async () => {
      await Promise.all([state.close(), ofLists.close(), ofLetters.close(), tables.close()]);
    },
  };
}

/** The tables are looked at before the first call. */
class Tables {
  readonly #options: PostgresOptions;
  /** While they are looked at. */
  #migrating: { readonly connections: Connections; readonly done: Promise<void> } | undefined;
  areReady = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  async prepare(): Promise<void> {
    this.#migrating ??= this.#migrate();
    await this.#migrating.done;
  }

  async close(): Promise<void> {
    await this.#migrating?.connections.close();
  }

  #migrate(): { readonly connections: Connections; readonly done: Promise<void> } {
    const options = this.#options;
    const connections = new Connections(options, 1, durable);
    const done = (async () => {
      try {
        await migrate(connections, { name: nameOf(options), schema: schemaName(options.topicPrefix), migrate: options.migrate });
        this.areReady = true;
      } finally {
        this.#migrating = undefined;
        await connections.close();
      }
    })();
    return { connections, done };
  }
}
