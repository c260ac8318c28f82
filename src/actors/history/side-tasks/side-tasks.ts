/**
 * Tasks of one shard that need a file or a stranger's server, and not the shard: they run beside it, at least once each.
 *
 *     OwnCommands ── run ─▶ SideRoom ─ turn ─▶ attempt ─┬─ done: a command of the shard's own, whose record ends the task
 *          ▲               (of the process)             └─ failed ─▶ judged like any other (failed-tasks.ts)
 *          └── after a takeover: whatever is pending still, from the beginning
 *
 * What an attempt has done and no record says is done once more, so it must bear that. One that takes longer than it may has failed, and keeps its
 * place until it ends: a folder that hangs cannot be left.
 */
import { saidError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { OwnHistoryCommand } from '../../../history/commands/history-commands.ts';
import type { TimerTask } from '../../../history/run/tasks.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import type { Clock } from '../../../ports/machine.ts';
import type { Logger } from '../../../observability/logger.ts';
import { NowAndThen } from '../../../ports/now-and-then.ts';
import { thrownByTask } from '../hand-over/task-failures.ts';
import type { SidePlace, SideRoom } from './side-room.ts';

export type SideAnswer =
  /** The command's record ends the task, or says what is next. */
  { readonly kind: 'done'; readonly command: OwnHistoryCommand } | { readonly kind: 'failed'; readonly failure: TaskFailure };

/** The answer of a task that has to wait for something else: it is tried again as often as it takes. */
export function notReady(message: string): SideAnswer {
  return { kind: 'failed', failure: { kind: 'notYet', why: 'notReady', error: saidError('NotReady', message) } };
}

type AnySideTask = ArchiveTask | LetterCheckTask | BatchStepTask;

/** Runs one kind of task for all shards of a process. */
export type SideRunner<Task extends AnySideTask> = {
  readonly room: SideRoom;
  readonly placeOf: (task: Task) => SidePlace;
  readonly attemptMsMax: number;
  /** The command of an attempt is given also when its task is over meanwhile; absent: nothing is. */
  readonly answersWhenOver?: true;
  /** What it throws is a failure. `isWanted`, now: the shard is ours, and the task pending. */
  readonly attempt: (task: Task, isWanted: () => boolean) => Promise<SideAnswer>;
};

export type ArchiveTask = Extract<TimerTask, { readonly kind: 'archiveExecution' }>;
export type LetterCheckTask = Extract<TimerTask, { readonly kind: 'letterCheck' }>;
export type BatchStepTask = Extract<TimerTask, { readonly kind: 'batchStep' }>;

/** Absent: such tasks fail, as those that this server cannot run. */
export type SideRunners = {
  readonly archiveExecution?: SideRunner<ArchiveTask>;
  readonly letterCheck?: SideRunner<LetterCheckTask>;
  readonly batchStep?: SideRunner<BatchStepTask>;
};

export type SideTasksOptions = {
  readonly runners: SideRunners;
  readonly tenure: Pick<Tenure<never>, 'active'>;
  readonly clock: Pick<Clock, 'after' | 'monoMs'>;
  readonly logger: Logger;
  readonly isPending: (taskId: number) => boolean;
};

const WARN_INTERVAL_MS = 60_000;

export class SideTasks {
  readonly #options: SideTasksOptions;
  readonly #warnings: NowAndThen;

  constructor(options: SideTasksOptions) {
    this.#options = options;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  /** `answered`: in the same tenure, and of a task that is pending still, unless its runner says otherwise; else never. */
  run(task: AnySideTask, answered: (answer: SideAnswer) => void): void {
    // A task and the runner of its kind belong together: TypeScript does not follow that through a union.
    const runner = this.#options.runners[task.kind] as SideRunner<AnySideTask> | undefined;
    if (runner === undefined)
      return answered({ kind: 'failed', failure: thrownByTask(new Error(`this server does not run ${task.kind}`)) });
    const place = runner.placeOf(task);
    runner.room.enter(place, async () => {
      if (!this.#isWanted(task)) return;
      let isAnswered = false;
      const answer = (of: SideAnswer): void => {
        const isHeard = this.#isWanted(task) || (runner.answersWhenOver === true && of.kind === 'done' && this.#options.tenure.active);
        if (!isAnswered && isHeard) answered(of);
        isAnswered = true;
      };
      const timer = this.#options.clock.after(runner.attemptMsMax, () => {
        this.#tellHanging(task, place);
        answer(tooLong(runner.attemptMsMax));
      });
      answer(await attemptOf(task, runner, () => this.#isWanted(task)));
      timer.cancel();
    });
  }

  #tellHanging({ kind, key }: AnySideTask, { destination }: SidePlace): void {
    if (!this.#warnings.now()) return;
    const told = { task: kind, destination, ...key };
    this.#options.logger.warn('an archive, callback or batch task has not finished, and occupies its place until it has', told);
  }

  #isWanted({ taskId }: AnySideTask): boolean {
    const { tenure, isPending } = this.#options;
    return tenure.active && isPending(taskId);
  }
}

function tooLong(attemptMsMax: number): SideAnswer {
  const error = saidError('TimedOut', `there was no answer within ${attemptMsMax / 1_000} s`);
  return { kind: 'failed', failure: { kind: 'failed', by: 'dependency', error } };
}

async function attemptOf(task: AnySideTask, { attempt }: SideRunner<AnySideTask>, isWanted: () => boolean): Promise<SideAnswer> {
  try {
    return await attempt(task, isWanted);
  } catch (error) {
    return { kind: 'failed', failure: thrownByTask(error) };
  }
}
