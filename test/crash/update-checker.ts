/**
 * I27, of all runs and of all who asked: an update is accepted once in a run, and completed once; whoever asked is told what stands there, and it stands
 * in the run that goes on as well; one that was refused has no event. A workflow closes behind the updates that it has accepted.
 */
import { type Call, lastReset, violation, type Violation } from './judged.ts';
import { type CrashRun, cutOffByClose, type FinalRun, type ObservedUpdate, type Operation, refusedByWorker } from './recorded-history.ts';

type Update = Extract<Operation, { readonly f: 'update' }>;
type Asked = { readonly operation: Update; readonly outcome: Call['outcome'] };

/** Of an update in a run. */
type Stand = { readonly acceptedEventId: number; readonly end: ObservedUpdate | undefined };

const wrong = (message: string): Violation => violation('I27', message);

export function checkUpdates({ finalRuns }: CrashRun, calls: readonly Call[]): readonly Violation[] {
  const asked = new Map<string, Asked[]>();
  for (const { operation, outcome } of calls) {
    if (operation.f !== 'update') continue;
    asked.set(operation.updateId, [...(asked.get(operation.updateId) ?? []), { operation, outcome }]);
  }
  const found: Violation[] = [];
  const stands = new Map(finalRuns.map((run) => [run.runId, standsIn(run, found)]));
  for (const run of finalRuns) found.push(...checkRun(run, stands.get(run.runId)!, asked));
  const inHistory = new Set([...stands.values()].flatMap((each) => [...each.keys()]));
  const byRunId = new Map(finalRuns.map((run) => [run.runId, run]));
  for (const [updateId, each] of asked) {
    found.push(...checkEnd(updateId, each, inHistory.has(updateId)));
    for (const { operation } of each) found.push(...checkAnswer(operation, byRunId, stands));
  }
  return found;
}

/** How its events leave each update. `found`: what is wrong with them. */
function standsIn({ runId, events }: FinalRun, found: Violation[]): ReadonlyMap<string, Stand> {
  const stands = new Map<string, Stand>();
  for (const { eventId, type, update } of events) {
    if (update === undefined) continue;
    const { updateId, acceptedEventId } = update;
    const before = stands.get(updateId);
    const name = `${runId}: update ${updateId}`;
    switch (type) {
      case 'WorkflowExecutionUpdateAdmitted':
        if (before !== undefined) found.push(wrong(`${name} is admitted by event ${eventId}, and was there before`));
        stands.set(updateId, { acceptedEventId: 0, end: undefined });
        break;
      case 'WorkflowExecutionUpdateAccepted':
        if (before !== undefined && before.acceptedEventId !== 0) found.push(wrong(`${name} was accepted twice`));
        stands.set(updateId, { acceptedEventId: eventId, end: before?.end });
        break;
      default:
        if (before?.end !== undefined) found.push(wrong(`${name} was completed twice`));
        if ((before?.acceptedEventId ?? 0) === 0 || before?.acceptedEventId !== acceptedEventId)
          found.push(wrong(`${name} was completed as accepted by event ${acceptedEventId}, and not ${before?.acceptedEventId}`));
        stands.set(updateId, { acceptedEventId: before?.acceptedEventId ?? 0, end: update });
    }
  }
  return stands;
}

function checkRun(
  { workflowId, runId, events }: FinalRun,
  stands: ReadonlyMap<string, Stand>,
  asked: ReadonlyMap<string, readonly Asked[]>,
): readonly Violation[] {
  const found: Violation[] = [];
  const isDone = events.at(-1)?.type === 'WorkflowExecutionCompleted';
  for (const [updateId, { end }] of stands) {
    const { operation } = asked.get(updateId)?.[0] ?? {};
    if (operation?.workflowId !== workflowId) found.push(wrong(`${runId} has update ${updateId}, which nobody asked for`));
    if (operation?.name === 'refused') found.push(wrong(`${runId} has update ${updateId}, which its worker refuses`));
    if (isDone && end === undefined) found.push(wrong(`${runId} is done, and its update ${updateId} is not`));
  }
  return found;
}

/** Who asks goes on until there is an answer for good. */
function checkEnd(updateId: string, asked: readonly Asked[], isInHistory: boolean): readonly Violation[] {
  const { operation, outcome } = asked.at(-1)!;
  const { value, failure } = operation.answer ?? {};
  const isAnswered = outcome === 'fail' || (outcome === 'ok' && (value ?? failure) !== undefined && failure !== cutOffByClose);
  if (!isAnswered) return [violation('I7', `update ${updateId} of ${operation.workflowId} was never answered`)];
  const isRefused = asked.every((each) => each.outcome === 'fail');
  return isRefused && isInHistory ? [violation('I14', `refused update ${updateId} is in a history`)] : [];
}

function checkAnswer(
  { updateId, name, answer }: Update,
  byRunId: ReadonlyMap<string, FinalRun>,
  stands: ReadonlyMap<string, ReadonlyMap<string, Stand>>,
): readonly Violation[] {
  if (answer === undefined || answer.stage === 'admitted') return [];
  const { runId, value, failure } = answer;
  const told = `update ${updateId} of ${runId}`;
  if (failure === refusedByWorker) return name === 'refused' ? [] : [wrong(`${told} was refused by nobody`)];
  if (failure !== undefined && failure !== cutOffByClose) return [wrong(`${told} has failed with ${failure}`)];
  const { acceptedEventId = 0, end } = stands.get(runId)?.get(updateId) ?? {};
  const found: Violation[] = [];
  if (acceptedEventId === 0) found.push(wrong(`${told} was answered as accepted, and its history does not have it`));
  if (failure === cutOffByClose && end !== undefined) found.push(wrong(`${told} was cut off, and is completed`));
  if (value !== undefined && end?.value !== value) found.push(wrong(`${told} completed with ${value}, its history shows ${end?.value}`));
  const run = byRunId.get(runId);
  const last = run === undefined ? undefined : lastReset(run, byRunId);
  if (last !== undefined && stands.get(last.runId)?.has(updateId) !== true)
    found.push(wrong(`${told} was answered as accepted, and is not in ${last.runId}, which goes on`));
  return found;
}
