/**
 * What rows of runs leave to history, read beside them: an activity's input of 2 MiB is stored once, not with each of its attempts.
 *
 *     row of the run ─▶ eventsLeftOut 5, 7, 4012 ─▶ rows of history 1..40, 3990..4020 ─▶ those three events
 *
 * The checkpoint that wrote the row wrote those events, or an earlier one did. What cannot be found is the trouble of that run alone: its row
 * cannot be read then, and that says so.
 */
import type { StoredRun } from '../../../history/shard/rows.ts';
import type { EventsLeftOut, StateWire } from '../../../history/shard/state-wire.ts';
import { DatabaseError, type HistoryRange, type HistoryRow, type Loaded, type LoadKey } from '../../../projections/database-port.ts';
import { unpackRow } from '../events/history-rows.ts';
import type { ShardTable } from '../../../projections/checkpoints/shard-table.ts';

type ReadRows = (range: HistoryRange) => Promise<readonly HistoryRow[]>;

export type LoadedRun = Omit<Loaded, 'run'> & { readonly run: StoredRun | undefined };

/** Events between two that are wanted are read with them, if they are no more. */
const GAP_EVENTS_MAX = 100;
const READ_BYTES_MAX = 4 * 1024 * 1024;
/** Histories that are read at a time: each may take as much as that. */
const READS_MAX = 8;
/** An offset that matches no checkpoint: the reads were made at several moments, so the position is asked for afterwards. */
const OF_SEVERAL_MOMENTS = -1;

export type LoadRuns = (keys: readonly LoadKey[]) => Promise<readonly LoadedRun[] | 'fenced'>;

/** Loads runs; rows come in the order of the keys. Rejects with DatabaseError. */
export function loadsOf(table: ShardTable<'load' | 'history'>, wire: Pick<StateWire, 'eventsLeftOut'>): LoadRuns {
  return (keys) =>
    table.read(async (database, journal) => {
      const { fence, nextOffset, rows } = await database.load(journal, keys);
      const reads = rows.flatMap((row, at) => {
        const wanted = row.run === undefined ? [] : wantedOf(row.run.state, wire);
        return row.run === undefined || wanted.length === 0 ? [] : [{ at, run: row.run, wanted }];
      });
      if (reads.length === 0) return { fence, nextOffset, rows };
      const whole: LoadedRun[] = [...rows];
      const readRows: ReadRows = (range) => database.history(journal, range);
      for (let from = 0; from < reads.length; from += READS_MAX) {
        const some = reads.slice(from, from + READS_MAX);
        const events = await Promise.all(some.map(({ run, wanted }) => read(run.runId, wanted, readRows)));
        for (const [nth, { at, run }] of some.entries()) whole[at] = { ...rows[at]!, run: { ...run, events: events[nth]! } };
      }
      return { fence, nextOffset: OF_SEVERAL_MOMENTS, rows: whole };
    });
}

/** Answers nothing for a damaged row: whoever decodes the row says what is wrong. */
function wantedOf(state: Uint8Array, wire: Pick<StateWire, 'eventsLeftOut'>): readonly number[] {
  try {
    return wire.eventsLeftOut(state).toSorted((one, other) => one - other);
  } catch {
    return [];
  }
}

async function read(runId: string, wanted: readonly number[], readRows: ReadRows): Promise<EventsLeftOut> {
  const events = new Map<number, Uint8Array>();
  for (let at = 0; at < wanted.length;) {
    const stretch = { firstEventId: wanted[at]!, lastEventId: endOfStretch(wanted, at) };
    const rows = await readRows({ runId, branch: 0, ...stretch, bytesMax: READ_BYTES_MAX });
    const before = at;
    for (const row of rows) {
      const held = eventsIn(row);
      // A copy: one event of a row must not keep all of it in memory.
      for (; at < wanted.length && wanted[at]! <= row.lastEventId; at++) {
        const event = held[wanted[at]! - row.firstEventId];
        if (event !== undefined) events.set(wanted[at]!, event.slice());
      }
    }
    if (at === before) break;
  }
  return events;
}

function endOfStretch(wanted: readonly number[], from: number): number {
  let at = from;
  while (at + 1 < wanted.length && wanted[at + 1]! - wanted[at]! <= GAP_EVENTS_MAX) at++;
  return wanted[at]!;
}

function eventsIn(row: HistoryRow): readonly Uint8Array[] {
  try {
    return unpackRow(row);
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'corrupt') return [];
    throw error;
  }
}
