/**
 * What a history shard commands itself: nobody waits for the answer, and none of it is ever dropped.
 *
 *     alarm ─────────────────▶ fireTimer ────────────┐
 *     another shard's answer ─▶ finishOutboxTask ────┤
 *     archiveExecution is due ─▶ SideTasks ─▶ archived
 *     a second later ────────▶ flushFinishedTasks ───┼─▶ decided
 *                                    ▲               │
 *                                  pause ◀───────────┴─ cannot be decided: a task (timer, message) has failed, and in the end it is a dead letter
 *
 * One whose workflow is not in memory waits until it is loaded; the timers behind it fire meanwhile. When it cannot be loaded it is tried again
 * after a pause, for ever: that is the database's trouble, and says nothing about the workflow.
 *
 * What is no task, and what ends a retention, which cannot be a letter: the run that it is about is put aside the fifth time, and a record takes
 * its timers and tasks out of the queues (history/execution/put-aside.ts). What is about no run is tried again for ever, at the longest pause.
 */
import type { TaskFailure } from '../../deadletters/task-failure.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryCommand, StartActivityTask, StartWorkflowTask } from '../../history/commands/history-commands.ts';
import { lineOf } from '../../history/run/hand-over-lines.ts';
import type { HistoryCore } from '../../history/history-core.ts';
import { runsBeside, type BesideTimer, type TimerTask } from '../../history/run/tasks.ts';
import { errorText } from '../../kernel/error-text.ts';
import { uuidAt } from '../../kernel/uuid.ts';
import type { AskFailure } from '../asks/asks.ts';
import type { FailedTasks } from './hand-over/failed-tasks.ts';
import type { SideTasks } from './side-tasks/side-tasks.ts';
import { thrownByTask } from './hand-over/task-failures.ts';
import { namespaceGoneMessage, type TaskNamespaces } from './transfer/task-namespaces.ts';
import type { Clock, Random } from '../../ports/machine.ts';
import type { Tenure } from '../partition/partition-core.ts';
import { FAILURES_MAX } from '../asks/tries.ts';
import { WallAlarm } from '../../ports/wall-alarm.ts';
import { backOffMs } from '../../kernel/back-off.ts';

export type OwnCommandsOptions = {
  readonly core: HistoryCore;
  readonly tenure: Tenure<HistoryCommand>;
  readonly failed: FailedTasks;
  readonly side: SideTasks;
  readonly namespaces: TaskNamespaces;
  readonly retentionMsOf: (namespaceId: string) => number | undefined;
  readonly clock: Clock;
  readonly random: Random;
};

/** Lazy completions that no record took along are journaled after this pause. */
const FLUSH_DELAY_MS = 1_000;
/** A timer whose workflow is being loaded stays out of the way for longer than that may take. */
const LOADING_MS = 10_000;
/** How long a timer that cannot be decided stays out of the way, until its run is quarantined. */
const PUT_ASIDE_GRACE_MS = 60_000;

export class OwnCommands {
  readonly #options: OwnCommandsOptions;
  readonly #attempts: FailedAttempts;
  readonly #loads: FailedAttempts;
  readonly #alarm: WallAlarm;
  #flushing = false;

  constructor(options: OwnCommandsOptions) {
    const { tenure, clock } = options;
    this.#options = options;
    this.#attempts = new FailedAttempts(clock);
    this.#loads = new FailedAttempts(clock);
    this.#alarm = new WallAlarm({ clock, nowMs: () => tenure.nowMs(), ring: () => this.#fire() });
  }

  submit(command: HistoryCommand): AskFailure | undefined {
    const failure = this.#options.tenure.submit(command);
    if (failure === undefined && command.kind === 'finishOutboxTask' && !this.#flushing) this.#flushLater();
    return failure;
  }

  /** Timers follow memory, not the log: what is due together is decided together, and goes into one append. */
  accepted(command: HistoryCommand | undefined, wrote: boolean): void {
    // A timer that wrote nothing was gone, or the clock went back and it is not due any more: no record arms the next one.
    if (wrote || command?.kind === 'fireTimer') this.armTimer();
    // Not before it is decided: in doubt that is when the log answers, which may take hours. Again, for one record may not hold them all.
    if (command?.kind === 'flushFinishedTasks') this.#flushLater();
  }

  armTimer(): void {
    this.#alarm.set(this.#options.core.shard.timers.next()?.fireTimeMs ?? Infinity);
  }

  close(): void {
    this.#alarm.set(Infinity);
  }

  /** One due timer at a time: its record moves the heap on, and that arms the next. */
  #fire(): void {
    const due = this.#options.core.shard.timers.next();
    if (due === undefined) return;
    const task = this.#options.core.shard.timers.get(due.taskId);
    if (task !== undefined && task.kind !== 'retention' && !this.#mayFire(task)) return;
    if (task !== undefined && runsBeside(task)) return this.#runBeside(task);
    const fire = { kind: 'fireTimer', taskId: due.taskId, jitter: this.#options.random.fraction() } as const;
    if (task?.kind !== 'runTimeout') return void this.submit(fire);
    const retentionMs = this.#options.retentionMsOf(task.key.namespaceId);
    this.submit({ ...fire, newRunId: uuidAt(this.#options.clock.wallMs(), this.#options.random.nonce()), retentionMs });
  }

  #mayFire(task: TimerTask): boolean {
    const injected = this.#options.failed.injected(task);
    if (injected !== undefined) this.#timerFailed(task, injected);
    return injected === undefined && this.#hasNamespace(task);
  }

  /** It stays out of the way until its attempt is over, which the next ones do not wait for. */
  #runBeside(task: BesideTimer): void {
    const { taskId } = task;
    this.#postpone(taskId, Infinity);
    if (task.kind === 'letterCheck' && this.#isOnItsWay(task)) return void this.submit({ kind: 'letterChecked', taskId, isOpen: true });
    this.#options.side.run(task, (answer) => {
      if (answer.kind === 'failed') this.#timerFailed(task, answer.failure);
      else this.submit(answer.command);
    });
  }

  #isOnItsWay({ key: { runId } }: BesideTimer): boolean {
    const { handOvers } = this.#options.core.shard;
    const waiting = (['archival', 'outbound', 'timer', 'transfer'] as const).flatMap((category) => lineOf(handOvers, category).waiting);
    return waiting.some(({ task }) => task.key.runId === runId);
  }

  // ── Timers that fail ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #timerFailed(task: TimerTask, failure: TaskFailure): void {
    const next = this.#options.failed.failed(task, failure, 1);
    // Its next attempt is made by the alarm, and those that are due meanwhile are not kept waiting.
    this.#postpone(task.taskId, next.kind === 'again' ? next.pauseMs * (0.8 + 0.4 * this.#options.random.fraction()) : LOADING_MS);
  }

  #hasNamespace(task: TimerTask): boolean {
    const { namespaceId } = task.key;
    const fate = this.#options.namespaces.fateOf(namespaceId);
    if (fate === 'there') return true;
    if (fate === 'deleted') this.#namespaceGone(task);
    else {
      this.#postpone(task.taskId, LOADING_MS);
      this.#options.namespaces.readAfresh((isRead) => {
        if (!isRead || !this.#options.tenure.active || this.#options.core.shard.timers.get(task.taskId) === undefined) return;
        if (this.#options.namespaces.fateOf(namespaceId) === 'there') this.#postpone(task.taskId, 0);
        else this.#namespaceGone(task);
      });
    }
    return false;
  }

  #namespaceGone(task: TimerTask): void {
    const { pauseMs } = this.#options.failed.namespaceGone(task, namespaceGoneMessage(task.key.namespaceId));
    this.#postpone(task.taskId, pauseMs);
  }

  #flushLater(): void {
    this.#flushing = true;
    this.#options.tenure.after(FLUSH_DELAY_MS, () => {
      this.#flushing = this.#options.core.hasFinishedTasks;
      if (this.#flushing) this.submit({ kind: 'flushFinishedTasks' });
    });
  }

  // ── What cannot be decided ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tried again after a pause, and in the end a letter, or put aside: one workflow must not stop the shard. */
  undecided(command: HistoryCommand, error: unknown): void {
    const timer = command.kind === 'fireTimer' ? this.#options.core.shard.timers.get(command.taskId) : undefined;
    if (timer !== undefined && timer.kind !== 'retention') return this.#timerFailed(timer, thrownByTask(error));
    const key = command.kind === 'putAside' ? undefined : this.#options.core.keyOf(command);
    const taskId = 'taskId' in command ? command.taskId : 0;
    const pauseMs = this.#attempts.pauseMs(nameOf(command, key), key === undefined ? Infinity : FAILURES_MAX);
    if (command.kind === 'fireTimer') this.#postpone(taskId, pauseMs ?? PUT_ASIDE_GRACE_MS);
    else if (pauseMs !== undefined) this.#options.tenure.after(pauseMs, () => this.submit(command));
    if (pauseMs === undefined && key !== undefined)
      this.submit({ kind: 'putAside', key, failedCommand: command.kind, taskId, reason: errorText(error) });
  }

  /** Matching tries a start again and again, and every poll that it tries with waits for nothing. */
  startUndecided(command: StartWorkflowTask | StartActivityTask, error: unknown): void {
    const key = this.#options.core.keyOf(command);
    const name = `${command.kind} ${key?.runId} ${command.scheduledEventId}`;
    if (key === undefined || this.#attempts.pauseMs(name) !== undefined) return;
    this.submit({ kind: 'putAside', key, failedCommand: command.kind, taskId: 0, reason: errorText(error) });
  }

  // ── What is not in memory ──────────────────────────────────────────────────────────────────────────────────────────────────

  waits(command: HistoryCommand): void {
    if (command.kind === 'fireTimer') this.#postpone(command.taskId, LOADING_MS);
  }

  notLoaded(command: HistoryCommand): void {
    const pauseMs = this.#loads.pauseMs(nameOf(command, this.#options.core.keyOf(command)), Infinity) ?? PUT_ASIDE_GRACE_MS;
    if (command.kind === 'fireTimer') this.#postpone(command.taskId, pauseMs);
    else this.#options.tenure.after(pauseMs, () => this.submit(command));
  }

  #postpone(taskId: number, delayMs: number): void {
    this.#options.core.postponeTimer(taskId, this.#options.tenure.nowMs() + delayMs);
    this.armTimer();
  }
}

function nameOf(command: HistoryCommand, key: RunKey | undefined): string {
  return `${command.kind} ${'taskId' in command && command.taskId !== 0 ? command.taskId : (key?.runId ?? '')}`;
}

/**
 * How often a shard's own commands, and starts that matching asks for, could not be decided, by what was attempted; and so when the next
 * attempt is made.
 *
 *     cannot be decided ── pause ──▶ tried again ── … ──▶ the fifth time: no more
 */

const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 60_000;
/** Past it, what has not failed for a while is forgotten: it has succeeded since, or there was no need of it any more. */
const COUNTED_COMMANDS_KEPT = 10_000;
const FORGOTTEN_AFTER_MS = 10 * RETRY_DELAY_MS_MAX;

export class FailedAttempts {
  readonly #clock: Clock;
  /** By what was attempted, the latest at the end. However many fail, each stays counted: else nothing would ever be put aside. */
  readonly #failures = new Map<string, { readonly count: number; readonly lastMs: number }>();
  #forgottenAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Another attempt has failed: the pause before the next one; undefined when there have been enough. */
  pauseMs(name: string, attemptsMax: number = FAILURES_MAX): number | undefined {
    const nowMs = this.#clock.monoMs();
    const count = (this.#failures.get(name)?.count ?? 0) + 1;
    this.#failures.delete(name);
    this.#forget(nowMs);
    if (count >= attemptsMax) return undefined;
    this.#failures.set(name, { count, lastMs: nowMs });
    return backOffMs(count, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX);
  }

  #forget(nowMs: number): void {
    if (this.#failures.size < COUNTED_COMMANDS_KEPT || nowMs < this.#forgottenAtMs + RETRY_DELAY_MS_MAX) return;
    this.#forgottenAtMs = nowMs;
    for (const [name, { lastMs }] of this.#failures) {
      if (lastMs > nowMs - FORGOTTEN_AFTER_MS) return;
      this.#failures.delete(name);
    }
  }
}
