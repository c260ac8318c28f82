/** What a field mask makes of the options of an activity. */
import type { ActivityOptionField } from '../../kernel/activity-option-fields.ts';
import { priorityProblem } from '../../kernel/priority.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { RetryPolicy } from '../generated/public-api.ts';
import { retryPolicyProblem, withRetryDefaults } from '../../kernel/retry-policy.ts';
import { sameBytes } from '../../kernel/same-bytes.ts';
import type { Draft } from '../draft/draft.ts';
import { changedPriority } from '../commands/priority.ts';
import type { HistoryWire } from '../run/history-replies.ts';
import type { Activity, RunView } from '../run/state.ts';
import { checkTaskQueue } from '../run/task-queue.ts';
import type { ActivityOptionsChange } from '../commands/operation-commands.ts';
import type { ShownOptions } from '../run/activity-operations.ts';
import { activityType, areSameTexts, optionsOf } from '../run/activity-options.ts';
import { normalisedTimeouts, timeoutProblem } from './schedule-activity.ts';

/** A text says why they cannot be so. The rules are those of a command that schedules an activity. */
export function changedOptions(draft: Draft, run: RunView, activity: Activity, change: ActivityOptionsChange): ShownOptions | string {
  const { wire, limits } = draft;
  let options: ShownOptions | string = optionsOf(run, activity);
  for (const field of change.fields) {
    options = withField(options, change, field, wire);
    if (typeof options === 'string') return options;
  }
  const { priority } = options;
  const priorityIs = priority === undefined ? undefined : priorityProblem(wire.decodePriority(priority));
  if (priorityIs !== undefined) return priorityIs;
  const retryPolicy = withRetryDefaults(options.retryPolicy);
  const problem = retryPolicyProblem(retryPolicy) ?? timeoutProblem(options, activity.activityId, activityType(activity));
  if (problem !== undefined) return problem;
  if (options.taskQueue.name === '') return 'missing task queue name';
  const taskQueue = checkTaskQueue(options.taskQueue, run.start.taskQueue, limits.idBytesMax);
  if (typeof taskQueue === 'string') return taskQueue;
  return { ...options, taskQueue, retryPolicy, ...normalisedTimeouts(options, 0) };
}

function withField(
  options: ShownOptions,
  change: ActivityOptionsChange,
  field: ActivityOptionField,
  wire: HistoryWire,
): ShownOptions | string {
  switch (field) {
    case 'taskQueue.name':
      return { ...options, taskQueue: { ...options.taskQueue, name: change.taskQueue } };
    case 'scheduleToCloseTimeout':
    case 'scheduleToStartTimeout':
    case 'startToCloseTimeout':
    case 'heartbeatTimeout':
      return { ...options, [`${field}Ms`]: change[`${field}Ms`] };
    case 'retryPolicy':
    case 'retryPolicy.initialInterval':
    case 'retryPolicy.backoffCoefficient':
    case 'retryPolicy.maximumInterval':
    case 'retryPolicy.maximumAttempts':
    case 'retryPolicy.nonRetryableErrorTypes': {
      if (change.retryPolicy === undefined) return 'RetryPolicy is not provided';
      return { ...options, retryPolicy: withRetryField(options.retryPolicy, change.retryPolicy, field) };
    }
    case 'priority':
      return { ...options, priority: change.priority };
    case 'priority.priorityKey':
    case 'priority.fairnessKey':
    case 'priority.fairnessWeight':
      if (change.priority === undefined) return 'Priority is not provided';
      return { ...options, priority: changedPriority(options.priority, change.priority, field, wire) };
    default:
      return unreachable(field);
  }
}

type RetryField = Extract<ActivityOptionField, `retryPolicy${string}`>;

const retryFields = {
  'retryPolicy.initialInterval': 'initialIntervalMs',
  'retryPolicy.backoffCoefficient': 'backoffCoefficient',
  'retryPolicy.maximumInterval': 'maximumIntervalMs',
  'retryPolicy.maximumAttempts': 'maximumAttempts',
  'retryPolicy.nonRetryableErrorTypes': 'nonRetryableErrorTypes',
} as const satisfies { readonly [Field in Exclude<RetryField, 'retryPolicy'>]: keyof RetryPolicy };

function withRetryField(policy: RetryPolicy, change: RetryPolicy, field: RetryField): RetryPolicy {
  if (field === 'retryPolicy') return change;
  const name = retryFields[field];
  return { ...policy, [name]: change[name] };
}

/** Equal but for what an operator cannot change. */
export function areSame(one: ShownOptions, other: ShownOptions): boolean {
  const [a, b] = [one.retryPolicy, other.retryPolicy];
  return (
    one.taskQueue.name === other.taskQueue.name &&
    one.scheduleToCloseTimeoutMs === other.scheduleToCloseTimeoutMs &&
    one.scheduleToStartTimeoutMs === other.scheduleToStartTimeoutMs &&
    one.startToCloseTimeoutMs === other.startToCloseTimeoutMs &&
    one.heartbeatTimeoutMs === other.heartbeatTimeoutMs &&
    a.initialIntervalMs === b.initialIntervalMs &&
    Object.is(a.backoffCoefficient, b.backoffCoefficient) &&
    a.maximumIntervalMs === b.maximumIntervalMs &&
    a.maximumAttempts === b.maximumAttempts &&
    areSameTexts(a.nonRetryableErrorTypes, b.nonRetryableErrorTypes) &&
    sameBytes(one.priority, other.priority)
  );
}
