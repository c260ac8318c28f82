/** Takes the message of an outbox task to the shard of its target: the answer ends the task. */
import { saidError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { DecidedRequest, Deliver, OutboxMessage, OutboxOutcome } from '../../../history/commands.ts';
import { outboxOutcome, outboxTooLarge } from '../../../history/outbox/outbox.ts';
import type { HistoryReply } from '../../../history/replies.ts';
import { type DispatchTask, isDispatch, isSide, type SideTask, type TransferTask } from '../../../history/tasks.ts';
import { historyShardOf } from '../../../kernel/shard.ts';
import { type AskFailure, isAskFailure } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';
import type { Tries } from '../../asks/tries.ts';
import type { Tenure } from '../../partition/tenure.ts';
import type { Clock } from '../../ports.ts';
import { rejectedTask, unansweredTask } from '../hand-over/task-failures.ts';
import { type ClusterLayout, DELIVERY_TIMEOUT_MS, type TaskAttempts, type TransferShard } from './transfer-shard.ts';

export type OutboxDeliveryOptions = {
  readonly shard: Pick<TransferShard, 'pendingTask' | 'retentionMsOf' | 'submit'>;
  readonly tenure: Pick<Tenure<never>, 'active'>;
  readonly router: Pick<Asker, 'askHistory'>;
  readonly layout: ClusterLayout;
  readonly clock: Clock;
};

type OutboxTask = Exclude<TransferTask, DispatchTask | SideTask>;

export class OutboxDelivery {
  readonly #options: OutboxDeliveryOptions;
  readonly #attempts: TaskAttempts;

  constructor(options: OutboxDeliveryOptions, attempts: TaskAttempts) {
    this.#options = options;
    this.#attempts = attempts;
  }

  /** The message of a task is built. */
  deliver({ taskId, message, tries }: Deliver): void {
    const task = this.#options.shard.pendingTask(taskId);
    if (task === undefined || isDispatch(task) || isSide(task) || !this.#attempts.isStillOurs(task)) return;
    try {
      this.#deliver(task, message, tries);
    } catch (error) {
      this.#attempts.threw(task, tries, error);
    }
  }

  #deliver(task: OutboxTask, outgoing: OutboxMessage | undefined, tries: Tries): void {
    const { router, layout, shard, tenure, clock } = this.#options;
    if (outgoing === undefined) return this.#attempts.over(task);
    if (!this.#attempts.hasNamespace(task, outgoing.targetNamespaceId, tries)) return;
    const target = historyShardOf(outgoing.targetNamespaceId, outgoing.targetWorkflowId, layout.historyShards);
    router.askHistory(target, this.#withRetention(outgoing.command), clock.monoMs() + DELIVERY_TIMEOUT_MS, (reply) => {
      if (!tenure.active) return;
      try {
        const outcome = outcomeOf(task, reply);
        if (outcome === undefined) this.#attempts.fails(task, tries, whyNotDelivered(reply));
        else shard.submit({ kind: 'finishOutboxTask', taskId: task.taskId, outcome });
      } catch (error) {
        this.#attempts.threw(task, tries, error);
      }
    });
  }

  /** A child is kept as long as its namespace says, which the registry knows and the parent's shard need not. */
  #withRetention(command: DecidedRequest): DecidedRequest {
    if (command.kind !== 'startWorkflow') return command;
    const retentionMs = this.#options.shard.retentionMsOf(command.key.namespaceId);
    return retentionMs === undefined ? command : { ...command, retentionMs };
  }
}

function outcomeOf(task: OutboxTask, reply: HistoryReply | AskFailure): OutboxOutcome | undefined {
  if (reply.kind === 'tooLarge') return outboxTooLarge(task.kind);
  return isAskFailure(reply) ? undefined : outboxOutcome(task.kind, reply);
}

function whyNotDelivered(reply: HistoryReply | AskFailure): TaskFailure {
  if (isAskFailure(reply)) return unansweredTask(reply);
  return reply.kind === 'rejected' ? rejectedTask(reply.rejection) : unexpected(reply);
}

function unexpected({ kind }: { readonly kind: string }): TaskFailure {
  return { kind: 'failed', by: 'bug', error: saidError('Internal', `unexpected answer ${kind}`) };
}
