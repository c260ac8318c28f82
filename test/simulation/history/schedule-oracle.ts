/**
 * I23, of the whole journals: whatever a schedule was due for was decided once, and begun once. Its own journal says what it has decided, and what
 * it believes has come of it; the journals of its workflows say what has.
 */
import { changedProgress, type ProgressChange } from '../../../src/history/run/progress-change.ts';
import { type BufferedStart, type ScheduleProgress, overlapPolicy } from '../../../src/schedules/schedule.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import type { HistoryRecord, RunChange } from '../../../src/history/run/record.ts';
import { check } from '../oracle.ts';

const secondMs = 1_000;

/** As the facts of one schedule tell it. */
class Told {
  readonly name: string;
  #progress: ScheduleProgress | undefined;
  #actsOnAll = false;
  readonly #timesMs = new Set<number>();
  readonly begun = new Set<number>();
  readonly failed = new Set<number>();
  manualStarts = 0;

  constructor(name: string) {
    this.name = name;
  }

  changed(definition: Uint8Array | undefined, change: ProgressChange): void {
    const before = this.#progress;
    const progress = changedProgress(before, change);
    this.#progress = progress;
    for (const { startId, manual, nominalTimeMs } of progress.starting) {
      if (startId <= (before?.lastStartId ?? 0)) continue;
      if (manual) this.manualStarts += 1;
      else this.#acts(nominalTimeMs);
    }
    if (definition !== undefined) {
      this.#actsOnAll = historyWire.schedules.readDefinition(definition).policies.overlapPolicy === overlapPolicy.allowAll;
      // What was due before is judged by what the schedule was.
      return;
    }
    if (before === undefined) return;
    for (const { startId } of before.starting) {
      if (progress.starting.some((one) => one.startId === startId)) continue;
      if (progress.actionCount > before.actionCount) this.begun.add(startId);
      else this.failed.add(startId);
    }
    // A start that ends what runs takes along those that would begin beside it.
    const isQuiet = ![before, progress].some(({ paused, buffered }) => paused || buffered.some(endsOthers));
    if (this.#actsOnAll && isQuiet) this.#missedNone(before.processedToMs, progress.processedToMs);
  }

  #acts(nominalTimeMs: number): void {
    check(!this.#timesMs.has(nominalTimeMs), 'I23 acted twice', () => `${this.name} at ${nominalTimeMs}`);
    this.#timesMs.add(nominalTimeMs);
  }

  #missedNone(fromMs: number, toMs: number): void {
    for (let ms = (Math.floor(fromMs / secondMs) + 1) * secondMs; ms <= toMs; ms += secondMs)
      check(this.#timesMs.has(ms), 'I23 a time was passed over', () => `${this.name} at ${ms}`);
  }
}

function endsOthers({ overlapPolicy: policy }: BufferedStart): boolean {
  return policy === overlapPolicy.cancelOther || policy === overlapPolicy.terminateOther;
}

/** Answers how many workflows were begun, and how many were to be begun by hand. */
export function checkSchedules(records: readonly HistoryRecord[]): { readonly begun: number; readonly byHand: number } {
  const schedules = new Map<string, Told>();
  const started = new Map<string, string>();
  const each = (look: (change: RunChange, record: HistoryRecord) => void): void => {
    for (const record of records) for (const change of record.runs) look(change, record);
  };
  each((change, { workflowId }) => {
    for (const { fact } of change.facts) {
      if (fact.kind !== 'scheduleChanged') continue;
      const told = schedules.get(change.runId) ?? new Told(`${workflowId} ${change.runId}`);
      schedules.set(change.runId, told);
      told.changed(fact.definition, fact);
    }
  });
  each((change, { workflowId }) => {
    for (const { fact } of change.facts) {
      if (fact.kind !== 'scheduledBy' || !beginsChain(change)) continue;
      const { schedule, startId } = fact.by;
      const name = `start ${startId} of ${schedule.runId}`;
      const [before, told] = [started.get(name), schedules.get(schedule.runId)];
      check(before === undefined, 'I23 acted twice', () => `${name} began ${before}, and ${workflowId} ${change.runId}`);
      check(told !== undefined, 'I23 nobody asked for it', () => `${workflowId} ${change.runId} is ${name}`);
      check(!told?.failed.has(startId), 'I23 begun, and believed to have failed', () => `${name} began ${workflowId} ${change.runId}`);
      started.set(name, `${workflowId} ${change.runId}`);
    }
  });
  for (const [runId, { name, begun }] of schedules)
    for (const startId of begun)
      check(started.has(`start ${startId} of ${runId}`), 'I23 believed to have begun', () => `start ${startId} of ${name}`);
  return { begun: started.size, byHand: [...schedules.values()].reduce((sum, { manualStarts }) => sum + manualStarts, 0) };
}

function beginsChain({ runId, events }: RunChange): boolean {
  return events.some(({ event }) => event.type === 'workflowExecutionStarted' && event.attributes.firstExecutionRunId === runId);
}
