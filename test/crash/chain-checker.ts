/**
 * I25, of all runs that a workflow id has had: each has the successor that it names, which names it; no other run is there. How many there are, how
 * each began and how it ended, follows from what the workflow does, whatever crashes.
 *
 *     start ─▶ run ─ next run id ─▶ run ─ next run id ─▶ run
 *                 ◀─ continued run ─┘  ◀─ continued run ─┘
 *
 *     base   1 … finish − 1 │ finish …    signals of the base's later events, and of the runs that continued it
 *     reset  1 … finish − 1 │ failed (base, new run), the same signals …
 */
import { isDeepStrictEqual } from 'node:util';
import { chainOf, type Link, type Program, RUN_TIMEOUT_MS } from './crash-program.ts';
import { baseOf, type Call, chainFrom, lastReset, nextOf, rank, violation, type Violation } from './judged.ts';
import type { CrashRun, FinalRun, ObservedEvent, Operation } from './recorded-history.ts';

type Reset = Extract<Operation, { readonly f: 'reset' }>;

export function checkChains({ finalRuns }: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const byWorkflow = Map.groupBy(finalRuns, ({ workflowId }) => workflowId);
  const programs = new Map<string, Program>();
  const resets = new Map<string, Call[]>();
  for (const call of calls) {
    const { operation } = call;
    if (operation.f === 'start') programs.set(operation.workflowId, operation.program);
    if (operation.f === 'reset') resets.set(operation.workflowId, [...(resets.get(operation.workflowId) ?? []), call]);
  }
  return [...byWorkflow].flatMap(([workflowId, runs]) => [
    ...checkLinks(runs),
    ...checkProgram(workflowId, programs.get(workflowId), runs),
    ...checkResets(workflowId, runs, resets.get(workflowId) ?? []),
  ]);
}

const chain = (message: string): Violation => violation('I25', message);

// ── Both sides of a link ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function checkLinks(runs: readonly FinalRun[]): readonly Violation[] {
  const found: Violation[] = [];
  const byRunId = new Map(runs.map((run) => [run.runId, run]));
  for (const run of runs) {
    const { runId, resetRunId = '' } = run;
    if (run.isUnlisted === true) found.push(violation('T12', `${runId} is not in List`));
    const [continued, base, next] = [continuedBy(run), baseOf(run), nextOf(run)];
    if (continued !== '' && nextOf(byRunId.get(continued)) !== runId)
      found.push(chain(`${runId} continues ${continued}, which does not name it`));
    if (base !== '' && byRunId.get(base)?.resetRunId !== runId) found.push(chain(`${runId} is a reset of ${base}, which does not name it`));
    if (next !== '' && continuedBy(byRunId.get(next)) !== runId) found.push(chain(`${runId} goes on as ${next}, which does not name it`));
    const made = byRunId.get(resetRunId);
    if (resetRunId !== '' && (made === undefined || baseOf(made) !== runId))
      found.push(chain(`${runId} was reset to ${resetRunId}, which does not name it`));
  }
  return found;
}

/** Of a run that a reset has made, what its base continued stands in its history: it is not its own. */
function continuedBy(run: FinalRun | undefined): string {
  return run === undefined || baseOf(run) !== '' ? '' : (run.events[0]?.begun?.continuedRunId ?? '');
}

// ── What the workflow does ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The runs that the start has led to; those of resets are judged beside their bases, and the last of them ends as the first would have. */
function checkProgram(workflowId: string, program: Program | undefined, runs: readonly FinalRun[]): readonly Violation[] {
  if (program === undefined) return [];
  const found: Violation[] = [];
  const [first, ...others] = runs.filter((run) => continuedBy(run) === '' && baseOf(run) === '');
  if (others.length > 0) found.push(chain(`${workflowId}: ${others.length + 1} of its runs follow no other one`));
  if (first === undefined) return [...found, chain(`${workflowId}: none of its runs is the first one`)];
  const byRunId = new Map(runs.map((run) => [run.runId, run]));
  const { inputBytes = 0 } = first.events[0]?.begun ?? {};
  for (const { runId, events } of runs) {
    const begun = events[0]?.begun;
    if (begun === undefined) continue;
    if (begun.firstRunId !== first.runId)
      found.push(chain(`${runId} says that its chain began with ${begun.firstRunId}, not with ${first.runId}`));
    if (begun.inputBytes !== inputBytes)
      found.push(chain(`${runId} was given ${begun.inputBytes} bytes, and ${first.runId} ${inputBytes}`));
  }
  if (program.kind === 'timedOut') found.push(...runs.flatMap(checkTimeout));
  const links: Link[] = [];
  for (let run: FinalRun | undefined = first; run !== undefined && links.length <= runs.length;) {
    const last = lastReset(run, byRunId);
    links.push(linkOf(run, last, program));
    run = byRunId.get(nextOf(last));
  }
  const expected = chainOf(program);
  if (!isDeepStrictEqual(links, expected)) found.push(chain(`${workflowId} had the runs ${told(links)}, not ${told(expected)}`));
  return found;
}

/** I9. A reset begins anew. */
function checkTimeout({ runId, events }: FinalRun): readonly Violation[] {
  const begun = events.find(({ reset }) => reset?.newRunId === runId) ?? events[0];
  const end = events.at(-1);
  if (begun === undefined || end?.type !== 'WorkflowExecutionTimedOut') return [];
  const tookMs = end.timeMs - begun.timeMs;
  return tookMs < RUN_TIMEOUT_MS ? [violation('I9', `${runId} was timed out after ${tookMs} of ${RUN_TIMEOUT_MS} ms`)] : [];
}

/** `last`: what a run has become of by resets. */
function linkOf({ events }: FinalRun, last: FinalRun, { kind }: Program): Link {
  const { attempt = 1, initiator = 0 } = events[0]?.begun ?? {};
  const { type = 'nothing', result } = last.events.at(-1) ?? {};
  return { attempt, initiator, close: type, ...(kind === 'scheduled' && result !== undefined ? { result } : {}) };
}

function told(links: readonly Link[]): string {
  return links
    .map(({ attempt, initiator, close, result }) => `${close} ${attempt}.${initiator}${result === undefined ? '' : `=${result}`}`)
    .join(', ');
}

// ── Resets ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function checkResets(workflowId: string, runs: readonly FinalRun[], calls: readonly Call[]): readonly Violation[] {
  const found: Violation[] = [];
  const byRunId = new Map(runs.map((run) => [run.runId, run]));
  const asked = new Map<string, { readonly reset: Reset; readonly outcome: Call['outcome'] }>();
  for (const { operation, outcome } of calls) {
    if (operation.f !== 'reset' || rank(outcome) <= rank(asked.get(operation.requestId)?.outcome)) continue;
    asked.set(operation.requestId, { reset: operation, outcome });
  }
  for (const { reset, outcome } of asked.values()) {
    const made = byRunId.get(reset.newRunId ?? '');
    if (outcome === 'ok' && (made === undefined || baseOf(made) !== reset.runId))
      found.push(violation('I5', `accepted reset ${reset.requestId} of ${reset.runId} has not made ${reset.newRunId}`));
  }
  const mayHave = [...asked.values()].filter(({ outcome }) => outcome !== 'fail').map(({ reset }) => reset);
  for (const run of runs) {
    const base = baseOf(run);
    if (base === '') continue;
    const requests = mayHave.filter(({ runId }) => runId === base);
    const siblings = runs.filter((other) => baseOf(other) === base);
    if (siblings.length > requests.length)
      found.push(chain(`${workflowId}: ${siblings.length} runs are resets of ${base}, which was reset ${requests.length} times`));
    const request = requests.find(({ newRunId }) => newRunId === run.runId) ?? requests[0];
    const [from, ...followers] = chainFrom(base, byRunId);
    if (from !== undefined && request !== undefined) found.push(...checkBranch(from, followers, run, request.finishEventId));
  }
  return found;
}

/** What the base run has up to there, and what it was told later, or a run that continued it. */
function checkBranch(base: FinalRun, followers: readonly FinalRun[], run: FinalRun, finishEventId: number): readonly Violation[] {
  const name = `${run.runId}, made of ${base.runId} before its event ${finishEventId},`;
  const kept = base.events.slice(0, finishEventId - 1);
  const differs = kept.findIndex((event, index) => !isDeepStrictEqual(withoutRequest(event), withoutRequest(run.events[index])));
  if (differs >= 0) return [chain(`${name} differs from it in event ${differs + 1}`)];
  const failedAt = run.events.findIndex(({ reset }) => reset?.newRunId === run.runId);
  const between = run.events.slice(kept.length, failedAt).map(({ type }) => type);
  if (between.some((type) => type !== 'WorkflowTaskStarted')) return [chain(`${name} has ${between.join(', ')} before it goes on`)];
  const wanted = toldTo([...base.events.slice(finishEventId - 1), ...followers.flatMap(({ events }) => events)], updatesIn(kept));
  const after = run.events.slice(failedAt + 1);
  // What it was told itself comes behind that; updates by messages.
  const applied = after.flatMap((event) => (event.type === 'WorkflowExecutionUpdateAccepted' ? [] : toldBy(event)));
  const isMore = after.filter(({ type }) => type === 'WorkflowExecutionUpdateAdmitted').length > wanted.filter(isUpdate).length;
  return isDeepStrictEqual(applied.slice(0, wanted.length), wanted) && !isMore
    ? []
    : [violation('I5', `${name} was told ${applied.join(', ') || 'nothing'} instead of ${wanted.join(', ') || 'nothing'}`)];
}

/** A start has that of Describe, which is the same in all of them. */
function withoutRequest(event: ObservedEvent | undefined): ObservedEvent | undefined {
  return event?.type === 'WorkflowExecutionStarted' ? { ...event, requestId: '' } : event;
}

/** Signals, and updates once: an id is one update of a run. */
function toldTo(events: readonly ObservedEvent[], known: ReadonlySet<string>): readonly string[] {
  const updates = new Set(known);
  return events.flatMap(toldBy).filter((each) => {
    if (!isUpdate(each)) return true;
    const isNew = !updates.has(each);
    updates.add(each);
    return isNew;
  });
}

function updatesIn(events: readonly ObservedEvent[]): ReadonlySet<string> {
  return new Set(events.flatMap(toldBy).filter(isUpdate));
}

function toldBy({ type, requestId, update }: ObservedEvent): readonly string[] {
  if (type === 'WorkflowExecutionSignaled') return requestId === undefined ? [] : [requestId];
  const isUpdated = type === 'WorkflowExecutionUpdateAdmitted' || type === 'WorkflowExecutionUpdateAccepted';
  return isUpdated && update !== undefined ? [`update ${update.updateId}`] : [];
}

function isUpdate(told: string): boolean {
  return told.startsWith('update ');
}
