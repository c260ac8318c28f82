/**
 * Wraps the database so that an outage is reported by one line for all its users (outage-report.ts), not by each shard for each failed call.
 *
 *     shards, task queues, List ─▶ this ─▶ the database
 *                                   └─ unavailable, or a commit of unknown outcome ─▶ WARN the database is away … ─▶ INFO the database answers again
 *
 * A permanent refusal is reported by the caller, and so is a List that reads too much, because the database answers all others.
 */
import { callMethod, databaseMethods, everyMethod, type Arguments, type Method } from '../projections/database-methods.ts';
import { DatabaseError, isOutage, type Database, type JournalId } from '../projections/database-port.ts';
import type { Logger } from '../observability/logger.ts';
import { OutageReport, steadyWallMs } from '../observability/outage-report.ts';

/** Retention calls the database twice a minute, and may be its only user. */
const ABANDONED_AFTER_MS = 60_000;
const TICK_MS = 500;

/** Writes of an owner, which repeats them until they succeed, by its journal; and all reads, which callers may give up. */
type Subject = JournalId | 'reads';

export function toldOutages(database: Database, logger: Logger, nowMs = steadyWallMs): Database {
  const report = new OutageReport<Subject>({
    logger,
    nowMs,
    nameOf: (subject) => (subject === 'reads' ? '' : `${subject.kind}/${subject.partition}`),
    abandonedAfterMs: ABANDONED_AFTER_MS,
    messages: {
      waits: 'the database is away: workflows in memory continue, others are unavailable',
      over: 'the database answers again',
      nobodyAsks: 'nothing waits for the database any more',
    },
    details: () => ({ database: database.name }),
  });
  let tick: NodeJS.Timeout | undefined;
  const failed = (doing: string, subject: Subject, reason: string): void => {
    report.failed(doing, subject, reason);
    tick ??= setInterval(() => report.tick(), TICK_MS).unref();
  };

  /** `whyNot` says whether an answer is an outage too. */
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
      // A database that accepts writes can be read; the reverse is not true, because a disk may be full.
      if (subject !== 'reads') report.worked('read', 'reads');
      return result;
    } catch (error) {
      if (isOutage(error)) failed(doing, subject, error.message);
      else if (!isOver(error)) report.worked(doing, subject);
      throw error;
    }
  };
  return {
    ...everyMethod(database.name, (method, args) => {
      const { doing } = databaseMethods[method];
      const asked = callMethod(database, method, args);
      return doing === 'nothing' ? asked : told(doing, doing === 'read' ? 'reads' : subjectOf(args[0]), asked);
    }),
    write: (journal, ...rest) =>
      told('write', journal, database.write(journal, ...rest), (outcome) => (outcome.kind === 'unknown' ? outcome.reason : undefined)),
    clearSlots: (held, clearing) => told('clear slots', held[0]?.journal ?? 'reads', database.clearSlots(held, clearing)),
    close: async () => {
      clearInterval(tick);
      await database.close();
    },
  };
}

/** The server itself has ended the call, so it is not known whether the database answers. */
function isOver(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'closed';
}

/** Calls that are not reads have the journal as their first argument. */
function subjectOf(first: Arguments<Method>[0]): Subject {
  return typeof first === 'object' && 'partition' in first ? first : 'reads';
}
