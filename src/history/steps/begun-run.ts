/** What the commands that begin a run check alike: CONTINUE_AS_NEW_WORKFLOW_EXECUTION and START_CHILD_WORKFLOW_EXECUTION. */
import { cronProblem } from '../../kernel/cron-backoff.ts';
import { type RetryPolicyFields, retryPolicyProblem } from '../../kernel/retry-policy.ts';
import { memoProblem } from '../run/fields.ts';
import { type Completion, exceedsBlob } from './completion.ts';

type Again = { readonly retryPolicy: RetryPolicyFields | undefined; readonly cronSchedule: string };

/** Why the run cannot be begun once more as it says. `on`: the command, as Temporal calls it; `where`: which run it was to be. */
export function againProblem(completion: Completion, { retryPolicy, cronSchedule }: Again, on: string, where: string): string | undefined {
  const retryIs = retryPolicy === undefined ? undefined : retryPolicyProblem(retryPolicy);
  if (retryIs !== undefined) return `invalid WorkflowRetryPolicy on ${on}: ${retryIs}. ${where}`;
  const cronIs = cronProblem(cronSchedule, completion.run.draft.nowMs);
  return cronIs === undefined ? undefined : `invalid CronSchedule on ${on}: ${cronIs}. ${where}`;
}

type Given<Value> = { readonly input: Value; readonly memo: Value };

/** Why the run cannot be given that input or memo. `names`: how Temporal begins what it says of either. */
export function sizeProblem(completion: Completion, given: Given<Uint8Array | undefined>, names: Given<string>): string | undefined {
  if (exceedsBlob(completion, given.input)) return `${names.input} exceeds size limit.`;
  const { wire, limits } = completion.run.draft;
  const memoIs = memoProblem(given.memo, wire, limits);
  return memoIs === undefined ? undefined : `${names.memo} ${memoIs}`;
}
