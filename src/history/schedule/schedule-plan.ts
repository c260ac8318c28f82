/** What a schedule does, made of its definition. It is read once for as long as somebody has its bytes. */
import { scheduleIdOf } from '../../schedules/schedule-id.ts';
import type { SchedulePlan } from '../../schedules/schedule.ts';
import { compileSpec } from '../../schedules/spec/compiled-spec.ts';
import { KnownTimes } from '../../schedules/spec/known-times.ts';
import type { RunKey } from '../commands.ts';
import type { HistoryWire } from '../replies.ts';
import type { ScheduleDefinition } from './schedule-wire.ts';

export type Plan = SchedulePlan & Omit<ScheduleDefinition, 'spec'>;

const plans = new WeakMap<Uint8Array, Plan>();

export function planOf(wire: HistoryWire, key: RunKey, definition: Uint8Array): Plan {
  const known = plans.get(definition);
  if (known !== undefined) return known;
  const { spec, ...rest } = wire.schedules.readDefinition(definition);
  // Of the schedule, not of its run: one that is made anew acts at the same times.
  const compiled = compileSpec(spec, { jitterSeed: `${key.namespaceId}-${scheduleIdOf(key)}` });
  // A zone that this release of Node does not know any more: nothing is due until the schedule is changed.
  const times = compiled && new KnownTimes(compiled);
  const plan: Plan = { ...rest, nextTime: (afterMs, turn) => times?.next(afterMs, turn) };
  plans.set(definition, plan);
  return plan;
}
