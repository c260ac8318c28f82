import type { HistoryCommand } from '../history/commands.ts';
import type { HistoryReplyTo } from '../history/replies.ts';
import { unreachable } from '../kernel/assert.ts';
import type { MatchingRequest } from '../matching/commands.ts';
import type { MatchingReplyTo } from '../matching/replies.ts';
import type { TaskQueuePartition } from '../matching/task-queue.ts';
import { deadlineExceeded, namespaceNotFound, unavailable } from './errors/details.ts';
import { clusterRejection, historyRejection, matchingRejection } from './errors/rejections.ts';
import { statusCode } from './errors/status-code.ts';
import { invalidArgument, StatusError } from './errors/status-error.ts';
import type { AskOutcome, ClusterRequest, FrontPorts, NamespaceView, StartedTask } from './ports.ts';
import { TokenSigner } from './tokens/token-signer.ts';
import { Tokens } from './tokens/tokens.ts';
import type { Call } from './transport/call.ts';
import { checkLength } from './validation/lengths.ts';

/** Calls without a deadline do not wait longer for an actor than this. */
const askTimeoutMs = 30_000;

/** What all handlers share: asking actors, finding namespaces, waiting, tokens. */
export class Front {
  readonly ports: FrontPorts;
  readonly tokens: Tokens;
  /** Ends one open long poll, empty. */
  readonly #waiting = new Set<() => void>();
  #draining = false;

  constructor(ports: FrontPorts) {
    this.ports = ports;
    this.tokens = new Tokens(new TokenSigner(ports.tokenKey));
  }

  /** From now on nothing waits: open polls end empty, new ones at once. */
  drain(): void {
    this.#draining = true;
    for (const end of this.#waiting) end();
    this.#waiting.clear();
  }

  /** Throws the shard's rejection as a StatusError. */
  history<Command extends HistoryCommand>(
    call: Call,
    workflow: { readonly namespaceId: string; readonly workflowId: string },
    command: Command,
    deadlineMs: number = this.askDeadline(call),
  ): Promise<HistoryReplyTo[Command['kind']]> {
    return new Promise((resolve, reject) => {
      this.ports.askHistory(workflow, command, deadlineMs, (outcome) => {
        if (outcome.kind === 'reply') resolve(outcome.reply);
        else reject(askFailure(outcome, historyRejection));
      });
    });
  }

  /** As `history`, for what may take long: ends with the call, and at drain with `whenEnded`. */
  waitHistory<Command extends HistoryCommand>(
    call: Call,
    workflow: { readonly namespaceId: string; readonly workflowId: string },
    command: Command,
    deadlineMs: number,
  ): Promise<HistoryReplyTo[Command['kind']] | 'ended'> {
    return this.#wait(call, (resolve, reject) =>
      this.ports.askHistory(workflow, command, deadlineMs, (outcome) => {
        if (outcome.kind === 'reply') resolve(outcome.reply);
        else reject(askFailure(outcome, historyRejection));
      }),
    );
  }

  matching<Request extends MatchingRequest>(call: Call, queue: TaskQueuePartition, request: Request): Promise<MatchingReplyTo<StartedTask>[Request['kind']]> {
    return new Promise((resolve, reject) => {
      this.ports.askMatching(queue, request, this.askDeadline(call), (outcome) => {
        if (outcome.kind === 'reply') resolve(outcome.reply);
        else reject(askFailure(outcome, matchingRejection));
      });
    });
  }

  /** A poll: 'ended' when the server drains. A cancelled call cancels the ask, so that it is given no task. */
  waitMatching<Request extends MatchingRequest>(
    call: Call,
    queue: TaskQueuePartition,
    request: Request,
    deadlineMs: number,
  ): Promise<MatchingReplyTo<StartedTask>[Request['kind']] | 'ended'> {
    return this.#wait(call, (resolve, reject) =>
      this.ports.askMatching(queue, request, deadlineMs, (outcome) => {
        if (outcome.kind === 'reply') resolve(outcome.reply);
        else reject(askFailure(outcome, matchingRejection));
      }),
    );
  }

  cluster(call: Call, request: ClusterRequest, namespace: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.ports.askCluster(request, this.askDeadline(call), (outcome) => {
        if (outcome.kind === 'reply') resolve();
        else reject(askFailure(outcome, (rejection) => clusterRejection(rejection, namespace)));
      });
    });
  }

  /** At once when this process knows the namespace; otherwise it first makes sure that it knows everything. */
  namespace(call: Call, name: string): NamespaceView | Promise<NamespaceView> {
    const known = this.ports.cluster.namespaceByName(name);
    if (known !== undefined && known.state !== 'deleted') return known;
    if (name === '') throw invalidArgument('Namespace not set on request.');
    checkLength(name, 'Namespace');
    return this.#namespaceAfterSync(call, name, () => this.ports.cluster.namespaceByName(name));
  }

  namespaceById(call: Call, id: string): NamespaceView | Promise<NamespaceView> {
    const known = this.ports.cluster.namespaceById(id);
    if (known !== undefined && known.state !== 'deleted') return known;
    return this.#namespaceAfterSync(call, id, () => this.ports.cluster.namespaceById(id));
  }

  /** The namespace that a token was made for; a request that names another one is refused before anything is read. */
  async namespaceOfToken(call: Call, requestNamespace: string, tokenNamespaceId: string): Promise<NamespaceView> {
    if (requestNamespace === '') return this.namespaceById(call, tokenNamespaceId);
    const namespace = await this.namespace(call, requestNamespace);
    if (namespace.id !== tokenNamespaceId) throw invalidArgument('Operation requested with a token from a different namespace.');
    return namespace;
  }

  askDeadline(call: Call): number {
    return Math.min(call.deadlineMs, this.ports.nowMs() + askTimeoutMs);
  }

  async #namespaceAfterSync(call: Call, wanted: string, lookUp: () => NamespaceView | undefined): Promise<NamespaceView> {
    await this.cluster(call, { kind: 'syncCluster' }, wanted);
    const found = lookUp();
    if (found === undefined || found.state === 'deleted') throw namespaceNotFound(wanted);
    return found;
  }

  #wait<Reply>(call: Call, ask: (resolve: (reply: Reply) => void, reject: (error: Error) => void) => number): Promise<Reply | 'ended'> {
    if (this.#draining) return Promise.resolve('ended');
    return new Promise((resolve, reject) => {
      let settled = false;
      let askId = 0;
      const end = (): void => {
        settled = true;
        this.ports.cancel(askId);
        resolve('ended');
      };
      const settle = (): void => {
        settled = true;
        this.#waiting.delete(end);
      };
      askId = ask(
        (reply) => {
          settle();
          resolve(reply);
        },
        (error) => {
          settle();
          reject(error);
        },
      );
      // The ask settles `settled` in its own turn when nothing has to be waited for.
      if (settled as boolean) return;
      this.#waiting.add(end);
      call.onCancel(() => {
        if (settled) return;
        settle();
        this.ports.cancel(askId);
        reject(new StatusError(statusCode.cancelled, 'context canceled'));
      });
    });
  }
}

function askFailure<Rejection>(outcome: Exclude<AskOutcome<never, Rejection>, { kind: 'reply' }>, wording: (rejection: Rejection) => StatusError): StatusError {
  switch (outcome.kind) {
    case 'rejected':
      return wording(outcome.rejection);
    case 'unavailable':
      return unavailable(outcome.message);
    case 'deadlineExceeded':
      return deadlineExceeded();
    default:
      return unreachable(outcome);
  }
}
