import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { enums } from '../fields.ts';
import { cancelOther, collectSignals, signalOther, surviveCancel } from '../workflows.ts';

const upTo = ['WorkflowExecutionStarted', ...workflowTask];
const rest = [...workflowTask, 'WorkflowExecutionCompleted'];

/** Signals and cancel requests from one workflow to another. */
export const externalScenarios: readonly Scenario[] = [
  {
    name: 'an external signal finds its workflow',
    async run(stage) {
      const other = await stage.start(collectSignals, [1], { workflowId: `${stage.id}-other` });
      await other.until('WorkflowTaskCompleted');
      const run = await stage.start(signalOther, [other.workflowId, 'hello']);
      expect(await run.handle.result()).toBe('ok: undefined');
      expect(await other.handle.result()).toEqual(['hello']);
      const history = await run.history();
      expect(history.types).toEqual([...upTo, 'SignalExternalWorkflowExecutionInitiated', 'ExternalWorkflowExecutionSignaled', ...rest]);
      expect(history.only('signalExternalWorkflowExecutionInitiatedEventAttributes')).toMatchObject({
        childWorkflowOnly: false,
        signalName: 'go',
      });
      expect(history.only('externalWorkflowExecutionSignaledEventAttributes').workflowExecution).toMatchObject({
        workflowId: other.workflowId,
      });
      const otherHistory = await other.history();
      expect(otherHistory.types).toEqual([...upTo, 'WorkflowExecutionSignaled', ...rest]);
      expect(otherHistory.only('workflowExecutionSignaledEventAttributes').externalWorkflowExecution).toMatchObject({
        workflowId: run.workflowId,
        runId: run.runId,
      });
    },
  },
  {
    name: 'an external signal finds no workflow',
    async run(stage) {
      const run = await stage.start(signalOther, [`${stage.id}-nobody`, 'hello']);
      expect(await run.handle.result()).not.toContain('ok');
      const history = await run.history();
      expect(history.types).toEqual([
        ...upTo,
        'SignalExternalWorkflowExecutionInitiated',
        'SignalExternalWorkflowExecutionFailed',
        ...rest,
      ]);
      const failed = history.only('signalExternalWorkflowExecutionFailedEventAttributes');
      expect(failed.cause).toBe(
        enums.SignalExternalWorkflowExecutionFailedCause
          .SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND,
      );
      expect(Number(failed.initiatedEventId)).toBe(5);
    },
  },
  {
    name: 'an external cancel finds its workflow',
    async run(stage) {
      const other = await stage.start(surviveCancel, [], { workflowId: `${stage.id}-other` });
      await other.until('WorkflowTaskCompleted');
      const run = await stage.start(cancelOther, [other.workflowId]);
      expect(await run.handle.result()).toBe('ok: undefined');
      expect(await other.handle.result()).toBe('survived CancelledFailure');
      const history = await run.history();
      expect(history.types).toEqual([
        ...upTo,
        'RequestCancelExternalWorkflowExecutionInitiated',
        'ExternalWorkflowExecutionCancelRequested',
        ...rest,
      ]);
      expect(history.only('requestCancelExternalWorkflowExecutionInitiatedEventAttributes').childWorkflowOnly).toBe(false);
      const otherHistory = await other.history();
      expect(otherHistory.types).toEqual([...upTo, 'WorkflowExecutionCancelRequested', ...rest]);
      expect(otherHistory.only('workflowExecutionCancelRequestedEventAttributes').externalWorkflowExecution).toMatchObject({
        workflowId: run.workflowId,
      });
    },
  },
  {
    name: 'an external cancel finds no workflow',
    async run(stage) {
      const run = await stage.start(cancelOther, [`${stage.id}-nobody`]);
      expect(await run.handle.result()).not.toContain('ok');
      const history = await run.history();
      expect(history.types).toEqual([
        ...upTo,
        'RequestCancelExternalWorkflowExecutionInitiated',
        'RequestCancelExternalWorkflowExecutionFailed',
        ...rest,
      ]);
      expect(history.only('requestCancelExternalWorkflowExecutionFailedEventAttributes').cause).toBe(
        enums.CancelExternalWorkflowExecutionFailedCause
          .CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND,
      );
    },
  },
  {
    name: 'a closed workflow: its cancel is a success, its signal is not',
    async run(stage) {
      const closed = await stage.start(surviveCancel, [], { workflowId: `${stage.id}-closed` });
      await closed.handle.terminate();
      const canceller = await stage.start(cancelOther, [closed.workflowId], { workflowId: `${stage.id}-canceller` });
      expect(await canceller.handle.result()).toBe('ok: undefined');
      const signaller = await stage.start(signalOther, [closed.workflowId, 'late'], { workflowId: `${stage.id}-signaller` });
      expect(await signaller.handle.result()).not.toContain('ok');
      expect((await signaller.history()).types).toContain('SignalExternalWorkflowExecutionFailed');
    },
  },
];
