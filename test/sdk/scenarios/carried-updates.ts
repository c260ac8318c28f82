import { WorkflowUpdateStage } from '@temporalio/client';
import { expect } from 'vitest';
import type { Run, Scenario } from '../harness.ts';
import { enums } from '../fields.ts';
import { add, addLater, askAndAnswer, askAndContinue, go } from '../workflows.ts';
import { reset } from './reset.ts';

const { ResetReapplyExcludeType, ResetReapplyType } = enums;

/** The event that ends the first task of every workflow here. */
const firstTask = 4;
const admitted = 'WorkflowExecutionUpdateAdmitted';
const answered = ['WorkflowExecutionUpdateAccepted', 'WorkflowExecutionUpdateCompleted'];

/** Updates behind the event of a reset. */
export const carriedUpdateScenarios: readonly Scenario[] = [
  {
    name: 'a reset carries an update over: the new run answers it again, by its id',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await run.until('WorkflowTaskCompleted');
      expect(await run.handle.executeUpdate(add, { args: [3], updateId: 'once' })).toBe(3);
      const next = await reset(stage, run, firstTask);
      expect(await next.handle.getUpdateHandle('once').result()).toBe(3);
      const history = await next.history();
      expect(updatesOf(history.types)).toEqual([admitted, ...answered]);
      const { request, origin } = history.only('workflowExecutionUpdateAdmittedEventAttributes');
      expect(request?.meta?.updateId).toBe('once');
      expect(origin).toBe(enums.UpdateAdmittedEventOrigin.UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY);
      const accepted = history.only('workflowExecutionUpdateAcceptedEventAttributes');
      expect([accepted.protocolInstanceId, accepted.acceptedRequest ?? null]).toEqual(['once', null]);
      // Whoever asks again with its id is answered, and the workflow hears nothing of it.
      expect(await next.handle.executeUpdate(add, { args: [3], updateId: 'once' })).toBe(3);
      expect(await next.handle.executeUpdate(add, { args: [4] })).toBe(7);
      await finish(next);
    },
  },
  {
    name: 'a reset leaves updates out on request',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await run.until('WorkflowTaskCompleted');
      expect(await run.handle.executeUpdate(add, { args: [3], updateId: 'lost' })).toBe(3);
      const exclude = [ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE];
      const next = await reset(stage, run, firstTask, { resetReapplyExcludeTypes: exclude });
      await expect(next.handle.getUpdateHandle('lost').result()).rejects.toThrow('update "lost" not found');
      await finish(next);
      expect(updatesOf((await next.history()).types)).toEqual([]);
    },
  },
  {
    name: 'a reset that asks for signals by the older field gets only signals',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await run.until('WorkflowTaskCompleted');
      expect(await run.handle.executeUpdate(add, { args: [3] })).toBe(3);
      await run.handle.signal(go, 'again');
      const next = await reset(stage, run, firstTask, { resetReapplyType: ResetReapplyType.RESET_REAPPLY_TYPE_SIGNAL });
      const { types } = await next.history();
      expect([updatesOf(types), types.includes('WorkflowExecutionSignaled')]).toEqual([[], true]);
      await finish(next);
    },
  },
  {
    name: 'a reset fails an update in progress for its callers, and the new run completes it',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await run.until('WorkflowTaskCompleted');
      const waitForStage = WorkflowUpdateStage.ACCEPTED;
      const handle = await run.handle.startUpdate(addLater, { args: [2], waitForStage, updateId: 'later' });
      const outcome = handle.result();
      outcome.catch(() => undefined);
      const next = await reset(stage, run, firstTask);
      await expect(outcome).rejects.toMatchObject({ cause: { type: 'AcceptedUpdateCompletedWorkflow' } });
      const again = next.handle.getUpdateHandle<number>('later').result();
      await next.handle.signal(go, 'now');
      expect(await again).toBe(2);
      await finish(next);
    },
  },
  {
    name: 'an update that a reset has carried over can be refused by its validator',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await run.until('WorkflowTaskCompleted');
      expect(await run.handle.executeUpdate(add, { args: [99], updateId: 'large' })).toBe(99);
      const next = await reset(stage, run, firstTask);
      await next.until('WorkflowTaskCompleted');
      expect(updatesOf((await next.history()).types)).toEqual([admitted]);
      expect(await next.handle.executeUpdate(add, { args: [1] })).toBe(1);
      await finish(next);
    },
  },
  {
    name: 'a reset carries over the updates of runs that continued as new',
    async run(stage) {
      const run = await stage.start(askAndContinue, [false]);
      await run.until('WorkflowTaskCompleted');
      expect(await run.handle.executeUpdate(add, { args: [1], updateId: 'first' })).toBe(1);
      await run.handle.signal(go, 'on');
      await run.until('WorkflowExecutionContinuedAsNew');
      const { workflow } = stage.client;
      expect(await workflow.getHandle(run.workflowId).executeUpdate(add, { args: [2], updateId: 'second' })).toBe(2);
      const next = await reset(stage, run, firstTask);
      const { types } = await next.until('WorkflowExecutionContinuedAsNew');
      expect(types.filter((type) => type === admitted)).toHaveLength(2);
      expect(types.filter((type) => type === 'WorkflowExecutionUpdateCompleted')).toHaveLength(2);
      expect(await next.handle.getUpdateHandle('second').result()).toBe(3);
      await workflow.getHandle(run.workflowId).signal(go, 'finish');
      expect(await workflow.getHandle(run.workflowId).result()).toBe(0);
    },
  },
];

function updatesOf(types: readonly string[]): readonly string[] {
  return types.filter((type) => type.includes('Update'));
}

async function finish({ handle }: Run): Promise<void> {
  await handle.signal('finish');
  await handle.result();
}
