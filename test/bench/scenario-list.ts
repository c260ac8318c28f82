import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { GrpcConnection } from './grpc-connection.ts';
import { listRequest } from './messages.ts';
import type { Pace } from './pace.ts';
import { RawDriver, uniqueQueues } from './raw-driver.ts';
import type { Target } from './target.ts';

const pageSize = 100;
const queries = ['', "ExecutionStatus = 'Running'", "WorkflowType = 'bench' AND ExecutionStatus = 'Completed'"];

/** Pages of List, one call at a time, of a server in which `users` run workflows as fast as they can. */
export async function listRound(target: Target, users: number, pace: Pace): Promise<readonly Figure[]> {
  const driver = await RawDriver.open(target);
  const client = await GrpcConnection.connect(target.address);
  const queues = uniqueQueues(target.namespace);
  const samples: number[] = [];
  const opens = performance.now() + pace.warmUpMs;
  const closes = opens + pace.windowMs;
  let completed = 0;
  const user = async (): Promise<void> => {
    while (performance.now() < closes) {
      await driver.runOne();
      const now = performance.now();
      if (now >= opens && now < closes) completed += 1;
    }
  };
  const reader = async (): Promise<void> => {
    for (let n = 0; performance.now() < closes; n++) {
      const begin = performance.now();
      await client.call('ListWorkflowExecutions', listRequest(queues, queries[n % queries.length] ?? '', pageSize));
      if (begin >= opens) samples.push(performance.now() - begin);
    }
  };
  try {
    await Promise.all([reader(), ...Array.from({ length: users }, user)]);
    const label = `list beside ${users} at a time:`;
    return [
      figure(`${label} p50`, 'ms', percentile(samples, 0.5)),
      figure(`${label} p99`, 'ms', percentile(samples, 0.99)),
      figure(`${label} pages`, '/s', samples.length / (pace.windowMs / 1_000)),
      figure(`${label} workflows`, '/s', completed / (pace.windowMs / 1_000)),
    ];
  } finally {
    await client.close();
    await driver.close();
  }
}
