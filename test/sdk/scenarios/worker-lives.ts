import { expect } from 'vitest';
import { enums } from '../fields.ts';
import type { Scenario } from '../harness.ts';
import { countGoes } from '../structured-workflows.ts';
import { callActivity, collectSignals } from '../workflows.ts';

/** Workers that keep nothing, or stop in the middle. */
export const workerLifeScenarios: readonly Scenario[] = [
  {
    name: 'a worker without a cache reads each history again, and no task is sticky',
    async run(stage) {
      const taskQueue = `${stage.id}-queue`;
      const worker = await stage.suite.startWorker(taskQueue, { maxCachedWorkflows: 0 });
      try {
        const run = await stage.start(countGoes, [3], { taskQueue });
        for (let count = 1; count <= 3; count++) {
          await run.until('WorkflowTaskCompleted', count);
          await run.handle.signal('go', 'x');
        }
        expect(await run.handle.result()).toBe(3);
        const queues = (await run.history()).all('workflowTaskScheduledEventAttributes').map((task) => task.taskQueue);
        expect(queues.length).toBeGreaterThanOrEqual(4);
        const { TASK_QUEUE_KIND_NORMAL } = enums.TaskQueueKind;
        expect(queues.every((queue) => queue?.name === taskQueue && queue.kind === TASK_QUEUE_KIND_NORMAL)).toBe(true);
      } finally {
        await worker.stop();
      }
    },
  },
  {
    name: 'a worker that stops lets its activity end, and the next one has its result',
    async run(stage) {
      const taskQueue = `${stage.id}-queue`;
      const first = await stage.suite.startWorker(taskQueue);
      const run = await stage.start(callActivity, ['waitAtGate', ['open'], {}], { taskQueue });
      await run.gate('open').arrived;
      const stopped = first.stop();
      run.gate('open').open('in time');
      await stopped;
      const second = await stage.suite.startWorker(taskQueue);
      try {
        expect(await run.handle.result()).toBe('in time');
      } finally {
        await second.stop();
      }
      // A workflow task may be lost with the poll that it was given to: the worker takes that back as it stops.
      const troubles = (await run.history()).types.filter((type) => /TimedOut|Failed/.test(type));
      expect(troubles.filter((type) => type !== 'WorkflowTaskTimedOut')).toEqual([]);
    },
  },
  {
    name: 'workflows wait for a worker that starts later, with all their signals',
    async run(stage) {
      const taskQueue = `${stage.id}-queue`;
      const runs = [];
      for (const name of ['a', 'b']) runs.push(await stage.start(collectSignals, [2], { taskQueue, workflowId: `${stage.id}-${name}` }));
      for (const { handle } of runs) for (const text of ['one', 'two']) await handle.signal('go', text);
      const worker = await stage.suite.startWorker(taskQueue);
      try {
        for (const { handle } of runs) expect(await handle.result()).toEqual(['one', 'two']);
      } finally {
        await worker.stop();
      }
    },
  },
];
