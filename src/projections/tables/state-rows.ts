/** Rows of state as they are read, from either database. */
import { nameText } from './name-bytes.ts';
import { numberOrNone, type RowReader } from './row-reader.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HeldJournal, HistoryRange, HistoryRow, Restored, RunRow, TaskRow, TimerRow, TransferTaskRow } from '../database-port.ts';
import type { TrimPoint } from '../database-port.ts';

/** An id that no run and no namespace has. */
export const nobodysId = '00000000-0000-0000-0000-000000000000';

/** The row by which somebody asks for the rows of List to be built anew. */
export function rebuildName(partition: number): string {
  return `list rebuild ${partition}`;
}

/** The numbers of held history shards, as rows of List have them: from 1. */
export function heldShards(held: readonly HeldJournal[]): readonly number[] {
  return held.filter(({ journal }) => journal.kind === 'history').map(({ journal }) => journal.partition + 1);
}

export function runKeyOf<Row>(row: Row, of: RowReader<Row>): RunKey {
  return { namespaceId: of.id(row, 'namespace_id'), workflowId: nameText(of.bytes(row, 'workflow_id')), runId: of.id(row, 'run_id') };
}

export function runOf<Row>(row: Row, of: RowReader<Row>): RunRow {
  const [status, forgetMs] = [of.number(row, 'status'), numberOrNone(row, 'forget_ms', of)];
  return { ...runKeyOf(row, of), status, state: of.bytes(row, 'state'), forgetMs };
}

function taskOf<Row>(row: Row, of: RowReader<Row>): TaskRow {
  return { taskId: of.number(row, 'task_id'), task: of.bytes(row, 'task'), aside: of.boolean(row, 'aside') };
}

export function transferTaskOf<Row>(row: Row, of: RowReader<Row>): TransferTaskRow {
  return { ...taskOf(row, of), atMatching: of.boolean(row, 'at_matching') };
}

export function timerOf<Row>(row: Row, of: RowReader<Row>): TimerRow {
  return { ...taskOf(row, of), fireTimeMs: of.number(row, 'fire_ms') };
}

export function historyRowOf<Row>(row: Row, of: RowReader<Row>, { runId, branch }: HistoryRange): HistoryRow {
  const [firstEventId, lastEventId] = [of.number(row, 'first_event_id'), of.number(row, 'last_event_id')];
  return { runId, branch, firstEventId, lastEventId, events: of.bytes(row, 'events') };
}

/** The row of a journal; undefined: it was never restored. */
export function restoredOf<Row>(row: Row | undefined, of: RowReader<Row>, trimPointsOf: (row: Row) => readonly TrimPoint[]): Restored {
  if (row === undefined) return { fence: 0, position: undefined };
  const fence = of.number(row, 'fence');
  if (of.isNull(row, 'counters')) return { fence, position: undefined };
  const position = {
    epoch: of.number(row, 'epoch'),
    sequence: of.number(row, 'sequence'),
    nextOffset: of.number(row, 'next_offset'),
    lastOffset: of.number(row, 'last_offset'),
    timeMs: of.number(row, 'time_ms'),
    schema: of.number(row, 'schema'),
    counters: of.bytes(row, 'counters'),
    trimPoints: trimPointsOf(row),
  };
  return { fence, position };
}
