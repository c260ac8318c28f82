/**
 * I26, of the whole journals: whatever a batch job counts is what one attempt at a step has done, from where the step before had ended, with no
 * execution passed over; and what has completed has as many as it was about.
 *
 *     progress ─▶ step ─▶ progress ─▶ step ─▶ … completed
 *                  │ some attempt: its page began behind the first, the second stands at the last execution that is over
 */
import type { BatchPosition, BatchProgress } from '../../../src/batches/batch.ts';
import type { EventKind } from '../../../src/history/run/events.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';
import { check } from '../oracle.ts';
import { type Attempt, type BatchProgram, decodedProgram, refusedPrefix } from './batch-work.ts';
import { closeKinds } from './life-oracle.ts';

/** As a client was told. */
export type ToldProgress = { readonly runId: string; readonly progress: BatchProgress };

class Job {
  readonly name: string;
  readonly program: BatchProgram;
  readonly progress: BatchProgress[] = [];
  closedBy: EventKind | undefined;
  stepsBehindClose = 0;

  constructor(name: string, definition: Uint8Array) {
    this.name = name;
    this.program = decodedProgram(definition);
  }
}

/** Answers how many jobs have completed. */
export function checkBatches(records: readonly HistoryRecord[], attempts: readonly Attempt[], told: readonly ToldProgress[]): number {
  const jobs = jobsIn(records);
  const byRun = Map.groupBy(attempts, ({ runId }) => runId);
  for (const [runId, job] of jobs) {
    checkSteps(job, byRun.get(runId) ?? []);
    check(job.closedBy !== undefined, 'I7 a job never ends', () => job.name);
    check(job.stepsBehindClose <= 1, 'I26 steps behind the end', () => `${job.name} has ${job.stepsBehindClose}`);
    if (job.closedBy === 'workflowExecutionCompleted') checkCompleted(job);
  }
  for (const { runId, progress } of told) {
    const then = jobs.get(runId)?.progress.find(({ steps }) => steps === progress.steps);
    const isSame = then !== undefined && shown(progress) === shown(then);
    check(isSame, 'I26 told otherwise', () => `${runId} was ${shown(progress)}, and is ${then === undefined ? 'not' : shown(then)}`);
  }
  return [...jobs.values()].filter(({ closedBy }) => closedBy === 'workflowExecutionCompleted').length;
}

function jobsIn(records: readonly HistoryRecord[]): ReadonlyMap<string, Job> {
  const jobs = new Map<string, Job>();
  for (const { workflowId, runs } of records) {
    for (const { runId, events, facts } of runs) {
      for (const { fact } of facts) {
        if (fact.kind !== 'batchChanged') continue;
        const job = jobs.get(runId) ?? new Job(`${workflowId} ${runId}`, fact.definition ?? new Uint8Array(0));
        jobs.set(runId, job);
        job.progress.push(fact.progress);
        if (job.closedBy !== undefined) job.stepsBehindClose += 1;
      }
      const job = jobs.get(runId);
      const close = events.find(({ event }) => closeKinds.has(event.type));
      if (job !== undefined && close !== undefined) job.closedBy = close.event.type;
    }
  }
  return jobs;
}

function checkSteps({ name, progress, closedBy }: Job, attempts: readonly Attempt[]): void {
  for (const [index, after] of progress.entries()) {
    const before = progress[index - 1];
    check(after.steps === (before?.steps ?? -1) + 1, 'I26 a step counts twice', () => `${name}: ${after.steps} behind ${before?.steps}`);
    // The first one counts, and does nothing.
    if (before === undefined || before.steps === 0) continue;
    const completes = index === progress.length - 1 && closedBy === 'workflowExecutionCompleted';
    const isExplained = attempts.some((attempt) => explains(attempt, before, after, completes));
    check(
      isExplained,
      'I26 nobody did what was counted',
      () => `${name}: ${shown(before)}, then ${shown(after)}; ${attempts.map(shownAttempt).join('; ')}`,
    );
  }
}

function explains(
  { behind, targets, isLast, outcomes }: Attempt,
  before: BatchProgress,
  after: BatchProgress,
  completes: boolean,
): boolean {
  if (at(behind) !== at(before.position)) return false;
  const over = at(after.position) === at(behind) ? 0 : 1 + targets.findIndex(({ position }) => at(position) === at(after.position));
  const ended = [...outcomes.values()].filter((outcome) => outcome !== 'again');
  const failed = ended.filter((outcome) => outcome === 'failed').length;
  const isDone = targets.slice(0, over).every(({ target }) => ['done', 'failed'].includes(outcomes.get(target) ?? ''));
  const isWhole = !completes || (isLast && over === targets.length);
  const isCounted = after.failed - before.failed === failed && (completes || after.completed - before.completed === ended.length - failed);
  return (over > 0 || at(after.position) === at(behind)) && isDone && isWhole && isCounted;
}

/** Of a list all is known: whatever crashes, so many are done, and so many refused. */
function checkCompleted({ name, progress, program: { executions } }: Job): void {
  const { total, completed, failed } = progress.at(-1)!;
  check(total === completed + failed, 'I26 miscounted', () => `${name}: ${completed} and ${failed} of ${total}`);
  if (executions.length === 0) return;
  const refused = executions.filter((workflowId) => workflowId.startsWith(refusedPrefix)).length;
  const isRight = total === executions.length && failed === refused;
  check(isRight, 'I26 miscounted', () => `${name}: ${failed} of ${total} failed, and not ${refused} of ${executions.length}`);
}

function at({ listed, after }: BatchPosition): string {
  return after === undefined ? `${listed}` : `${listed} ${after.sortMs} ${after.startTimeMs} ${after.runId}`;
}

function shown({ steps, total, completed, failed, position }: BatchProgress): string {
  return `step ${steps}: ${completed} and ${failed} of ${total}, at ${at(position)}`;
}

function shownAttempt({ behind, targets, outcomes }: Attempt): string {
  return `behind ${at(behind)} ${targets.length}: ${[...outcomes.values()].join()}`;
}
