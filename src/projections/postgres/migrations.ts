/**
 * The tables, as numbered steps: a step that was released never changes. `state` tables have the journal's partition as the first column of
 * their key, `visibility` the namespace. Columns that grow beyond a page come last.
 *
 *     perdure            whose the database is, and which step it has reached
 *     journals           fence and position of each partition
 *     executions         the newest run of each workflow id            runs            every run, open or in retention
 *     child_starts       which run a parent's start made               history         events, a row for each checkpoint of a run
 *     transfer_tasks, timers, matching_tasks                           what is to be done
 *     visibility         what List and Count read
 *     dead_letters       of each queue (its number is the partition), by message id; NULL is not known, texts are bytes
 *
 * Workflow ids and queues are bytes: NUL is legal in them, and not in PostgreSQL's text. Task bytes are not compressed again and again: they are
 * written and deleted once. Updated tables are vacuumed at 2 % of dead rows: at the default 20 % an index of a million rows is mostly dead.
 */
import { quoted } from './names.ts';
import { analyzed, columnDefinition, visibilityTable } from './visibility-table.ts';
import {
  childStartsTable,
  executionsTable,
  historyTable,
  lettersTable,
  matchingTasksTable,
  runsTable,
  timersTable,
  transferTasksTable,
  type TableOf,
} from '../tables/state-tables.ts';

/** Statements, for the tables of that schema. */
export type Migration = (schema: string) => readonly string[];

/** The first has number 1. */
export const migrations: readonly Migration[] = [firstTables];

const busy = 'WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2)';
/** Room on each page for the next version of its rows: no index changes then. */
const updated = 'WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2)';

function firstTables(schema: string): readonly string[] {
  const at = quoted(schema);
  const index = (name: string, table: string, columns: string, where = ''): string =>
    `CREATE INDEX ${name} ON ${at}.${table} (partition, ${columns})${where === '' ? '' : ` WHERE ${where}`}`;
  return [
    `CREATE TABLE ${at}.journals (
  kind text COLLATE "C" NOT NULL,
  partition integer NOT NULL,
  fence bigint NOT NULL,
  epoch bigint,
  sequence bigint,
  next_offset bigint,
  last_offset bigint,
  time_ms bigint,
  schema integer,
  counters bytea,
  trim_points jsonb,
  PRIMARY KEY (kind, partition)
) WITH (fillfactor = 50)`,
    tableSql(at, executionsTable, updated),
    tableSql(at, runsTable, updated),
    index('runs_forget', 'runs', 'forget_ms, run_id', 'forget_ms IS NOT NULL'),
    tableSql(at, childStartsTable, busy),
    index('child_starts_run', 'child_starts', 'run_id'),
    tableSql(at, historyTable, busy),
    tableSql(at, transferTasksTable, busy),
    index('transfer_tasks_aside', 'transfer_tasks', 'task_id', 'aside'),
    // What a takeover has to offer, beside however many tasks matching has stored.
    index('transfer_tasks_waiting', 'transfer_tasks', 'task_id', 'NOT aside AND NOT at_matching'),
    tableSql(at, timersTable, busy),
    index('timers_fire', 'timers', 'fire_ms, task_id', 'NOT aside'),
    index('timers_aside', 'timers', 'task_id', 'aside'),
    tableSql(at, matchingTasksTable, busy),
    index('matching_tasks_queue', 'matching_tasks', 'queue, task_id'),
    ...visibilityTable(at),
    tableSql(at, lettersTable, analyzed),
    index('dead_letters_fingerprint', 'dead_letters', 'fingerprint, message_id'),
    index('dead_letters_workflow_id', 'dead_letters', 'workflow_id, message_id'),
  ];
}

/** Makes a table as it is described (`TableOf`). When that changes the test of hashes fails, and a step of its own is due. */
function tableSql<Row>(at: string, { name, key, columns }: TableOf<Row>, storage: string): string {
  return `CREATE TABLE ${at}.${name} (
  partition integer NOT NULL,
  ${columns.map(columnDefinition).join(',\n  ')},
  PRIMARY KEY (partition, ${key.join(', ')})
) ${storage}`;
}
