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
import type { HistoryCommand, StartActivityTask, StartWorkflowTask } from '../../history/commands.ts';
import { lineOf } from '../../history/hand-over/hand-over-lines.ts';
import type { HistoryCore } from '../../history/history-core.ts';
import { type BesideTimer, runsBeside, type TimerTask } from '../../history/tasks.ts';
import { errorText } from '../../kernel/error-text.ts';
import { uuidAt } from '../../kernel/uuid.ts';
import type { AskFailure } from '../asks/asks.ts';
import { FailedAttempts } from './failed-attempts.ts';
import type { FailedTasks } from './hand-over/failed-tasks.ts';
import type { SideTasks } from './side-tasks/side-tasks.ts';
import { thrownByTask } from './hand-over/task-failures.ts';
import { namespaceGoneMessage, type TaskNamespaces } from './transfer/task-namespaces.ts';
import type { Clock, Random } from '../ports.ts';
import type { Tenure } from '../partition/tenure.ts';
import { FAILURES_MAX } from '../asks/tries.ts';
import { WallAlarm } from '../wall-alarm.ts';

export type OwnCommandsOptions = {
  readonly core: HistoryCore;
  readonly tenure: Tenure<HistoryCommand>;
  readonly failed: FailedTasks;
  readonly side: SideTasks;
  /** undefined: nobody knows of any, and all are there. */
  readonly namespaces: TaskNamespaces | undefined;
  readonly retentionMsOf: (namespaceId: string) => number | undefined;
  readonly clock: Clock;
  readonly random: Random;
};

/** Lazy completions that no record took along are journaled after this pause. */
const FLUSH_DELAY_MS = 1_000;
/** A timer whose workflow is being loaded stays out of the way for longer than that may take. */
const LOADING_MS = 10_000;
/** Until its run is put aside, a timer that cannot be decided stays out of the way. */
const PUT_ASIDE_GRACE_MS = 60_000;

export class OwnCommands {
  readonly #core: HistoryCore;
  readonly #tenure: Tenure<HistoryCommand>;
  readonly #failed: FailedTasks;
  readonly #side: SideTasks;
  readonly #namespaces: TaskNamespaces | undefined;
  readonly #retentionMsOf: OwnCommandsOptions['retentionMsOf'];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #attempts: FailedAttempts;
  readonly #loads: FailedAttempts;
  readonly #alarm: WallAlarm;
  /** A flush is to come, or waits to be decided. */
  #flushing = false;

  constructor({ core, tenure, failed, side, namespaces, retentionMsOf, clock, random }: OwnCommandsOptions) {
    this.#core = core;
    this.#tenure = tenure;
    this.#failed = failed;
    this.#side = side;
    this.#namespaces = namespaces;
    this.#retentionMsOf = retentionMsOf;
    this.#clock = clock;
    this.#random = random;
    this.#attempts = new FailedAttempts(clock);
    this.#loads = new FailedAttempts(clock);
    this.#alarm = new WallAlarm(
      clock,
      () => tenure.nowMs(),
      () => this.#fire(),
    );
  }

  /** Undefined: accepted. */
  submit(command: HistoryCommand): AskFailure | undefined {
    const failure = this.#tenure.submit(command);
    if (failure === undefined && command.kind === 'finishOutboxTask' && !this.#flushing) this.#flushLater();
    return failure;
  }

  #putAside(key: RunKey, failedCommand: string, taskId: number, reason: string): void {
    this.submit({ kind: 'putAside', key, failedCommand, taskId, reason });
  }

  /** Timers follow memory, not the log: what is due together is decided together, and goes into one append. */
  accepted(command: HistoryCommand | undefined, wrote: boolean): void {
    // A timer that wrote nothing was gone, or the clock went back and it is not due any more: no record arms the next one.
    if (wrote || command?.kind === 'fireTimer') this.armTimer();
    // Not before it is decided: in doubt that is when the log answers, which may take hours. Again, for one record may not hold them all.
    if (command?.kind === 'flushFinishedTasks') this.#flushLater();
  }

  armTimer(): void {
    this.#alarm.set(this.#core.nextTimer()?.fireTimeMs ?? Infinity);
  }

  close(): void {
    this.#alarm.set(Infinity);
  }

  /** One due timer at a time: its record moves the heap on, and that arms the next. */
  #fire(): void {
    const due = this.#core.nextTimer();
    if (due === undefined) return;
    const task = this.#core.timerTask(due.taskId);
    if (task !== undefined && task.kind !== 'retention' && !this.#mayFire(task)) return;
    if (task !== undefined && runsBeside(task)) return this.#runBeside(task);
    const fire = { kind: 'fireTimer', taskId: due.taskId, jitter: this.#random.fraction() } as const;
    if (task?.kind !== 'runTimeout') return void this.submit(fire);
    const retentionMs = this.#retentionMsOf(task.key.namespaceId);
    this.submit({ ...fire, newRunId: uuidAt(this.#clock.wallMs(), this.#random.nonce()), retentionMs });
  }

  /** False: it stays out of the way for a while. */
  #mayFire(task: TimerTask): boolean {
    const injected = this.#failed.injected(task);
    if (injected !== undefined) this.#timerFailed(task, injected);
    return injected === undefined && this.#hasNamespace(task);
  }

  /** It stays out of the way until its attempt is over, which the next ones do not wait for. */
  #runBeside(task: BesideTimer): void {
    const { taskId } = task;
    this.#postpone(taskId, Infinity);
    if (task.kind === 'letterCheck' && this.#isOnItsWay(task)) return void this.submit({ kind: 'letterChecked', taskId, isOpen: true });
    this.#side.run(task, (answer) => {
      if (answer.kind === 'failed') this.#timerFailed(task, answer.failure);
      else this.submit(answer.command);
    });
  }

  /** Its queue has not answered yet that it has the letter. */
  #isOnItsWay({ key: { runId } }: BesideTimer): boolean {
    const { handOvers } = this.#core;
    const waiting = (['archival', 'outbound', 'timer', 'transfer'] as const).flatMap((category) => lineOf(handOvers, category).waiting);
    return waiting.some(({ task }) => task.key.runId === runId);
  }

  // ── Timers that fail ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #timerFailed(task: TimerTask, failure: TaskFailure): void {
    const next = this.#failed.failed(task, failure, 1);
    // Its next attempt is made by the alarm, and those that are due meanwhile are not kept waiting.
    this.#postpone(task.taskId, next.kind === 'again' ? next.pauseMs * (0.8 + 0.4 * this.#random.fraction()) : LOADING_MS);
  }

  #hasNamespace(task: TimerTask): boolean {
    const { namespaceId } = task.key;
    const fate = this.#namespaces?.fateOf(namespaceId) ?? 'there';
    if (fate === 'there') return true;
    if (fate === 'deleted') this.#namespaceGone(task);
    else {
      this.#postpone(task.taskId, LOADING_MS);
      this.#namespaces?.readAfresh((isRead) => {
        if (!isRead || !this.#tenure.active || this.#core.timerTask(task.taskId) === undefined) return;
        if (this.#namespaces?.fateOf(namespaceId) === 'there') this.#postpone(task.taskId, 0);
        else this.#namespaceGone(task);
      });
    }
    return false;
  }

  #namespaceGone(task: TimerTask): void {
    const { pauseMs } = this.#failed.namespaceGone(task, namespaceGoneMessage(task.key.namespaceId));
    this.#postpone(task.taskId, pauseMs);
  }

  #flushLater(): void {
    this.#flushing = true;
    this.#tenure.after(FLUSH_DELAY_MS, () => {
      this.#flushing = this.#core.hasFinishedTasks;
      if (this.#flushing) this.submit({ kind: 'flushFinishedTasks' });
    });
  }

  // ── What cannot be decided ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tried again after a pause, and in the end a letter, or put aside: one workflow must not stop the shard. */
  undecided(command: HistoryCommand, error: unknown): void {
    const timer = command.kind === 'fireTimer' ? this.#core.timerTask(command.taskId) : undefined;
    if (timer !== undefined && timer.kind !== 'retention') return this.#timerFailed(timer, thrownByTask(error));
    const key = command.kind === 'putAside' ? undefined : this.#core.keyOf(command);
    const taskId = 'taskId' in command ? command.taskId : 0;
    const pauseMs = this.#attempts.pauseMs(nameOf(command, key), key === undefined ? Infinity : FAILURES_MAX);
    if (command.kind === 'fireTimer') this.#postpone(taskId, pauseMs ?? PUT_ASIDE_GRACE_MS);
    else if (pauseMs !== undefined) this.#tenure.after(pauseMs, () => this.submit(command));
    if (pauseMs === undefined && key !== undefined) this.#putAside(key, command.kind, taskId, errorText(error));
  }

  /** Matching tries a start again and again, and every poll that it tries with waits for nothing. */
  startUndecided(command: StartWorkflowTask | StartActivityTask, error: unknown): void {
    const key = this.#core.keyOf(command);
    const name = `${command.kind} ${key?.runId} ${command.scheduledEventId}`;
    if (key !== undefined && this.#attempts.pauseMs(name) === undefined) this.#putAside(key, command.kind, 0, errorText(error));
  }

  // ── What is not in memory ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Its workflow is being loaded. */
  waits(command: HistoryCommand): void {
    if (command.kind === 'fireTimer') this.#postpone(command.taskId, LOADING_MS);
  }

  notLoaded(command: HistoryCommand): void {
    const pauseMs = this.#loads.pauseMs(nameOf(command, this.#core.keyOf(command)), Infinity) ?? PUT_ASIDE_GRACE_MS;
    if (command.kind === 'fireTimer') this.#postpone(command.taskId, pauseMs);
    else this.#tenure.after(pauseMs, () => this.submit(command));
  }

  #postpone(taskId: number, delayMs: number): void {
    this.#core.postponeTimer(taskId, this.#tenure.nowMs() + delayMs);
    this.armTimer();
  }
}

/** What is attempted, whichever attempt it is. */
function nameOf(command: HistoryCommand, key: RunKey | undefined): string {
  return `${command.kind} ${'taskId' in command && command.taskId !== 0 ? command.taskId : (key?.runId ?? '')}`;
}
