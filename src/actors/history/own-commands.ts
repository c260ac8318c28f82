/**
 * What a history shard commands itself: nobody waits for the answer, and none of it is ever dropped.
 *
 *     alarm ─────────────────▶ fireTimer ────────────┐
 *     another shard's answer ─▶ finishOutboxTask ────┤
 *     a second later ────────▶ flushFinishedTasks ───┼─▶ decided
 *                                    ▲               │
 *                                  pause ◀───────────┴─ cannot be decided ── the fifth time ─▶ putAside, and the shard goes on
 *
 * One whose workflow is not in memory waits until it is loaded; the timers behind it fire meanwhile. When it cannot be loaded it is tried again
 * after a pause, for ever: that is the database's trouble, and says nothing about the workflow.
 *
 * Put aside is the run that the command is about: a record takes its timers and tasks out of the queues
 * (history/execution/put-aside.ts). What is about no run is tried again for ever, at the longest pause.
 */
import type { HistoryCommand, RunKey, StartActivityTask, StartWorkflowTask } from '../../history/commands.ts';
import type { HistoryCore } from '../../history/history-core.ts';
import type { AskFailure } from '../asks/asks.ts';
import { FailedAttempts } from './failed-attempts.ts';
import type { Clock, Random } from '../ports.ts';
import type { Tenure } from '../partition/tenure.ts';
import { FAILURES_MAX } from '../asks/tries.ts';
import { WallAlarm } from '../wall-alarm.ts';

export type OwnCommandsOptions = {
  readonly core: HistoryCore;
  readonly tenure: Tenure<HistoryCommand>;
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
  readonly #random: Random;
  readonly #attempts: FailedAttempts;
  readonly #loads: FailedAttempts;
  readonly #alarm: WallAlarm;
  /** A flush is to come, or waits to be decided. */
  #flushing = false;

  constructor({ core, tenure, clock, random }: OwnCommandsOptions) {
    this.#core = core;
    this.#tenure = tenure;
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

  putAside(key: RunKey, failedCommand: string, taskId: number, reason: string): void {
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
    this.submit({ kind: 'fireTimer', taskId: due.taskId, jitter: this.#random.fraction() });
  }

  #flushLater(): void {
    this.#flushing = true;
    this.#tenure.after(FLUSH_DELAY_MS, () => {
      this.#flushing = this.#core.hasFinishedTasks;
      if (this.#flushing) this.submit({ kind: 'flushFinishedTasks' });
    });
  }

  // ── What cannot be decided ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tried again after a pause, and in the end put aside: one workflow must not stop the shard. */
  undecided(command: HistoryCommand, reason: string): void {
    const key = command.kind === 'putAside' ? undefined : this.#core.keyOf(command);
    const taskId = 'taskId' in command ? command.taskId : 0;
    const pauseMs = this.#attempts.pauseMs(nameOf(command, key), key === undefined ? Infinity : FAILURES_MAX);
    // A timer's next attempt is made by the alarm, and those that are due meanwhile are not kept waiting.
    if (command.kind === 'fireTimer') this.#postpone(taskId, pauseMs ?? PUT_ASIDE_GRACE_MS);
    else if (pauseMs !== undefined) this.#tenure.after(pauseMs, () => this.submit(command));
    if (pauseMs === undefined && key !== undefined) this.putAside(key, command.kind, taskId, reason);
  }

  /** Matching tries a start again and again, and every poll that it tries with waits for nothing. */
  startUndecided(command: StartWorkflowTask | StartActivityTask, reason: string): void {
    const key = this.#core.keyOf(command);
    const name = `${command.kind} ${key?.runId} ${command.scheduledEventId}`;
    if (key !== undefined && this.#attempts.pauseMs(name) === undefined) this.putAside(key, command.kind, 0, reason);
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
