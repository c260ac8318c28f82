/**
 * When the next attempt at a task is made.
 *
 *     met nobody   retry   a growing pause of seconds, longer where thousands wait; tasks for workers may wait elsewhere meanwhile
 *     has failed   pause   as long as its attempts say, beside those that wait for room
 */
import { isDispatch, type TransferTask } from '../../../history/run/tasks.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import { failedOnceMore, nextTry, type Tries } from '../../asks/tries.ts';
import { NowAndThen } from '../../../ports/now-and-then.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import type { ClockAndLogger, Random } from '../../../ports/machine.ts';
import type { FailedTasks } from '../hand-over/failed-tasks.ts';
import type { TransferShard } from './transfer-shard.ts';

export type TaskRetriesOptions = ClockAndLogger & {
  readonly shard: Pick<TransferShard, 'room'>;
  readonly failed: Pick<FailedTasks, 'forget'>;
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly random: Random;
};

const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;
/** However many wait, no more than 1,000 a second are tried again: a full backlog may hold up hundreds of thousands. */
const RETRY_DELAY_MS_PER_TASK = 1;
/** The attempt from which on a failing delivery is worth a warning. One warning speaks for all tasks of the shard that fail at the time. */
const WARN_ATTEMPT = 5;
const WARN_INTERVAL_MS = 60_000;

export class TaskRetries {
  readonly #options: TaskRetriesOptions;
  readonly #run: (task: TransferTask, tries: Tries) => void;
  #waiting = 0;
  readonly #warnings: NowAndThen;

  constructor(options: TaskRetriesOptions, run: (task: TransferTask, tries: Tries) => void) {
    this.#options = options;
    this.#run = run;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  /** It has failed, as a person will see should it become a letter. */
  pause(task: TransferTask, tries: Tries, pauseMs: number): void {
    const { shard, failed, random, tenure } = this.#options;
    if (isDispatch(task) && shard.room?.fails(task.taskId) === false) return failed.forget(task.taskId);
    tenure.after(pauseMs * (0.8 + 0.4 * random.fraction()), () => this.#run(task, nextTry(failedOnceMore(tries))));
  }

  retry(task: TransferTask, tries: Tries, reason: string): void {
    const { shard, random, tenure } = this.#options;
    if (!tenure.active) return;
    const { attempt } = tries;
    const room = isDispatch(task) && tries.failures === 0 ? shard.room : undefined;
    const othersWait = room?.othersWait === true;
    if (attempt >= WARN_ATTEMPT || othersWait) this.#warn(task, attempt, reason);
    if (room?.keeps(task.taskId) === false) return;
    const waitingMs = this.#waiting * RETRY_DELAY_MS_PER_TASK;
    const backedOffMs = backOffMs(attempt, RETRY_DELAY_MS, Math.max(RETRY_DELAY_MS_MAX, waitingMs));
    const delayMs = (othersWait ? Math.max(backedOffMs, waitingMs) : backedOffMs) * (0.8 + 0.4 * random.fraction());
    this.#waiting += 1;
    tenure.after(delayMs, () => {
      this.#waiting -= 1;
      if (room?.hasTurn(task.taskId) !== false) this.#run(task, nextTry(tries));
    });
  }

  #warn(task: TransferTask, attempt: number, reason: string): void {
    if (!this.#warnings.now()) return;
    const { kind, taskId, key } = task;
    const told = { task: kind, taskId, ...key, attempt, reason, waiting: this.#waiting + 1 };
    this.#options.logger.warn('a task cannot be delivered', told);
  }
}
