import { startFrontend } from '../../src/grpc/frontend.ts';
import { StubServer } from './stub-ports.ts';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import * as grpc from '@grpc/grpc-js';
const mode = process.argv[2];
let port = 0;
const path = '/temporal.api.workflowservice.v1.WorkflowService/';
if (mode === 'mine') {
  const stub = new StubServer();
  const cmds = stub.historyCommands;
  const taskKey = { namespaceId: 'default-id', workflowId: 'wf-1', runId: '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55' };
  stub.events = Array.from({ length: 3 }, () => Buffer.alloc(300, 1));
  stub.answers.history = (cmd) => {
    cmds.length = 0;
    if (cmd.kind === 'startWorkflow')
      return { kind: 'started', runId: cmd.newRunId, firstExecutionRunId: cmd.newRunId, started: true, status: 1 };
    if (cmd.kind === 'completeWorkflowTask')
      return { kind: 'workflowTaskCompleted', workflowTask: undefined, activityTasks: [], resetHistoryEventId: 0 };
    return { kind: 'done' };
  };
  stub.answers.matching = (req) => {
    stub.matchingRequests.length = 0;
    if (req.kind === 'pollWorkflowTask')
      return {
        kind: 'task',
        backlogCountHint: 0,
        task: {
          kind: 'workflowTask',
          key: taskKey,
          workflowType: 't',
          scheduledEventId: 2,
          startedEventId: 3,
          previousStartedEventId: 0,
          attempt: 1,
          scheduledTimeMs: Date.now(),
          startedTimeMs: Date.now(),
          taskQueue: { name: 'q', kind: 1, normalName: '' },
          historyFirstEventId: 1,
          historyLastEventId: 3,
          tailEvents: [],
          queries: new Map(),
        },
      };
    return {
      kind: 'task',
      backlogCountHint: 0,
      task: {
        kind: 'activityTask',
        key: taskKey,
        workflowType: 't',
        activityId: '1',
        activityType: 'a',
        header: undefined,
        input: Buffer.alloc(60),
        heartbeatDetails: undefined,
        scheduledEventId: 5,
        attempt: 1,
        scheduledTimeMs: Date.now(),
        currentAttemptScheduledTimeMs: Date.now(),
        startedTimeMs: Date.now(),
        scheduleToCloseTimeoutMs: 1000,
        startToCloseTimeoutMs: 1000,
        heartbeatTimeoutMs: 0,
        retryPolicy: {
          initialIntervalMs: 1000,
          backoffCoefficient: 2,
          maximumIntervalMs: 100000,
          maximumAttempts: 0,
          nonRetryableErrorTypes: [],
        },
        priority: undefined,
      },
    };
  };
  port = (await startFrontend({ host: '127.0.0.1', port: 0, ports: stub.ports })).port;
} else {
  const server = new Server();
  for (const m of [
    'StartWorkflowExecution',
    'PollWorkflowTaskQueue',
    'RespondWorkflowTaskCompleted',
    'PollActivityTaskQueue',
    'RespondActivityTaskCompleted',
    'GetSystemInfo',
  ])
    server.register(
      path + m,
      ((call: any, cb: any) => queueMicrotask(() => cb(null, Buffer.alloc(60)))) as grpc.UntypedHandleCall,
      (x: any) => x,
      (x: any) => x,
      'unary',
    );
  port = await new Promise((r) => server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (e, p) => r(p)));
}
process.send?.({ port });
process.on('message', (m) => {
  if (m === 'cpu') process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage().rss });
  if (m === 'exit') process.exit(0);
});
