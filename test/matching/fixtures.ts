/** Builders for the commands of a matching host, and a driver that commits every record at once. */
import type { AddTask, DispatchQuery, MatchingCommand, PollTask, StartOutcome } from '../../src/matching/matching-commands.ts';
import type { MatchingTask } from '../../src/matching/matching-tasks.ts';
import type { ForwardPoll, ForwardTask, MatchingEffect, StartTask, WithdrawActivityStart } from '../../src/matching/matching-effects.ts';
import type { BacklogWire } from '../../src/matching/checkpoint/backlog-wire.ts';
import type { MatchingLimits } from '../../src/matching/matching-limits.ts';
import { MatchingCore } from '../../src/matching/matching-core.ts';
import type { MatchingRecord } from '../../src/matching/matching-records.ts';
import type { MatchingReply } from '../../src/matching/matching-replies.ts';
import type { TaskQueuePartition } from '../../src/kernel/task-queue.ts';

/** What history hands back in these tests. */
export type Started = { readonly started: string };

export const activities: TaskQueuePartition = {
  namespaceId: 'ns',
  name: 'orders',
  taskType: 'activity',
  partition: 0,
  kind: 'normal',
};
export const workflows: TaskQueuePartition = { ...activities, taskType: 'workflow' };
export const sticky: TaskQueuePartition = { ...workflows, kind: 'sticky', name: 'worker-1-sticky' };

export function task(name: string, over: Partial<MatchingTask> = {}): MatchingTask {
  return {
    key: { namespaceId: 'ns', workflowId: name, runId: `run-${name}` },
    historyShard: 1,
    scheduledEventId: 5,
    stamp: 1,
    expiryTimeMs: 0,
    taskId: 1,
    priority: undefined,
    ...over,
  };
}

type PollOver = Partial<Omit<PollTask, 'kind'>>;

export function poll(requestId: string, over: PollOver = {}): PollTask {
  const queue = over.queue ?? activities;
  return {
    kind: queue.taskType === 'workflow' ? 'pollWorkflowTask' : 'pollActivityTask',
    pollRequestId: requestId,
    identity: 'worker-1',
    deadlineMs: 60_000,
    workerInstanceKey: '',
    maxTasksPerSecond: undefined,
    workerVersion: undefined,
    forwardedFrom: undefined,
    ...over,
    queue,
  };
}

export function add(what: MatchingTask, over: Partial<Omit<AddTask, 'kind' | 'task'>> = {}): AddTask {
  const queue = over.queue ?? activities;
  return {
    kind: queue.taskType === 'workflow' ? 'addWorkflowTask' : 'addActivityTask',
    forwardedFrom: undefined,
    holdUntilMs: 0,
    ...over,
    queue,
    task: what,
  };
}

export function query(queryId: string, over: Partial<DispatchQuery> = {}): DispatchQuery {
  return {
    kind: 'dispatchQuery',
    queue: workflows,
    queryId,
    workflow: {
      key: { namespaceId: 'ns', workflowId: 'wf', runId: 'run' },
      workflowType: 'Order',
      previousStartedEventId: 3,
      historyLastEventId: 9,
      taskQueueName: 'orders',
    },
    query: new Uint8Array([1, 2]),
    deadlineMs: 10_000,
    ...over,
  };
}

export class Host {
  readonly #limits: Partial<MatchingLimits>;
  core: MatchingCore<Started>;
  now = 1_000;
  readonly journal: MatchingRecord[] = [];
  readonly replies = new Map<number, MatchingReply<Started>>();
  effects: MatchingEffect<Started>[] = [];
  #asks = 0;

  constructor(limits: Partial<MatchingLimits> = {}, backlogWire?: BacklogWire) {
    this.#limits = limits;
    this.core = new MatchingCore<Started>({ firstCorrelation: 0, limits, ...(backlogWire === undefined ? {} : { backlogWire }) });
  }

  /** Answers the ask's id. */
  ask(command: MatchingCommand<Started>): number {
    const askId = ++this.#asks;
    this.#take(this.core.handle(command, this.now, askId));
    return askId;
  }

  cancel(askId: number): void {
    this.#take(this.core.cancel(askId, this.now));
  }

  /** Moves the clock and fires what is due on the way, each at its own time, as the shell's timer does. */
  advanceTo(nowMs: number): void {
    for (;;) {
      const due = this.core.nextDeadline();
      if (due === undefined || due > nowMs) break;
      this.now = Math.max(this.now, due);
      this.ask({ kind: 'tick' });
    }
    this.now = nowMs;
  }

  /** The starts asked since the last call. */
  takeStarts(): readonly StartTask[] {
    return this.#takeEffects('startTask') as readonly StartTask[];
  }
  takeWithdrawals(): readonly WithdrawActivityStart[] {
    return this.#takeEffects('withdrawActivityStart') as readonly WithdrawActivityStart[];
  }
  takeForwardedPolls(): readonly ForwardPoll[] {
    return this.#takeEffects('forwardPoll') as readonly ForwardPoll[];
  }
  takeForwardedTasks(): readonly ForwardTask[] {
    return this.#takeEffects('forwardTask') as readonly ForwardTask[];
  }

  answerStart(start: StartTask, outcome: StartOutcome<Started> = { kind: 'started', task: { started: start.task.key.workflowId } }): void {
    this.ask({ kind: 'taskStartAnswered', correlation: start.correlation, outcome });
  }

  /** A new owner folds the journal. */
  restart(): void {
    this.core = new MatchingCore<Started>({ firstCorrelation: 1_000_000, limits: this.#limits });
    for (const record of this.journal) this.core.evolve(record);
    this.effects = [];
    this.ask({ kind: 'activate' });
  }

  #takeEffects(kind: MatchingEffect<Started>['kind']): readonly MatchingEffect<Started>[] {
    const taken = this.effects.filter((effect) => effect.kind === kind);
    this.effects = this.effects.filter((effect) => effect.kind !== kind);
    return taken;
  }

  #take(handled: ReturnType<MatchingCore<Started>['handle']>): void {
    if (handled.kind === 'commit') {
      this.core.evolve(handled.record);
      this.journal.push(handled.record);
    }
    for (const effect of handled.effects) {
      if (effect.kind === 'reply') {
        if (this.replies.has(effect.askId)) throw new Error(`ask ${effect.askId} is answered twice`);
        this.replies.set(effect.askId, effect.reply);
      } else {
        this.effects.push(effect);
      }
    }
  }
}
