import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { ScheduleDescription, ScheduleHandle, ScheduleOptions, ScheduleOptionsStartWorkflowAction } from '@temporalio/client';
import type { Workflow } from '@temporalio/client';
import { expect, vi } from 'vitest';
import type { Run, Stage } from './harness.ts';

/** A schedule for the time of a scenario, and what is asked of it. */
export type Options = Partial<Omit<ScheduleOptions, 'action'>> & {
  readonly workflow: { readonly name: string };
  readonly args?: unknown[];
  readonly action?: Partial<ScheduleOptionsStartWorkflowAction<Workflow>>;
};

export const hour = 3_600_000;
export const hourly: Pick<Options, 'spec'> = { spec: { intervals: [{ every: '1 hour' }] } };

export function create(stage: Stage, { workflow, args = [], spec = {}, action: more = {}, ...options }: Options): Promise<ScheduleHandle> {
  const action = {
    type: 'startWorkflow',
    workflowType: workflow.name,
    taskQueue: stage.taskQueue,
    workflowId: `${stage.id}-wf`,
    args,
    ...more,
  } as const;
  return stage.client.schedule.create({ scheduleId: stage.id, ...options, spec, action });
}

export async function withSchedule(stage: Stage, options: Options, use: (schedule: ScheduleHandle) => Promise<void>): Promise<void> {
  const schedule = await create(stage, options);
  try {
    await use(schedule);
  } finally {
    await schedule.delete().catch(() => {});
  }
}

/** The SDK would ask for ALLOW_ALL: such a workflow is in nobody's way, and is not waited for. */
export function trigger(schedule: ScheduleHandle): Promise<void> {
  return schedule.trigger(ScheduleOverlapPolicy.SKIP);
}

/** Temporal's own schedules learn of things a moment later. */
export function until(schedule: ScheduleHandle, isThere: (description: ScheduleDescription) => boolean): Promise<ScheduleDescription> {
  return vi.waitFor(
    async () => {
      const description = await schedule.describe();
      expect(isThere(description), 'it is so far').toBe(true);
      return description;
    },
    { timeout: 60_000, interval: 100 },
  );
}

export function running(count: number): (description: ScheduleDescription) => boolean {
  return ({ info: { runningActions } }) => runningActions.length === count;
}

/** In the order of their starts. */
export function runsOf(stage: Stage, { recentActions }: ScheduleDescription['info']): Promise<Run[]> {
  return Promise.all(recentActions.map(({ action: { workflow } }) => stage.observe(workflow.workflowId, workflow.firstExecutionRunId)));
}
