/** Asks every history shard for one small commit after another, and knows when each of them answered. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { historyShardOf } from '../../../src/kernel/shard.ts';
import { TaskQueueKind } from '../../../src/wire/generated/lean/enums.ts';
import * as namespaces from '../../../src/wire/generated/lean/namespace_service.ts';
import * as messages from '../../../src/wire/generated/lean/workflow_service.ts';
import { ServiceClient } from '../../support/service-client.ts';

const describeNamespace = {
  name: 'DescribeNamespace',
  encode: namespaces.encodeDescribeNamespaceRequest,
  decode: namespaces.decodeDescribeNamespaceResponse,
};
const start = {
  name: 'StartWorkflowExecution',
  encode: messages.encodeStartWorkflowExecutionRequest,
  decode: messages.decodeStartWorkflowExecutionResponse,
};
const signal = {
  name: 'SignalWorkflowExecution',
  encode: messages.encodeSignalWorkflowExecutionRequest,
  decode: messages.decodeSignalWorkflowExecutionResponse,
};

const namespace = 'default';
const shards = 4;
const intervalMs = 200;
const callTimeoutMs = 1_500;

/** One call that was answered. */
type Answered = { readonly askedMs: number; readonly answeredMs: number };

export class ShardProbe {
  readonly #client: ServiceClient;
  readonly #answers: Answered[][] = Array.from({ length: shards }, () => []);
  readonly #loops: Promise<void>[] = [];
  #stopped = false;

  constructor(address: string) {
    this.#client = new ServiceClient(address);
  }

  async start(): Promise<void> {
    const namespaceId = await this.#namespaceId();
    for (let shard = 1; shard <= shards; shard++) {
      const workflowId = this.#idOn(shard, namespaceId);
      await this.#startWorkflow(workflowId);
      this.#loops.push(this.#ask(workflowId, this.#answers[shard - 1] ?? []));
    }
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await Promise.all(this.#loops);
    this.#client.close();
  }

  /** Each of these partitions answered something that was asked after this moment. */
  servesSince(momentMs: number, partitions: Iterable<number> = this.#answers.keys()): boolean {
    for (const partition of partitions) if ((this.#answers[partition]?.at(-1)?.askedMs ?? 0) <= momentMs) return false;
    return true;
  }

  /** From this moment until every shard had answered something that was asked since. */
  serveAgainMs(momentMs: number): number {
    const firsts = this.#answers.map((answers) => answers.find(({ askedMs }) => askedMs >= momentMs)?.answeredMs ?? Infinity);
    return Math.max(...firsts) - momentMs;
  }

  /** The longest time for which one shard answered nothing, from this moment on. */
  longestWaitMs(fromMs: number): number {
    const gaps = this.#answers.flatMap((answers) =>
      answers.map(({ answeredMs }, index) => answeredMs - Math.max(fromMs, answers[index - 1]?.answeredMs ?? fromMs)),
    );
    return Math.max(0, ...gaps);
  }

  async #ask(workflowId: string, answers: Answered[]): Promise<void> {
    while (!this.#stopped) {
      const askedMs = Date.now();
      const request = {
        ...messages.emptySignalWorkflowExecutionRequest(),
        namespace,
        workflowExecution: { workflowId, runId: '' },
        signalName: 'probe',
        identity: 'probe',
        requestId: randomUUID(),
      };
      const outcome = await this.#client.call(signal, request, callTimeoutMs);
      if (outcome.kind === 'ok') answers.push({ askedMs, answeredMs: Date.now() });
      else if (outcome.kind === 'fail') throw new Error(`the probe was refused: ${outcome.message}`);
      await delay(intervalMs);
    }
  }

  async #namespaceId(): Promise<string> {
    const request = { ...namespaces.emptyDescribeNamespaceRequest(), namespace };
    const described = await this.#client.call(describeNamespace, request, 10_000);
    if (described.kind !== 'ok') throw new Error(`the namespace cannot be described: ${described.message}`);
    return described.response.namespaceInfo?.id ?? '';
  }

  #idOn(shard: number, namespaceId: string): string {
    for (;;) {
      const workflowId = `probe-${randomUUID()}`;
      if (historyShardOf(namespaceId, workflowId, shards) === shard) return workflowId;
    }
  }

  async #startWorkflow(workflowId: string): Promise<void> {
    const request = {
      ...messages.emptyStartWorkflowExecutionRequest(),
      namespace,
      workflowId,
      workflowType: { name: 'probe' },
      taskQueue: { name: 'nobody-polls-it', kind: TaskQueueKind.NORMAL, normalName: '' },
      identity: 'probe',
      requestId: randomUUID(),
    };
    const started = await this.#client.call(start, request, 10_000);
    if (started.kind !== 'ok') throw new Error(`a probe could not be started: ${started.message}`);
  }
}
