import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { createRequest, spec } from './schedule-requests.ts';
import { steady, times } from './steps.ts';

/** When schedules are due: many specs, right and wrong ones, and the times that they match. */
export function scheduleSpecs(prng: Prng): readonly Step[] {
  return times(prng.int(1, 2), () => oneSpec(prng, `$W0-${prng.int(0, 9_999)}`));
}

function oneSpec(prng: Prng, scheduleId: string): readonly Step[] {
  const create = createRequest(prng);
  const full = { ...(create['schedule'] as Fields), spec: prng.chance(0.3) ? mutated(prng, spec(prng)) : spec(prng) };
  const from = prng.pick([1_830_297_600, 1_806_000_000, 1_711_846_800, 1_950_000_000]);
  const matching = (range: Fields): Step => call('ListScheduleMatchingTimes', { scheduleId, ...range });
  return [
    call('CreateSchedule', { ...create, scheduleId, schedule: { ...full, state: { paused: true } }, initialPatch: undefined }),
    steady('DescribeSchedule', { scheduleId }),
    matching({ startTime: { seconds: from }, endTime: { seconds: from + 86_400 * prng.pick([1, 3, 30]) } }),
    ...(prng.chance(0.2) ? [matching({ startTime: { seconds: from }, endTime: { seconds: from - 1 } }), matching({})] : []),
    call('DeleteSchedule', { scheduleId, identity: 'client' }),
  ];
}
