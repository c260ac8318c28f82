import { GrpcConnection, StatusError } from './grpc-connection.ts';
import {
  activityCommand,
  completeActivity,
  completeCommand,
  completeTask,
  completionOf,
  pollNormal,
  pollSticky,
  readActivityToken,
  readWorkflowTask,
  startRequest,
} from './messages.ts';
import type { Queues, WorkflowTask } from './messages.ts';
import type { Target } from './target.ts';

const pollsOfEachKind = 16;
const pollTimeoutSeconds = 70;

/**
 * Clients and worker in one process, on bare HTTP/2: one activity, seven calls a workflow.
 *
 *   user     StartWorkflow ────────────────────────────────────────────────────► next start
 *   worker        poll → schedule activity    poll → activity done    poll (sticky) → complete
 *                                                                     └ answered: end of the workflow
 */
export class RawDriver {
  readonly #clients: GrpcConnection;
  readonly #worker: GrpcConnection;
  readonly #queues: Queues;
  readonly #finished = new Map<string, () => void>();
  readonly #failed: { reason: Error | undefined } = { reason: undefined };
  #sequence = 0;

  private constructor(clients: GrpcConnection, worker: GrpcConnection, queues: Queues) {
    this.#clients = clients;
    this.#worker = worker;
    this.#queues = queues;
  }

  static async open({ address, namespace }: Target, polls = pollsOfEachKind): Promise<RawDriver> {
    const queues = uniqueQueues(namespace);
    const driver = new RawDriver(await GrpcConnection.connect(address), await GrpcConnection.connect(address), queues);
    for (let i = 0; i < polls; i++) {
      driver.#keepPolling(() => driver.#workflowTask(pollNormal(queues)));
      driver.#keepPolling(() => driver.#workflowTask(pollSticky(queues)));
      driver.#keepPolling(() => driver.#activityTask());
    }
    return driver;
  }

  /** One workflow, from before the start call until the completing call is answered. */
  async runOne(): Promise<{ readonly startMs: number; readonly endToEndMs: number }> {
    if (this.#failed.reason !== undefined) throw this.#failed.reason;
    const workflowId = `${this.#queues.normal}-${this.#sequence++}`;
    const finished = new Promise<void>((resolve) => this.#finished.set(workflowId, resolve));
    const begin = performance.now();
    await this.#clients.call('StartWorkflowExecution', startRequest(this.#queues, workflowId, 'bench'));
    const startMs = performance.now() - begin;
    await finished;
    return { startMs, endToEndMs: performance.now() - begin };
  }

  async close(): Promise<void> {
    await this.#worker.close();
    await this.#clients.close();
  }

  async #workflowTask(poll: Uint8Array): Promise<void> {
    const task = readWorkflowTask(await this.#worker.call('PollWorkflowTaskQueue', poll, pollTimeoutSeconds));
    if (task === undefined) return;
    const completion = task.isFirst ? this.#firstCompletion : this.#lastCompletion;
    await this.#worker.call('RespondWorkflowTaskCompleted', completeTask(task.token, completion));
    if (!task.isFirst) this.#finish(task);
  }

  get #firstCompletion(): readonly Uint8Array[] {
    return (this.#cachedFirst ??= completionOf(this.#queues, activityCommand(this.#queues)));
  }

  get #lastCompletion(): readonly Uint8Array[] {
    return (this.#cachedLast ??= completionOf(this.#queues, completeCommand()));
  }

  #cachedFirst: readonly Uint8Array[] | undefined;
  #cachedLast: readonly Uint8Array[] | undefined;

  #finish(task: WorkflowTask): void {
    this.#finished.get(task.workflowId)?.();
    this.#finished.delete(task.workflowId);
  }

  async #activityTask(): Promise<void> {
    const token = readActivityToken(await this.#worker.call('PollActivityTaskQueue', pollNormal(this.#queues), pollTimeoutSeconds));
    if (token === undefined) return;
    await this.#worker.call('RespondActivityTaskCompleted', completeActivity(this.#queues, token));
  }

  /** A refused call is the end of the measurement, not a slower one: figures of a server that errs mean nothing. */
  #keepPolling(once: () => Promise<void>): void {
    const loop = async (): Promise<void> => {
      while (!this.#worker.isClosing) await once();
    };
    loop().catch((error: unknown) => {
      if (this.#worker.isClosing) return;
      this.#failed.reason = error instanceof Error ? error : new StatusError('poll', 2, String(error));
      for (const wake of this.#finished.values()) wake();
    });
  }
}

export function uniqueQueues(namespace: string): Queues {
  const name = `bench-${crypto.randomUUID().slice(0, 8)}`;
  return { namespace, normal: name, sticky: `${name}-sticky` };
}
