/**
 * A database whose outages are told by one line for all that ask it (outage-report.ts), not by each shard for each thing that it cannot do.
 *
 *     shards, task queues, List ─▶ this ─▶ the database
 *                                   └─ unavailable, or a commit of unknown outcome ─▶ WARN the database is away … ─▶ INFO the database answers again
 *
 * What a database refuses for good is for whoever asked to tell, and so is a List that reads too much: the database answers all others.
 */
import { DatabaseError, isOutage, type Database, type JournalId } from '../actors/database.ts';
import type { Logger } from '../observability/logger.ts';
import { OutageReport, steadyWallMs } from '../observability/outage-report.ts';

/** Retention looks twice a minute, and may be the only one who asks. */
const ABANDONED_AFTER_MS = 60_000;
const TICK_MS = 500;

/** What an owner does until it is done, of its journal; and whatever is read, for somebody who may give up and not ask again. */
type Subject = JournalId | 'reads';

export function toldOutages(database: Database, logger: Logger, nowMs = steadyWallMs): Database {
  const report = new OutageReport<Subject>({
    logger,
    nowMs,
    nameOf: (subject) => (subject === 'reads' ? '' : `${subject.kind}/${subject.partition}`),
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

  /** `whyNot`: what it has answered may be an outage too. */
  const told = async <Result>(
    doing: string,
    subject: Subject,
    asked: Promise<Result>,
    whyNot: (result: Result) => string | undefined = () => undefined,
  ): Promise<Result> => {
    try {
      const result = await asked;
      const reason = whyNot(result);
      if (reason !== undefined) {
        failed(doing, subject, reason);
        return result;
      }
      report.worked(doing, subject);
      // Where it is written can be read; the other way round a disk may be full.
      if (subject !== 'reads') report.worked('read', 'reads');
      return result;
    } catch (error) {
      if (isOutage(error)) failed(doing, subject, error.message);
      else if (!isOver(error)) report.worked(doing, subject);
      throw error;
    }
  };
  const read = <Result>(asked: Promise<Result>): Promise<Result> => told('read', 'reads', asked);
  return {
    name: database.name,
    cluster: () => read(database.cluster()),
    bind: (clusterId) => read(database.bind(clusterId)),
    restore: (journal) => told('restore', journal, database.restore(journal)),
    position: (journal) => read(database.position(journal)),
    write: (journal, ...rest) =>
      told('write', journal, database.write(journal, ...rest), (outcome) => (outcome.kind === 'unknown' ? outcome.reason : undefined)),
    flush: (journal, ...rest) => told('flush', journal, database.flush(journal, ...rest)),
    clearSlots: (held, clearing) => told('clear slots', held[0]?.journal ?? 'reads', database.clearSlots(held, clearing)),
    rewrite: (journal, ...rest) => told('flush', journal, database.rewrite(journal, ...rest)),
    load: (...asked) => read(database.load(...asked)),
    transferTasks: (...asked) => read(database.transferTasks(...asked)),
    timers: (...asked) => read(database.timers(...asked)),
    tasksAside: (...asked) => read(database.tasksAside(...asked)),
    dueRuns: (...asked) => read(database.dueRuns(...asked)),
    runIds: (...asked) => read(database.runIds(...asked)),
    runs: (...asked) => read(database.runs(...asked)),
    strayRows: (...asked) => read(database.strayRows(...asked)),
    rebuildDue: (...asked) => read(database.rebuildDue(...asked)),
    noteRebuild: (journal, ...rest) => told('flush', journal, database.noteRebuild(journal, ...rest)),
    matchingTasks: (...asked) => read(database.matchingTasks(...asked)),
    matchingQueues: (...asked) => read(database.matchingQueues(...asked)),
    countMatchingTasks: (...asked) => read(database.countMatchingTasks(...asked)),
    letters: (...asked) => read(database.letters(...asked)),
    letterIds: (...asked) => read(database.letterIds(...asked)),
    countLetters: (...asked) => read(database.countLetters(...asked)),
    letterGroups: (...asked) => read(database.letterGroups(...asked)),
    history: (...asked) => read(database.history(...asked)),
    list: (...asked) => read(database.list(...asked)),
    count: (...asked) => read(database.count(...asked)),
    giveUp: (asked) => database.giveUp(asked),
    close: async () => {
      clearInterval(tick);
      await database.close();
    },
  };
}

/** We end it: whether it answers is not known, nor asked any more. */
function isOver(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'closed';
}
