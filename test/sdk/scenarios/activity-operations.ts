import { expect, vi } from 'vitest';
import type { Run, Scenario, Stage } from '../harness.ts';
import { callActivity, cancelActivityOnSignal } from '../workflows.ts';

/** `temporal.api.enums.v1.PendingActivityState` */
const states = { started: 2, paused: 4 };

/** What operators do to an activity that is pending. */
export const activityOperationScenarios: readonly Scenario[] = [
  {
    name: 'a paused activity learns of it, fails, and is tried again once it is unpaused',
    async run(stage) {
      const options = { heartbeatTimeout: '10s', retry: { initialInterval: 1 } } as const;
      const run = await stage.start(cancelActivityOnSignal, ['beatUntilCancelled', options, false]);
      await run.gate('beating').arrived;
      const named = { ...executionOf(stage, run), type: 'beatUntilCancelled' };
      await stage.service.pauseActivity({ ...named, identity: 'operator', reason: 'look' });
      await expectPending(stage, run, { state: states.paused, paused: true, attempt: 2 });
      await stage.service.unpauseActivity(named);
      await expectPending(stage, run, { state: states.started, paused: false, attempt: 2 });
      await run.handle.terminate();
    },
  },
  {
    name: 'an activity that waits for its retry is reset, and runs with its current options',
    async run(stage) {
      const options = { startToCloseTimeout: '10s', retry: { initialInterval: '1h' } } as const;
      const run = await stage.start(callActivity, ['flaky', [2], options]);
      await expectPending(stage, run, { attempt: 2 });
      const named = { ...executionOf(stage, run), id: '1' };
      const firstEnded = await lastEnd(stage, run);
      await stage.service.resetActivity(named);
      // Its first attempt, once more.
      await expect.poll(() => lastEnd(stage, run), { timeout: 60_000, interval: 50 }).toBeGreaterThan(firstEnded);
      await expectPending(stage, run, { attempt: 2 });
      const activityOptions = { retryPolicy: { initialInterval: { nanos: 1_000_000 } } };
      await stage.service.updateActivityOptions({
        ...named,
        activityOptions,
        updateMask: { paths: ['retry_policy.initial_interval'] },
      });
      expect(await run.handle.result()).toBe('attempt 2');
    },
  },
];

function executionOf(stage: Stage, { workflowId, runId }: Run): { readonly namespace: string; readonly execution: object } {
  return { namespace: stage.namespace, execution: { workflowId, runId } };
}

async function expectPending(stage: Stage, run: Run, expected: object): Promise<void> {
  const isSo = async (): Promise<void> => {
    const { pendingActivities } = await stage.describe(run)();
    expect(pendingActivities?.[0]).toMatchObject(expected);
  };
  await vi.waitFor(isSo, { timeout: 60_000, interval: 50 });
}

/** When the last attempt ended that has, in milliseconds. */
async function lastEnd(stage: Stage, run: Run): Promise<number> {
  const { pendingActivities } = await stage.describe(run)();
  const { seconds, nanos } = pendingActivities?.[0]?.lastAttemptCompleteTime ?? {};
  return Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1e6;
}
