import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { enums, millisOf, numbersOf } from '../fields.ts';
import { RawWorker, completeWorkflow, startTimer } from '../raw-worker.ts';
import { callActivity, collectSignals, stumbleOnce } from '../workflows.ts';

const { WorkflowTaskFailedCause, TimeoutType } = enums;
const [invalidArgument, notFound] = [3, 5];

/** The workflow task itself: failures, time-outs, stickiness, hand-over between workers. */
export const workflowTaskScenarios: readonly Scenario[] = [
  {
    name: 'a bug in the workflow fails the task, not the workflow',
    async run(stage) {
      const run = await stage.start(stumbleOnce, []);
      expect(await run.handle.result()).toBe('recovered');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskFailed',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const failed = history.only('workflowTaskFailedEventAttributes');
      expect(failed).toMatchObject({
        cause: WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
        failure: { message: 'a bug in the workflow' },
      });
      expect(numbersOf(failed.scheduledEventId, failed.startedEventId)).toEqual([2, 3]);
      expect(history.all('workflowTaskScheduledEventAttributes').map(({ attempt }) => attempt)).toEqual([1, 2]);
    },
  },
  {
    name: 'further failures of a task leave no events',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      for (const attempt of [1, 2, 3]) {
        const task = await worker.poll();
        expect(task.attempt).toBe(attempt);
        await worker.fail(task, WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE);
      }
      const task = await worker.poll();
      // The task is shown with the events that it would have; they are written when it succeeds.
      expect(task.history?.events?.map((event) => Number(event.eventId))).toEqual([1, 2, 3, 4, 5, 6]);
      expect(Number(task.startedEventId)).toBe(6);
      // SDK clients are shown them as well, the command line is not.
      const stored = ['WorkflowExecutionStarted', 'WorkflowTaskScheduled', 'WorkflowTaskStarted', 'WorkflowTaskFailed'];
      expect((await run.history()).types).toEqual([...stored, 'WorkflowTaskScheduled', 'WorkflowTaskStarted']);
      const asCli = { 'client-name': 'temporal-cli', 'client-version': '1.5.0' };
      expect((await stage.client.connection.withMetadata(asCli, () => run.history())).types).toEqual(stored);
      await worker.complete(task, [completeWorkflow('fourth time lucky')]);
      const history = await run.history();
      expect(history.types.slice(4)).toEqual([...workflowTask, 'WorkflowExecutionCompleted']);
      expect(history.all('workflowTaskScheduledEventAttributes').map(({ attempt }) => attempt)).toEqual([1, 4]);
    },
  },
  {
    name: 'an unanswered workflow task times out and is offered again',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start({ workflowTaskTimeout: { nanos: 0, seconds: 1 as never } });
      const lost = await worker.poll();
      const again = await worker.poll();
      expect(again.attempt).toBe(2);
      await expect(worker.complete(lost, [completeWorkflow('too late')])).rejects.toMatchObject({ code: notFound });
      await worker.complete(again, [completeWorkflow('in time')]);
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskTimedOut',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const timedOut = history.only('workflowTaskTimedOutEventAttributes');
      expect(timedOut.timeoutType).toBe(TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE);
      expect(numbersOf(timedOut.scheduledEventId, timedOut.startedEventId)).toEqual([2, 3]);
    },
  },
  {
    name: 'an invalid command fails the task with its cause',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await expect(worker.complete(await worker.poll(), [startTimer('', 1)])).rejects.toMatchObject({
        code: invalidArgument,
        details: 'BadStartTimerAttributes: TimerId is not set on StartTimerCommand.',
      });
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      const history = await run.history();
      expect(history.types.slice(2, 5)).toEqual(['WorkflowTaskStarted', 'WorkflowTaskFailed', 'WorkflowTaskScheduled']);
      expect(history.only('workflowTaskFailedEventAttributes')).toMatchObject({
        cause: WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
        failure: {
          message: 'BadStartTimerAttributes: TimerId is not set on StartTimerCommand.',
          source: '',
          serverFailureInfo: { nonRetryable: false },
        },
        // The server failed it, on behalf of the worker that sent the command.
        identity: worker.identity,
      });
    },
  },
  {
    name: 'a duplicate timer and a duplicate activity fail the task',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await expect(worker.complete(await worker.poll(), [startTimer('same', 60_000), startTimer('same', 60_000)])).rejects.toMatchObject({
        code: invalidArgument,
        details: expect.stringContaining('StartTimerDuplicateId'),
      });
      const task = await worker.poll();
      await worker.complete(task, [worker.scheduleActivity('one'), startTimer('same', 60_000)], { forceCreateNewWorkflowTask: true });
      await expect(worker.complete(await worker.poll(), [worker.scheduleActivity('one')])).rejects.toMatchObject({
        code: invalidArgument,
        details: expect.stringContaining('ScheduleActivityDuplicateId'),
      });
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      expect((await run.history()).all('workflowTaskFailedEventAttributes').map(({ cause }) => cause)).toEqual([
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_START_TIMER_DUPLICATE_ID,
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_SCHEDULE_ACTIVITY_DUPLICATE_ID,
      ]);
    },
  },
  {
    name: 'the next workflow task comes with the answer, on the sticky queue',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const first = await worker.poll();
      const sticky = worker.stickyFor(5_000);
      const answer = await worker.complete(first, [], { ...sticky, returnNewWorkflowTask: true, forceCreateNewWorkflowTask: true });
      const inline = answer.workflowTask ?? {};
      expect(inline.history?.events?.map((event) => Number(event.eventId))).toEqual([4, 5, 6]);
      expect(numbersOf(inline.previousStartedEventId, inline.startedEventId)).toEqual([3, 6]);
      await worker.complete(inline, [completeWorkflow('done')]);
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, ...workflowTask, 'WorkflowExecutionCompleted']);
      expect(history.all('workflowTaskScheduledEventAttributes').map(({ taskQueue }) => [taskQueue?.name, taskQueue?.kind])).toEqual([
        [worker.taskQueue, enums.TaskQueueKind.TASK_QUEUE_KIND_NORMAL],
        [worker.stickyQueue, enums.TaskQueueKind.TASK_QUEUE_KIND_STICKY],
      ]);
    },
  },
  {
    name: 'what arrives during a workflow task is written after it, results last',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await worker.complete(await worker.poll(), [worker.scheduleActivity('one')], { forceCreateNewWorkflowTask: true });
      const running = await worker.poll();
      await worker.completeActivity(await worker.pollActivity(), 'first in time');
      await run.handle.signal('go', 'second in time');
      const upToNow = [
        'WorkflowExecutionStarted',
        ...workflowTask,
        'ActivityTaskScheduled',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
      ];
      expect((await run.history()).types).toEqual(upToNow);
      await worker.complete(running);
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      const history = await run.history();
      expect(history.types).toEqual([
        ...upToNow,
        'WorkflowTaskCompleted',
        'ActivityTaskStarted',
        'WorkflowExecutionSignaled',
        'ActivityTaskCompleted',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const completed = history.only('activityTaskCompletedEventAttributes');
      expect(Number(completed.startedEventId)).toBe(history.idOf('ActivityTaskStarted'));
    },
  },
  {
    name: 'an eager activity comes with the answer',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const eager = worker.scheduleActivity('eager', { requestEagerExecution: true });
      const { activityTasks } = await worker.complete(await worker.poll(), [eager]);
      expect(activityTasks).toHaveLength(1);
      expect(activityTasks[0]).toMatchObject({ activityId: 'eager', attempt: 1, activityType: { name: 'raw-activity' } });
      await worker.completeActivity(activityTasks[0] ?? {}, 'at once');
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a lost worker: its sticky task times out and another worker continues',
    async run(stage) {
      const lost = new RawWorker(stage);
      const run = await stage.start(collectSignals, [1], { taskQueue: lost.taskQueue });
      // The lost worker looks for sticky work once, so that its queue is known to be polled, and takes the first task.
      await lost.complete(await lost.poll(), [], lost.stickyFor(400));
      expect((await lost.pollSticky(2_100)).taskToken).toHaveLength(0);
      await run.handle.signal('go', 'after the crash');
      const survivor = await stage.suite.startWorker(lost.taskQueue);
      try {
        expect(await run.handle.result()).toEqual(['after the crash']);
      } finally {
        await survivor.stop();
      }
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionSignaled',
        'WorkflowTaskScheduled',
        'WorkflowTaskTimedOut',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const timedOut = history.only('workflowTaskTimedOutEventAttributes');
      expect(timedOut.timeoutType).toBe(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START);
      expect(Number(timedOut.startedEventId)).toBe(0);
      expect(history.all('workflowTaskScheduledEventAttributes').map(({ taskQueue, attempt }) => [taskQueue?.name, attempt])).toEqual([
        [lost.taskQueue, 1],
        [lost.stickyQueue, 1],
        [lost.taskQueue, 1],
      ]);
    },
  },
  {
    name: 'a worker that shuts down hands its workflows over',
    async run(stage) {
      const taskQueue = `${stage.id}-queue`;
      const first = await stage.suite.startWorker(taskQueue);
      const run = await stage.start(collectSignals, [1], { taskQueue });
      await run.until('WorkflowTaskCompleted');
      await first.stop();
      const second = await stage.suite.startWorker(taskQueue);
      try {
        await run.handle.signal('go', 'to the second');
        expect(await run.handle.result()).toEqual(['to the second']);
      } finally {
        await second.stop();
      }
      expect((await run.history()).types.filter((type) => type === 'WorkflowTaskTimedOut')).toEqual([]);
    },
  },
  {
    name: 'resetting stickiness sends the next task to the normal queue, with its whole history',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await worker.complete(await worker.poll(), [], worker.stickyFor(10_000));
      const execution = { workflowId: run.workflowId, runId: run.runId };
      await stage.service.resetStickyTaskQueue({ namespace: stage.namespace, execution });
      await stage.service.signalWorkflowExecution({ namespace: stage.namespace, workflowExecution: execution, signalName: 'wake' });
      const task = await worker.poll();
      expect(task.history?.events?.map((event) => Number(event.eventId))).toEqual([1, 2, 3, 4, 5, 6, 7]);
      await worker.complete(task, [completeWorkflow('done')]);
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a sticky task has only new events',
    async run(stage) {
      const worker = new RawWorker(stage);
      // A sticky queue without a poll is passed over: the poll has to be there long before its task.
      const polled = worker.pollSticky();
      const run = await worker.start();
      await worker.complete(await worker.poll(), [], worker.stickyFor(10_000));
      await stage.service.signalWorkflowExecution({
        namespace: stage.namespace,
        workflowExecution: { workflowId: run.workflowId },
        signalName: 'wake',
      });
      const task = await polled;
      expect(task.history?.events?.map((event) => Number(event.eventId))).toEqual([4, 5, 6, 7]);
      expect(task.workflowExecutionTaskQueue).toMatchObject({ name: worker.taskQueue });
      expect(Number(task.previousStartedEventId)).toBe(3);
      await worker.complete(task, [completeWorkflow('done')]);
    },
  },
  {
    name: 'what the worker says about itself is kept with the completed task',
    async run(stage) {
      const run = await stage.start(callActivity, ['greet', ['sdk'], {}]);
      await run.handle.result();
      const [first, second] = (await run.history()).all('workflowTaskCompletedEventAttributes');
      const someNumbers = expect.arrayContaining([expect.any(Number)]) as unknown;
      // Without these flags a later replay would take other decisions than the worker did.
      expect(first?.sdkMetadata).toMatchObject({ sdkName: 'temporal-typescript', coreUsedFlags: someNumbers });
      expect(first?.identity).not.toBe('');
      expect(numbersOf(second?.scheduledEventId, second?.startedEventId)).toEqual([8, 9]);
      // The SDK's own flags come with the jobs that ask for them: a signal is one.
      const told = await stage.start(collectSignals, [1], { workflowId: `${stage.id}-told` });
      await told.handle.signal('go', 'x');
      await told.handle.result();
      const flags = (await told.history()).all('workflowTaskCompletedEventAttributes').map((task) => task.sdkMetadata?.langUsedFlags);
      expect(flags.flat()).toEqual(someNumbers);
    },
  },
  {
    name: 'a close command must be the last one',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start({ workflowTaskTimeout: { seconds: 30 as never } });
      const task = await worker.poll();
      await expect(worker.complete(task, [completeWorkflow('done'), startTimer('t', 1)])).rejects.toMatchObject({
        code: invalidArgument,
        details: expect.stringContaining('must be the last command'),
      });
      // Nothing has changed: the same token is still good.
      await worker.complete(task, [completeWorkflow('done')]);
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionCompleted']);
      expect(millisOf(history.only('workflowTaskScheduledEventAttributes').startToCloseTimeout)).toBe(30_000);
    },
  },
];
