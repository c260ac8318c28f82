/** What the workflows of crash runs do, as their inputs say, and what must come of it whatever crashes. */
import { unreachable } from '../../src/kernel/assert.ts';
import { ContinueAsNewInitiator } from '../../src/wire/generated/lean/enums.ts';

export type Program =
  /** An activity, so many signals, and so many updates that it has completed; it closes behind all that it has accepted. */
  | { readonly kind: 'plain'; readonly signals: number; readonly updates: number }
  /** So many attempts fail. `maximumAttempts`: 0 = there may be any number. */
  | { readonly kind: 'retried'; readonly failures: number; readonly maximumAttempts: number }
  /** So many runs, each second one; the last of them leaves the schedule. */
  | { readonly kind: 'scheduled'; readonly runs: number }
  /** So many attempts, of which none does anything before its time is over. */
  | { readonly kind: 'timedOut'; readonly attempts: number }
  /** Runs that follow this one. */
  | { readonly kind: 'continued'; readonly more: number };

/** Of each run of such as are timed out. */
export const RUN_TIMEOUT_MS = 700;

export type Link = {
  readonly attempt: number;
  /** temporal.api.enums.v1.ContinueAsNewInitiator */
  readonly initiator: number;
  readonly close: string;
  /** Of a run that completes on a schedule: which one it is. */
  readonly result?: string;
};
/** The runs of a chain, from its first one on. */
export function chainOf(program: Program): readonly Link[] {
  switch (program.kind) {
    case 'plain':
      return [{ attempt: 1, initiator: ContinueAsNewInitiator.UNSPECIFIED, close: 'WorkflowExecutionCompleted' }];
    case 'retried': {
      const { failures, maximumAttempts } = program;
      return links(maximumAttempts === 0 ? failures + 1 : Math.min(failures + 1, maximumAttempts), (nth) => ({
        attempt: nth + 1,
        initiator: nth === 0 ? ContinueAsNewInitiator.UNSPECIFIED : ContinueAsNewInitiator.RETRY,
        close: nth < failures ? 'WorkflowExecutionFailed' : 'WorkflowExecutionCompleted',
      }));
    }
    case 'scheduled':
      return links(program.runs, (nth, isLast) => ({
        attempt: 1,
        initiator: ContinueAsNewInitiator.CRON_SCHEDULE,
        ...(isLast ? { close: 'WorkflowExecutionCanceled' } : { close: 'WorkflowExecutionCompleted', result: String(nth + 1) }),
      }));
    case 'timedOut':
      return links(program.attempts, (nth) => ({
        attempt: nth + 1,
        initiator: nth === 0 ? ContinueAsNewInitiator.UNSPECIFIED : ContinueAsNewInitiator.RETRY,
        close: 'WorkflowExecutionTimedOut',
      }));
    case 'continued':
      return links(program.more + 1, (nth, isLast) => ({
        attempt: 1,
        initiator: nth === 0 ? ContinueAsNewInitiator.UNSPECIFIED : ContinueAsNewInitiator.WORKFLOW,
        close: isLast ? 'WorkflowExecutionCompleted' : 'WorkflowExecutionContinuedAsNew',
      }));
    default:
      return unreachable(program);
  }
}

function links(count: number, linkOf: (nth: number, isLast: boolean) => Link): readonly Link[] {
  return Array.from({ length: count }, (_, nth) => linkOf(nth, nth === count - 1));
}
