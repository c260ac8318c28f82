/**
 * The tables, as numbered migrations: what a released version has created is never edited, only followed by another.
 *
 *     journals                         one row for each: fence and position
 *     executions → runs → history      pointer by workflow id, state by run id, events by (run id, branch, event id)
 *     child_starts                     which first run a parent's start made
 *     transfer_tasks, timers           by task id; windows go by an index
 *     matching_tasks                   by task id; windows by queue
 *     dead_letters                     by message id, of each queue (its number is the partition)
 *     visibility, visibility_words     what List and Count ask, and the words of its lists and texts
 *
 * Ids are UUIDs as 16 bytes, names that clients choose are bytes, times ms. The visibility tables hold text: queries compare run ids with any
 * text. `partition` counts from 0, `shard` from 1.
 *
 * Large rows (state, events, visibility) stand in tables with a rowid: without one a row that is longer than a quarter of a page takes an
 * overflow page of its own. Small ones are WITHOUT ROWID, where the key is the order.
 *
 * Indexes ascend, though List goes downwards and reads them backwards: what is new then goes to the right edge of a tree, where pages are left
 * full. Descending they were half as large again.
 */
import { attributeColumns, instantNames } from '../tables/attribute-columns.ts';
import { partColumn } from '../tables/instant-sql.ts';
import type { ColumnKind } from '../../filter/condition.ts';

/** A list or text is 1 where the row has one; its words stand in `visibility_words`. */
const types: Readonly<Record<ColumnKind, 'TEXT' | 'INTEGER' | 'REAL'>> = {
  keyword: 'TEXT',
  text: 'INTEGER',
  int: 'INTEGER',
  double: 'REAL',
  bool: 'INTEGER',
  datetime: 'INTEGER',
  instant: 'INTEGER',
  keywordList: 'INTEGER',
};

const definitions = [
  ...attributeColumns.map(({ name, kind }) => `${name} ${types[kind]}`),
  ...instantNames.map((name) => `${partColumn(name)} INTEGER`),
];
const single = attributeColumns.filter(({ kind }) => kind !== 'text' && kind !== 'keywordList');

const first = `
  CREATE TABLE perdure (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE journals (
    kind TEXT NOT NULL, partition INTEGER NOT NULL, fence INTEGER NOT NULL,
    epoch INTEGER NOT NULL, sequence INTEGER NOT NULL, next_offset INTEGER NOT NULL, last_offset INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, schema INTEGER NOT NULL,
    counters BLOB, -- NULL: restored, and never written
    trim_points BLOB NOT NULL,
    PRIMARY KEY (kind, partition)) STRICT;

  CREATE TABLE executions (
    partition INTEGER NOT NULL, namespace_id BLOB NOT NULL, workflow_id BLOB NOT NULL, run_id BLOB NOT NULL,
    PRIMARY KEY (partition, namespace_id, workflow_id)) STRICT, WITHOUT ROWID;

  CREATE TABLE runs (
    partition INTEGER NOT NULL, run_id BLOB NOT NULL, namespace_id BLOB NOT NULL, workflow_id BLOB NOT NULL,
    status INTEGER NOT NULL, forget_ms INTEGER, state BLOB NOT NULL,
    PRIMARY KEY (partition, run_id)) STRICT;
  CREATE INDEX runs_due ON runs (partition, forget_ms, run_id) WHERE forget_ms IS NOT NULL;

  CREATE TABLE child_starts (
    partition INTEGER NOT NULL, parent_run_id BLOB NOT NULL, initiated_event_id INTEGER NOT NULL, run_id BLOB NOT NULL,
    PRIMARY KEY (partition, parent_run_id, initiated_event_id)) STRICT, WITHOUT ROWID;
  CREATE INDEX child_starts_made ON child_starts (partition, run_id);

  CREATE TABLE history (
    partition INTEGER NOT NULL, run_id BLOB NOT NULL, branch INTEGER NOT NULL, first_event_id INTEGER NOT NULL,
    last_event_id INTEGER NOT NULL, events BLOB NOT NULL,
    PRIMARY KEY (partition, run_id, branch, first_event_id)) STRICT;

  CREATE TABLE transfer_tasks (
    partition INTEGER NOT NULL, task_id INTEGER NOT NULL, aside INTEGER NOT NULL, at_matching INTEGER NOT NULL, task BLOB NOT NULL,
    PRIMARY KEY (partition, task_id)) STRICT, WITHOUT ROWID;
  CREATE INDEX transfer_tasks_aside ON transfer_tasks (partition, task_id) WHERE aside = 1;
  -- What a takeover has to offer, beside however many tasks matching has stored.
  CREATE INDEX transfer_tasks_waiting ON transfer_tasks (partition, task_id) WHERE aside = 0 AND at_matching = 0;

  CREATE TABLE timers (
    partition INTEGER NOT NULL, task_id INTEGER NOT NULL, fire_ms INTEGER NOT NULL, aside INTEGER NOT NULL, task BLOB NOT NULL,
    PRIMARY KEY (partition, task_id)) STRICT, WITHOUT ROWID;
  CREATE INDEX timers_due ON timers (partition, fire_ms, task_id) WHERE aside = 0;
  CREATE INDEX timers_aside ON timers (partition, task_id) WHERE aside = 1;

  CREATE TABLE matching_tasks (
    partition INTEGER NOT NULL, task_id INTEGER NOT NULL, queue BLOB NOT NULL, task BLOB NOT NULL,
    PRIMARY KEY (partition, task_id)) STRICT, WITHOUT ROWID;
  CREATE INDEX matching_tasks_of_queue ON matching_tasks (partition, queue, task_id);

  CREATE TABLE visibility (
    namespace_id TEXT NOT NULL, run_id TEXT NOT NULL, sort_ms INTEGER NOT NULL, start_ms INTEGER NOT NULL, version INTEGER NOT NULL,
    shard INTEGER NOT NULL, status INTEGER NOT NULL, workflow_id TEXT NOT NULL, workflow_type TEXT NOT NULL, task_queue TEXT NOT NULL,
    execution_ms INTEGER NOT NULL, close_ms INTEGER, execution_duration_ms INTEGER, history_length INTEGER, history_size_bytes INTEGER,
    state_transition_count INTEGER, parent_workflow_id TEXT, parent_run_id TEXT, root_workflow_id TEXT, root_run_id TEXT,
    memo BLOB, search_attributes BLOB,
    ${definitions.join(', ')},
    PRIMARY KEY (namespace_id, run_id)) STRICT;
  CREATE INDEX visibility_sort ON visibility (namespace_id, sort_ms, start_ms, run_id);
  CREATE INDEX visibility_workflow_id ON visibility (namespace_id, workflow_id, sort_ms, start_ms, run_id);
  CREATE INDEX visibility_workflow_type ON visibility (namespace_id, workflow_type, sort_ms, start_ms, run_id);
  CREATE INDEX visibility_status ON visibility (namespace_id, status, sort_ms, start_ms, run_id);
  CREATE INDEX visibility_start ON visibility (namespace_id, start_ms);
  ${single
    .map(
      ({ name }) =>
        `CREATE INDEX visibility_${name} ON visibility (namespace_id, ${name}, sort_ms, start_ms, run_id) WHERE ${name} IS NOT NULL;`,
    )
    .join('\n  ')}
  -- Children of one parent, which a workflow's page asks for: without it that walks the namespace.
  CREATE INDEX visibility_parent_workflow_id ON visibility (namespace_id, parent_workflow_id, sort_ms, start_ms, run_id)
    WHERE parent_workflow_id IS NOT NULL;
  -- All runs below one root. Most runs are their own root, and cost nothing here: they are found by their own ids (ownColumn).
  CREATE INDEX visibility_root_workflow_id ON visibility (namespace_id, root_workflow_id, sort_ms, start_ms, run_id)
    WHERE root_workflow_id <> workflow_id;
  CREATE INDEX visibility_root_run_id ON visibility (namespace_id, root_run_id, sort_ms, start_ms, run_id) WHERE root_run_id <> run_id;

  CREATE TABLE visibility_words (
    namespace_id TEXT NOT NULL, slot TEXT NOT NULL, word TEXT NOT NULL, run_id TEXT NOT NULL,
    PRIMARY KEY (namespace_id, slot, word, run_id)) STRICT, WITHOUT ROWID;
  CREATE INDEX visibility_words_of_run ON visibility_words (run_id, namespace_id);

  -- What is NULL is not known. Texts are bytes; ids of workflows may be any.
  CREATE TABLE dead_letters (
    partition INTEGER NOT NULL, message_id INTEGER NOT NULL, log_offset INTEGER NOT NULL, task_id INTEGER, shard_id INTEGER,
    attempts INTEGER NOT NULL, generation INTEGER NOT NULL, task_fire_ms INTEGER, first_failure_ms INTEGER, last_failure_ms INTEGER,
    dead_letter_ms INTEGER NOT NULL, first_event_id INTEGER, next_event_id INTEGER, version INTEGER, is_damaged INTEGER NOT NULL,
    state BLOB NOT NULL, cause BLOB, disposition BLOB, fingerprint BLOB, task_type BLOB, namespace_id BLOB, namespace BLOB,
    workflow_id BLOB, run_id BLOB, workflow_type BLOB, source_cluster BLOB, node BLOB, build BLOB, error_type BLOB, error_message BLOB,
    PRIMARY KEY (partition, message_id)) STRICT;
  CREATE INDEX dead_letters_fingerprint ON dead_letters (partition, fingerprint, message_id);
  CREATE INDEX dead_letters_workflow_id ON dead_letters (partition, workflow_id, message_id);
`;

/** The first has number 1. */
export const migrations: readonly string[] = [first];
