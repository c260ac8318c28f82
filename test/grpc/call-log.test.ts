/** What an operator reads about calls: the refused ones and what was too large, not a line for each. */
import proto from '@temporalio/proto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger, type LogLevel } from '../../src/observability/logger.ts';
import {
  emptyDescribeWorkflowExecutionRequest,
  emptyPollWorkflowTaskQueueRequest,
  emptyRespondActivityTaskCompletedByIdRequest,
  emptyStartWorkflowExecutionRequest,
  encodeDescribeWorkflowExecutionRequest,
  encodePollWorkflowTaskQueueRequest,
  encodeRespondActivityTaskCompletedByIdRequest,
  encodeStartWorkflowExecutionRequest,
  type PollWorkflowTaskQueueRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { bytesOf } from './deadletter-service/letter-client.ts';
import { openBench, type Bench } from './frontend-bench.ts';

const { Payloads } = proto.temporal.api.common.v1;

let bench: Bench;
let lines: string[];
let nowMs: number;

async function openAt(level: LogLevel, more: Parameters<typeof openBench>[0] = {}): Promise<void> {
  const write = (line: string): void => void lines.push(line.slice(26).trimEnd());
  const logger = createLogger({ level, format: 'text', write, nowMs: () => 0 });
  bench = await openBench({ logger, clock: { wallMs: Date.now, monoMs: () => nowMs }, ...more });
}

beforeEach(() => {
  lines = [];
  nowMs = 0;
});
afterEach(() => bench.close());

async function refusalOf(path: string, bytes: Uint8Array): Promise<readonly [number, string]> {
  const { code, details } = await bench.client.refusal(path, bytes);
  return [code, details];
}

function start(namespace: string): Promise<unknown> {
  return bench.client.refusal(
    'StartWorkflowExecution',
    encodeStartWorkflowExecutionRequest({ ...emptyStartWorkflowExecutionRequest(), namespace }),
  );
}

describe('a refused call', () => {
  test('is a warning with namespace and reason, once a minute for each method and namespace, with how many it stands for', async () => {
    await openAt('warn');
    for (let count = 0; count < 5; count++) await start('default');
    await start('other');
    expect(lines).toEqual([
      expect.stringMatching(
        /^WARN {2}call refused {2}operation=StartWorkflowExecution namespace=default code=INVALID_ARGUMENT error=".+" times=1$/,
      ),
      expect.stringMatching(/namespace=other .* times=1$/),
    ]);
    nowMs = 60_000;
    await start('default');
    expect(lines.slice(2)).toEqual([expect.stringMatching(/namespace=default .* times=5$/)]);
  });

  test('names its namespace, also where it is refused for the limits of that', async () => {
    const one = { perSecond: 1, burst: 1 };
    await openAt('warn', { limitsOfNamespace: () => ({ rates: { execution: one, visibility: one }, waitingMax: 1 }) });
    for (let count = 0; count < 2; count++) await start('default');
    expect(lines.at(-1)).toMatch(/namespace=default code=RESOURCE_EXHAUSTED error="namespace rate limit exceeded"/);
  });

  test('with megabytes in it writes a line of kilobytes', async () => {
    await openAt('warn');
    const path = '/perdure.api.deadletter.v1.DeadLetterService/CountDeadLetters';
    const [, details] = await refusalOf(path, bytesOf('CountDeadLetters', { queues: [{ category: 'x'.repeat(2_000_000) }] }));
    expect(details).toMatch(/^Unknown task category: x+…/);
    expect(lines).toEqual([expect.stringContaining('call refused  operation=CountDeadLetters code=INVALID_ARGUMENT')]);
    expect(lines.join('').length).toBeLessThan(5_000);
  });

  test('of a namespace that nobody knows names none: whoever makes names up writes one line', async () => {
    await openAt('warn');
    for (let count = 0; count < 20; count++) await start('x'.repeat(2_000 + count));
    expect(lines).toEqual([expect.stringMatching(/^WARN {2}call refused {2}operation=StartWorkflowExecution code=INVALID_ARGUMENT /)]);
  });

  test('is no warning when it is an everyday answer, or when SDKs only try', async () => {
    await openAt('info');
    const execution = { workflowId: 'w', runId: '' };
    const describeNothing = encodeDescribeWorkflowExecutionRequest({
      ...emptyDescribeWorkflowExecutionRequest(),
      namespace: 'default',
      execution,
    });
    await bench.client.refusal('DescribeWorkflowExecution', describeNothing);
    expect(lines).toEqual([]);
    for (let count = 0; count < 3; count++) await bench.client.refusal('ListWorkerDeployments', new Uint8Array(0));
    expect(lines).toEqual([
      expect.stringMatching(
        /^INFO {2}a call was refused: this server does not support it {2}operation=ListWorkerDeployments code=UNIMPLEMENTED /,
      ),
    ]);
  });
});

describe('a worker that asks for what is not built', () => {
  const poll = async (name: string, more: Partial<PollWorkflowTaskQueueRequest> = { deploymentOptions: Buffer.from([24, 2]) }) => {
    const taskQueue = { name, kind: 1, normalName: '' };
    const request = encodePollWorkflowTaskQueueRequest({
      ...emptyPollWorkflowTaskQueueRequest(),
      namespace: 'default',
      taskQueue,
      ...more,
    });
    return bench.client.refusal('PollWorkflowTaskQueue', request, { timeoutMs: 300_000 });
  };

  test('is a warning once for each task queue, however often it polls', async () => {
    await openAt('warn');
    for (let count = 0; count < 3; count++) await poll('orders');
    nowMs = 120_000;
    await poll('orders');
    await poll('billing');
    await bench.client.refusal('PollNexusTaskQueue', new Uint8Array(0), { timeoutMs: 300_000 });
    expect(lines).toEqual([
      'WARN  a worker gets no tasks: its polls are refused  namespace=default task-queue=orders operation=PollWorkflowTaskQueue error="Worker Versioning (deployment_options with versioned mode) is not supported by this server yet"',
      expect.stringContaining('namespace=default task-queue=billing operation=PollWorkflowTaskQueue'),
      expect.stringMatching(/^WARN {2}a worker gets no tasks: its polls are refused {2}operation=PollNexusTaskQueue error=/),
    ]);
  });

  test('who makes up queues without end writes lines that have an end', async () => {
    await openAt('warn');
    for (let count = 0; count < 150; count++) await poll(`q-${count}`);
    expect(lines).toHaveLength(100);
    await poll('q-0', { namespace: 'other', deploymentOptions: Buffer.from([24, 2]) });
    expect(lines.slice(100)).toEqual([expect.stringContaining('namespace=other task-queue=q-0')]);
  });
});

test('a result over its size limit is reported, although its call succeeds', async () => {
  await openAt('warn');
  bench.stub.answers.history = () => ({ kind: 'done' });
  const result = Payloads.encode({ payloads: [{ data: new Uint8Array(2 * 1024 * 1024 + 1) }] }).finish();
  const request = { ...emptyRespondActivityTaskCompletedByIdRequest(), namespace: 'default', workflowId: 'w', activityId: 'a', result };
  for (let count = 0; count < 2; count++) {
    await bench.client.call('RespondActivityTaskCompletedById', encodeRespondActivityTaskCompletedByIdRequest(request));
  }
  expect(lines).toEqual([
    'WARN  a message over its size limit was shortened  operation=RespondActivityTaskCompletedById namespace=default what="Complete result exceeds size limit." times=1',
  ]);
});
