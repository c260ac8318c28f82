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
import { quoted } from './schema-name.ts';
import { countIndex, instantParts, parentIndex, rootIndexes, visibilityTable } from './visibility-table.ts';

export type Migration = { readonly number: number; readonly statements: (schema: string) => readonly string[] };

export const migrations: readonly Migration[] = [
  { number: 1, statements: firstTables },
  { number: 2, statements: (schema) => [parentIndex(quoted(schema))] },
  { number: 3, statements: (schema) => rootIndexes(quoted(schema)) },
  { number: 4, statements: (schema) => [countIndex(quoted(schema))] },
  { number: 5, statements: tasksAtMatching },
  { number: 6, statements: deadLetters },
  // NULL of letters that were made before.
  { number: 7, statements: (schema) => [`ALTER TABLE ${quoted(schema)}.dead_letters ADD COLUMN disposition bytea`] },
  { number: 8, statements: (schema) => instantParts(quoted(schema)) },
];

export const newestMigration = migrations.at(-1)?.number ?? 0;

const busy = 'WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2)';
/** Room on each page for the next version of its rows: no index changes then. */
const updated = 'WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2)';

/** What a takeover has to offer, beside however many tasks matching has stored. */
function tasksAtMatching(schema: string): readonly string[] {
  const table = `${quoted(schema)}.transfer_tasks`;
  return [
    `ALTER TABLE ${table} ADD COLUMN at_matching boolean NOT NULL DEFAULT false`,
    `CREATE INDEX transfer_tasks_waiting ON ${table} (partition, task_id) WHERE NOT aside AND NOT at_matching`,
  ];
}

function firstTables(schema: string): readonly string[] {
  const at = quoted(schema);
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
    `CREATE TABLE ${at}.executions (
  partition integer NOT NULL,
  namespace_id uuid NOT NULL,
  run_id uuid NOT NULL,
  workflow_id bytea NOT NULL,
  PRIMARY KEY (partition, namespace_id, workflow_id)
) ${updated}`,
    `CREATE TABLE ${at}.runs (
  partition integer NOT NULL,
  run_id uuid NOT NULL,
  namespace_id uuid NOT NULL,
  status integer NOT NULL,
  forget_ms bigint,
  workflow_id bytea NOT NULL,
  state bytea NOT NULL,
  PRIMARY KEY (partition, run_id)
) ${updated}`,
    `CREATE INDEX runs_forget ON ${at}.runs (partition, forget_ms, run_id) WHERE forget_ms IS NOT NULL`,
    `CREATE TABLE ${at}.child_starts (
  partition integer NOT NULL,
  parent_run_id uuid NOT NULL,
  initiated_event_id bigint NOT NULL,
  run_id uuid NOT NULL,
  PRIMARY KEY (partition, parent_run_id, initiated_event_id)
) ${busy}`,
    `CREATE INDEX child_starts_run ON ${at}.child_starts (partition, run_id)`,
    `CREATE TABLE ${at}.history (
  partition integer NOT NULL,
  run_id uuid NOT NULL,
  branch integer NOT NULL,
  first_event_id bigint NOT NULL,
  last_event_id bigint NOT NULL,
  events bytea NOT NULL,
  PRIMARY KEY (partition, run_id, branch, first_event_id)
) ${busy}`,
    ...taskTables(at),
    ...visibilityTable(at),
  ];
}

function taskTables(at: string): readonly string[] {
  return [
    `CREATE TABLE ${at}.transfer_tasks (
  partition integer NOT NULL,
  task_id bigint NOT NULL,
  aside boolean NOT NULL,
  task bytea NOT NULL,
  PRIMARY KEY (partition, task_id)
) ${busy}`,
    `CREATE INDEX transfer_tasks_aside ON ${at}.transfer_tasks (partition, task_id) WHERE aside`,
    `CREATE TABLE ${at}.timers (
  partition integer NOT NULL,
  task_id bigint NOT NULL,
  fire_ms bigint NOT NULL,
  aside boolean NOT NULL,
  task bytea NOT NULL,
  PRIMARY KEY (partition, task_id)
) ${busy}`,
    `CREATE INDEX timers_fire ON ${at}.timers (partition, fire_ms, task_id) WHERE NOT aside`,
    `CREATE INDEX timers_aside ON ${at}.timers (partition, task_id) WHERE aside`,
    `CREATE TABLE ${at}.matching_tasks (
  partition integer NOT NULL,
  task_id bigint NOT NULL,
  queue bytea NOT NULL,
  task bytea NOT NULL,
  PRIMARY KEY (partition, task_id)
) ${busy}`,
    `CREATE INDEX matching_tasks_queue ON ${at}.matching_tasks (partition, queue, task_id)`,
  ];
}

function deadLetters(schema: string): readonly string[] {
  const at = quoted(schema);
  return [
    `CREATE TABLE ${at}.dead_letters (
  partition integer NOT NULL,
  message_id bigint NOT NULL,
  log_offset bigint NOT NULL,
  task_id bigint,
  shard_id bigint,
  attempts bigint NOT NULL,
  generation bigint NOT NULL,
  task_fire_ms bigint,
  first_failure_ms bigint,
  last_failure_ms bigint,
  dead_letter_ms bigint NOT NULL,
  first_event_id bigint,
  next_event_id bigint,
  version bigint,
  is_damaged boolean NOT NULL,
  state bytea NOT NULL,
  cause bytea,
  fingerprint bytea,
  task_type bytea,
  namespace_id bytea,
  namespace bytea,
  workflow_id bytea,
  run_id bytea,
  workflow_type bytea,
  source_cluster bytea,
  node bytea,
  build bytea,
  error_type bytea,
  error_message bytea,
  PRIMARY KEY (partition, message_id)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_scale_factor = 0.02)`,
    `CREATE INDEX dead_letters_fingerprint ON ${at}.dead_letters (partition, fingerprint, message_id)`,
    `CREATE INDEX dead_letters_workflow_id ON ${at}.dead_letters (partition, workflow_id, message_id)`,
  ];
}
