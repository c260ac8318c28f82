/** What a schedule does, made of its definition. It is read once for as long as somebody has its bytes. */
import { actionTimeText } from '../../schedules/action-time.ts';
import { jitterSeedOf, scheduleIdOf } from '../../schedules/schedule-id.ts';
import type { SchedulePlan } from '../../schedules/schedule.ts';
import { timesOfSpec } from '../../schedules/times-of-spec.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryWire } from './history-replies.ts';
import type { ScheduleDefinition } from './schedule-wire.ts';

export type Plan = SchedulePlan & Omit<ScheduleDefinition, 'spec'>;

const plans = new WeakMap<Uint8Array, Plan>();

export function planOf(wire: HistoryWire, key: RunKey, definition: Uint8Array): Plan {
  const known = plans.get(definition);
  if (known !== undefined) return known;
  const { spec, ...rest } = wire.schedules.readDefinition(definition);
  const plan: Plan = { ...rest, nextTime: timesOfSpec(spec, jitterSeedOf(key.namespaceId, scheduleIdOf(key))) };
  plans.set(definition, plan);
  return plan;
}

export function actionWorkflowId({ keepsWorkflowId, workflow: { workflowId } }: Plan, nominalTimeMs: number): string {
  return keepsWorkflowId ? workflowId : `${workflowId}-${actionTimeText(nominalTimeMs)}`;
}
