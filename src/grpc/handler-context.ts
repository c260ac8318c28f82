import type { ExecutionId } from '../kernel/run-key.ts';
import type { AskContext } from '../actors/asks/asks.ts';
import type { StartedTask } from '../actors/asks/router.ts';
import type { Namespace } from '../cluster/cluster-state.ts';
import type { ClusterCommand, ClusterRejection, Done } from '../cluster/cluster-commands.ts';
import type { HistoryRequest } from '../history/commands/history-commands.ts';
import type { HistoryReplyTo } from '../history/command-table.ts';
import type { Rejection } from '../history/run/history-replies.ts';
import type { MatchingRequest } from '../matching/matching-commands.ts';
import type { MatchingRejection } from '../matching/matching-replies.ts';
import type { MatchingReplyTo } from '../matching/command-table.ts';
import type { TaskQueuePartition } from '../kernel/task-queue.ts';
import { ComputingCalls } from './computing-calls.ts';
import { canceled, namespaceInvalidState, namespaceNotFound } from './errors/details.ts';
import { clusterRejection, historyRejection, matchingRejection, settle } from './errors/rejections.ts';
import { invalidArgument, type StatusError } from './errors/status-error.ts';
import { NamespaceLimits } from './limits/namespace-limits.ts';
import type { FrontendPorts } from './ports.ts';
import { TokenSigner } from './tokens/token-signer.ts';
import { tokensOf, type Tokens } from './tokens/tokens.ts';
import type { Call } from './transport/call.ts';
import { checkLength, type EdgeLimits } from './validation/names.ts';
import { VisibilityQueries } from './visibility-queries.ts';

/** Calls without a deadline do not wait longer for an actor than this. */
const askTimeoutMs = 30_000;

type HistoryReplyOf<Command extends HistoryRequest> = HistoryReplyTo[Command['kind']];
type MatchingReplyOf<Request extends MatchingRequest> = MatchingReplyTo<StartedTask>[Request['kind']];

/** An ask that is to be made: it returns its id, and never settles in its own turn. */
type Ask<Reply> = (resolve: (reply: Reply) => void, reject: (error: StatusError) => void) => number;

/** How the wait of a call is ended before what it waits for has come → the namespace it waits in; '' for none. */
type OpenWaits = Map<() => void, string>;

/** What all handlers share: asking actors, finding namespaces, waiting, tokens. Times are wall-clock milliseconds. */
export class HandlerContext {
  readonly ports: FrontendPorts;
  readonly tokens: Tokens;
  readonly limits: EdgeLimits;
  /** Calls and batch jobs share them: a namespace has one share of the database, and the database knows a query by its number alone. */
  readonly queries: VisibilityQueries;
  readonly computing: ComputingCalls;
  /** Calls that wait for a history. */
  readonly #waiting: OpenWaits = new Map();
  /** Calls that wait for a task. */
  readonly #polls: OpenWaits = new Map();
  readonly #namespaceLimits: NamespaceLimits;
  #draining = false;

  constructor(ports: FrontendPorts) {
    this.ports = ports;
    this.limits = ports.limits;
    this.computing = new ComputingCalls(ports.turns);
    this.queries = new VisibilityQueries((asked) => ports.visibility.giveUp(asked));
    this.#namespaceLimits = new NamespaceLimits(ports.limitsOfNamespace, () => ports.clock.monoMs());
    this.tokens = tokensOf(new TokenSigner(ports.tokenKey));
  }

  nowMs(): number {
    return this.ports.clock.wallMs();
  }

  /** The clock that never jumps: deadlines of calls and of asks count by it. */
  monoMs(): number {
    return this.ports.clock.monoMs();
  }

  /** What travels with an ask of this call. `deadlineMs`, by `monoMs`: where it may take longer than asks do. */
  askContext(call: Call, deadlineMs = Math.min(call.deadlineMs, this.monoMs() + askTimeoutMs)): AskContext {
    return { deadlineMs, principal: call.principal, trace: call.header('traceparent') };
  }

  /** The caller's, or one of ours: by it an actor knows a request again that arrives twice. */
  requestId(given: string): string {
    return given === '' ? this.ports.newId() : given;
  }

  /** No history wait goes on, and no new wait of any kind begins. Open polls end with their hosts, which know what is just being started. */
  drain(): void {
    this.#draining = true;
    endAll(this.#waiting);
  }

  /** Ends polls that no host has ended in time. A task that is being started for one waits for its timeout. */
  endPolls(): void {
    endAll(this.#polls);
  }

  endWaitsOfDeleted(): void {
    for (const waits of [this.#polls, this.#waiting]) {
      for (const [end, namespaceId] of waits) if (this.#isDeleted(namespaceId)) end();
    }
  }

  history<Command extends HistoryRequest>(call: Call, workflow: ExecutionId, command: Command): Promise<HistoryReplyOf<Command>> {
    return this.historyShard(call, this.#shardOf(workflow), command);
  }

  historyShard<Command extends HistoryRequest>(call: Call, shard: number, command: Command): Promise<HistoryReplyOf<Command>> {
    return asked(this.#historyAsk(shard, command, this.askContext(call)));
  }

  /** Asks for what may take long: ends at `deadlineMs` by `monoMs`, with the call, and at drain with 'ended'. */
  waitHistory<Command extends HistoryRequest>(
    call: Call,
    workflow: ExecutionId,
    command: Command,
    deadlineMs: number,
  ): Promise<HistoryReplyOf<Command> | 'ended'> {
    const ask = this.#historyAsk(this.#shardOf(workflow), command, this.askContext(call, deadlineMs));
    return this.#wait(call, this.#waiting, workflow.namespaceId, ask);
  }

  matching<Request extends MatchingRequest>(call: Call, queue: TaskQueuePartition, request: Request): Promise<MatchingReplyOf<Request>> {
    return asked(this.#matchingAsk(queue, request, this.askContext(call)));
  }

  /** A poll, until the deadline of its call: 'ended' when the server drains already. A cancelled call cancels the ask, so that it is given no task. */
  waitMatching<Request extends MatchingRequest>(
    call: Call,
    queue: TaskQueuePartition,
    request: Request,
  ): Promise<MatchingReplyOf<Request> | 'ended'> {
    return this.#wait(call, this.#polls, queue.namespaceId, this.#matchingAsk(queue, request, this.askContext(call, call.deadlineMs)));
  }

  /** `namespace`: as the client named it, for the wording of a rejection. */
  cluster(call: Call, namespace: string, command: ClusterCommand): Promise<void> {
    return new Promise((resolve, reject) => {
      const refusal = (rejection: ClusterRejection) => clusterRejection(rejection, namespace);
      this.ports.asker.askCluster(command, this.askContext(call), (answer) =>
        settle<Done, ClusterRejection>(answer, refusal, () => resolve(), reject),
      );
    });
  }

  /** At once when this process knows the namespace; otherwise it first makes sure that it knows everything. A deleted one is refused. */
  namespace(call: Call, name: string): Namespace | Promise<Namespace> {
    const known = this.ports.cluster.namespaceByName(name);
    if (known !== undefined && known.state !== 'deleted') return this.#noted(call, known);
    return this.anyNamespace(call, name).then(notDeleted);
  }

  /** A namespace that is neither deleted nor deprecated: what the latter refuses are starts. */
  openNamespace(call: Call, name: string): Namespace | Promise<Namespace> {
    const namespace = this.namespace(call, name);
    return namespace instanceof Promise ? namespace.then(notDeprecated) : notDeprecated(namespace);
  }

  namespaceById(call: Call, id: string): Namespace | Promise<Namespace> {
    const known = this.ports.cluster.namespaceById(id);
    if (known !== undefined && known.state !== 'deleted') return this.#noted(call, known);
    return this.anyNamespaceById(call, id).then(notDeleted);
  }

  /** A namespace in whatever state: deleted ones are described too, and operators look into them. */
  async anyNamespace(call: Call, name: string): Promise<Namespace> {
    if (name === '') throw invalidArgument('Namespace is empty.');
    checkLength(name, 'Namespace', this.limits);
    return this.#known(call, name, () => this.ports.cluster.namespaceByName(name));
  }

  async anyNamespaceById(call: Call, id: string): Promise<Namespace> {
    checkLength(id, 'Namespace', this.limits);
    return this.#known(call, id, () => this.ports.cluster.namespaceById(id));
  }

  /** The namespace that a token was made for; a request that names another one is refused before anything is read. */
  namespaceOfToken(call: Call, requestNamespace: string, tokenNamespaceId: string): Namespace | Promise<Namespace> {
    if (requestNamespace === '') return this.namespaceById(call, tokenNamespaceId);
    const namespace = this.namespace(call, requestNamespace);
    if (namespace instanceof Promise) return namespace.then((known) => ofToken(known, tokenNamespaceId));
    return ofToken(namespace, tokenNamespaceId);
  }

  /** Between two looks at something. Ends early with the call, and at drain; false: the answer should go out now. */
  pause(call: Call, pauseMs: number): Promise<boolean> {
    if (this.#draining || call.cancelled) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (goesOn: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve(goesOn);
      };
      const end = (): void => settle(false);
      const timer = setTimeout(() => settle(true), pauseMs);
      this.#waiting.set(end, '');
      call.onCancel(end);
    });
  }

  #shardOf({ namespaceId, workflowId }: ExecutionId): number {
    return this.ports.historyShardOf(namespaceId, workflowId);
  }

  #historyAsk<Command extends HistoryRequest>(shard: number, command: Command, context: AskContext): Ask<HistoryReplyOf<Command>> {
    return (resolve, reject) =>
      this.ports.asker.askHistory(shard, command, context, (answer) =>
        settle<HistoryReplyOf<Command>, Rejection>(answer, historyRejection, resolve, reject),
      );
  }

  #matchingAsk<Request extends MatchingRequest>(
    queue: TaskQueuePartition,
    request: Request,
    context: AskContext,
  ): Ask<MatchingReplyOf<Request>> {
    return (resolve, reject) =>
      this.ports.asker.askMatching(this.ports.matchingPartitionOf(queue), request, context, (answer) =>
        settle<MatchingReplyOf<Request>, MatchingRejection>(answer, matchingRejection, resolve, reject),
      );
  }

  async #known(call: Call, wanted: string, lookUp: () => Namespace | undefined): Promise<Namespace> {
    if (lookUp() === undefined) await this.cluster(call, wanted, { kind: 'syncCluster' });
    const found = lookUp();
    if (found === undefined) throw namespaceNotFound(wanted);
    return this.#noted(call, found);
  }

  /** The first namespace that a call says is the one whose call it is. Throws RESOURCE_EXHAUSTED: it has had its calls of this second. */
  #noted(call: Call, namespace: Namespace): Namespace {
    const isFirst = call.notes.namespace === '';
    call.notes.namespace = namespace.name;
    if (isFirst && call.own === undefined) this.#namespaceLimits.admit(namespace, call.rpc);
    return namespace;
  }

  #isDeleted(namespaceId: string): boolean {
    return this.ports.cluster.namespaceById(namespaceId)?.state === 'deleted';
  }

  #wait<Reply>(call: Call, open: OpenWaits, namespaceId: string, ask: Ask<Reply>): Promise<Reply | 'ended'> {
    // It may have been deleted since this call was let in.
    const namespace = this.ports.cluster.namespaceById(namespaceId);
    if (this.#draining || namespace?.state === 'deleted') return Promise.resolve('ended');
    return new Promise((resolve, reject) => {
      const endWait = namespace === undefined ? () => {} : this.#namespaceLimits.beginWait(namespace, call.rpc);
      let settled = false;
      const settle = (): void => {
        if (settled) return;
        settled = true;
        open.delete(end);
        endWait();
      };
      const askId = ask(
        (reply) => {
          settle();
          resolve(reply);
        },
        (error) => {
          settle();
          reject(error);
        },
      );
      const end = (): void => {
        settle();
        this.ports.asker.cancel(askId);
        resolve('ended');
      };
      open.set(end, namespaceId);
      call.onCancel(() => {
        if (settled) return;
        settle();
        this.ports.asker.cancel(askId);
        reject(canceled());
      });
    });
  }
}

function notDeprecated(namespace: Namespace): Namespace {
  if (namespace.state !== 'registered') throw namespaceInvalidState(namespace, ['registered']);
  return namespace;
}

function ofToken(namespace: Namespace, tokenNamespaceId: string): Namespace {
  if (namespace.id !== tokenNamespaceId) throw invalidArgument('Operation requested with a token from a different namespace.');
  return namespace;
}

function notDeleted(namespace: Namespace): Namespace {
  if (namespace.state === 'deleted') throw namespaceInvalidState(namespace, ['registered', 'deprecated']);
  return namespace;
}

function asked<Reply>(ask: Ask<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => void ask(resolve, reject));
}

function endAll(waits: OpenWaits): void {
  for (const end of waits.keys()) end();
}
