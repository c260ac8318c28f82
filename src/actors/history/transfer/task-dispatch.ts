/**
 * Offers tasks for workers to matching: matched with a poll, or stored there.
 *
 *     sticky queue ── nobody polls it ──▶ the normal queue, any partition ─┬─ done       a poll has it, or the memory of a sticky queue
 *                                                                         └─ stored     it is not offered again, though a takeover finds it pending
 */
import { saidError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import { taskQueueKind } from '../../../history/generated/enums.ts';
import type { TaskQueue } from '../../../history/generated/public-api.ts';
import type { DispatchTask } from '../../../history/tasks.ts';
import type { MatchingRejected } from '../../../matching/replies.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../../../matching/task-queue.ts';
import { unreachable } from '../../../kernel/assert.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';
import type { Tries } from '../../asks/tries.ts';
import type { Clock, Random } from '../../ports.ts';
import type { FailedTasks } from '../hand-over/failed-tasks.ts';
import { refusedDispatch, unansweredTask } from '../hand-over/task-failures.ts';
import { type ClusterLayout, DELIVERY_TIMEOUT_MS, type TaskAttempts, type TransferShard } from './transfer-shard.ts';

export type TaskDispatchOptions = {
  readonly shard: Pick<TransferShard, 'shard' | 'stored' | 'room' | 'unsentTasks'>;
  readonly failed: Pick<FailedTasks, 'forget'>;
  readonly router: Pick<Asker, 'askMatching'>;
  readonly layout: ClusterLayout;
  readonly clock: Clock;
  readonly random: Random;
};

export class TaskDispatch {
  readonly #options: TaskDispatchOptions;
  readonly #attempts: TaskAttempts;

  constructor(options: TaskDispatchOptions, attempts: TaskAttempts) {
    this.#options = options;
    this.#attempts = attempts;
  }

  dispatch(task: DispatchTask, tries: Tries): void {
    this.#dispatch(task, task.taskQueue, tries);
  }

  #dispatch(task: DispatchTask, taskQueue: TaskQueue, tries: Tries): void {
    const { router, layout, shard, clock } = this.#options;
    const queue = this.#partitionFor(task, taskQueue);
    const isFirst = shard.unsentTasks.sent(task.taskId);
    router.askMatching(
      matchingPartitionOf(queue, layout.matchingPartitions),
      {
        kind: task.kind === 'workflowTask' ? 'addWorkflowTask' : 'addActivityTask',
        queue,
        task: {
          key: task.key,
          historyShard: shard.shard,
          scheduledEventId: task.scheduledEventId,
          stamp: task.stamp,
          expiryTimeMs: task.scheduleToStartTimeoutMs === 0 ? 0 : clock.wallMs() + task.scheduleToStartTimeoutMs,
          taskId: task.taskId,
          priority: task.priority,
        },
        forwardedFrom: undefined,
        holdUntilMs: 0,
      },
      clock.monoMs() + DELIVERY_TIMEOUT_MS,
      (reply) => {
        if (reply.kind === 'stored' || reply.kind === 'done') return this.#dispatched(task, tries, reply.kind);
        if (isFirst && hasDoneNothing(reply) && this.#attempts.isStillOurs(task)) shard.unsentTasks.refused(task.taskId);
        try {
          if (reply.kind === 'stickyUnavailable') this.#dispatchToNormalQueue(task, tries);
          else this.#attempts.fails(task, tries, whyNotDispatched(reply));
        } catch (error) {
          this.#attempts.threw(task, tries, error);
        }
      },
    );
  }

  #dispatched({ taskId }: DispatchTask, tries: Tries, how: 'stored' | 'done'): void {
    const { shard, failed } = this.#options;
    if (tries.failures > 0) failed.forget(taskId);
    if (how === 'stored') shard.stored(taskId);
    else shard.room?.delivered(taskId);
  }

  /** Nobody polls the sticky queue: any worker may have the task, with its whole history, at once. */
  #dispatchToNormalQueue(task: DispatchTask, tries: Tries): void {
    if (!this.#attempts.isStillOurs(task)) return;
    this.#dispatch(task, { name: task.taskQueue.normalName, kind: taskQueueKind.normal, normalName: '' }, tries);
  }

  #partitionFor(task: DispatchTask, taskQueue: TaskQueue): TaskQueuePartition {
    const sticky = taskQueue.kind === taskQueueKind.sticky;
    return {
      namespaceId: task.key.namespaceId,
      name: taskQueue.name,
      taskType: task.kind === 'workflowTask' ? 'workflow' : 'activity',
      partition: sticky ? 0 : Math.floor(this.#options.random.fraction() * this.#options.layout.taskQueuePartitions),
      kind: sticky ? 'sticky' : 'normal',
    };
  }
}

/** Nobody has the task, nor will have it because of that. */
function hasDoneNothing({ kind }: Refused): boolean {
  switch (kind) {
    case 'rejected':
    case 'noMatch':
    case 'stickyUnavailable':
    case 'notHere':
    case 'busy':
    case 'tooLarge':
    case 'internal':
    case 'dataLoss':
      return true;
    case 'unavailable':
    case 'deadline':
      return false;
    default:
      return unreachable(kind);
  }
}

type Refused = MatchingRejected | AskFailure | { readonly kind: 'noMatch' | 'stickyUnavailable' };

function whyNotDispatched(reply: MatchingRejected | AskFailure | { readonly kind: 'noMatch' }): TaskFailure {
  if (reply.kind === 'rejected') return refusedDispatch(reply.rejection);
  // It would have been stored, had there been room in its partition's journal.
  if (reply.kind === 'noMatch') return { kind: 'notYet', why: 'notReady', error: saidError('NoMatch', 'nobody polls its queue') };
  return unansweredTask(reply);
}
