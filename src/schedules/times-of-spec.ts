import type { NextTime } from './schedule.ts';
import { compileSpec } from './spec/compiled-spec.ts';
import { KnownTimes } from './spec/known-times.ts';
import type { CanonicalSpec } from './spec/schedule-spec.ts';

/** The times of a schedule, for whoever acts at them or tells of them. `jitterSeed`: `jitterSeedOf`. */
export function timesOfSpec(spec: CanonicalSpec, jitterSeed: string): NextTime {
  const compiled = compileSpec(spec, { jitterSeed });
  if (compiled === undefined) return unknownZone(spec);
  const times = new KnownTimes(compiled);
  return (afterMs, turn) => times.next(afterMs, turn);
}

/** Nothing of it is due until Node knows the zone, or the spec is changed. */
function unknownZone({ timeZoneName }: CanonicalSpec): NextTime {
  return (_, turn) => {
    turn.giveUp(`unknown time zone ${timeZoneName}`);
    return undefined;
  };
}
