/**
 * A reset of a long history: the new run gets its events in parts, each of them a record and a turn of the event loop, and nobody finds it before the
 * last command has made it the current run (reset-workflow.ts).
 *
 *     prepareReset 1 … 1000 ──▶ in preparation ── prepareReset 1001 … 2000 ── … ── resetWorkflow ──▶ current
 *                                    └── dropReset, refused, its base run is gone, ten minutes later ──▶ nowhere
 *
 * It is a run like any other, in memory, in rows and in checkpoints, that `findRun` does not find. What drops it is the end of a retention, which a
 * run has in memory or not, so one that its caller has left behind (a crash, a kill) goes as closed runs do. Any number of them may be prepared at once,
 * also for the same request: the first that comes to its end is the reset, and the others are dropped.
 */
import type { RunKey } from '../../kernel/run-key.ts';
import type { RoomForRuns } from '../commands.ts';
import type { Draft, RunDraft } from '../draft.ts';
import type { RecordedEvent } from '../events.ts';
import { findAnyRun, findRun, reject, workflowNotFound } from '../reject.ts';
import type { HistoryReply, HistoryWire } from '../replies.ts';
import type { RunView } from '../state.ts';
import type { DropReset, PrepareReset, ResetWorkflow } from './reset-commands.ts';

export const preparationGone = reject({
  reason: 'busy-workflow',
  message: 'the run that was prepared for this reset was dropped: reset again',
});

export function prepareReset(draft: Draft, command: PrepareReset & RoomForRuns): HistoryReply {
  const { key, newRunId, noRoom } = command;
  const base = findRun(draft.shard, key);
  const made = base === undefined ? undefined : madeBefore(draft, base, command.requestId);
  if (base === undefined || made !== undefined) {
    dropPreparation(draft, { ...key, runId: newRunId });
    return made === undefined ? workflowNotFound(key) : { kind: 'workflowReset', runId: made.key.runId };
  }
  const prepared = findAnyRun(draft.shard, { ...key, runId: newRunId });
  if (prepared !== undefined && prepared.preparation?.baseRunId !== key.runId) return preparationGone;
  if (prepared === undefined && command.firstEventId !== 1) return preparationGone;
  // Each part is more of a run that nobody needs yet.
  if (noRoom !== undefined) return reject({ reason: 'no-room', message: noRoom });
  const events = recorded(draft.wire, command.events);
  if (prepared === undefined) begin(draft, base, newRunId, events);
  else if (prepared.nextEventId === command.firstEventId) goOn(draft.open(prepared), events);
  else if (prepared.nextEventId !== command.firstEventId + events.length) return preparationGone;
  return { kind: 'workflowReset', runId: newRunId };
}

export function dropReset(draft: Draft, { key }: DropReset): HistoryReply {
  dropPreparation(draft, key);
  return { kind: 'done' };
}

/** The run that an earlier request with this id has made. What has become of the one that is not current by now is its own affair. */
export function madeBefore({ shard }: Draft, base: RunView, requestId: string): RunView | undefined {
  const { key, resetRunId } = base;
  const current = findRun(shard, { ...key, runId: '' });
  const resetTo = resetRunId === '' ? undefined : findRun(shard, { ...key, runId: resetRunId });
  return [current, resetTo].find((run) => run?.reset?.requestId === requestId);
}

/** undefined: it was dropped. */
export function preparedRun({ shard }: Draft, { key, newRunId }: ResetWorkflow): RunView | undefined {
  const run = findAnyRun(shard, { ...key, runId: newRunId });
  return run?.preparation?.baseRunId === key.runId ? run : undefined;
}

/** Of any other run it changes nothing. */
export function dropPreparation(draft: Draft, key: RunKey): void {
  const run = findAnyRun(draft.shard, key);
  if (run?.preparation !== undefined) draft.retire(run.key);
}

/** It is nobody's any more: what follows in this draft makes it the current run. */
export function endPreparation(draft: Draft, prepared: RunView): RunDraft {
  const run = draft.open(prepared);
  run.finishTask(prepared.retentionTaskId);
  run.addFact({ kind: 'preparationEnded' });
  return run;
}

export function recorded(wire: HistoryWire, events: readonly Uint8Array[]): readonly RecordedEvent[] {
  return events.map((bytes) => ({ event: wire.decodeEvent(bytes), bytes }));
}

function goOn(run: RunDraft, events: readonly RecordedEvent[]): void {
  for (const event of events) run.copy(event);
}

function begin(draft: Draft, base: RunView, newRunId: string, events: readonly RecordedEvent[]): void {
  const key: RunKey = { ...base.key, runId: newRunId };
  const run = draft.branch(key, base.namespace, events);
  run.addFact({ kind: 'preparationBegun', baseRunId: base.key.runId });
  const fireTimeMs = draft.nowMs + draft.limits.resetPreparationMsMax;
  run.addTask({ kind: 'retention', taskId: draft.nextTaskId(), fireTimeMs, key });
}
