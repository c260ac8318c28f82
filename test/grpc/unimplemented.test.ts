import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBench, type Bench } from './frontend-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test.each([
  '/temporal.server.api.matchingservice.v1.MatchingService/AddWorkflowTask',
  '/temporal.api.workflowservice.v1.WorkflowService/ListWorkflowExecution',
  '/temporal.api.adminservice.v1.AdminService/GetShard',
])('%s is on no frontend, and unknown', async (path) => {
  const [, service, method] = path.split('/');
  const error = await bench.client.refusal(path, new Uint8Array(0));
  expect([error.code, error.details]).toEqual([codes.UNIMPLEMENTED, `unknown method ${method} for service ${service}`]);
});
