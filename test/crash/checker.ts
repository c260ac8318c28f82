/**
 * Judges a recorded crash run: no accepted start, signal or completion lost or applied twice, no workflow stuck. Each violation names
 * its invariant (docs/protocol.md, I1 … I27: accepted starts, dense event ids, acknowledged effects, terminal events, stuck
 * runs, double starts, time, refusals, pauses, chains of runs, updates).
 */
import { checkChains } from './chain-checker.ts';
import { baseOf, type Call, chainFrom, rank, violation, type Violation } from './judged.ts';
import type { CrashRun, Entry, FinalRun, ObservedEvent, Operation } from './recorded-history.ts';
import { checkUpdates } from './update-checker.ts';

const CLOSE_EVENTS = new Set([
  'WorkflowExecutionCompleted',
  'WorkflowExecutionFailed',
  'WorkflowExecutionTimedOut',
  'WorkflowExecutionTerminated',
  'WorkflowExecutionCanceled',
  'WorkflowExecutionContinuedAsNew',
]);
const ACTIVITY_ENDS = new Set(['ActivityTaskCompleted', 'ActivityTaskFailed', 'ActivityTaskTimedOut', 'ActivityTaskCanceled']);
const WORKFLOW_TASK_ENDS = new Set(['WorkflowTaskCompleted', 'WorkflowTaskFailed', 'WorkflowTaskTimedOut']);

export function check(run: CrashRun): readonly Violation[] {
  const calls = callsOf(run.entries);
  return [
    ...checkNotQuiet(run, calls),
    ...run.finalRuns.flatMap(checkEventOrder),
    ...run.finalRuns.flatMap(checkTerminalEvents),
    ...checkStarts(run, calls),
    ...checkRequests(run, calls, 'signal', 'WorkflowExecutionSignaled'),
    ...checkRequests(run, calls, 'pause', 'WorkflowExecutionPaused'),
    ...checkRequests(run, calls, 'unpause', 'WorkflowExecutionUnpaused'),
    ...run.finalRuns.flatMap(checkPauses),
    ...checkActivityCompletions(run, calls),
    ...checkWorkflowTaskCompletions(run, calls),
    ...checkDeliveries(run, calls),
    ...checkReads(run, calls),
    ...checkChains(run, calls),
    ...checkUpdates(run, calls),
  ];
}

/** An invoke without an ending is one whose caller died: unknown. */
function callsOf(entries: readonly Entry[]): readonly Call[] {
  const open = new Map<number, Operation>();
  const calls: Call[] = [];
  for (const entry of entries) {
    if (entry.type === 'invoke') {
      const unanswered = open.get(entry.process);
      if (unanswered !== undefined) calls.push({ operation: unanswered, outcome: 'info' });
      open.set(entry.process, entry.operation);
    } else {
      open.delete(entry.process);
      calls.push({ operation: entry.operation, outcome: entry.type });
    }
  }
  for (const operation of open.values()) calls.push({ operation, outcome: 'info' });
  return calls;
}

/** A run that did nothing proves nothing. */
function checkNotQuiet(run: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const starts = calls.filter((call) => call.operation.f === 'start' && call.outcome === 'ok').length;
  return starts === 0 || run.finalRuns.length === 0
    ? [violation('quiet', `${starts} accepted starts and ${run.finalRuns.length} histories: nothing was tested`)]
    : [];
}

/**
 * What came from outside carries the time at which it happened, and may have been written later: buffered until the end of a workflow
 * task, or, for an activity's start, until its close.
 */
function writtenWhenItHappened({ type }: ObservedEvent): boolean {
  return (
    type.startsWith('WorkflowTask') || type === 'WorkflowExecutionStarted' || type === 'ActivityTaskScheduled' || CLOSE_EVENTS.has(type)
  );
}

function checkEventOrder(run: FinalRun): readonly Violation[] {
  const found: Violation[] = [];
  let before: ObservedEvent | undefined;
  run.events.forEach((event, index) => {
    if (event.eventId !== index + 1) found.push(violation('I2', `${run.runId}: event ${event.eventId} stands where ${index + 1} belongs`));
    if (!writtenWhenItHappened(event)) return;
    if (before !== undefined && event.timeMs < before.timeMs) {
      found.push(
        violation('I9', `${run.runId}: event ${event.eventId} is ${before.timeMs - event.timeMs} ms before event ${before.eventId}`),
      );
    }
    before = event;
  });
  if (run.events[0]?.type !== 'WorkflowExecutionStarted') found.push(violation('I2', `${run.runId}: does not begin with its start`));
  return found;
}

function checkTerminalEvents(run: FinalRun): readonly Violation[] {
  const found: Violation[] = [];
  found.push(...repeated(run, 'activity', ACTIVITY_ENDS), ...repeated(run, 'workflow task', WORKFLOW_TASK_ENDS));
  const closes = run.events.filter((event) => CLOSE_EVENTS.has(event.type));
  if (closes.length === 0)
    found.push(violation('I7', `${run.workflowId}: still open at quiescence, last event ${run.events.at(-1)?.type}`));
  if (closes.length > 1) found.push(violation('I6', `${run.runId}: closed ${closes.length} times`));
  if (closes.length === 1 && closes[0] !== run.events.at(-1)) found.push(violation('I6', `${run.runId}: events follow its close`));
  return found;
}

function repeated(run: FinalRun, what: string, types: ReadonlySet<string>): readonly Violation[] {
  const seen = new Set<number>();
  const found: Violation[] = [];
  for (const event of run.events) {
    if (!types.has(event.type) || event.scheduledEventId === undefined) continue;
    if (seen.has(event.scheduledEventId)) found.push(violation('I6', `${run.runId}: ${what} ${event.scheduledEventId} ended twice`));
    seen.add(event.scheduledEventId);
    if (run.events[event.scheduledEventId - 1] === undefined || event.scheduledEventId >= event.eventId) {
      found.push(violation('I6', `${run.runId}: ${what} ${event.scheduledEventId} ended without having been scheduled`));
    }
  }
  return found;
}

function checkStarts(run: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const found: Violation[] = [];
  const runsOfRequest = new Map<string, string[]>();
  for (const final of run.finalRuns) {
    // What follows another run, nobody has asked for; a reset has the request of its base.
    if (baseOf(final) !== '' || (final.events[0]?.begun?.continuedRunId ?? '') !== '') continue;
    const requestId = final.events[0]?.requestId ?? '';
    runsOfRequest.set(requestId, [...(runsOfRequest.get(requestId) ?? []), final.runId]);
  }
  const asked = new Set<string>();
  for (const { operation, outcome } of calls) {
    if (operation.f !== 'start') continue;
    asked.add(operation.requestId);
    const runs = runsOfRequest.get(operation.requestId) ?? [];
    if (runs.length > 1) found.push(violation('I1', `request ${operation.requestId} started ${runs.length} runs`));
    if (outcome === 'ok' && runs.length === 0) found.push(violation('I1', `accepted start ${operation.requestId} has no run`));
    if (outcome === 'ok' && runs.length > 0 && operation.runId !== undefined && !runs.includes(operation.runId)) {
      found.push(violation('I1', `start ${operation.requestId} was answered with run ${operation.runId}, history shows ${runs[0]}`));
    }
    if (outcome === 'fail' && runs.length > 0) found.push(violation('I14', `refused start ${operation.requestId} has a run`));
  }
  for (const requestId of runsOfRequest.keys()) {
    if (!asked.has(requestId)) found.push(violation('I1', `a run exists that nobody asked for (request ${requestId})`));
  }
  return found;
}

/** What is known by its request id, and stands in history with it. */
function checkRequests(run: CrashRun, calls: readonly Call[], f: 'signal' | 'pause' | 'unpause', type: string): readonly Violation[] {
  const found: Violation[] = [];
  const times = timesOf(run, type);
  const asked = new Map<string, Call['outcome']>();
  for (const { operation, outcome } of calls) {
    // A retry with the same request id is the same request: one ok makes it accepted, and only refusals make it refused.
    if (operation.f === f && rank(outcome) > rank(asked.get(operation.requestId))) asked.set(operation.requestId, outcome);
  }
  for (const [requestId, outcome] of asked) {
    const count = times.get(requestId) ?? 0;
    if (outcome === 'ok' && count === 0) found.push(violation('I5', `accepted ${f} ${requestId} is in no history`));
    if (outcome === 'fail' && count > 0) found.push(violation('I14', `refused ${f} ${requestId} is in a history`));
    if (count > 1) found.push(violation('I5', `${f} ${requestId} was applied ${count} times`));
  }
  for (const requestId of times.keys()) {
    if (!asked.has(requestId)) found.push(violation('I5', `a history has ${f} ${requestId}, which nobody sent`));
  }
  return found;
}

/** I24: a paused workflow is given no workflow task. */
function checkPauses(run: FinalRun): readonly Violation[] {
  const found: Violation[] = [];
  let isPaused = false;
  for (const { eventId, type } of run.events) {
    if (type === 'WorkflowExecutionPaused') isPaused = true;
    if (type === 'WorkflowExecutionUnpaused') isPaused = false;
    if (isPaused && (type === 'WorkflowTaskScheduled' || type === 'WorkflowTaskStarted'))
      found.push(violation('I24', `${run.runId}: ${type} ${eventId} while it is paused`));
  }
  return found;
}

function checkActivityCompletions(run: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const found: Violation[] = [];
  const finals = new Map(run.finalRuns.map((final) => [final.runId, final]));
  for (const { operation, outcome } of calls) {
    if (operation.f !== 'completeActivity' || outcome !== 'ok') continue;
    const end = finals
      .get(operation.runId)
      ?.events.find((event) => event.type === 'ActivityTaskCompleted' && event.scheduledEventId === operation.scheduledEventId);
    const name = `activity ${operation.scheduledEventId} of ${operation.runId}`;
    if (end === undefined) found.push(violation('I5', `accepted completion of ${name} is not in the history`));
    else if (end.result !== operation.result)
      found.push(violation('I5', `${name} completed with ${operation.result}, history shows ${end.result}`));
  }
  return found;
}

function checkWorkflowTaskCompletions(run: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const found: Violation[] = [];
  const finals = new Map(run.finalRuns.map((final) => [final.runId, final]));
  for (const { operation, outcome } of calls) {
    if (operation.f !== 'completeWorkflowTask' || outcome !== 'ok') continue;
    const events = finals.get(operation.runId)?.events ?? [];
    const name = `workflow task ${operation.startedEventId} of ${operation.runId}`;
    if (operation.isDropped === true) {
      if (!operation.changesNothing) found.push(violation('I5', `accepted completion of ${name} was dropped`));
      continue;
    }
    const ends = events.filter((event) => WORKFLOW_TASK_ENDS.has(event.type) && event.startedEventId === operation.startedEventId);
    if (ends.length !== 1 || ends[0]!.type !== 'WorkflowTaskCompleted')
      found.push(violation('I5', `accepted completion of ${name} is not in the history`));
    if (operation.closes && !CLOSE_EVENTS.has(events.at(-1)?.type ?? ''))
      found.push(violation('I5', `${name} closed the run, the history is open`));
  }
  return found;
}

/** I8: an attempt goes to one worker; only a repeat of the same poll may see it again. Whatever has left no trace, another one may have the ids of. */
function checkDeliveries(run: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const found: Violation[] = [];
  const finals = new Map(run.finalRuns.map((final) => [final.runId, final]));
  const pollOf = new Map<string, string>();
  for (const { operation, outcome } of calls) {
    if (operation.f !== 'deliver' || outcome !== 'ok') continue;
    const { speculativeSinceMs } = operation;
    const started = finals.get(operation.runId)?.events[operation.scheduledEventId];
    const isWritten = started?.type === 'WorkflowTaskStarted' && started.timeMs === speculativeSinceMs;
    if (speculativeSinceMs !== undefined && !isWritten) continue;
    const task = `${operation.task} task ${operation.scheduledEventId} attempt ${operation.attempt} of ${operation.runId}`;
    const before = pollOf.get(task);
    if (before !== undefined && before !== operation.pollId) found.push(violation('I8', `${task} was handed out twice`));
    pollOf.set(task, operation.pollId);
  }
  return found;
}

function checkReads(run: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const found: Violation[] = [];
  const finals = new Map(run.finalRuns.map((final) => [final.runId, final]));
  for (const { operation, outcome } of calls) {
    if (operation.f !== 'read' || outcome !== 'ok') continue;
    const events = finals.get(operation.runId)?.events ?? [];
    const differs = operation.events.findIndex((event, index) => !sameEvent(event, events[index]));
    const types = (all: readonly ObservedEvent[]): string => `${all[differs]?.type ?? 'nothing'} of ${all.length} events`;
    if (differs >= 0)
      found.push(
        violation(
          'I2',
          `${operation.runId}: event ${differs + 1} that was read once reads otherwise now: ${types(operation.events)}, now ${types(events)}`,
        ),
      );
  }
  return found;
}

function sameEvent(a: ObservedEvent, b: ObservedEvent | undefined): boolean {
  return (
    b !== undefined && a.eventId === b.eventId && a.type === b.type && a.timeMs === b.timeMs && a.scheduledEventId === b.scheduledEventId
  );
}

/** How often each request of that kind was applied. What a reset brings along counts where it was told first. */
function timesOf(run: CrashRun, type: string): ReadonlyMap<string, number> {
  const byRunId = new Map(run.finalRuns.map((final) => [final.runId, final]));
  const times = new Map<string, number>();
  for (const final of run.finalRuns) {
    const inherited = new Set(chainFrom(baseOf(final), byRunId).flatMap((one) => [...countIn(one, type).keys()]));
    for (const [requestId, count] of countIn(final, type)) {
      const own = count - (inherited.has(requestId) ? 1 : 0);
      if (own > 0) times.set(requestId, (times.get(requestId) ?? 0) + own);
    }
  }
  return times;
}

function countIn({ events }: FinalRun, type: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.type !== type || event.requestId === undefined) continue;
    counts.set(event.requestId, (counts.get(event.requestId) ?? 0) + 1);
  }
  return counts;
}
