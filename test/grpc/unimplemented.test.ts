import proto from '@temporalio/proto';
import type { Root } from 'protobufjs';
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBench, type Bench } from './frontend-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

/** Those that answer otherwise; every one of them has tests of its own. */
const built = new Set(
  `GetSystemInfo GetClusterInfo DescribeNamespace RegisterNamespace ListNamespaces StartWorkflowExecution SignalWithStartWorkflowExecution
   SignalWorkflowExecution RequestCancelWorkflowExecution TerminateWorkflowExecution DeleteWorkflowExecution DescribeWorkflowExecution QueryWorkflow
   GetWorkflowExecutionHistory GetWorkflowExecutionHistoryReverse PollWorkflowTaskQueue RespondWorkflowTaskCompleted RespondWorkflowTaskFailed
   RespondQueryTaskCompleted ResetStickyTaskQueue ShutdownWorker PollActivityTaskQueue RespondActivityTaskCompleted
   RespondActivityTaskCompletedById RespondActivityTaskFailed RespondActivityTaskFailedById RespondActivityTaskCanceled
   RespondActivityTaskCanceledById RecordActivityTaskHeartbeat RecordActivityTaskHeartbeatById DescribeTaskQueue
   PauseActivity UnpauseActivity ResetActivity UpdateActivityOptions
   ListWorkflowExecutions ScanWorkflowExecutions ListOpenWorkflowExecutions ListClosedWorkflowExecutions ListArchivedWorkflowExecutions
   CountWorkflowExecutions GetSearchAttributes AddSearchAttributes RemoveSearchAttributes ListSearchAttributes DeleteNamespace
   UpdateNamespace DeprecateNamespace UpdateWorkflowExecution PollWorkflowExecutionUpdate ExecuteMultiOperation ResetWorkflowExecution
   CreateSchedule DescribeSchedule UpdateSchedule PatchSchedule DeleteSchedule ListSchedules CountSchedules ListScheduleMatchingTimes`.split(
    /\s+/,
  ),
);

/** The package is a reflection root, though its types say otherwise. */
function methodsOf(service: string): string[] {
  const root: unknown = proto;
  return (root as Root).lookupService(service).methodsArray.map((method) => method.name);
}

test.each([
  ['temporal.api.workflowservice.v1.WorkflowService', 122],
  ['temporal.api.operatorservice.v1.OperatorService', 12],
])('every RPC of %s is answered: built, or by its own name', async (serviceName, count) => {
  const methods = methodsOf(serviceName);
  expect(methods.length).toBeGreaterThanOrEqual(count);
  for (const method of methods) {
    const path = `/${serviceName}/${method}`;
    const outcome = await bench.client.call(path, new Uint8Array(0)).then(
      () => 'answered',
      (error: unknown) => error,
    );
    if (built.has(method)) expect(outcome, method).not.toMatchObject({ code: codes.UNIMPLEMENTED });
    else expect(outcome, method).toMatchObject({ code: codes.UNIMPLEMENTED, details: `${method} is not supported by this server yet` });
  }
});

test.each([
  '/temporal.server.api.matchingservice.v1.MatchingService/AddWorkflowTask',
  '/temporal.api.workflowservice.v1.WorkflowService/ListWorkflowExecution',
  '/temporal.api.adminservice.v1.AdminService/GetShard',
])('%s is on no frontend, and unknown', async (path) => {
  const [, service, method] = path.split('/');
  const error = await bench.client.refusal(path, new Uint8Array(0));
  expect([error.code, error.details]).toEqual([codes.UNIMPLEMENTED, `unknown method ${method} for service ${service}`]);
});
