/**
 * Completion callbacks of one shard, on their way out: what takes I/O of unknown length is no business of the mailbox.
 *
 *     TransferQueue ─ runCallback ─▶ core ─ deliverCallback ─▶ CallbackTasks ─▶ CallbackDeliveries ─┬─ delivered, failed ─▶ callbackAnswered ─▶ core
 *                                                                                                  └─ refused, unread ──▶ a failure of the task
 *
 * At least once: after a takeover what was not answered is delivered again.
 */
import { saidError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { DeliverCallback, OwnCallbackCommand } from '../../../history/commands/callback-commands.ts';
import type { InvokeCallbackTask } from '../../../history/run/tasks.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import { unreachable } from '../../../kernel/assert.ts';
import type { Tries } from '../../asks/tries.ts';
import type { CallbackDeliveries, CallbackOutcome } from '../../../ports/callback-deliveries.ts';
import type { Random } from '../../../ports/machine.ts';
import { EventsMissing, type HistoryStore } from '../events/history-store.ts';
import { thrownByTask } from '../hand-over/task-failures.ts';

export type CallbackOptions = {
  readonly deliveries: CallbackDeliveries;
  /** The first pause between two attempts, and the longest: as of now. */
  readonly retry: () => { readonly initialIntervalMs: number; readonly maxIntervalMs: number };
};

export type CallbackTasksOptions = CallbackOptions & {
  readonly store: Pick<HistoryStore, 'page'>;
  readonly submit: (command: OwnCallbackCommand) => void;
  readonly failed: (taskId: number, tries: Tries, failure: TaskFailure) => void;
  readonly random: Random;
};

/** Many wait for a destination that is slow, and those that find no room there are not asked of the core. */
export function whyNoCallback(
  deliveries: CallbackDeliveries | undefined,
  { key, destination }: InvokeCallbackTask,
): TaskFailure | undefined {
  if (deliveries === undefined)
    return { kind: 'notYet', why: 'away', error: saidError('Unavailable', 'completion callbacks are not delivered here') };
  if (!deliveries.isFull(key.namespaceId, destination)) return undefined;
  return { kind: 'notYet', why: 'rateLimited', error: saidError('ResourceExhausted', `too many callbacks wait for ${destination}`) };
}

const oneEvent = { eventsMax: 1, bytesMax: 1 };

export class CallbackTasks {
  readonly #options: CallbackTasksOptions;
  readonly #underWay = new Map<number, () => void>();

  constructor(options: CallbackTasksOptions) {
    this.#options = options;
  }

  deliver(effect: DeliverCallback): void {
    const { taskId, key, namespace, callback, attachedBy, startTimeMs, closeEventId, update } = effect;
    if (this.#underWay.has(taskId)) return;
    const closeEvent = (): Promise<Uint8Array> => this.#event(key.runId, closeEventId);
    const ofUpdate = update === undefined ? {} : { update };
    const about = { ...key, namespace, callback, attachedBy, startTimeMs, closeEvent, ...ofUpdate };
    const giveUp = this.#options.deliveries.deliver(about, (outcome) => {
      this.#underWay.delete(taskId);
      this.#answered(effect, outcome);
    });
    this.#underWay.set(taskId, giveUp);
  }

  /** Whoever owns the shard now delivers them. */
  close(): void {
    for (const giveUp of this.#underWay.values()) giveUp();
    this.#underWay.clear();
  }

  #answered({ taskId, attempt, tries }: DeliverCallback, outcome: CallbackOutcome): void {
    const { submit, failed } = this.#options;
    // Of its letter people read how often it was tried in all.
    const all = { ...tries, attempt: Math.max(attempt, tries.attempt) };
    switch (outcome.kind) {
      case 'delivered':
        return submit({ kind: 'callbackAnswered', taskId, outcome });
      case 'failed': {
        const again = { kind: 'failed', message: outcome.message, pauseMs: this.#pauseMs(attempt) } as const;
        return submit({ kind: 'callbackAnswered', taskId, outcome: again });
      }
      case 'refused':
        return failed(taskId, all, { kind: 'permanent', error: saidError(outcome.errorType, outcome.message) });
      case 'full':
        return failed(taskId, tries, { kind: 'notYet', why: 'rateLimited', error: saidError('ResourceExhausted', outcome.message) });
      case 'unread':
        return failed(taskId, all, thrownByTask(outcome.error));
      default:
        return unreachable(outcome);
    }
  }

  #pauseMs(attempt: number): number {
    const { retry, random } = this.#options;
    const { initialIntervalMs, maxIntervalMs } = retry();
    return Math.ceil(backOffMs(attempt, initialIntervalMs, maxIntervalMs) * (0.8 + 0.2 * random.fraction()));
  }

  async #event(runId: string, eventId: number): Promise<Uint8Array> {
    const page = this.#options.store.page(runId, eventId, eventId, oneEvent);
    const [event] = 'read' in page ? await page.read() : page;
    if (event === undefined) throw new EventsMissing(runId, eventId);
    return event;
  }
}
