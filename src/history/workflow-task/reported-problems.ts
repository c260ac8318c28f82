/**
 * `TemporalReportedProblems`: what List finds workflows by whose tasks fail again and again.
 *
 *     attempt 1 fails … attempt `workflowTaskProblemsReported` fails ─▶ set, and again when the cause is another one ─▶ a task completes: gone
 *
 * It is a fact: from attempt 2 on history shows nothing. Events that arrive between two attempts make the next one the first again, as they
 * do for the attempts themselves, but take back nothing that is reported.
 */
import { unreachable } from '../../kernel/assert.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';
import type { RunDraft } from '../draft.ts';
import { reportedProblems } from '../execution/evolve-execution.ts';
import { timeoutType, workflowTaskFailedCause } from '../generated/enums.ts';
import type { HistoryWire } from '../replies.ts';
import type { RunView } from '../state.ts';

export type TaskProblem = { readonly kind: 'failed'; readonly cause: number } | { readonly kind: 'timedOut'; readonly timeoutType: number };

/** `attempt` ended so. */
export function reportProblem(run: RunDraft, attempt: number, problem: TaskProblem): void {
  const { limits, wire } = run.draft;
  if (attempt < limits.workflowTaskProblemsReported) return;
  const problems = problemsOf(problem);
  if (reportedText(run.run, wire) !== JSON.stringify(problems)) run.addFact({ kind: 'problemsReported', problems });
}

/** A task completed. */
export function clearProblems(run: RunDraft): void {
  if (reportedText(run.run, run.draft.wire) !== undefined) run.addFact({ kind: 'problemsReported', problems: [] });
}

function reportedText({ searchAttributes }: RunView, wire: HistoryWire): string | undefined {
  if (searchAttributes === undefined) return undefined;
  const payload = wire.fieldOf(searchAttributes, reportedProblems);
  return payload === undefined ? undefined : wire.payloadValue(payload).text;
}

function problemsOf(problem: TaskProblem): readonly string[] {
  switch (problem.kind) {
    case 'failed':
      return ['category=WorkflowTaskFailed', `cause=WorkflowTaskFailedCause${nameIn(workflowTaskFailedCause, problem.cause)}`];
    case 'timedOut':
      return ['category=WorkflowTaskTimedOut', `cause=WorkflowTaskTimedOutCause${nameIn(timeoutType, problem.timeoutType)}`];
    default:
      return unreachable(problem);
  }
}

/** As Temporal prints a value of an enum: a worker may send any number. */
function nameIn(values: Readonly<Record<string, number>>, value: number): string {
  const name = Object.keys(values).find((key) => values[key] === value);
  return name === undefined ? (value === 0 ? 'Unspecified' : String(value)) : pascalCase(name);
}
