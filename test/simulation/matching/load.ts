/** What history and workers do of a run: tasks are offered until a host takes them, and workers poll for them, wherever they are. */
import { add, poll } from '../../matching/fixtures.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../../../src/kernel/task-queue.ts';
import type { PriorityFields } from '../../../src/kernel/priority.ts';
import { Violation } from '../oracle.ts';
import type { MatchingCluster } from './cluster.ts';
import type { HistoryTask } from './history.ts';
import type { World } from '../world.ts';

const ADD_MS = 600;

export type LoadPlan = {
  readonly queueNames: number;
  readonly queuePartitions: number;
  readonly expiringShare: number;
  /** Of tasks: they stand in lanes of their own, by priority and fairness key. Absent: none. */
  readonly keyedShare?: number;
};

export class MatchingLoad {
  readonly #cluster: MatchingCluster;
  readonly #world: World;
  readonly #plan: LoadPlan;
  #isCalm = false;
  #offersOpen = 0;
  #pollsOpen = 0;
  #lastPoll = 0;
  answered = 0;
  failed = 0;
  onBug: (violation: Violation) => void = () => {};

  constructor(cluster: MatchingCluster, plan: LoadPlan) {
    this.#cluster = cluster;
    this.#world = cluster.world;
    this.#plan = plan;
    cluster.history.onOffer = (task) => this.#offer(task);
  }

  get isBusy(): boolean {
    return this.#offersOpen + this.#pollsOpen > 0;
  }

  /** Roots, and the partitions below them. */
  get queues(): readonly TaskQueuePartition[] {
    const { queueNames, queuePartitions } = this.#plan;
    return Array.from({ length: queueNames * queuePartitions }, (_, index) => ({
      namespaceId: 'ns',
      name: `queue-${Math.floor(index / queuePartitions)}`,
      taskType: Math.floor(index / queuePartitions) % 2 === 0 ? 'activity' : 'workflow',
      partition: index % queuePartitions,
      kind: 'normal',
    }));
  }

  // ── History ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tasks come in bursts, so that there is a backlog most of the time. */
  client(): void {
    const { random } = this.#world;
    this.#world.at(random.int(1, 120), () => {
      if (this.#isCalm) return;
      const queue = random.pick(this.queues);
      for (let left = random.int(1, 6); left > 0; left--) {
        this.#cluster.history.add(queue, random.chance(this.#plan.expiringShare) ? random.int(200, 2_000) : 0, this.#priority());
      }
      this.client();
    });
  }

  #priority(): PriorityFields | undefined {
    const { keyedShare = 0 } = this.#plan;
    const { random } = this.#world;
    if (keyedShare === 0 || !random.chance(keyedShare)) return undefined;
    return { priorityKey: random.int(0, 5), fairnessKey: random.pick(['', 'a', 'b', 'c']), fairnessWeight: random.pick([0, 0.1, 10]) };
  }

  /** Tasks and polls come no more by themselves. */
  calm(): void {
    this.#isCalm = true;
  }

  /** Until a host has taken it. Now and then twice: a takeover of its shard does not know of the first time. */
  #offer(task: HistoryTask): void {
    const { stamp } = task;
    const attempt = (): void => {
      if (task.isTaken || task.isOver || task.stamp !== stamp) return;
      this.#add(task, (taken) => {
        if (taken && task.stamp === stamp) task.isTaken = true;
        else this.#world.at(this.#world.random.int(5, 400), attempt);
      });
    };
    attempt();
    if (!this.#isCalm && this.#world.random.chance(0.1)) this.#add(task, () => {});
  }

  #add(task: HistoryTask, done: (taken: boolean) => void): void {
    const request = add(this.#cluster.history.matchingTask(task), { queue: task.queue });
    this.#offersOpen += 1;
    this.#cluster.ask(this.#hostOf(task.queue), request, ADD_MS, (answer) => {
      this.#offersOpen -= 1;
      this.#count(answer);
      done(answer.kind === 'done' || answer.kind === 'stored');
    });
  }

  /** One at a time, so that the order in which they are stored is theirs. */
  async addInOrder(queue: TaskQueuePartition, count: number): Promise<readonly HistoryTask[]> {
    const tasks: HistoryTask[] = [];
    for (let left = count; left > 0; left--) {
      const task = this.#cluster.history.add(queue, 0);
      tasks.push(task);
      await this.#world.run(this.#world.nowMs + 10_000, () => task.isTaken);
    }
    return tasks;
  }

  // ── Workers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Works for a while, then rests for longer. */
  worker(): void {
    const { random } = this.#world;
    this.#world.at(random.int(1, 400), () => {
      if (this.#isCalm) return;
      let left = random.int(1, 8);
      const next = (): void => {
        if (left-- > 0 && !this.#isCalm) this.poll(random.pick(this.queues), random.int(20, 300), next);
        else this.worker();
      };
      next();
    });
  }

  poll(queue: TaskQueuePartition, waitMs: number, done: () => void): void {
    const { random } = this.#world;
    const pollRequestId = `p${++this.#lastPoll}`;
    this.#pollsOpen += 1;
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      this.#pollsOpen -= 1;
      done();
    };
    const cancel = this.#cluster.ask(
      this.#hostOf(queue),
      ({ node }) => poll(pollRequestId, { queue, deadlineMs: node.clock.wallMs() + waitMs }),
      waitMs + 300,
      (answer) => {
        this.#count(answer);
        if (answer.kind === 'task') this.#work(answer.task.key.workflowId, answer.task.attempt, pollRequestId);
        over();
      },
    );
    if (this.#isCalm || !random.chance(0.1)) return;
    this.#world.at(random.int(1, waitMs), () => {
      if (!isOver) cancel();
      over();
    });
  }

  #work(name: string, stamp: number, pollRequestId: string): void {
    const { random } = this.#world;
    const { history } = this.#cluster;
    try {
      history.deliveredTo(name, stamp, pollRequestId);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      return this.onBug(error);
    }
    // Its worker dies.
    if (!this.#isCalm && random.chance(0.1)) return;
    this.#world.at(random.int(1, 60), () => history.completed(name, stamp));
  }

  #hostOf(queue: TaskQueuePartition): number {
    return matchingPartitionOf(queue, this.#cluster.options.matchingPartitions);
  }

  #count({ kind, ...answer }: { readonly kind: string; readonly message?: string }): void {
    if (kind === 'internal') this.onBug(new Violation('I17 internal error', answer.message ?? ''));
    if (failures.has(kind)) this.failed += 1;
    else this.answered += 1;
  }
}

const failures: ReadonlySet<string> = new Set(['unavailable', 'notHere', 'deadline', 'busy', 'rejected']);
