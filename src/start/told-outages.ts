/**
 * A database whose outages are told by one line for all that ask it (outage-report.ts), not by each shard for each thing that it cannot do.
 *
 *     shards, task queues, List ─▶ this ─▶ the database
 *                                   └─ unavailable, or a commit of unknown outcome ─▶ WARN the database is away … ─▶ INFO the database answers again
 *
 * What a database refuses for good is for whoever asked to tell.
 */
import { DatabaseError, type Database, type JournalId } from '../actors/database.ts';
import type { Logger } from '../observability/logger.ts';
import { OutageReport, steadyWallMs } from '../observability/outage-report.ts';

/** Retention looks twice a minute, and may be the only one who asks. */
const ABANDONED_AFTER_MS = 60_000;
const TICK_MS = 500;

/** What is asked of no journal: a List, a Count. */
type Subject = JournalId | undefined;

export function toldOutages(database: Database, logger: Logger, nowMs = steadyWallMs): Database {
  const report = new OutageReport<Subject>({
    logger,
    nowMs,
    nameOf: (journal) => (journal === undefined ? 'all' : `${journal.kind}/${journal.partition}`),
    abandonedAfterMs: ABANDONED_AFTER_MS,
    messages: {
      waits: 'the database is away: workflows in memory go on, others are unavailable',
      over: 'the database answers again',
      nobodyAsks: 'nobody asks the database any more',
    },
    details: () => ({ database: database.name }),
  });
  let tick: NodeJS.Timeout | undefined;
  const failed = (doing: string, subject: Subject, reason: string): void => {
    report.failed(doing, subject, reason);
    tick ??= setInterval(() => report.tick(), TICK_MS).unref();
  };

  const told = async <Result>(doing: string, subject: Subject, asked: Promise<Result>): Promise<Result> => {
    try {
      const result = await asked;
      report.worked(doing, subject);
      return result;
    } catch (error) {
      if (isOutage(error)) failed(doing, subject, error.message);
      else report.worked(doing, subject);
      throw error;
    }
  };
  return {
    name: database.name,
    cluster: () => told('cluster', undefined, database.cluster()),
    bind: (clusterId) => told('bind', undefined, database.bind(clusterId)),
    restore: (journal) => told('restore', journal, database.restore(journal)),
    position: (journal) => told('position', journal, database.position(journal)),
    write: async (journal, ...rest) => {
      const outcome = await told('write', journal, database.write(journal, ...rest));
      if (outcome.kind === 'unknown') failed('write', journal, outcome.reason);
      return outcome;
    },
    flush: (journal, ...rest) => told('flush', journal, database.flush(journal, ...rest)),
    load: (journal, keys) => told('load', journal, database.load(journal, keys)),
    transferTasks: (journal, ...rest) => told('transferTasks', journal, database.transferTasks(journal, ...rest)),
    timers: (journal, window) => told('timers', journal, database.timers(journal, window)),
    tasksAside: (journal) => told('tasksAside', journal, database.tasksAside(journal)),
    dueRuns: (journal, ...rest) => told('dueRuns', journal, database.dueRuns(journal, ...rest)),
    runIds: (journal, ...rest) => told('runIds', journal, database.runIds(journal, ...rest)),
    runs: (journal, ...rest) => told('runs', journal, database.runs(journal, ...rest)),
    matchingTasks: (journal, ...rest) => told('matchingTasks', journal, database.matchingTasks(journal, ...rest)),
    allMatchingTasks: (journal, ...rest) => told('allMatchingTasks', journal, database.allMatchingTasks(journal, ...rest)),
    history: (journal, range) => told('history', journal, database.history(journal, range)),
    list: (query) => told('list', undefined, database.list(query)),
    count: (query) => told('count', undefined, database.count(query)),
    close: async () => {
      clearInterval(tick);
      await database.close();
    },
  };
}

/** It is told here: whoever asked says nothing of it. */
function isOutage(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.recoverable;
}
