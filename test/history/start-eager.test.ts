import { describe, expect, test } from 'vitest';
import type { StartAttributes, StartWorkflow } from '../../src/history/commands/history-commands.ts';
import type { HistoryReply, StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import { completeWorkflow, key, refOf, ShardUnderTest, terminateWorkflow } from './shard-under-test.ts';

type Change = Partial<Omit<StartWorkflow, 'start'>> & { readonly start?: Partial<StartAttributes> };

const firstTask = ['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowTaskStarted'];

function taskOf(reply: HistoryReply | undefined): StartedWorkflowTask | undefined {
  if (reply?.kind !== 'started') throw new Error(`not started: ${JSON.stringify(reply)}`);
  return reply.workflowTask;
}

function eagerTask(shard: ShardUnderTest, command: StartWorkflow): StartedWorkflowTask {
  const task = taskOf(shard.ask(command));
  if (task === undefined) throw new Error('no task came with the start');
  return task;
}

function eagerlyStarted(change: Change = {}) {
  const shard = new ShardUnderTest();
  const command = shard.startCommand({ ...change, eager: true });
  return { shard, command, task: eagerTask(shard, command) };
}

test('the first task is started with the run, in one record, and no queue sees it', () => {
  const { shard, command, task } = eagerlyStarted({ start: { taskTimeoutMs: 7_000 } });
  expect(task).toMatchObject({
    key: { ...key, runId: command.newRunId },
    workflowType: 'Type',
    scheduledEventId: 2,
    startedEventId: 3,
    previousStartedEventId: 0,
    attempt: 1,
    historyFirstEventId: 1,
    historyLastEventId: 3,
    startedTimeMs: shard.nowMs,
    tailEvents: [],
  });
  expect(shard.records.map(({ tasks }) => tasks.map(({ kind }) => kind))).toEqual([['workflowTaskTimeout']]);
  expect(shard.history()).toEqual(firstTask);
  expect(shard.lastEvent('workflowExecutionStarted').attributes.eagerExecutionAccepted).toBe(true);
  const { identity, requestId } = shard.lastEvent('workflowTaskStarted').attributes;
  expect([identity, requestId]).toEqual(['client', command.requestId]);
  expect(shard.nextTimer()?.fireTimeMs).toBe(shard.nowMs + 7_000);
  shard.complete(task, [completeWorkflow()]);
  expect(shard.history().slice(3)).toEqual(['workflowTaskCompleted', 'workflowExecutionCompleted']);
});

test('one that nobody answers times out, and matching has the next attempt', () => {
  const { shard, command, task } = eagerlyStarted();
  shard.fireNextTimer();
  expect(shard.history()).toEqual([...firstTask, 'workflowTaskTimedOut']);
  expect(shard.expectRejected(shard.completion(task, [])).reason).toBe('task-not-found');
  expect(taskOf(shard.ask(command)), 'the request repeated').toBe(undefined);
  const next = shard.pollWorkflowTask();
  expect(next.attempt).toBe(2);
  expect(taskOf(shard.ask(command)), 'somebody else has it').toBe(undefined);
  shard.complete(next, [completeWorkflow()]);
});

describe('denied without a word', () => {
  const parent = {
    namespaceId: 'p',
    namespace: 'p',
    workflowId: 'p',
    runId: 'p',
    initiatedEventId: 5,
    rootWorkflowId: 'p',
    rootRunId: 'p',
  };
  test.each<[name: string, change: Change, tasks: readonly string[]]>([
    ['after a start delay', { start: { startDelayMs: 1 } }, []],
    ['with a cron schedule', { start: { cronSchedule: '* * * * *' } }, []],
    ['for a child', { parent }, []],
    ['unasked', { eager: false }, ['workflowTask']],
  ])('%s', (_, change, tasks) => {
    const shard = new ShardUnderTest();
    const command = shard.startCommand({ eager: true, ...change });
    expect(shard.ask(command)).toMatchObject({ kind: 'started', started: true, runId: command.newRunId });
    expect(taskOf(shard.ask(command))).toBe(undefined);
    expect(shard.lastEvent('workflowExecutionStarted').attributes.eagerExecutionAccepted).toBe(false);
    expect(shard.history()).not.toContain('workflowTaskStarted');
    expect(shard.pendingTasks().filter((kind) => kind === 'workflowTask')).toEqual(tasks);
  });

  const existing: Change = { eager: true, policies: { reusePolicy: 1, conflictPolicy: 2 } };

  test.each([
    ['one whose task is in its queue', (_: ShardUnderTest) => {}],
    ['one that a worker has', (shard: ShardUnderTest) => void shard.pollWorkflowTask()],
    ['a paused one', (shard: ShardUnderTest) => shard.expectDone({ kind: 'pauseWorkflow', key, identity: '', reason: '', requestId: 'p' })],
  ])('by an existing run: %s', (_, prepare) => {
    const shard = new ShardUnderTest();
    const runId = shard.start();
    prepare(shard);
    const events = shard.history();
    const reply = shard.ask(shard.startCommand(existing));
    expect(reply).toMatchObject({ started: false, runId });
    expect(taskOf(reply)).toBe(undefined);
    expect(shard.history()).toEqual(events);
  });

  test('by an existing run whose first task went to another request', () => {
    const { shard, command } = eagerlyStarted();
    const reply = shard.ask(shard.startCommand(existing));
    expect(reply).toMatchObject({ started: false, runId: command.newRunId });
    expect(taskOf(reply)).toBe(undefined);
  });
});

test('a run that makes way for it is ended in the same record', () => {
  const shard = new ShardUnderTest();
  const before = shard.start();
  const command = shard.startCommand({ eager: true, policies: { reusePolicy: 1, conflictPolicy: 3 } });
  const task = eagerTask(shard, command);
  expect(task.key.runId).toBe(command.newRunId);
  expect(shard.records.at(-1)?.runs.map(({ runId }) => runId)).toEqual([before, command.newRunId]);
});

describe('a repeated request', () => {
  type Between = (shard: ShardUnderTest, task: StartedWorkflowTask) => void;
  const failed = {
    facts: { kind: 'server', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' },
    bytes: new Uint8Array(0),
  } as const;

  test.each<[name: string, again: boolean, between: Between]>([
    ['at once', true, () => {}],
    ['after a signal, which waits for the end of the task', true, (shard) => shard.signal()],
    ['when its task is completed', false, (shard, task) => void shard.complete(task, [])],
    ['when its workflow is completed', false, (shard, task) => void shard.complete(task, [completeWorkflow()])],
    ['when its workflow is terminated', false, (shard) => shard.expectDone(terminateWorkflow())],
    [
      'when the next task is started',
      false,
      (shard, task) => void shard.complete(task, [], { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true }),
    ],
    [
      'when its task has failed',
      false,
      (shard, task) => {
        const failing = { kind: 'failWorkflowTask', task: refOf(task), cause: 14, identity: '', binaryChecksum: '', jitter: 0 } as const;
        shard.expectDone({ ...failing, failure: failed });
      },
    ],
    [
      'when its workflow is put aside',
      false,
      (shard, task) => shard.expectDone({ kind: 'putAside', failedCommand: 'fireTimer', taskId: 0, reason: 'planted', key: task.key }),
    ],
  ])('%s: the task again? %s', (_, again, between) => {
    const { shard, command, task } = eagerlyStarted();
    between(shard, task);
    const events = shard.events().length;
    const reply = shard.ask({ ...command, newRunId: shard.newRunId() });
    expect(reply).toMatchObject({ kind: 'started', started: true, runId: command.newRunId });
    expect(taskOf(reply)).toEqual(again ? task : undefined);
    expect(shard.events()).toHaveLength(events);
  });

  test('that does not want the task any more gets none', () => {
    const { shard, command } = eagerlyStarted();
    expect(taskOf(shard.ask({ ...command, eager: false }))).toBe(undefined);
  });

  test('that was no eager one does not take the task from the worker that polled it', () => {
    const shard = new ShardUnderTest();
    const command = shard.startCommand();
    shard.ask(command);
    expect(shard.pollWorkflowTask()).toMatchObject({ startedEventId: 3, attempt: 1 });
    expect(taskOf(shard.ask({ ...command, eager: true }))).toBe(undefined);
  });
});
