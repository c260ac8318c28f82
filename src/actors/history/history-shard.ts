/**
 * A history shard: the actor around HistoryCore.
 *
 *     router ─▶ HistoryShard ─┬─ pages of history ─▶ HistoryStore       past the mailbox
 *                             └─ all else ─▶ PartitionActor ─▶ HistoryMemory: core, shell, subscribers
 *
 * A memory is made anew at each takeover, with all that belongs to it; replay fills its store as well.
 */
import { asError, errorText } from '../../kernel/error-text.ts';
import { commandScale, mayBeginRun } from '../../history/command-table.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { CompleteWorkflowTask, HistoryCommand, HistoryRequest, ResolvedCompletion } from '../../history/commands/history-commands.ts';
import type { HistoryEffect } from '../../history/run/effects.ts';
import type { HistoryRecord } from '../../history/run/record.ts';
import type { HistoryReply } from '../../history/run/history-replies.ts';
import type { ListRunKeys } from '../../history/commands/run-keys.ts';
import { isOwnerRequest, type OwnerRequest, type ReadHistory } from '../../history/commands/owner-requests.ts';
import { unreachable } from '../../kernel/assert.ts';
import { internalError, isAskFailure, type AskFailure } from '../asks/asks.ts';
import { JournalStart } from '../../projections/checkpoints/journal-start.ts';
import { HistoryMemory, type HistoryShardOptions, journalOf, type Registry } from './history-memory.ts';
import { DatabaseError, isOutage } from '../../projections/database-port.ts';
import { EventsMissing } from './events/history-store.ts';
import { LogError } from '../../ports/log.ts';
import { PartitionActor } from '../partition/partition-actor.ts';
import type { Endpoint } from '../asks/switchboard.ts';
import { partitionReport, type PartitionReport } from '../partition/partition-report.ts';
import type { ListRebuildReport } from '../../projections/list/list-rebuild.ts';
import { runKeys } from './run-keys.ts';

export class HistoryShard implements Endpoint<HistoryRequest> {
  readonly actor: PartitionActor<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect, HistoryMemory>;
  readonly #options: HistoryShardOptions;
  readonly #journalStart = new JournalStart();

  constructor(options: HistoryShardOptions) {
    this.#options = options;
    const { checkpoints, shard } = options;
    this.actor = new PartitionActor(options, {
      partition: options.shard - 1,
      logFields: { 'shard-id': options.shard },
      create: (tenure) => new HistoryMemory(options, tenure),
      scale: commandScale,
      ...(checkpoints === undefined ? {} : { checkpoints: { restore: () => checkpoints.database.restore(journalOf(shard)) } }),
      drained: async (memory) => await memory.checkpointer?.finish(),
    });
  }

  /** Workflows whose timers and tasks wait aside, because the shard cannot decide what they need: each wants a person. */
  get runsAside(): number {
    return this.actor.memory?.core.shard.aside.size ?? 0;
  }

  report(): ShardReport {
    const { shard, clock } = this.#options;
    const { core, checkpointer, durable } = this.actor.memory ?? {};
    const hot = core?.shard.runs.size ?? 0;
    const inDatabase = core && { ...(checkpointer && { hotBytes: core.residency.hot.bytes }), cold: core.shard.runCount - hot };
    const executions = { hot, ...inDatabase };
    const listRebuild = durable?.listRebuild?.report;
    const report = partitionReport(this.actor.status(), checkpointer, clock);
    return { shard, ...report, executions, ...(listRebuild === undefined ? {} : { listRebuild }) };
  }

  get journalStartMax(): number {
    return this.#options.checkpoints === undefined ? 0 : this.#journalStart.max(this.actor.memory?.checkpointer);
  }

  submit(askId: number, request: HistoryRequest): AskFailure | undefined {
    if (isOwnerRequest(request)) return this.#request(askId, request);
    if (request.kind === 'completeWorkflowTask') return this.#completeWorkflowTask(askId, request);
    if (mayBeginRun(request)) {
      // Whether it would begin a run is for the core to say: a run that is open is signalled or used, and who asks again is answered again.
      const noRoom = this.#whyNothingBegins();
      return this.actor.submit(askId, noRoom === undefined ? request : { ...request, noRoom });
    }
    if (request.kind === 'queryWorkflow') {
      return this.actor.submit(askId, { ...request, remainingMs: request.deadlineMs - this.#options.clock.wallMs() });
    }
    return this.actor.submit(askId, request);
  }

  cancel(askId: number): void {
    if (this.actor.memory?.pageReads.leave(askId) !== true) this.actor.cancel(askId);
  }

  /** Memory must not grow by new work. undefined: it may. */
  #whyNothingBegins(): string | undefined {
    const { checkpoints, heap } = this.#options;
    if (checkpoints?.schedule.unwritten.isFull === true) return databaseBehind;
    return heap?.nearlyFull === undefined ? undefined : heapNearlyFull;
  }

  /** A registry that is behind the asker's would call unknown what its worker rightly uses. */
  #completeWorkflowTask(askId: number, request: CompleteWorkflowTask): AskFailure | undefined {
    const { view } = this.#options.registry;
    if (view.position < request.registryPosition) {
      return this.actor.notHere(`the registry is read up to ${view.position} here, and up to ${request.registryPosition} elsewhere`);
    }
    return this.actor.submit(askId, resolved(request, view));
  }

  /** A shard that is not served refuses: its memory may lack some. */
  #request(askId: number, request: OwnerRequest): AskFailure | undefined {
    const { memory } = this.actor;
    if (memory?.active !== true) return this.actor.notHere(request.kind === 'readHistory' ? noHistoryNow : notServedNow);
    switch (request.kind) {
      case 'readHistory':
        return this.#readHistory(askId, memory, request);
      case 'listRunKeys':
        return this.#answer(askId, request, this.#listRunKeys(askId, memory, request));
      case 'holdRows':
        return this.#answer(askId, request, rowsHeld(memory, request.registryPosition));
      case 'rebuildList':
        return this.#answer(askId, request, rebuildNoted(memory));
      default:
        return unreachable(request);
    }
  }

  /** undefined: the core answers it. */
  #answer(askId: number, { kind }: OwnerRequest, reply: Promise<HistoryReply | AskFailure | undefined>): undefined {
    const { logger, sink } = this.#options;
    void reply.then(
      (answer) => {
        if (answer !== undefined) void (isAskFailure(answer) ? sink.fail(askId, answer) : sink.answer(askId, answer));
      },
      (error: unknown) => {
        if (isOutage(error)) return sink.fail(askId, { kind: 'unavailable', message: error.message });
        logger.error('a shard could not look up what it was asked', { request: kind, error: asError(error) });
        sink.fail(askId, internalError(errorText(error)));
      },
    );
  }

  async #listRunKeys(askId: number, memory: HistoryMemory, request: ListRunKeys): Promise<AskFailure | undefined> {
    const page = await runKeys(memory, request, memory.turns);
    if (this.actor.memory !== memory) return this.actor.notHere(notServedNow);
    return this.actor.submit(askId, { ...request, page });
  }

  #readHistory(askId: number, memory: HistoryMemory, { key, firstEventId, lastEventId, eventsMax, bytesMax }: ReadHistory): undefined {
    const { clock, sink } = this.#options;
    const answer = (events: readonly Uint8Array[]): void => void sink.answer(askId, { kind: 'historyPage', events });
    const page = memory.store.page(key.runId, firstEventId, lastEventId, { eventsMax, bytesMax });
    if ('read' in page) {
      const { bytes } = page;
      const read = async (): Promise<void> => {
        try {
          const events = await page.read();
          const isKnown = events.length > 0 || !memory.core.has(key);
          if (isKnown || (await memory.checkpointer?.isSuperseded()) !== true) answer(events);
          else sink.fail(askId, { kind: 'unavailable', message: noHistoryNow });
        } catch (error) {
          await this.#notRead(askId, memory, key, error);
        }
      };
      memory.pageReads.add(askId, { namespaceId: key.namespaceId, bytes, read });
    } else clock.soon(() => answer(page));
  }

  async #notRead(askId: number, memory: HistoryMemory, { namespaceId, workflowId, runId }: RunKey, error: unknown): Promise<void> {
    const { logger, sink } = this.#options;
    if (await isOutOfReach(error, memory)) return sink.fail(askId, { kind: 'unavailable', message: noHistoryNow });
    const problem = asError(error);
    logger.error('a history could not be read', { namespaceId, workflowId, runId, error: problem });
    sink.fail(askId, internalError(errorText(problem)));
  }
}

const notMadeYet = 'rows of List of this shard are not made yet without what was removed, or they are not kept';
const notServedNow = 'the shard is not served here now';
const withoutDatabase = 'there is no database: rows of List are in memory, and a restart rebuilds them';
const databaseBehind =
  'too much state waits in memory for the database: no workflow is started until it is written; running workflows continue';
const heapNearlyFull =
  'the memory of this server is nearly full: no workflow is started until there is room; running workflows continue. Give it more memory, or shorten the retention of closed workflows';
const noHistoryNow = 'the history of this workflow cannot be read now';

async function rowsHeld({ flusher }: HistoryMemory, registryPosition: number): Promise<HistoryReply> {
  const held = await flusher?.heldWith(registryPosition);
  return held === undefined ? refused(notMadeYet) : { kind: 'rowsHeld', fence: held.fence };
}

async function rebuildNoted({ durable }: HistoryMemory): Promise<HistoryReply> {
  const rebuild = durable?.listRebuild;
  if (rebuild === undefined) return refused(withoutDatabase);
  return (await rebuild.ask()) === 'noted' ? { kind: 'done' } : refused(notServedNow);
}

function refused(message: string): HistoryReply {
  return { kind: 'rejected', rejection: { reason: 'failed-precondition', message } };
}

async function isOutOfReach(error: unknown, memory: HistoryMemory): Promise<boolean> {
  const isMissing = error instanceof EventsMissing || (error instanceof LogError && error.code === 'out-of-range');
  // Whoever restored behind us has trimmed the journal behind a later checkpoint.
  if (isMissing && memory.checkpointer !== undefined) {
    return await memory.checkpointer.isSuperseded().catch((problem: unknown) => isOutOfReach(problem, memory));
  }
  if (error instanceof DatabaseError) return error.recoverable || error.code === 'closed';
  return error instanceof LogError && (error.recoverable || error.code === 'denied' || error.code === 'closed');
}

function resolved(request: CompleteWorkflowTask, view: Registry['view']): ResolvedCompletion {
  const typesIn = (id: string): ReadonlyMap<string, number> => view.namespaceById(id)?.searchAttributeTypes ?? view.systemSearchAttributes;
  const { namespaceId } = request.task.key;
  let elsewhere: Map<string, ReadonlyMap<string, number>> | undefined;
  for (const command of request.commands) {
    if (command.type !== 'startChildWorkflowExecution' || command.attributes === undefined) continue;
    const childNamespaceId = command.attributes.namespaceId;
    if (childNamespaceId !== '' && childNamespaceId !== namespaceId)
      (elsewhere ??= new Map()).set(childNamespaceId, typesIn(childNamespaceId));
  }
  return { ...request, searchAttributeTypes: typesIn(namespaceId), searchAttributeTypesElsewhere: elsewhere };
}

export type ShardReport = PartitionReport & {
  /** The number of the shard, from 1. */
  readonly shard: number;
  /** Runs: `hot` in memory, where they take `hotBytes`, roughly; `cold` in the database alone. Absent: not known before it is restored. */
  readonly executions: { readonly hot: number; readonly hotBytes?: number; readonly cold?: number };
  readonly listRebuild?: ListRebuildReport;
};
