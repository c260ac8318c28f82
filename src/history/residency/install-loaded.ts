/** Rows that were asked for, into the shard. What is in memory is as new as its row or newer, and stays. */
import { assert } from '../../kernel/assert.ts';
import { decodeRow, installDecoded } from '../checkpoint/install.ts';
import type { StoredRun } from '../checkpoint/rows.ts';
import type { StateWire } from '../checkpoint/state-wire.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryWire } from '../replies.ts';
import type { Shard } from '../shard.ts';
import { childStartKey } from '../state.ts';
import { catchUp } from './catch-up.ts';
import { childStartName, currentName, type LoadKey, runName } from './residency.ts';

/** The answer to one key. */
export type Loaded = {
  readonly key: LoadKey;
  /** Of the workflow id, for `current` and `run`; for a child start: the run that was made. undefined: none is there. */
  readonly currentRunId: string | undefined;
  /**
   * `current`: that run. `run`: the one that the key names. undefined: it is not there, or a child start was asked for. Without a current run id,
   * for `current` and a child start: that id cannot be read, nor can this.
   */
  readonly run: StoredRun | undefined;
};

export type Wires = { readonly wire: HistoryWire; readonly stateWire: StateWire };

export function installLoaded(shard: Shard, { key, currentRunId, run }: Loaded, wires: Wires): void {
  switch (key.kind) {
    case 'run':
      if (!shard.isRunCold(key)) return;
      if (run === undefined || !installRow(shard, run, wires)) return shard.noteAbsent(runName(key));
      // It is likely to be asked for as the newest one too.
      if (currentRunId === key.runId && shard.isCurrentCold(key)) installPointer(shard, key);
      return;
    case 'current': {
      if (!shard.isCurrentCold(key)) return;
      if (currentRunId === undefined && run !== undefined) decodeRow(run, wires.stateWire);
      if (currentRunId === undefined) return shard.noteAbsent(currentName(key));
      const isThere = shard.runs.has(currentRunId) || (run !== undefined && installRow(shard, run, wires));
      if (!isThere) return shard.noteAbsent(currentName(key));
      return installPointer(shard, { ...key, runId: currentRunId });
    }
    case 'childStart': {
      const startedBy = { runId: key.parentRunId, initiatedEventId: key.initiatedEventId };
      if (shard.childStarts.has(childStartKey(startedBy))) return;
      // Its row cannot be read: this says why.
      if (run !== undefined) decodeRow(run, wires.stateWire);
      if (currentRunId === undefined || shard.isRetired(currentRunId)) return shard.noteAbsent(childStartName(startedBy));
      return shard.installChildStart(childStartKey(startedBy), currentRunId);
    }
  }
}

function installPointer(shard: Shard, { namespaceId, workflowId, runId }: RunKey): void {
  const run = shard.runs.get(runId);
  assert(run?.key.workflowId === workflowId && run.key.namespaceId === namespaceId, `run ${runId} is the newest of another workflow id`);
  shard.installCurrentRun(run);
}

/** False: it has ended for good, its row is not deleted yet. */
function installRow(shard: Shard, row: StoredRun, wires: Wires): boolean {
  if (shard.isRetired(row.runId)) return false;
  assert(!shard.runs.has(row.runId), 'no row takes the place of a run');
  const decoded = decodeRow(row, wires.stateWire);
  shard.residency?.noLongerUnread(row);
  if (shard.isBehind(row.runId)) comeBack(shard, row, decoded, wires.wire);
  else installDecoded(shard, row, decoded);
  return true;
}

function comeBack(shard: Shard, row: StoredRun, { run, aside }: ReturnType<typeof decodeRow>, wire: HistoryWire): void {
  const wasPrepared = run.preparation !== undefined;
  const caughtUp = catchUp(run, aside, shard.residency?.behind.recordsOf(row.runId) ?? [], wire);
  installDecoded(shard, row, { run, aside: caughtUp.aside });
  shard.comesBack(run, caughtUp.retention);
  if (wasPrepared && run.preparation === undefined) shard.makeCurrent(run);
}
