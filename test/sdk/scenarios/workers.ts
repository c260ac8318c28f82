import { expect, vi } from 'vitest';
import type { Scenario } from '../harness.ts';

/** What a server knows of workers by their heartbeats. */
export const workerScenarios: readonly Scenario[] = [
  {
    name: 'a worker is listed because of its heartbeats, and as shutting down after its last one',
    async run(stage) {
      const { namespace, service } = stage;
      const taskQueue = `${stage.id}-of-its-own`;
      const query = `TaskQueue = '${taskQueue}'`;
      const worker = await stage.suite.startWorker(taskQueue);
      const listed = async () => (await service.listWorkers({ namespace, query })).workers ?? [];
      await vi.waitFor(async () => expect(await listed()).toHaveLength(1), { timeout: 60_000, interval: 50 });
      const [info] = await listed();
      expect(info).toMatchObject({ taskQueue, sdkName: 'temporal-typescript', status: 1 });
      const workerInstanceKey = info?.workerInstanceKey ?? '';
      const described = await service.describeWorker({ namespace, workerInstanceKey });
      expect(described.workerInfo?.workerHeartbeat).toMatchObject({ taskQueue, workerInstanceKey, workflowTaskSlotsInfo: {} });
      expect(Number((await service.countWorkers({ namespace, query })).count)).toBe(1);
      await worker.stop();
      // The SDK says so in its last request, and what it says is kept until it is too old.
      expect(await listed()).toMatchObject([{ workerInstanceKey, status: 2 }]);
    },
  },
];
