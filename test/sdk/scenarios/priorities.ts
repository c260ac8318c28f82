import type { Priority } from '@temporalio/common';
import { activityInfo } from '@temporalio/activity';
import { expect, vi } from 'vitest';
import { enums } from '../fields.ts';
import type { Scenario, Stage, StartedWorker } from '../harness.ts';
import { completeWorkflow, RawWorker } from '../raw-worker.ts';
import { noteAll, noteInChild, type NotedCall } from '../workflows.ts';

const patience = { timeout: 60_000, interval: 30 };
const { TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW } = enums.TaskQueueType;

/** Activities on a queue of their own, which nobody polls until all of them are there. */
class Backlog {
  readonly taskQueue: string;
  readonly #stage: Stage;
  readonly notes: string[] = [];
  readonly seen: (Priority | undefined)[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
    this.taskQueue = `${stage.id}-backlog`;
  }

  async fill(name: string, calls: readonly NotedCall[], priority?: Priority) {
    const workflowId = `${this.#stage.id}-${name}`;
    return await this.#stage.start(noteAll, [this.taskQueue, calls], { workflowId, ...(priority && { priority }) });
  }

  async until(count: number, taskQueueType = TASK_QUEUE_TYPE_ACTIVITY, taskQueue = this.taskQueue): Promise<void> {
    const { service, namespace } = this.#stage;
    const describe = { namespace, taskQueue: { name: taskQueue }, taskQueueType, reportStats: true };
    await vi.waitFor(async () => {
      const { stats } = await service.describeTaskQueue(describe);
      expect(Number(stats?.approximateBacklogCount ?? 0)).toBe(count);
    }, patience);
  }

  /** One activity at a time. */
  async workOff(count: number): Promise<void> {
    const noted = async (note: string): Promise<void> => {
      this.notes.push(note);
      this.seen.push(activityInfo().priority);
    };
    const slots = { maxConcurrentActivityTaskExecutions: 1, maxConcurrentActivityTaskPolls: 1 };
    const worker: StartedWorker = await this.#stage.suite.startWorker(this.taskQueue, { activities: { noted }, ...slots });
    await vi.waitFor(() => expect(this.notes.length).toBe(count), patience);
    await worker.stop();
  }
}

function calls(note: string, count: number, priority?: Priority): readonly NotedCall[] {
  return Array.from({ length: count }, () => ({ note, ...(priority && { priority }) }));
}

function countOf(notes: readonly string[], note: string): number {
  return notes.filter((each) => each === note).length;
}

export const priorityScenarios: readonly Scenario[] = [
  {
    name: 'activities are dispatched by priority, and one without a priority is in the middle',
    async run(stage) {
      const backlog = new Backlog(stage);
      const all = [5, 4, 3, 2, 1].flatMap((priorityKey) => calls(String(priorityKey), 2, { priorityKey }));
      const run = await backlog.fill('all', [...calls('none', 2), ...all]);
      await backlog.until(12);
      await backlog.workOff(12);
      const order = backlog.notes.map((note) => (note === 'none' ? '3' : note));
      expect(order).toEqual(['1', '1', '2', '2', '3', '3', '3', '3', '4', '4', '5', '5']);
      await run.handle.result();
    },
  },
  {
    name: 'an activity inherits each part of its priority that it does not set itself',
    async run(stage) {
      const backlog = new Backlog(stage);
      const own = { priorityKey: 4 };
      const late = await backlog.fill('late', [...calls('late', 1), ...calls('own', 1, own)], { priorityKey: 2, fairnessKey: 'tenant' });
      await backlog.until(2);
      const early = await backlog.fill('early', calls('early', 2), { priorityKey: 1 });
      await backlog.until(4);
      await backlog.workOff(4);
      expect(backlog.notes).toEqual(['early', 'early', 'late', 'own']);
      expect(backlog.seen.map((seen) => [seen?.priorityKey, seen?.fairnessKey || undefined])).toEqual([
        [1, undefined],
        [1, undefined],
        [2, 'tenant'],
        [4, 'tenant'],
      ]);
      await Promise.all([late.handle.result(), early.handle.result()]);
    },
  },
  {
    name: 'a child has the priority of its parent, and so have its activities',
    async run(stage) {
      const backlog = new Backlog(stage);
      const child = `${stage.id}-child`;
      const ofChild = await stage.start(noteInChild, [backlog.taskQueue, child, calls('child', 1)], { priority: { priorityKey: 2 } });
      const other = await backlog.fill('other', calls('other', 2));
      await backlog.until(3);
      await backlog.workOff(3);
      expect(backlog.notes).toEqual(['child', 'other', 'other']);
      await Promise.all([ofChild.handle.result(), other.handle.result()]);
      const { events } = await (await stage.observe(child)).history();
      expect(events[0]?.workflowExecutionStartedEventAttributes?.priority?.priorityKey).toBe(2);
    },
  },
  {
    name: 'a workflow of a higher priority gets its worker first',
    async run(stage) {
      const worker = new RawWorker(stage);
      for (const [nth, priorityKey] of [4, 2, 5, 1, 3].entries()) {
        await worker.start({ workflowId: `${stage.id}-${priorityKey}`, priority: { priorityKey } });
        await new Backlog(stage).until(nth + 1, TASK_QUEUE_TYPE_WORKFLOW, worker.taskQueue);
      }
      const order: string[] = [];
      for (let nth = 0; nth < 5; nth++) {
        const task = await worker.poll();
        order.push((task.workflowExecution?.workflowId ?? '').slice(-1));
        await worker.complete(task, [completeWorkflow('done')]);
      }
      expect(order).toEqual(['1', '2', '3', '4', '5']);
    },
  },
  {
    name: 'a flood of one fairness key does not delay others',
    async run(stage) {
      const backlog = new Backlog(stage);
      const flood = await backlog.fill('flood', calls('flood', 24, { fairnessKey: 'flood' }));
      await backlog.until(24);
      const small = await backlog.fill('small', calls('small', 4, { fairnessKey: 'small' }));
      await backlog.until(28);
      await backlog.workOff(28);
      expect(countOf(backlog.notes.slice(0, 14), 'small')).toBe(4);
      await Promise.all([flood.handle.result(), small.handle.result()]);
    },
  },
  {
    name: 'fairness keys share by their weights, within one priority',
    async run(stage) {
      const backlog = new Backlog(stage);
      const heavy = calls('heavy', 20, { fairnessKey: 'heavy', fairnessWeight: 3 });
      const light = calls('light', 20, { fairnessKey: 'light', fairnessWeight: 1 });
      const both = await backlog.fill('both', [
        ...light,
        ...heavy,
        ...calls('late', 2, { priorityKey: 4, fairnessKey: 'late', fairnessWeight: 9 }),
      ]);
      await backlog.until(42);
      await backlog.workOff(42);
      const first = countOf(backlog.notes.slice(0, 20), 'heavy');
      expect(first).toBeGreaterThanOrEqual(12);
      expect(first).toBeLessThanOrEqual(18);
      expect(backlog.notes.slice(40)).toEqual(['late', 'late']);
      await both.handle.result();
    },
  },
  {
    name: 'each fairness key has its own rate, and none delays another',
    async run(stage) {
      const { service, namespace } = stage;
      const backlog = new Backlog(stage);
      const { taskQueue } = backlog;
      const queue = { namespace, identity: 'ops', taskQueue, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY };
      const rateLimit = { requestsPerSecond: 0.5 };
      const set = await service.updateTaskQueueConfig({ ...queue, updateFairnessKeyRateLimitDefault: { rateLimit, reason: 'fair' } });
      const shown = { rateLimit, metadata: { reason: 'fair', updateIdentity: 'ops' } };
      expect(set.config?.fairnessKeysRateLimitDefault).toMatchObject(shown);
      const asked = { namespace, taskQueue: { name: taskQueue }, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY, reportConfig: true };
      // Temporal's caches hear of it a moment later.
      await vi.waitFor(async () => {
        expect((await service.describeTaskQueue(asked)).config?.fairnessKeysRateLimitDefault).toMatchObject(shown);
      }, patience);
      const run = await backlog.fill('all', [...calls('a', 2, { fairnessKey: 'a' }), ...calls('b', 1, { fairnessKey: 'b' })]);
      await backlog.until(3);
      const began = performance.now();
      await backlog.workOff(3);
      expect(backlog.notes.slice(0, 2).toSorted()).toEqual(['a', 'b']);
      expect(backlog.notes[2]).toBe('a');
      expect(performance.now() - began, 'the second of a key comes two seconds later').toBeGreaterThan(1_000);
      await run.handle.result();
      const unset = await service.updateTaskQueueConfig({ ...queue, updateFairnessKeyRateLimitDefault: { reason: 'over' } });
      expect(unset.config?.fairnessKeysRateLimitDefault?.rateLimit ?? undefined).toBeUndefined();
    },
  },
  {
    name: 'limits that operators set for a queue are shown, override those of its worker, and end when they are unset',
    async run(stage) {
      const { service, namespace } = stage;
      const backlog = new Backlog(stage);
      const { taskQueue } = backlog;
      const queue = { namespace, identity: 'ops', taskQueue, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY };
      const describe = async () => {
        const asked = { namespace, taskQueue: { name: taskQueue }, taskQueueType: TASK_QUEUE_TYPE_ACTIVITY, reportConfig: true };
        return await service.describeTaskQueue(asked);
      };
      const set = await service.updateTaskQueueConfig({
        ...queue,
        updateQueueRateLimit: { rateLimit: { requestsPerSecond: 0 }, reason: 'paused' },
        setFairnessWeightOverrides: { tenant: 2.5 },
      });
      expect(set.config?.queueRateLimit).toMatchObject({
        rateLimit: { requestsPerSecond: 0 },
        metadata: { reason: 'paused', updateIdentity: 'ops' },
      });
      expect(set.config?.fairnessWeightOverrides).toEqual({ tenant: 2.5 });
      // Temporal's caches hear of it a moment later.
      await vi.waitFor(async () => {
        const { config, effectiveRateLimit } = await describe();
        expect(config).toMatchObject({ queueRateLimit: { metadata: { reason: 'paused' } }, fairnessWeightOverrides: { tenant: 2.5 } });
        expect(effectiveRateLimit).toMatchObject({ rateLimitSource: enums.RateLimitSource.RATE_LIMIT_SOURCE_API });
      }, patience);
      const run = await backlog.fill('held', calls('held', 2));
      await backlog.until(2);
      const worker = backlog.workOff(2);
      const unset = { updateQueueRateLimit: { reason: 'over' }, unsetFairnessWeightOverrides: ['tenant'] };
      await vi.waitFor(async () => expect((await describe()).pollers?.length).toBe(1), patience);
      expect(backlog.notes).toEqual([]);
      const after = await service.updateTaskQueueConfig({ ...queue, ...unset });
      expect(after.config?.queueRateLimit?.rateLimit ?? undefined).toBeUndefined();
      expect(after.config?.queueRateLimit?.metadata?.reason).toBe('over');
      expect(after.config?.fairnessWeightOverrides ?? {}).toEqual({});
      await worker;
      await run.handle.result();
      const workflows = { ...queue, taskQueueType: TASK_QUEUE_TYPE_WORKFLOW };
      await expect(
        service.updateTaskQueueConfig({ ...workflows, updateQueueRateLimit: { rateLimit: { requestsPerSecond: 1 } } }),
      ).rejects.toMatchObject({ code: 3, details: 'Setting rate limit on workflow task queues is not allowed.' });
    },
  },
];
