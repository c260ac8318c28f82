import { WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError, WorkflowUpdateStage } from '@temporalio/client';
import proto from '@temporalio/proto';
import { expect } from 'vitest';
import { RawClient } from '../../grpc/raw-client.ts';
import { enums, valuesOf } from '../fields.ts';
import type { Run, Scenario, Stage } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { RawWorker } from '../raw-worker.ts';
import {
  askChild,
  say,
  sayAfterGo,
  sayAfterWork,
  sayLast,
  sayOrGiveUp,
  stumble,
  talk,
  talkOn,
  talkToTheEnd,
  told,
  whoAmI,
} from '../talking-workflows.ts';

const { UpdateWorkflowExecutionRequest } = proto.temporal.api.workflowservice.v1;
const { ACCEPTED } = WorkflowUpdateStage;
const update = ['WorkflowExecutionUpdateAccepted', 'WorkflowExecutionUpdateCompleted'] as const;

/** Updates among signals, timers, activities, children, and each other. */
export const talkingScenarios: readonly Scenario[] = [
  {
    name: 'an update may sleep and call an activity before it answers',
    async run(stage) {
      const run = await idle(stage);
      expect(await run.handle.executeUpdate(sayAfterWork, { args: ['you'] })).toBe('1: Hello, you!');
      expect((await run.history()).types.slice(4)).toEqual([
        ...workflowTask,
        'WorkflowExecutionUpdateAccepted',
        'TimerStarted',
        'TimerFired',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionUpdateCompleted',
      ]);
      expect(await finished(run)).toEqual(['Hello, you!']);
    },
  },
  {
    name: 'a validator sees the effects of earlier signals',
    async run(stage) {
      const run = await idle(stage);
      const refused = run.handle.executeUpdate(say, { args: ['secret'] });
      await expect(refused).rejects.toMatchObject({ cause: { message: 'not before go', type: 'TooEarly', details: ['secret'] } });
      await run.handle.signal('go', 'now');
      expect(await run.handle.executeUpdate(say, { args: ['secret'] })).toBe('2: secret');
      expect(await finished(run)).toEqual(['now', 'secret']);
    },
  },
  {
    name: 'a caller that waits for acceptance learns of the rejection, and may use the id again',
    async run(stage) {
      const run = await idle(stage);
      const options = { args: ['secret'] as [string], updateId: 'once', waitForStage: ACCEPTED } as const;
      const refused = await run.handle.startUpdate(say, options);
      await expect(refused.result()).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
      await run.handle.signal('go', 'now');
      const handle = await run.handle.startUpdate(say, options);
      expect(await handle.result()).toBe('2: secret');
      expect(await finished(run)).toEqual(['now', 'secret']);
    },
  },
  {
    name: 'an update with the id of one in flight joins it',
    async run(stage) {
      const run = await idle(stage);
      const options = { args: ['once'] as [string], updateId: 'twin' };
      await run.handle.startUpdate(sayAfterGo, { ...options, waitForStage: ACCEPTED });
      const both = [run.handle.executeUpdate(sayAfterGo, options), run.handle.executeUpdate(sayAfterGo, options)];
      await run.handle.signal('go', 'go');
      expect(await Promise.all(both)).toEqual(['2: once', '2: once']);
      expect(await finished(run)).toEqual(['go', 'once']);
      expect((await run.history()).types.filter((type) => type.includes('Update'))).toEqual([...update]);
    },
  },
  {
    name: 'one signal lets three updates end, in the order in which they came',
    async run(stage) {
      const run = await idle(stage);
      const handles = [];
      for (const text of ['a', 'b', 'c']) {
        handles.push(await run.handle.startUpdate(sayAfterGo, { args: [text], updateId: text, waitForStage: ACCEPTED }));
      }
      await run.handle.signal('go', 'go');
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['2: a', '3: b', '4: c']);
      const completed = (await run.history()).all('workflowExecutionUpdateCompletedEventAttributes');
      expect(completed.map(({ meta }) => meta?.updateId)).toEqual(['a', 'b', 'c']);
      const first = (await run.history()).idOf('WorkflowExecutionUpdateAccepted');
      expect(Number(completed[0]?.acceptedEventId)).toBe(first);
      expect(await finished(run)).toEqual(['go', 'a', 'b', 'c']);
    },
  },
  {
    name: 'a signal and an update that arrive during a workflow task are delivered in order',
    async run(stage) {
      const run = await idle(stage);
      await run.handle.signal('holdOn');
      await run.gate('hold').arrived;
      await run.handle.signal('go', 'signal');
      const answer = run.handle.executeUpdate(say, { args: ['update'] });
      run.gate('hold').open();
      expect(await answer).toMatch(/update$/);
      const notes = await finished(run);
      expect(notes.toSorted()).toEqual(['held', 'signal', 'update']);
      expect(notes.indexOf('signal')).toBeLessThan(notes.indexOf('update'));
    },
  },
  {
    name: 'an update that ends its workflow is answered',
    async run(stage) {
      const run = await idle(stage);
      expect(await run.handle.executeUpdate(sayLast, { args: ['goodbye'] })).toBe('1: goodbye');
      expect(await run.handle.result()).toEqual(['goodbye']);
      expect((await run.history()).types.slice(4)).toEqual([...workflowTask, ...update, 'WorkflowExecutionCompleted']);
    },
  },
  {
    name: 'an update waits for a condition, and gives up after a timeout',
    async run(stage) {
      const run = await idle(stage);
      expect(await run.handle.executeUpdate(sayOrGiveUp, { args: ['soon', 5] })).toBe('1: gave up soon');
      const answer = run.handle.startUpdate(sayOrGiveUp, { args: ['later', 60_000], waitForStage: ACCEPTED });
      const handle = await answer;
      await run.handle.signal('go', 'go');
      expect(await handle.result()).toBe('3: later');
      expect((await run.history()).types.filter((type) => type.startsWith('Timer'))).toEqual([
        'TimerStarted',
        'TimerFired',
        'TimerStarted',
        'TimerCanceled',
      ]);
      expect(await finished(run)).toEqual(['gave up soon', 'go', 'later']);
    },
  },
  {
    name: 'a bug in a handler fails the workflow task, and the update is tried again',
    async run(stage) {
      const run = await idle(stage);
      expect(await run.handle.executeUpdate(stumble)).toBe('1: got up');
      expect((await run.history()).types.slice(4)).toEqual([
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskFailed',
        ...workflowTask,
        ...update,
      ]);
      expect(await finished(run)).toEqual(['got up']);
    },
  },
  {
    name: 'a handler starts a child, signals it, and answers with its result',
    async run(stage) {
      const run = await idle(stage);
      const workflowId = `${stage.id}-child`;
      expect(await run.handle.executeUpdate(askChild, { args: [workflowId] })).toEqual(['from the handler']);
      await stage.observe(workflowId);
      await finished(run);
      const history = await run.history();
      expect(history.types.at(7)).toBe('WorkflowExecutionUpdateAccepted');
      expect(history.types.at(8)).toBe('StartChildWorkflowExecutionInitiated');
      expect(history.all('signalExternalWorkflowExecutionInitiatedEventAttributes').map(({ signalName }) => signalName)).toEqual([
        'go',
        'finish',
      ]);
    },
  },
  {
    name: 'a handler knows the id and the name of its update',
    async run(stage) {
      const run = await idle(stage);
      expect(await run.handle.executeUpdate(whoAmI, { updateId: 'me' })).toBe('1: whoAmI me');
      const { acceptedRequest } = (await run.history()).only('workflowExecutionUpdateAcceptedEventAttributes');
      expect(acceptedRequest).toMatchObject({ meta: { updateId: 'me' }, input: { name: 'whoAmI' } });
      await finished(run);
    },
  },
  {
    name: 'the first run answers its updates, and the run that follows its own',
    async run(stage) {
      const run = await stage.start(talkOn, [1]);
      const handle = await run.handle.startUpdate(sayAfterGo, { args: ['old'], updateId: 'u', waitForStage: ACCEPTED });
      await run.handle.signal('go', 'on');
      expect(await handle.result()).toBe('old in run 1');
      await run.until('WorkflowExecutionContinuedAsNew');
      expect(await run.handle.executeUpdate(say, { args: ['new'] })).toBe('new in run 2');
      // Ids are of one run: this one is free again.
      expect(await run.handle.executeUpdate(say, { args: ['again'], updateId: 'u' })).toBe('again in run 2');
      await run.handle.signal('finish');
      expect(await run.handle.result()).toBe('done in run 2');
    },
  },
  {
    name: 'a workflow that is canceled takes updates while it cleans up',
    async run(stage) {
      const run = await stage.start(talkToTheEnd, []);
      expect(await run.handle.executeUpdate(say, { args: ['before'] })).toBe('1: before');
      await run.handle.cancel();
      // In one task with the cancellation it would come first: handlers do.
      expect(await run.handle.query(told)).toEqual(['before', 'canceled']);
      expect(await run.handle.executeUpdate(say, { args: ['after'] })).toBe('3: after');
      await run.handle.signal('finish');
      expect(await run.handle.result()).toBe('before, canceled, after');
    },
  },
  {
    name: 'a caller that gave up waiting finds the answer to the update later, by its id',
    async run(stage) {
      const run = await idle(stage);
      const handle = await run.handle.startUpdate(sayAfterGo, { args: ['late'], updateId: 'slow', waitForStage: ACCEPTED });
      const impatient = stage.client.withDeadline(Date.now() + 200, () => handle.result());
      await expect(impatient).rejects.toBeInstanceOf(WorkflowUpdateRPCTimeoutOrCancelledError);
      await run.handle.signal('go', 'go');
      expect(await run.handle.getUpdateHandle('slow').result()).toBe('2: late');
      await finished(run);
    },
  },
  {
    name: 'an update that nobody sent is not found, nor one of another run',
    async run(stage) {
      const run = await idle(stage);
      const updateRef = { workflowExecution: { workflowId: run.workflowId }, updateId: 'nobody' };
      const waitPolicy = {
        lifecycleStage: enums.UpdateWorkflowExecutionLifecycleStage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
      };
      await expect(stage.service.pollWorkflowExecutionUpdate({ namespace: stage.namespace, updateRef, waitPolicy })).rejects.toMatchObject({
        code: 5,
        details: 'update "nobody" not found',
      });
      const other = stage.client.workflow.getHandle(run.workflowId, crypto.randomUUID());
      await expect(other.executeUpdate(say, { args: ['x'] })).rejects.toThrow('not found');
      await finished(run);
    },
  },
  {
    name: 'the eleventh update in flight is turned away until one is answered',
    async run(stage) {
      const run = await idle(stage);
      const started = Array.from({ length: 10 }, (_, index) =>
        run.handle.startUpdate(sayAfterGo, { args: [`u${index}`], waitForStage: ACCEPTED }),
      );
      const handles = await Promise.all(started);
      // The SDK's own connection would try for a long time.
      const raw = new RawClient(stage.suite.server.address);
      const request = UpdateWorkflowExecutionRequest.encode({
        namespace: stage.namespace,
        workflowExecution: { workflowId: run.workflowId },
        request: { meta: { updateId: 'eleventh' }, input: { name: 'say' } },
      });
      expect(await raw.refusal('UpdateWorkflowExecution', request.finish())).toMatchObject({ code: 8 });
      raw.close();
      await run.handle.signal('go', 'go');
      await Promise.all(handles.map((handle) => handle.result()));
      expect(await run.handle.executeUpdate(say, { args: ['twelfth'] })).toBe('12: twelfth');
      await finished(run);
    },
  },
  {
    name: 'an update on a lost worker is handled by the next one',
    async run(stage) {
      const lost = new RawWorker(stage);
      const run = await stage.start(talk, [], { taskQueue: lost.taskQueue });
      await lost.complete(await lost.poll(), [], lost.stickyFor(400));
      expect((await lost.pollSticky(2_100)).taskToken).toHaveLength(0);
      const answer = run.handle.executeUpdate(say, { args: ['found'] });
      const survivor = await stage.suite.startWorker(lost.taskQueue);
      try {
        expect(await answer).toBe('1: found');
        expect(await finished(run)).toEqual(['found']);
      } finally {
        await survivor.stop();
      }
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowTaskScheduled',
        'WorkflowTaskTimedOut',
        ...workflowTask,
        ...update,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a query sees what an update has changed, before and after it is answered',
    async run(stage) {
      const run = await idle(stage);
      await run.handle.executeUpdate(say, { args: ['one'] });
      expect(await run.handle.query(told)).toEqual(['one']);
      const handle = await run.handle.startUpdate(sayAfterGo, { args: ['two'], waitForStage: ACCEPTED });
      expect(await run.handle.query(told)).toEqual(['one']);
      await run.handle.signal('go', 'go');
      await handle.result();
      expect(await run.handle.query(told)).toEqual(['one', 'go', 'two']);
      await finished(run);
    },
  },
  {
    name: 'a workflow that is terminated fails the updates that no worker has seen',
    async run(stage) {
      const nobody = new RawWorker(stage);
      const run = await nobody.start();
      const answer = run.handle.executeUpdate(say, { args: ['x'], updateId: 'unseen' });
      answer.catch(() => undefined);
      // It is admitted once its workflow task brings it.
      const task = await nobody.poll();
      if ((task.messages ?? []).length === 0) await nobody.complete(task);
      await run.handle.terminate();
      await expect(answer).rejects.toThrow('workflow update was aborted by closing workflow');
    },
  },
  {
    name: 'the arguments and the answer of an update are in its events',
    async run(stage) {
      const run = await idle(stage);
      await run.handle.executeUpdate(say, { args: ['noted'], updateId: 'noted' });
      const history = await run.history();
      const accepted = history.only('workflowExecutionUpdateAcceptedEventAttributes');
      expect(valuesOf(accepted.acceptedRequest?.input?.args)).toEqual(['noted']);
      expect(accepted.protocolInstanceId).toBe('noted');
      const { outcome, meta } = history.only('workflowExecutionUpdateCompletedEventAttributes');
      expect(valuesOf(outcome?.success)).toEqual(['1: noted']);
      expect(meta?.updateId).toBe('noted');
      await finished(run);
    },
  },
];

async function idle(stage: Stage): Promise<Run<typeof talk>> {
  const run = await stage.start(talk, []);
  await run.until('WorkflowTaskCompleted');
  return run;
}

async function finished(run: Run<typeof talk>): Promise<readonly string[]> {
  await run.handle.signal('finish');
  return run.handle.result();
}
