import { expect } from 'vitest';
import { enums } from '../fields.ts';
import type { Run, Scenario, Stage } from '../harness.ts';
import { RawWorker } from '../raw-worker.ts';

/** What operators make of the options of a workflow. */
export const workflowOptionScenarios: readonly Scenario[] = [
  {
    name: 'a workflow gets another priority: one event without a workflow task, and none if nothing changes',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start({ priority: { priorityKey: 3, fairnessKey: 'tenant' } });
      await worker.complete(await worker.poll());
      const changed = await update(stage, run, { priorityKey: 1 }, 'priority.priority_key');
      expect(changed.workflowExecutionOptions?.priority).toMatchObject({ priorityKey: 1, fairnessKey: 'tenant' });
      await update(stage, run, { priorityKey: 1, fairnessKey: 'other' }, 'priority.priority_key');
      const { workflowExecutionInfo, pendingWorkflowTask } = await stage.describe(run)();
      expect(workflowExecutionInfo?.priority).toMatchObject({ priorityKey: 1, fairnessKey: 'tenant' });
      expect(pendingWorkflowTask).toBeNull();
      const history = await run.history();
      expect(history.types.slice(4)).toEqual(['WorkflowExecutionOptionsUpdated']);
      expect(history.events[4]?.workerMayIgnore).toBe(true);
      expect(history.events[4]?.workflowExecutionOptionsUpdatedEventAttributes).toMatchObject({
        identity: 'operator',
        priority: { priorityKey: 1, fairnessKey: 'tenant' },
        unsetVersioningOverride: true,
      });
      await run.handle.terminate();
      await expect(update(stage, run, {}, 'priority')).rejects.toMatchObject({ code: 5 });
    },
  },
  {
    name: 'a new priority reaches the activities that follow, and the run that continues as new',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const task = await worker.poll();
      await update(stage, run, { priorityKey: 2 }, 'priority');
      // Its event waits for the end of the task.
      await worker.complete(task, [worker.scheduleActivity('a', { priority: { fairnessKey: 'own' } })]);
      expect((await run.history()).types.slice(3)).toEqual([
        'WorkflowTaskCompleted',
        'ActivityTaskScheduled',
        'WorkflowExecutionOptionsUpdated',
        'WorkflowTaskScheduled',
      ]);
      expect((await worker.pollActivity()).priority).toMatchObject({ priorityKey: 2, fairnessKey: 'own' });
      await worker.complete(await worker.poll(), [
        {
          commandType: enums.CommandType.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
          continueAsNewWorkflowExecutionCommandAttributes: {},
        },
      ]);
      const next = await stage.observe(run.workflowId);
      expect((await stage.describe(next)()).workflowExecutionInfo?.priority).toMatchObject({ priorityKey: 2 });
      await next.handle.terminate();
    },
  },
  {
    name: 'an invalid change of options is refused with its reason',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const named = { namespace: stage.namespace, workflowExecution: { workflowId: run.workflowId, runId: run.runId } };
      const { service } = stage;
      await expect(service.updateWorkflowExecutionOptions(named)).rejects.toMatchObject({ code: 3, details: 'UpdateMask is required' });
      await expect(service.updateWorkflowExecutionOptions({ ...named, updateMask: { paths: ['priority'] } })).rejects.toMatchObject({
        code: 3,
        details: 'WorkflowExecutionOptions is required',
      });
      await expect(update(stage, run, { priorityKey: -1 }, 'priority')).rejects.toMatchObject({ code: 3 });
      // Where Temporal has a space, it may be another one from build to build.
      const unknown =
        /^error parsing UpdateMask: proto:\s?.invalid path "priorities" for message "temporal.api.workflow.v1.WorkflowExecutionOptions"$|^error parsing UpdateMask: proto:.invalid path "priorities"/u;
      await expect(update(stage, run, {}, 'priorities')).rejects.toMatchObject({ code: 3, details: expect.stringMatching(unknown) });
      expect((await run.history()).types).toEqual(['WorkflowExecutionStarted', 'WorkflowTaskScheduled']);
      await run.handle.terminate();
    },
  },
];

type Priority = { readonly priorityKey?: number; readonly fairnessKey?: string; readonly fairnessWeight?: number };

async function update(stage: Stage, { workflowId, runId }: Run, priority: Priority, ...paths: string[]) {
  return await stage.service.updateWorkflowExecutionOptions({
    namespace: stage.namespace,
    workflowExecution: { workflowId, runId },
    workflowExecutionOptions: { priority },
    updateMask: { paths },
    identity: 'operator',
  });
}
