/** What a shard is asked about schedules: one of whole minutes, unless a test says otherwise. */
import type { CreateSchedule, PatchSchedule, UpdateSchedule } from '../../src/history/commands/schedule-commands.ts';
import type { SchedulePatch } from '../../src/schedules/changes.ts';
import { keptAs } from '../../src/schedules/schedule-id.ts';
import { overlapPolicy, type ScheduleStateFields } from '../../src/schedules/schedule.ts';
import {
  emptyNewWorkflowExecutionInfo,
  emptyScheduleSpec,
  encodeSchedule,
  type NewWorkflowExecutionInfo,
  type SchedulePolicies,
} from '../../src/wire/generated/lean/schedule.ts';
import { namespaceId } from './shard-under-test.ts';

export const aScheduleKey = { namespaceId, workflowId: keptAs('nightly'), runId: '' };

export const active: ScheduleStateFields = { paused: false, notes: '', limitedActions: false, remainingActions: 0 };

export type Defined = {
  readonly intervalMs?: number;
  readonly policies?: Partial<SchedulePolicies>;
  readonly workflow?: Partial<NewWorkflowExecutionInfo>;
};

export function definitionOf({ intervalMs = 60_000, policies = {}, workflow = {} }: Defined = {}): Uint8Array {
  return encodeSchedule({
    spec: { ...emptyScheduleSpec(), interval: [{ intervalMs, phaseMs: 0 }] },
    action: {
      startWorkflow: {
        ...emptyNewWorkflowExecutionInfo(),
        workflowId: 'report',
        workflowType: { name: 'Report' },
        taskQueue: { name: 'queue', kind: 1, normalName: '' },
        ...workflow,
      },
    },
    policies: {
      overlapPolicy: overlapPolicy.skip,
      catchupWindowMs: 365 * 86_400_000,
      pauseOnFailure: false,
      keepOriginalWorkflowId: false,
      ...policies,
    },
    state: undefined,
  });
}

export function createSchedule(change: Partial<CreateSchedule> & { readonly defined?: Defined } = {}): CreateSchedule {
  const { defined, ...rest } = change;
  return {
    kind: 'createSchedule',
    key: aScheduleKey,
    namespace: 'ns',
    newRunId: '00000000-0000-4000-8000-0000000000ff',
    requestId: 'create',
    definition: definitionOf(defined),
    state: active,
    patch: undefined,
    memo: undefined,
    searchAttributes: undefined,
    identity: 'client',
    retentionMs: 3_600_000,
    ...rest,
  };
}

export function updateSchedule(change: Partial<UpdateSchedule> & { readonly defined?: Defined } = {}): UpdateSchedule {
  const { defined, ...rest } = change;
  return {
    kind: 'updateSchedule',
    key: aScheduleKey,
    requestId: 'update',
    definition: definitionOf(defined),
    state: active,
    conflictToken: 0,
    memo: undefined,
    searchAttributes: undefined,
    ...rest,
  };
}

export function patchSchedule(patch: Partial<SchedulePatch>, requestId = 'patch'): PatchSchedule {
  const nothing: SchedulePatch = { trigger: undefined, backfills: [], pause: '', unpause: '' };
  return { kind: 'patchSchedule', key: aScheduleKey, requestId, patch: { ...nothing, ...patch } };
}
