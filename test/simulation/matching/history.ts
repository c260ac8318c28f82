/**
 * History, as matching hosts know it: outside of every process, it never forgets. It offers a task until a host has taken it, starts each
 * attempt for one poll, and begins another attempt when a worker has not answered in time.
 *
 *     offered ──▶ taken ──▶ started by one poll ──▶ completed
 *        ▲          │            └─ withdrawn, or its worker died: another attempt
 *        └──────────┴─ nobody but a host knows of it now: if that loses it, it is lost
 */
import type { HistoryAnswer } from '../../../src/actors/asks/router.ts';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import type { HistoryRequest, StartActivityTask, StartWorkflowTask } from '../../../src/history/commands/history-commands.ts';
import type { StartedActivityTask, StartedWorkflowTask } from '../../../src/history/run/history-replies.ts';
import type { PriorityFields } from '../../../src/kernel/priority.ts';
import type { TaskQueuePartition } from '../../../src/kernel/task-queue.ts';
import { taskIdentity, type MatchingTask } from '../../../src/matching/matching-tasks.ts';
import { check } from '../oracle.ts';
import { unavailable } from '../sim-cluster.ts';
import type { World } from '../world.ts';

/** What the hosts' clocks show at the beginning, if they are right. */
export const WALL_MS = 1_000_000;
const ATTEMPT_MS = 1_500;

export type HistoryTask = {
  readonly name: string;
  readonly queue: TaskQueuePartition;
  /** Which lane it stands in; undefined: the plain one. */
  readonly priority: PriorityFields | undefined;
  /** By the right clock; 0 = never. */
  readonly expiryTimeMs: number;
  stamp: number;
  isTaken: boolean;
  /** A poll; '' = none. */
  startedBy: string;
  isDelivered: boolean;
  isOver: boolean;
};

export class HistoryModel {
  readonly #world: World;
  readonly tasks = new Map<string, HistoryTask>();
  /** An attempt that nobody has taken yet. */
  onOffer: (task: HistoryTask) => void = () => {};
  /** How often a request of a host is not answered, or refused. */
  faultShare = 0;
  delivered = 0;

  constructor(world: World) {
    this.#world = world;
  }

  get open(): readonly HistoryTask[] {
    return [...this.tasks.values()].filter(({ isOver }) => !isOver);
  }

  add(queue: TaskQueuePartition, expiresInMs: number, priority?: PriorityFields): HistoryTask {
    const name = `t${this.tasks.size + 1}`;
    const expiryTimeMs = expiresInMs === 0 ? 0 : WALL_MS + Math.floor(this.#world.nowMs) + expiresInMs;
    const task: HistoryTask = {
      name,
      queue,
      priority,
      expiryTimeMs,
      stamp: 1,
      isTaken: false,
      startedBy: '',
      isDelivered: false,
      isOver: false,
    };
    this.tasks.set(name, task);
    // Its schedule-to-start timeout.
    if (expiresInMs > 0) this.#world.at(expiresInMs, () => void (task.isOver ||= task.startedBy === ''));
    this.onOffer(task);
    return task;
  }

  /** What a host is given of it. */
  matchingTask({ name, stamp, expiryTimeMs, priority }: HistoryTask): MatchingTask {
    const key = { namespaceId: 'ns', workflowId: name, runId: `run-${name}` };
    return { key, historyShard: 1, scheduledEventId: 5, stamp, expiryTimeMs, taskId: 1, priority };
  }

  /** Of its present attempt. */
  identityOf(task: HistoryTask): string {
    return taskIdentity(this.matchingTask(task));
  }

  /** A worker has it. I8: each attempt reaches one. */
  deliveredTo(name: string, stamp: number, pollRequestId: string): void {
    const task = this.#task(name);
    this.delivered += 1;
    if (task.stamp !== stamp) return;
    check(task.startedBy === pollRequestId, 'I8 handed out twice', () => `${name} to ${pollRequestId}, started by ${task.startedBy}`);
    check(!task.isDelivered, 'I8 handed out twice', () => `${name} to ${pollRequestId} once more`);
    task.isDelivered = true;
  }

  completed(name: string, stamp: number): void {
    const task = this.#task(name);
    if (task.stamp === stamp) task.isOver = true;
  }

  /** What a host asks: decided when it arrives, whether the answer gets back or not. */
  ask<Request extends HistoryRequest>(request: Request, onAnswer: (answer: HistoryAnswer<Request> | AskFailure) => void): void {
    const { random } = this.#world;
    const fault = random.chance(this.faultShare) ? random.pick(['lost', 'answerLost', 'notHere'] as const) : undefined;
    if (fault === 'lost') return onAnswer(unavailable('simulated: no answer'));
    if (fault === 'notHere') return onAnswer({ kind: 'notHere', message: 'simulated: not served', hint: '', epoch: 0 });
    const answer = this.#decide(request) as HistoryAnswer<Request>;
    onAnswer(fault === 'answerLost' ? unavailable('simulated: the answer is lost') : answer);
  }

  #decide(request: HistoryRequest): HistoryAnswer<StartActivityTask> | HistoryAnswer<StartWorkflowTask> | { readonly kind: 'done' } {
    switch (request.kind) {
      case 'startActivityTask':
      case 'startWorkflowTask':
        return this.#start(request);
      case 'withdrawActivityStart':
        this.#withdraw(request.key.workflowId, request.pollRequestId);
        return { kind: 'done' };
      default:
        throw new Error(`no host asks for ${request.kind}`);
    }
  }

  #start(request: StartActivityTask | StartWorkflowTask): HistoryAnswer<StartActivityTask> | HistoryAnswer<StartWorkflowTask> {
    const { key, stamp, pollRequestId } = request;
    const task = this.#task(key.workflowId);
    const isFree = task.stamp === stamp && !task.isOver && (task.startedBy === '' || task.startedBy === pollRequestId);
    if (!isFree) return { kind: 'rejected', rejection: { reason: 'task-not-found', message: 'it is not there any more' } };
    if (task.startedBy === '') {
      task.startedBy = pollRequestId;
      this.#world.at(ATTEMPT_MS, () => {
        if (task.stamp === stamp && !task.isOver) this.#nextAttempt(task);
      });
    }
    return request.kind === 'startActivityTask' ? startedActivity(request) : startedWorkflowTask(request);
  }

  #withdraw(name: string, pollRequestId: string): void {
    const task = this.#task(name);
    if (task.startedBy !== pollRequestId || task.isOver) return;
    check(!task.isDelivered, 'I8 taken back', () => `${name} is withdrawn of ${pollRequestId}, whose worker has it`);
    this.#nextAttempt(task);
  }

  #nextAttempt(task: HistoryTask): void {
    if (task.expiryTimeMs !== 0 && WALL_MS + this.#world.nowMs >= task.expiryTimeMs) return void (task.isOver = true);
    task.stamp += 1;
    task.startedBy = '';
    task.isDelivered = false;
    task.isTaken = false;
    this.onOffer(task);
  }

  #task(name: string): HistoryTask {
    const task = this.tasks.get(name);
    if (task === undefined) throw new Error(`no task ${name}`);
    return task;
  }
}

function startedActivity({ key, scheduledEventId, stamp }: StartActivityTask): StartedActivityTask {
  return {
    kind: 'activityTask',
    key,
    workflowType: 'order',
    activityId: '5',
    activityType: 'charge',
    header: undefined,
    input: undefined,
    heartbeatDetails: undefined,
    scheduledEventId,
    attempt: stamp,
    scheduledTimeMs: WALL_MS,
    currentAttemptScheduledTimeMs: WALL_MS,
    startedTimeMs: WALL_MS,
    scheduleToCloseTimeoutMs: 0,
    startToCloseTimeoutMs: ATTEMPT_MS,
    heartbeatTimeoutMs: 0,
    retryPolicy: { initialIntervalMs: 50, backoffCoefficient: 1, maximumIntervalMs: 50, maximumAttempts: 0, nonRetryableErrorTypes: [] },
    priority: undefined,
  };
}

function startedWorkflowTask({ key, scheduledEventId, stamp, taskQueue }: StartWorkflowTask): StartedWorkflowTask {
  return {
    kind: 'workflowTask',
    key,
    workflowType: 'order',
    scheduledEventId,
    startedEventId: scheduledEventId + 1,
    previousStartedEventId: 0,
    attempt: stamp,
    scheduledTimeMs: WALL_MS,
    startedTimeMs: WALL_MS,
    taskQueue,
    historyFirstEventId: 1,
    historyLastEventId: scheduledEventId + 1,
    tailEvents: [],
    queries: new Map(),
    updates: [],
  };
}
