/** The shell around HistoryCore: what leaves a history shard once it is committed, and what its memory does by itself. */
import { unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { HistoryCommand } from '../../history/commands.ts';
import type { HistoryEffect } from '../../history/effects.ts';
import type { HistoryRecord } from '../../history/record.ts';
import type { HistoryReply, StartedWorkflowTask } from '../../history/replies.ts';
import { NOBODY } from '../asks/asks.ts';
import type { Checkpointer } from '../checkpoint/checkpointer.ts';
import type { DurableShard } from './durable/durable-shard.ts';
import type { TaskListing } from './durable/task-listing.ts';
import { type HistoryStore, PAGE_EVENTS_MAX } from './events/history-store.ts';
import type { TaskHandOver } from './hand-over/hand-over.ts';
import type { OwnCommands } from './own-commands.ts';
import type { PageReads } from './events/page-reads.ts';
import type { PartitionShell } from '../partition/partition-core.ts';
import { thrownByTask } from './hand-over/task-failures.ts';
import type { QueryDispatch } from './query-dispatch.ts';
import type { ReplySink } from '../asks/switchboard.ts';
import type { CallbackTasks } from './side-tasks/callback-tasks.ts';
import type { SpeculativeTasks } from './speculative-tasks.ts';
import type { TransferQueue } from './transfer/transfer-queue.ts';
import type { VisibilityFlusher } from './visibility/visibility-flusher.ts';
import type { VisibilityRows } from './visibility/visibility-rows.ts';

export type HistoryShellParts = {
  readonly store: HistoryStore;
  readonly pageReads: PageReads;
  readonly own: OwnCommands;
  readonly transfers: TransferQueue;
  /** undefined: nobody delivers them, and none comes here. */
  readonly callbacks: CallbackTasks | undefined;
  readonly handOvers: readonly TaskHandOver[];
  readonly queries: QueryDispatch;
  readonly speculative: SpeculativeTasks;
  /** undefined: nobody takes rows. */
  readonly visibility: VisibilityRows | undefined;
  readonly flusher: VisibilityFlusher | undefined;
  /** undefined: there is no database. */
  readonly durable: DurableShard | undefined;
  readonly listing: TaskListing;
  readonly sink: ReplySink<HistoryReply>;
};

/** Of its history, a started workflow task takes the first page along if it is small: a worker's turn then needs no further ask. */
const attachedPage = { eventsMax: PAGE_EVENTS_MAX, bytesMax: 64 * 1024 };

export class HistoryShell implements PartitionShell<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect> {
  readonly #parts: HistoryShellParts;
  readonly #own: OwnCommands;
  readonly #visibility: VisibilityRows | undefined;
  readonly #checkpointer: Checkpointer | undefined;

  constructor(parts: HistoryShellParts) {
    this.#parts = parts;
    this.#own = parts.own;
    this.#visibility = parts.visibility;
    this.#checkpointer = parts.durable?.checkpointer;
  }

  activated(): void {
    this.#parts.transfers.runPending();
    for (const handOver of this.#parts.handOvers) handOver.activated();
    this.#own.armTimer();
    this.#parts.flusher?.activated();
    this.#parts.durable?.activated();
  }

  accepted(command: HistoryCommand | undefined, record: HistoryRecord | undefined): void {
    if (record !== undefined) {
      this.#visibility?.accepted(record);
      this.#checkpointer?.accepted();
    }
    this.#own.accepted(command, record !== undefined);
    if (command?.kind === 'fireTimer') this.#parts.durable?.timerFired();
    if (command?.kind === 'noteAtMatching') this.#parts.durable?.noted(command.taskIds);
  }

  undecided(askId: number, command: HistoryCommand, error: unknown): void {
    if (command.kind === 'finishQueryDispatch') this.#parts.sink.fail(command.query.askId, { kind: 'internal', message: errorText(error) });
    else if (command.kind === 'runOutboxTask' || command.kind === 'writeRow') this.#parts.transfers.undecided(command, error);
    // A row of List is not worth a workflow that is put aside: it is told of once more when it changes.
    else if (command.kind === 'rowRefused') return;
    else if (command.kind === 'runCallback') this.#parts.transfers.callbackFailed(command.taskId, command.tries, thrownByTask(error));
    else if (command.kind === 'finishOutboxTask') this.#parts.transfers.unfinished(command.taskId, error);
    else if (askId === NOBODY) this.#own.undecided(command, error);
    else if (command.kind === 'startWorkflowTask' || command.kind === 'startActivityTask') this.#own.startUndecided(command, error);
  }

  /** One of the shard's own, whose workflow is out of reach. */
  notLoaded(command: HistoryCommand, reason: string): void {
    if (command.kind === 'finishQueryDispatch') this.#parts.sink.fail(command.query.askId, { kind: 'unavailable', message: reason });
    else if (command.kind === 'runOutboxTask' || command.kind === 'writeRow') this.#parts.transfers.notLoaded(command, reason);
    else this.#own.notLoaded(command);
  }

  deactivated(): void {
    this.#parts.pageReads.clear();
    this.#own.close();
    this.#parts.callbacks?.close();
    this.#parts.speculative.close();
    this.#parts.durable?.deactivated();
    this.#parts.flusher?.close();
  }

  act(effect: HistoryEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'directQuery':
        return this.#parts.queries.send(effect);
      case 'deliver':
        return this.#parts.transfers.deliver(effect);
      case 'rowToWrite':
        return this.#parts.transfers.writeRow(effect);
      case 'taskRowsToList':
        return this.#parts.listing.list(effect);
      case 'deliverCallback':
        return this.#parts.callbacks?.deliver(effect);
      case 'speculativeOffered':
      case 'speculativeStarted':
        return this.#parts.speculative.act(effect);
      default:
        return unreachable(effect);
    }
  }

  answer(askId: number, reply: HistoryReply): void {
    this.#parts.sink.answer(askId, this.#withHistory(reply));
  }

  #withHistory(reply: HistoryReply): HistoryReply {
    if (reply.kind === 'workflowTask') return this.#withFirstPage(reply);
    if (reply.kind !== 'workflowTaskCompleted' && reply.kind !== 'started') return reply;
    return reply.workflowTask === undefined ? reply : { ...reply, workflowTask: this.#withFirstPage(reply.workflowTask) };
  }

  #withFirstPage(task: StartedWorkflowTask): StartedWorkflowTask {
    const { key, historyFirstEventId, historyLastEventId } = task;
    if (historyFirstEventId > historyLastEventId) return task;
    const firstPage = this.#parts.store.smallPage(key.runId, historyFirstEventId, historyLastEventId, attachedPage);
    return firstPage === undefined ? task : { ...task, firstPage };
  }
}
