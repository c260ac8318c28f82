/** What a schedule does, made of its definition. It is read once for as long as somebody has its bytes. */
import { scheduleIdOf } from '../../schedules/schedule-id.ts';
import type { NextTime, SchedulePlan } from '../../schedules/schedule.ts';
import { type CompiledSpec, compileSpec, unknownZone } from '../../schedules/spec/compiled-spec.ts';
import { KnownTimes } from '../../schedules/spec/known-times.ts';
import type { RunKey } from '../commands.ts';
import type { HistoryWire } from '../replies.ts';
import type { ScheduleDefinition } from './schedule-wire.ts';

export type Plan = SchedulePlan & Omit<ScheduleDefinition, 'spec'>;

const plans = new WeakMap<Uint8Array, Plan>();

function timesOf(compiled: CompiledSpec): NextTime {
  const times = new KnownTimes(compiled);
  return (afterMs, turn) => times.next(afterMs, turn);
}

export function planOf(wire: HistoryWire, key: RunKey, definition: Uint8Array): Plan {
  const known = plans.get(definition);
  if (known !== undefined) return known;
  const { spec, ...rest } = wire.schedules.readDefinition(definition);
  // Of the schedule, not of its run: one that is made anew acts at the same times.
  const compiled = compileSpec(spec, { jitterSeed: `${key.namespaceId}-${scheduleIdOf(key)}` });
  const plan: Plan = { ...rest, nextTime: compiled === undefined ? unknownZone(spec) : timesOf(compiled) };
  plans.set(definition, plan);
  return plan;
}
