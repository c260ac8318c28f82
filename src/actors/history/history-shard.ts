/**
 * A history shard: the actor around HistoryCore.
 *
 *     router ─▶ HistoryShard ─┬─ pages of history ─▶ HistoryStore       past the mailbox
 *                             └─ all else ─▶ PartitionActor ─▶ HistoryMemory: core, shell, subscribers
 *
 * A memory is made anew at each takeover, with all that belongs to it; replay fills its store as well.
 */
import { asError, errorText } from '../../kernel/error-text.ts';
import { commandNamespace } from '../../history/command-namespace.ts';
import { commandBytes, finishesWork } from '../../history/command-bytes.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { CompleteWorkflowTask, HistoryCommand, HistoryRequest, ReadHistory, ResolvedCompletion } from '../../history/commands.ts';
import type { HistoryEffect } from '../../history/effects.ts';
import type { HistoryRecord } from '../../history/record.ts';
import type { HistoryReply } from '../../history/replies.ts';
import { type AskFailure, internalError } from '../asks/asks.ts';
import { JournalStart } from '../checkpoint/journal-start.ts';
import { HistoryMemory, type HistoryShardOptions, journalOf, type Registry } from './history-memory.ts';
import { DatabaseError } from '../database.ts';
import { EventsMissing } from './events/history-store.ts';
import { LogError } from '../log.ts';
import { PartitionActor } from '../partition/partition-actor.ts';
import type { Endpoint } from '../asks/switchboard.ts';
import { runsOfNamespaces } from './runs-of-namespaces.ts';
import { type RebuildAnswer, shardReport, type ShardReport } from './shard-report.ts';

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
      scale: { bytesOf: commandBytes, namespaceOf: commandNamespace, finishesWork },
      ...(checkpoints === undefined ? {} : { checkpoints: { restore: () => checkpoints.database.restore(journalOf(shard)) } }),
      drained: async (memory) => await memory.checkpointer?.finish(),
    });
  }

  /** Workflows whose timers and tasks wait aside, because the shard cannot decide what they need: each wants a person. */
  get runsAside(): number {
    return this.actor.memory?.core.runsAside ?? 0;
  }

  report(): ShardReport {
    const { shard, clock } = this.#options;
    return shardReport(shard, this.actor.status(), this.actor.memory, clock);
  }

  /** The rows of List are built again from the runs, which takes its time: `report` tells how far it is. Never rejects. */
  async rebuildList(): Promise<RebuildAnswer> {
    const { shard } = this.#options;
    const { memory } = this.actor;
    if (memory?.active !== true) return { shard, refused: notServedNow };
    const rebuild = memory.durable?.listRebuild;
    if (rebuild === undefined) return { shard, refused: withoutDatabase };
    const asked = rebuild.ask().then(
      (outcome) => (outcome === 'noted' ? { shard } : { shard, refused: notServedNow }),
      (error: unknown) => ({ shard, refused: errorText(error) }),
    );
    const late = new Promise<RebuildAnswer>((resolve) => {
      const timer = this.#options.clock.after(REBUILD_ANSWER_MS, () => resolve({ shard, refused: noAnswerYet }));
      void asked.then(() => timer.cancel());
    });
    return await Promise.race([asked, late]);
  }

  /** All runs of some namespaces, some at a time. Throws DatabaseError, also where the shard is not served. */
  runsOf(isWanted: (namespaceId: string) => boolean): AsyncIterable<readonly RunKey[]> {
    return runsOfNamespaces(this.actor.memory, isWanted, this.#options.clock);
  }

  get journalStartMax(): number {
    return this.#options.checkpoints === undefined ? 0 : this.#journalStart.max(this.actor.memory?.checkpointer);
  }

  submit(askId: number, request: HistoryRequest): AskFailure | undefined {
    if (request.kind === 'readHistory') return this.#readHistory(askId, request);
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
      const message = `the registry is read up to ${view.position} here, and up to ${request.registryPosition} elsewhere`;
      return this.actor.notHere(message);
    }
    return this.actor.submit(askId, resolved(request, view));
  }

  /** Committed events need no barrier. A shard that is not served refuses: its memory may lack some. */
  #readHistory(askId: number, { key, firstEventId, lastEventId, eventsMax, bytesMax }: ReadHistory): AskFailure | undefined {
    const { memory } = this.actor;
    if (memory?.active !== true) return this.actor.notHere(noHistoryNow);
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
    return undefined;
  }

  async #notRead(askId: number, memory: HistoryMemory, { namespaceId, workflowId, runId }: RunKey, error: unknown): Promise<void> {
    const { logger, sink } = this.#options;
    if (await isOutOfReach(error, memory)) return sink.fail(askId, { kind: 'unavailable', message: noHistoryNow });
    const problem = asError(error);
    logger.error('a history could not be read', { namespaceId, workflowId, runId, error: problem });
    sink.fail(askId, internalError(errorText(problem)));
  }
}

/** Whoever asks waits for ten seconds. */
const REBUILD_ANSWER_MS = 5_000;
const noAnswerYet = 'the database has not answered for 5 s: it may begin yet, when it does';
const notServedNow = 'the shard is not served here now';
const withoutDatabase = 'there is no database: rows of List are in memory, and a restart builds them';
const databaseBehind =
  'the database has taken no state for so long that memory must not grow: no workflow is started until it does; those that run go on';
const heapNearlyFull =
  'the memory of this server is nearly full: no workflow is started until there is room; those that run go on. Give it more memory, or let closed workflows go sooner';
const noHistoryNow = 'the history of this workflow cannot be read now';

async function isOutOfReach(error: unknown, memory: HistoryMemory): Promise<boolean> {
  const isMissing = error instanceof EventsMissing || (error instanceof LogError && error.code === 'out-of-range');
  // Whoever restored behind us has trimmed the journal behind a later checkpoint.
  if (isMissing && memory.checkpointer !== undefined) {
    return await memory.checkpointer.isSuperseded().catch((problem: unknown) => isOutOfReach(problem, memory));
  }
  if (error instanceof DatabaseError) return error.recoverable || error.code === 'closed';
  return error instanceof LogError && (error.recoverable || error.code === 'denied' || error.code === 'closed');
}

type BeginsRun = Extract<HistoryRequest, { readonly kind: (typeof beginsRun)[number] }>;

const beginsRun = [
  'startWorkflow',
  'signalWithStartWorkflow',
  'startAndUpdate',
  'resetWorkflow',
  'prepareReset',
  'createSchedule',
  'startBatch',
] as const;
const kindsThatBeginRuns: ReadonlySet<HistoryRequest['kind']> = new Set(beginsRun);

function mayBeginRun(request: HistoryRequest): request is BeginsRun {
  return kindsThatBeginRuns.has(request.kind);
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
