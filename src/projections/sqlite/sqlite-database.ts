/** The database port on SQLite, over one connection (lane.ts). */
import { assert } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { DatabaseError, type Database, type HeldJournal, type JournalId, type Restored } from '../database-port.ts';
import { rewriteVisibilityRows, writeRows, writeVisibilityRows } from './delta.ts';
import { generationOf, moveJournal, readJournal, restoreJournal } from './journal-rows.ts';
import { CommitFailure, fenced, Lane } from './lane.ts';
import { countLetterSteps, letterGroupSteps, letterIdSteps, letterPageSteps } from './letter-queries.ts';
import { clearVisibilitySlots } from './slot-clearing.ts';
import { history, load, noteRebuild, type Of, type PassedOver, type Windows, windows } from './state-reads.ts';
import { countSteps, listSteps } from './visibility-queries.ts';
import type { SqliteOptions } from './options.ts';
import type { Connection } from './connection.ts';
import type { Said } from '../thread/messages.ts';

const bindSql = `INSERT OR IGNORE INTO perdure (name, value) VALUES ('cluster', ?)`;
const clusterSql = `SELECT value FROM perdure WHERE name = 'cluster'`;

/** How many rows that cannot be read are logged. */
const toldMax = 1_000;

const notDurable = { isDurable: false };

export function sqliteDatabase(options: SqliteOptions, say: (said: Said) => void = () => {}): Database {
  const lane = new Lane(options);
  const { now, moment } = lane;
  return {
    name: lane.name,
    cluster: () => lane.alone(boundTo),
    bind: (clusterId) =>
      lane.transaction((connection) => {
        connection.statement(bindSql).run(clusterId);
        return String(boundTo(connection));
      }),
    restore: restores(lane),
    position: (journal) => lane.alone((connection) => readJournal(connection, journal)),
    write: async (journal, fence, checkpoint) => {
      try {
        return await lane.transaction(async (connection) => {
          assert(journal.kind === checkpoint.kind, `a checkpoint of ${checkpoint.kind} is written to a journal of ${journal.kind}`);
          if (!moveJournal(connection, journal, fence, checkpoint)) return { kind: 'fenced' };
          for (const _ of writeRows(connection, journal.partition, checkpoint)) await othersTurn(connection);
          return { kind: 'written' };
        });
      } catch (error) {
        if (error instanceof CommitFailure) return { kind: 'unknown', reason: error.message };
        throw error;
      }
    },
    flush: (journal, fence, rows, retired) =>
      lane.transaction(async (connection) => {
        if (!holdsFence(connection, { journal, fence })) return 'fenced';
        for (const _ of writeVisibilityRows(connection, rows, retired)) await othersTurn(connection);
        return 'flushed';
      }, notDurable),
    rewrite: (journal, fence, nextOffset, rows) =>
      lane.transaction(async (connection) => {
        if (!holdsFence(connection, { journal, fence })) return 'fenced';
        if (generationOf(connection, journal).nextOffset !== nextOffset) return 'moved';
        for (const _ of rewriteVisibilityRows(connection, rows)) await othersTurn(connection);
        return 'flushed';
      }, notDurable),
    clearSlots: (held, clearing) =>
      lane.transaction((connection) => {
        if (!held.every((each) => holdsFence(connection, each))) return { kind: 'fenced' };
        return { kind: 'cleared', lastRunId: clearVisibilitySlots(connection, held, clearing) };
      }),
    noteRebuild: (journal, fence, isDue) =>
      lane.transaction((connection) => {
        if (!holdsFence(connection, { journal, fence })) return 'fenced';
        noteRebuild(connection, journal.partition, isDue);
        return 'noted';
      }),
    load: (journal, keys) => lane.atOnce((connection) => fenced(connection, journal, () => load(connection, journal.partition, keys))),
    history: ({ partition }, range) => lane.atOnce((connection) => history(connection, partition, range)),
    ...windowsOf(lane, passingOver(lane.name, say)),
    letters: (journal, list) => lane.inSteps(letterPageSteps(now, journal, list), list.asked),
    letterIds: (journal, walk) => lane.inSteps(letterIdSteps(now, journal, walk), walk.asked),
    countLetters: (journal, condition, asked) => lane.inSteps(countLetterSteps(now, moment, journal, condition), asked),
    letterGroups: (journal, grouped) => lane.inSteps(letterGroupSteps(now, moment, journal, grouped), grouped.asked),
    list: (query) => lane.inSteps(listSteps(now, query), query.asked),
    count: (query) => lane.inSteps(countSteps(now, query, moment), query.asked),
    giveUp: async (asked) => lane.giveUp(asked),
    close: () => lane.close(),
  };
}

/** Restores that wait for the same turn share a commit, and its sync: a start has one for each journal. */
type Shared = {
  readonly journals: JournalId[];
  readonly outcomes: Promise<readonly RestoreOutcome[]>;
  /** The lane's end with these restores as its last: what is asked for in between is not overtaken. */
  readonly laneEnd: Promise<unknown>;
  /** The commit has not begun. */
  mayJoin: boolean;
};
type RestoreOutcome = { readonly restored: Restored } | { readonly error: unknown };

function restores(lane: Lane): Database['restore'] {
  let last: Shared | undefined;
  return async (journal) => {
    if (last?.laneEnd !== lane.end || !last.mayJoin) last = nextRestores(lane);
    const { journals, outcomes } = last;
    const nth = journals.push(journal) - 1;
    const outcome = (await outcomes)[nth];
    assert(outcome !== undefined, 'who joins has an outcome');
    if ('error' in outcome) throw lane.failure(outcome.error);
    return outcome.restored;
  };
}

function nextRestores(lane: Lane): Shared {
  const journals: JournalId[] = [];
  const outcomes = lane.alone(async (connection) => {
    // What was asked for at the same time is in the thread's queue now.
    await new Promise((resolve) => setImmediate(resolve));
    shared.mayJoin = false;
    return await lane.transact(connection, () => journals.map((journal) => restoreOutcome(connection, journal)));
  });
  const shared: Shared = { journals, outcomes, laneEnd: lane.end, mayJoin: true };
  const isOver = (): void => void (shared.mayJoin = false);
  outcomes.then(isOver, isOver);
  return shared;
}

/** What is wrong with the row of one journal is not wrong with the others. */
function restoreOutcome(connection: Connection, journal: JournalId): RestoreOutcome {
  try {
    return { restored: restoreJournal(connection, journal) };
  } catch (error) {
    if (!connection.isInTransaction) throw error;
    return { error };
  }
}

function windowsOf(lane: Lane, passedOver: (partition: number) => PassedOver): Pick<Database, keyof Windows> {
  const methods = Object.entries<(of: Of, ...args: never[]) => unknown>(windows).map(([method, read]) => {
    const answer = (journal: JournalId, ...args: never[]): Promise<unknown> => {
      const { partition } = journal;
      return lane.window(journal, (connection) => read({ connection, partition, passedOver: passedOver(partition) }, ...args));
    };
    return [method, answer] as const;
  });
  return Object.fromEntries(methods) as Pick<Database, keyof Windows>;
}

/** Logs each row that cannot be read once. */
function passingOver(database: string, say: (said: Said) => void): (partition: number) => PassedOver {
  const told = new Set<string>();
  return (partition) => (runId, error) => {
    const row = `${partition} ${runId}`;
    if (told.has(row) || told.size >= toldMax) return;
    told.add(row);
    const message = 'a row of the table runs cannot be read: it is skipped; restore it from a backup';
    say({ level: 'error', message, fields: { database, partition, runId, reason: errorText(error) } });
  };
}

function boundTo(connection: Connection): string | undefined {
  const row = connection.statement(clusterSql).get();
  return row === undefined ? undefined : String(row['value']);
}

function holdsFence(connection: Connection, { journal, fence }: HeldJournal): boolean {
  return fence !== 0 && generationOf(connection, journal).fence === fence;
}

/** Answers what has come in. A read that met a broken disk meanwhile may have ended the transaction: what follows would stand alone. */
async function othersTurn(connection: Connection): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (!connection.isInTransaction) throw new DatabaseError('unavailable', 'the write was rolled back by the failure of a read beside it');
}
