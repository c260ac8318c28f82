/** SCHEDULE_ACTIVITY_TASK: checks, then timeouts and retry policy as they will really be. */
import type { ActivityTimeouts } from '../commands/workflow-commands.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import { offerActivity } from '../steps/activity-task.ts';
import { priorityProblem } from '../../kernel/priority.ts';
import { retryPolicyProblem, withRetryDefaults } from '../../kernel/retry-policy.ts';
import { checkTaskQueue } from '../run/task-queue.ts';
import { bad, commandMeta, exceedsBlob, exceedsId, tooLarge } from '../steps/completion.ts';
import type { CommandFailure, CommandOfType, Completion } from '../steps/completion.ts';

const cause = 'badScheduleActivityAttributes';
const impossible = 'invalid history builder state for action: add-activitytask-scheduled-event';

type Attributes = NonNullable<CommandOfType<'scheduleActivityTask'>['attributes']>;

export function scheduleActivityTask(completion: Completion, command: CommandOfType<'scheduleActivityTask'>): CommandFailure | undefined {
  const { run } = completion;
  const { limits } = run.draft;
  const a = command.attributes;
  if (a === undefined) return bad(cause, 'ScheduleActivityTaskCommandAttributes is not set on ScheduleActivityTaskCommand.');
  const problem = problemOf(completion, a);
  if (problem !== undefined) return bad(cause, problem);
  const retryPolicy = withRetryDefaults(a.retryPolicy);
  const retryProblem = retryPolicyProblem(retryPolicy);
  if (retryProblem !== undefined) return bad(cause, retryProblem);
  const priorityIs = a.priority === undefined ? undefined : priorityProblem(run.draft.wire.decodePriority(a.priority));
  if (priorityIs !== undefined) return bad(cause, `invalid priorities: ${priorityIs}`);
  if (a.taskQueue === undefined) return bad(cause, 'taskQueue is not set');
  if (a.taskQueue.name === '') return bad(cause, 'missing task queue name');
  const queue = checkTaskQueue(a.taskQueue, run.run.start.taskQueue, limits.idBytesMax);
  if (typeof queue === 'string') return bad(cause, queue);
  if (exceedsBlob(completion, a.input)) return tooLarge(cause, 'ScheduleActivityTaskCommandAttributes.Input exceeds size limit.');
  const pending = run.run.activities.size;
  if (pending >= limits.pendingActivitiesMax) {
    const detail = `the number of pending activities, ${pending}, has reached the per-workflow limit of ${limits.pendingActivitiesMax}`;
    return bad('pendingActivitiesLimitExceeded', detail);
  }
  if (run.run.activityIds.has(a.activityId)) return bad('scheduleActivityDuplicateId', `${impossible}, ActivityID: ${a.activityId}`);

  const attributes = {
    activityId: a.activityId,
    activityType: { name: a.activityType },
    taskQueue: queue,
    header: a.header,
    input: a.input,
    ...normalisedTimeouts(a, run.run.start.runTimeoutMs),
    workflowTaskCompletedEventId: completion.completedEventId,
    retryPolicy,
    useWorkflowBuildId: a.useWorkflowBuildId,
    priority: a.priority,
  };
  const scheduledEventId = run.add('activityTaskScheduled', attributes, commandMeta(command));
  if (a.requestEagerExecution && run.run.pause === undefined) completion.eager.push(scheduledEventId);
  else offerActivity(run, scheduledEventId);
  return undefined;
}

function problemOf(completion: Completion, a: Attributes): string | undefined {
  if (a.activityId === '') return 'activityId is not set';
  if (a.activityType === '') return 'activityType is not set';
  const { idBytesMax } = completion.run.draft.limits;
  if (exceedsId(completion, a.activityId)) return `activityId exceeds length limit. Length=${utf8Bytes(a.activityId)} Limit=${idBytesMax}`;
  if (exceedsId(completion, a.activityType))
    return `activityType exceeds length limit. Length=${utf8Bytes(a.activityType)} Limit=${idBytesMax}`;
  return timeoutProblem(a, a.activityId, a.activityType);
}

export function timeoutProblem(a: ActivityTimeouts, activityId: string, activityType: string): string | undefined {
  if (a.scheduleToCloseTimeoutMs < 0) return 'invalid ScheduleToCloseTimeout: negative duration';
  if (a.scheduleToStartTimeoutMs < 0) return 'invalid ScheduleToStartTimeout: negative duration';
  if (a.startToCloseTimeoutMs < 0) return 'invalid StartToCloseTimeout: negative duration';
  if (a.heartbeatTimeoutMs < 0) return 'invalid HeartbeatTimeout: negative duration';
  if (a.scheduleToCloseTimeoutMs === 0 && a.startToCloseTimeoutMs === 0) {
    const where = `ActivityId=${activityId} ActivityType=${activityType}`;
    return `a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the activity. ${where}`;
  }
  return undefined;
}

/** 0 = unlimited. Schedule-to-close bounds the others and stands in for them; else it is the run's timeout, as schedule-to-start is. */
export function normalisedTimeouts(a: ActivityTimeouts, runTimeoutMs: number): ActivityTimeouts {
  let scheduleToClose = a.scheduleToCloseTimeoutMs;
  let scheduleToStart = a.scheduleToStartTimeoutMs;
  let startToClose = a.startToCloseTimeoutMs;
  if (scheduleToClose > 0) {
    scheduleToStart = scheduleToStart > 0 ? Math.min(scheduleToStart, scheduleToClose) : scheduleToClose;
    startToClose = startToClose > 0 ? Math.min(startToClose, scheduleToClose) : scheduleToClose;
  } else {
    scheduleToClose = runTimeoutMs;
    if (scheduleToStart === 0) scheduleToStart = runTimeoutMs;
  }
  if (runTimeoutMs > 0) {
    scheduleToClose = Math.min(scheduleToClose, runTimeoutMs);
    scheduleToStart = Math.min(scheduleToStart, runTimeoutMs);
    startToClose = Math.min(startToClose, runTimeoutMs);
  }
  return {
    scheduleToCloseTimeoutMs: scheduleToClose,
    scheduleToStartTimeoutMs: scheduleToStart,
    startToCloseTimeoutMs: startToClose,
    heartbeatTimeoutMs: Math.min(a.heartbeatTimeoutMs, startToClose),
  };
}
