/**
 * Tasks of one shard whose attempts do not succeed, and what follows (src/deadletters/attempts.ts). Their attempts are counted in memory: with
 * its next owner a shard counts from the beginning.
 *
 *     an attempt ── failed ──▶ judged ─┬─ notYet            as often as it takes; nothing is counted
 *                                      ├─ again             after a pause that grows
 *                                      ├─ over              there is nothing left to do
 *                                      └─ handOverTask ──▶ a record: it waits in the line of its queue (hand-over.ts)
 *                                              └─ no room in the line: again, and handed over then
 */
import { type Attempts, judgeAttempt, type LetterReason, namespaceDeleted, noAttempts } from '../../../deadletters/attempts.ts';
import type { CaptureSettings } from '../../../deadletters/capture-settings.ts';
import { failureFingerprint } from '../../../deadletters/failure-fingerprint.ts';
import { saidError, type TaskError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { HandOverTask, TaskSubject } from '../../../history/commands/hand-over-commands.ts';
import { type TaskCategory, taskCategoryOf, taskTypeOf, type TaskType } from '../../../history/run/task-types.ts';
import type { HistoryRecord } from '../../../history/run/record.ts';
import type { Task } from '../../../history/run/tasks.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';

export type TaskKind = { readonly namespace: string; readonly taskType: TaskType; readonly shard: number };

export type CaptureSettingsOf = (kind: TaskKind) => CaptureSettings;

export type InjectedFault = { readonly kind: 'failed' | 'permanent'; readonly errorMessage: string };

export type FaultOf = (task: Task, kind: TaskKind) => InjectedFault | undefined;

export type FailedTasksOptions = {
  readonly shard: number;
  readonly settingsOf: CaptureSettingsOf;
  readonly subjectOf: (task: Task) => TaskSubject;
  /** It is executed again for a dead letter, and its first failure that counts ends that (src/history/redrive). */
  readonly isLetter: (taskId: number) => boolean;
  readonly submit: (command: HandOverTask) => void;
  readonly nowMs: () => number;
  /** For demonstrations and tests: the fault that befalls an attempt at this task; undefined: none. */
  readonly faultOf?: FaultOf;
  /** Whoever runs the tasks, for those who read a letter. */
  readonly node: string;
  readonly build: string;
};

/** `pauseMs`: before jitter. */
export type Again = { readonly kind: 'again'; readonly pauseMs: number };

export type AfterFailure = { readonly kind: 'notYet' } | Again | { readonly kind: 'over' };

const handlers: { readonly [category in TaskCategory]: string } = {
  transfer: 'TransferQueueProcessor',
  timer: 'TimerQueueProcessor',
  visibility: 'VisibilityQueueProcessor',
  archival: 'ArchivalQueueProcessor',
  outbound: 'OutboundQueueProcessor',
};

export class FailedTasks implements CommitSubscriber<HistoryRecord> {
  readonly #options: FailedTasksOptions;
  readonly #attempts = new Map<number, Attempts>();
  /** How often each was handed over, of those that are pending still: their line had no room. */
  readonly #refused = new Map<number, number>();

  constructor(options: FailedTasksOptions) {
    this.#options = options;
  }

  /** `attempt`: counted from 1, with those that met nobody. */
  failed(task: Task, failure: TaskFailure, attempt: number): AfterFailure {
    const { shard, settingsOf, subjectOf, isLetter, nowMs } = this.#options;
    const subject = subjectOf(task);
    const category = taskCategoryOf(task);
    const usual = settingsOf({ namespace: subject.namespace, taskType: taskTypeOf(task), shard });
    const settings = isLetter(task.taskId) ? { ...usual, ...oneFailure } : usual;
    if (failure.kind === 'notYet' && settings.errorPattern === undefined) return failure;
    const known = this.#attempts.get(task.taskId) ?? noAttempts;
    const before = { ...known, attempts: Math.max(known.attempts, attempt - 1) };
    const verdict = judgeAttempt(before, failure, category, nowMs(), settings);
    switch (verdict.kind) {
      case 'over':
        return verdict;
      case 'again':
        // It has a faster pace of its own.
        if (failure.kind === 'notYet' && verdict.attempts.failures === known.failures) return failure;
        this.#attempts.set(task.taskId, verdict.attempts);
        return { kind: 'again', pauseMs: verdict.pauseMs };
      case 'letter':
        this.#attempts.set(task.taskId, verdict.attempts);
        this.#handOver(task, verdict.why, failure.error, verdict.attempts, subject);
        // Where it is handed over, nobody finds it after the pause.
        return this.#withoutRoom(task.taskId);
      default:
        return unreachable(verdict);
    }
  }

  /** An attempt at it fails, because somebody wants that. */
  injected(task: Task): TaskFailure | undefined {
    const { faultOf, subjectOf, shard } = this.#options;
    if (faultOf === undefined) return undefined;
    const fault = faultOf(task, { namespace: subjectOf(task).namespace, taskType: taskTypeOf(task), shard });
    if (fault === undefined) return undefined;
    const error = saidError('InjectedFault', fault.errorMessage);
    return fault.kind === 'permanent' ? { kind: 'permanent', error } : { kind: 'failed', by: 'refusal', error };
  }

  /** The namespace that it acts on is deleted: no attempt will ever succeed, whatever the settings say. */
  namespaceGone(task: Task, message: string): Again {
    const { nowMs, subjectOf } = this.#options;
    const before = this.#attempts.get(task.taskId) ?? noAttempts;
    const timeMs = nowMs();
    const attempts = {
      ...before,
      attempts: before.attempts + 1,
      failures: before.failures + 1,
      firstFailureTimeMs: before.firstFailureTimeMs ?? timeMs,
      lastFailureTimeMs: timeMs,
    };
    this.#attempts.set(task.taskId, attempts);
    this.#handOver(task, namespaceDeleted, saidError('NamespaceNotFound', message), attempts, subjectOf(task));
    return this.#withoutRoom(task.taskId);
  }

  forget(taskId: number): void {
    this.#attempts.delete(taskId);
    this.#refused.delete(taskId);
  }

  committed(record: HistoryRecord): void {
    if (this.#attempts.size === 0) return;
    for (const taskId of record.finishedTaskIds) this.forget(taskId);
    for (const { task } of record.tasksHandedOver ?? []) this.forget(task.taskId);
  }

  #withoutRoom(taskId: number): Again {
    const times = (this.#refused.get(taskId) ?? 0) + 1;
    this.#refused.set(taskId, times);
    return { kind: 'again', pauseMs: backOffMs(times, pauseWithoutRoomMs, pauseWithoutRoomMsMax) };
  }

  #handOver(task: Task, why: LetterReason, error: TaskError, attempts: Attempts, subject: TaskSubject): void {
    const { submit, nowMs, node, build } = this.#options;
    const { taskId } = task;
    const category = taskCategoryOf(task);
    const { firstFailureTimeMs = nowMs(), lastFailureTimeMs = nowMs() } = attempts;
    const fingerprint = failureFingerprint(error, taskTypeOf(task), idsOf(task, subject));
    const handler = handlers[category];
    const times = { firstFailureTimeMs, lastFailureTimeMs };
    const failure = { ...why, ...error, fingerprint, attempts: attempts.attempts, ...times, handler, node, build };
    submit({ kind: 'handOverTask', taskId, category, failure, subject });
  }
}

const oneFailure = { enabled: true, failuresMax: 1, transferFailuresMax: 1, timerFailuresMax: 1 } as const;

/** The line moves on with each hand-over that is answered: at once while its queue is there, so many are letters soon; and rarely while it is away. */
const pauseWithoutRoomMs = 1_000;
const pauseWithoutRoomMsMax = 60_000;

/** What a message may name of the task, and what differs from task to task. */
function idsOf({ key, ...task }: Task, { namespace, targetNamespace }: TaskSubject): readonly string[] {
  const target = 'target' in task ? task.target : 'child' in task ? task.child : undefined;
  const ofTarget = target === undefined ? [] : [target.namespaceId, target.workflowId, target.runId];
  return [key.namespaceId, key.workflowId, key.runId, namespace, targetNamespace, ...ofTarget];
}
