import { WithStartWorkflowOperation, WorkflowUpdateFailedError, WorkflowUpdateStage } from '@temporalio/client';
import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { add, addLater, askAndAnswer, refuseAll } from '../workflows.ts';

const update = ['WorkflowExecutionUpdateAccepted', 'WorkflowExecutionUpdateCompleted'] as const;

export const updateScenarios: readonly Scenario[] = [
  {
    name: 'an update of an idle workflow is answered, and is in its history',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await run.until('WorkflowTaskCompleted');
      expect(await run.handle.executeUpdate(add, { args: [3] })).toBe(3);
      expect(await run.handle.executeUpdate(add, { args: [4] })).toBe(7);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...workflowTask,
        ...update,
        ...workflowTask,
        ...update,
      ]);
      await run.handle.signal('finish');
      expect(await run.handle.result()).toBe(7);
    },
  },
  {
    name: 'an update that its validator refuses leaves no trace',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      const before = await run.until('WorkflowTaskCompleted');
      const refused = run.handle.executeUpdate(add, { args: [-1] });
      await expect(refused).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
      await expect(refused).rejects.toMatchObject({ cause: { message: 'only more' } });
      expect((await run.history()).types).toEqual(before.types);
      expect(await run.handle.executeUpdate(add, { args: [1] })).toBe(1);
      await run.handle.signal('finish');
      await run.handle.result();
    },
  },
  {
    name: 'an update before the first workflow task is delivered with it',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      expect(await run.handle.executeUpdate(add, { args: [5] })).toBe(5);
      await run.handle.signal('finish');
      await run.handle.result();
    },
  },
  {
    name: 'an update is accepted first and completed later, and found again by its id',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      const handle = await run.handle.startUpdate(addLater, { args: [2], waitForStage: WorkflowUpdateStage.ACCEPTED, updateId: 'later' });
      expect((await run.history()).types.filter((type) => type.includes('Update'))).toEqual(['WorkflowExecutionUpdateAccepted']);
      await run.handle.signal('go', 'now');
      expect(await handle.result()).toBe(2);
      const again = await run.handle.startUpdate(addLater, { args: [2], waitForStage: WorkflowUpdateStage.ACCEPTED, updateId: 'later' });
      expect(await again.result()).toBe(2);
      await run.handle.signal('finish');
      expect(await run.handle.result()).toBe(2);
      expect(await run.handle.getUpdateHandle('later').result()).toBe(2);
      expect((await run.history()).types.filter((type) => type.includes('Update'))).toEqual([...update]);
    },
  },
  {
    name: 'an update whose handler fails is a failure for its caller',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await expect(run.handle.executeUpdate(add, { args: [13] })).rejects.toMatchObject({ cause: { message: 'unlucky' } });
      await run.handle.signal('finish');
      expect(await run.handle.result()).toBe(0);
    },
  },
  {
    name: 'a workflow that closes fails the update that it had accepted',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      const handle = await run.handle.startUpdate(addLater, { args: [2], waitForStage: WorkflowUpdateStage.ACCEPTED });
      const outcome = handle.result();
      outcome.catch(() => undefined);
      await run.handle.terminate();
      const message = 'Workflow Update failed because the Workflow completed before the Update completed.';
      await expect(outcome).rejects.toMatchObject({ cause: { message, type: 'AcceptedUpdateCompletedWorkflow' } });
    },
  },
  {
    name: 'a closed workflow takes no update',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      await run.handle.signal('finish');
      await run.handle.result();
      await expect(run.handle.executeUpdate(add, { args: [1] })).rejects.toThrow('workflow execution already completed');
    },
  },
  {
    name: 'an update that the workflow does not know is refused',
    async run(stage) {
      const run = await stage.start(refuseAll, []);
      await run.until('WorkflowTaskCompleted');
      await expect(run.handle.executeUpdate('no-such-update')).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
      await run.handle.signal('finish');
      await run.handle.result();
    },
  },
  {
    name: 'many updates at once are all answered, each once',
    async run(stage) {
      const run = await stage.start(askAndAnswer, []);
      const answers = await Promise.all(Array.from({ length: 10 }, () => run.handle.executeUpdate(add, { args: [1] })));
      expect(answers.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      await run.handle.signal('finish');
      expect(await run.handle.result()).toBe(10);
    },
  },
  {
    name: 'an update with start starts a workflow, or finds it',
    async run(stage) {
      const workflowId = stage.id;
      const startOperation = () =>
        new WithStartWorkflowOperation(askAndAnswer, {
          workflowId,
          taskQueue: stage.taskQueue,
          args: [],
          workflowIdConflictPolicy: 'USE_EXISTING',
        });
      const first = startOperation();
      const { workflow } = stage.client;
      expect(await workflow.executeUpdateWithStart(add, { args: [3], startWorkflowOperation: first })).toBe(3);
      expect(await workflow.executeUpdateWithStart(add, { args: [4], startWorkflowOperation: startOperation() })).toBe(7);
      const handle = await first.workflowHandle();
      await handle.signal('finish');
      expect(await handle.result()).toBe(7);
    },
  },
];
