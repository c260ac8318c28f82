/** A server behind the frontend that answers what a test says: for what only the edge decides. */
import { randomUUID } from 'node:crypto';
import { LoopTurns } from '../../src/ports/loop-turns.ts';
import { systemClock } from '../../src/ports/system-ports.ts';
import type { AskContext, AskFailure } from '../../src/actors/asks/asks.ts';
import type { Asker } from '../../src/actors/asks/router.ts';
import type { KnownDeadLetterQueue } from '../../src/cluster/cluster-records.ts';
import type { ClusterSnapshot, Namespace } from '../../src/cluster/cluster-state.ts';
import type { DeadLetterReply, DeadLetterRequest } from '../../src/deadletters/letter-commands.ts';
import type { FrontendPorts } from '../../src/grpc/ports.ts';
import type { HistoryRequest } from '../../src/history/commands/history-commands.ts';
import { isOwnerRequest, type ReadHistory, type OwnerRequest } from '../../src/history/commands/owner-requests.ts';
import { uuidAt } from '../../src/kernel/uuid.ts';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import type { HistoryPage, HistoryReply } from '../../src/history/run/history-replies.ts';
import type { MatchingRequest } from '../../src/matching/matching-commands.ts';
import type { MatchingReply } from '../../src/matching/matching-replies.ts';
import type { StartedTask } from '../../src/actors/asks/router.ts';
import type { ClusterCommand, ClusterReply } from '../../src/cluster/cluster-commands.ts';
import type { VisibilityRow } from '../../src/projections/visibility/row.ts';
import { counted, listed } from '../support/condition-oracle.ts';
import { WorkerRegistry } from '../../src/workers/worker-registry.ts';
import { silentLogger } from '../../src/observability/logger.ts';

/** 'never': the ask stays open until it is cancelled. */
export type Answers = {
  history: (command: Exclude<HistoryRequest, OwnerRequest>) => HistoryReply | AskFailure | 'never';
  page: (request: ReadHistory) => HistoryPage | AskFailure;
  read: (shard: number, request: Exclude<OwnerRequest, ReadHistory>) => HistoryReply | AskFailure;
  matching: (request: MatchingRequest) => MatchingReply<StartedTask> | AskFailure | 'never';
  cluster: (command: ClusterCommand) => ClusterReply | AskFailure | 'never';
  deadLetters: (queue: number, request: DeadLetterRequest) => DeadLetterReply | AskFailure | 'never';
};

export class StubServer {
  readonly answers: Answers = {
    history: () => ({ kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'workflow not found for ID: w' } }),
    page: ({ firstEventId, lastEventId, eventsMax }) => ({
      kind: 'historyPage',
      events: this.events.slice(firstEventId - 1, Math.min(lastEventId, firstEventId - 1 + eventsMax)),
    }),
    read: () => ({ kind: 'done' }),
    matching: () => ({ kind: 'emptyPoll' }),
    cluster: () => ({ kind: 'done' }),
    deadLetters: (queue) => ({ kind: 'unavailable', message: `dead letter queue ${queue} has no owner` }),
  };
  /** Of what shards were asked. */
  readonly contexts: AskContext[] = [];
  readonly historyCommands: Exclude<HistoryRequest, OwnerRequest>[] = [];
  readonly matchingRequests: MatchingRequest[] = [];
  readonly clusterCommands: ClusterCommand[] = [];
  readonly cancelled: number[] = [];
  readonly namespaces: Namespace[] = [namespace('default'), namespace('other')];
  events: readonly Uint8Array[] = [];
  readonly deadLetterQueues: KnownDeadLetterQueue[] = [];
  /** What List and Count find. */
  rows: readonly VisibilityRow[] = [];
  readonly ports: FrontendPorts;
  #lastAskId = 0;
  readonly #open = new Set<number>();

  constructor(overrides: Partial<FrontendPorts> = {}) {
    const asker: Asker = {
      askHistory: (shard, command, context, onReply) => {
        this.contexts.push(context);
        if (command.kind === 'readHistory') return this.#answer(() => this.answers.page(command), onReply);
        if (isOwnerRequest(command)) return this.#answer(() => this.answers.read(shard, command), onReply);
        this.historyCommands.push(command);
        return this.#answer(() => this.answers.history(command), onReply);
      },
      askMatching: (_partition, request, _context, onReply) => {
        this.matchingRequests.push(request);
        return this.#answer(() => this.answers.matching(request), onReply);
      },
      askCluster: (command, _context, onReply) => {
        this.clusterCommands.push(command);
        return this.#answer(() => this.answers.cluster(command), onReply);
      },
      askDeadLetters: (queue, request, _context, onReply) => this.#answer(() => this.answers.deadLetters(queue, request), onReply),
      cancel: (askId) => {
        if (this.#open.delete(askId)) this.cancelled.push(askId);
      },
    };
    const cluster: ClusterSnapshot = {
      position: 7,
      namespaceByName: (name) => this.namespaces.find((each) => each.name === name),
      namespaceById: (id) => this.namespaces.find((each) => each.id === id),
      namespaces: () => this.namespaces,
      deletions: new Map(),
      registeredNameOf: (id) => this.namespaces.find((each) => each.id === id)?.registeredName,
      systemSearchAttributes: new Map([
        ['WorkflowId', 2],
        ['BuildIds', 7],
      ]),
      clusterSearchAttributes: new Map(),
      deadLetterQueues: this.deadLetterQueues,
      slotsToClear: () => new Map(),
      identity: undefined,
    };
    const tokenKey = Buffer.alloc(32, 7);
    this.ports = {
      clock: { wallMs: Date.now, monoMs: () => performance.now() },
      turns: new LoopTurns(systemClock),
      newId: randomUUID,
      newRunId: () => uuidAt(Date.now(), randomUUID()),
      random: () => 0.5,
      logger: silentLogger,
      limits: defaultHistoryLimits,
      server: {
        version: '1.32.0',
        clusterId: 'cluster-id',
        clusterName: 'active',
        historyShards: 4,
        hostName: 'here:7233',
        persistenceStore: 'embedded',
        visibilityStore: 'memory',
      },
      state: () => ({ memory: { stateBytes: 0, limits: { historyCacheBytesMax: 0 } }, shards: [], matching: [], purges: [] }),
      condition: { unserved: () => [], concerns: () => [], runsPutAside: () => 0, watch: () => () => {} },
      asker,
      visibility: {
        list: async (query) => ({ rows: listed(this.rows, query) }),
        count: async (query) => counted(this.rows, query),
        giveUp: async () => {},
      },
      historyShardOf: () => 1,
      matchingPartitionOf: () => 0,
      taskQueuePartitions: 1,
      cluster,
      deadLetterTopic: (category, sourceCluster) => `dlq.perdure.${category}.${sourceCluster}`,
      whyNoQueue: () => undefined,
      callbacks: {
        limitsOf: () => ({ allowedAddresses: [], callbacksMax: 32, updateCallbacksMax: 32, urlBytesMax: 1_000, headerBytesMax: 8_192 }),
        isBlocked: () => false,
      },
      limitsOfNamespace: () => ({
        rates: { execution: { perSecond: 0, burst: 1 }, visibility: { perSecond: 0, burst: 1 } },
        waitingMax: 1_200,
      }),
      workers: {
        registry: new WorkerRegistry(() => ({ ttlMs: 300_000, workersMax: 1_000, bytesMax: 2 ** 20 })),
        isEnabled: () => true,
        waitForPolls: () => false,
      },
      batchSettings: () => ({ perSecondMax: 50, concurrencyMax: 5, jobsMax: 1, executionsMax: 1_000 }),
      deletionSettings: () => ({ graceMs: 15_000, deleteDelayMs: 0 }),
      adminSettings: () => ({ listsHistoryTasks: true }),
      taskToAdd: () => {
        throw new Error('the stub adds no tasks');
      },
      openDeadLetterQueue: () => true,
      letterSettings: () => ({ mergeRps: 100, mergeConcurrency: 8, mergeTaskTimeoutMs: 30_000, requiresReason: false }),
      tokenKey: () => tokenKey,
      ...overrides,
    };
  }

  get openAsks(): number {
    return this.#open.size;
  }

  /** As the router: never before the ask has returned, and not after a cancel. */
  #answer(decide: () => object | 'never', onReply: (answer: never) => void): number {
    this.#lastAskId += 1;
    const askId = this.#lastAskId;
    this.#open.add(askId);
    const answer = decide();
    if (answer === 'never') return askId;
    queueMicrotask(() => {
      if (this.#open.delete(askId)) onReply(answer as never);
    });
    return askId;
  }
}

export function namespace(name: string): Namespace {
  return {
    id: `${name}-id`,
    name,
    registeredName: name,
    state: 'registered',
    description: '',
    ownerEmail: '',
    data: new Map(),
    retentionMs: 86_400_000,
    archival: { isEnabled: false, uri: '' },
    createdTimeMs: 1,
    searchAttributeTypes: new Map([
      ['WorkflowId', 2],
      ['CustomKeyword', 2],
      ['CustomInt', 3],
    ]),
    customSearchAttributes: new Map([
      ['CustomKeyword', 2],
      ['CustomInt', 3],
    ]),
    searchAttributeGenerations: new Map(),
    searchAttributeSlots: new Map([
      ['CustomKeyword', 'Keyword01'],
      ['CustomInt', 'Int01'],
    ]),
  };
}
