/** Another tenant of the same server: whatever the fuzzer does, its workflows go on, on every shard, and its timers fire. */
import { historyShardOf } from '../../src/kernel/shard.ts';
import type { Service } from './service.ts';

export const bystanderNamespace = 'bystander';

type Task = {
  readonly taskToken: Uint8Array;
  readonly workflowExecution: { readonly workflowId: string };
  readonly history: { readonly events: readonly { readonly eventType: number }[] };
};

const [startTimer, completeWorkflow, timerFired] = [3, 4, 18];
const queue = { name: 'bystander', kind: 1 };
const namespace = bystanderNamespace;
/** Far beyond what it takes; a shard that stands still is found by it. */
const roundMsMax = 60_000;

export class Bystander {
  readonly #service: Service;
  readonly #shards: number;
  #rounds = 0;

  readonly #name: string;

  /** `name` begins its workflow ids: two of them on one server must not meet. */
  constructor(service: Service, shards: number, name: string) {
    this.#name = name;
    this.#service = service;
    this.#shards = shards;
  }

  /** One workflow on each shard: started, a timer, completed. Throws with the shards where one did not come to its end. */
  async round(): Promise<void> {
    this.#rounds++;
    const open = await this.#workflowIds();
    const endsMs = Date.now() + roundMsMax;
    await Promise.all([...open.keys()].map((workflowId) => this.#start(workflowId)));
    while (open.size > 0 && Date.now() < endsMs) {
      const task = await this.#service.call<Task>('PollWorkflowTaskQueue', { namespace, taskQueue: queue, identity: 'bystander' }, 5_000);
      const workflowId = task.workflowExecution?.workflowId;
      if (workflowId === undefined) continue;
      const fired = task.history?.events.some(({ eventType }) => eventType === timerFired) ?? false;
      await this.#service.call('RespondWorkflowTaskCompleted', {
        namespace,
        taskToken: task.taskToken,
        commands: [
          fired
            ? { commandType: completeWorkflow, completeWorkflowExecutionCommandAttributes: {} }
            : { commandType: startTimer, startTimerCommandAttributes: { timerId: 't', startToFireTimeout: { nanos: 20_000_000 } } },
        ],
      });
      if (fired) open.delete(workflowId);
    }
    if (open.size > 0) throw new Error(`no workflow completes on shards ${[...open.values()].join(', ')}`);
  }

  /** With the shard of each. */
  async #workflowIds(): Promise<Map<string, number>> {
    const { namespaceInfo } = await this.#service.call<{ namespaceInfo: { id: string } }>('DescribeNamespace', { namespace });
    const shardOf = new Map<string, number>();
    for (let index = 0; shardOf.size < this.#shards; index++) {
      const workflowId = `${this.#name}-${this.#rounds}-${index}`;
      const shard = historyShardOf(namespaceInfo?.id ?? '', workflowId, this.#shards);
      if (![...shardOf.values()].includes(shard)) shardOf.set(workflowId, shard);
    }
    return shardOf;
  }

  async #start(workflowId: string): Promise<void> {
    await this.#service.call('StartWorkflowExecution', {
      namespace,
      workflowId,
      workflowType: { name: 'Bystander' },
      taskQueue: queue,
      requestId: workflowId,
    });
  }
}
