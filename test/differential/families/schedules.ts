import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { createRequest, overlap, schedule } from './schedule-requests.ts';
import { steady, times } from './steps.ts';

const scheduleId = '$W0-schedule';
const described = steady('DescribeSchedule', { scheduleId });
const HOUR = 3_600;

/** Schedules that are made, changed, patched, triggered, backfilled, and deleted. */
export function schedules(prng: Prng): readonly Step[] {
  const create = createRequest(prng);
  return [
    call('CreateSchedule', prng.chance(0.15) ? mutated(prng, create) : create),
    described,
    ...times(prng.int(1, 4), () => [change(prng), described]),
    ...(prng.chance(0.3) ? [call('DeleteSchedule', { scheduleId, identity: 'client' }), { op: 'sleep', ms: 150 } as const, described] : []),
  ];
}

function change(prng: Prng): Step {
  const requestId = `schedule-${prng.int(0, 999_999)}`;
  const [method, request] = prng.pick<() => readonly [string, Fields]>([
    () => ['CreateSchedule', createRequest(prng)],
    () => ['UpdateSchedule', { scheduleId, schedule: schedule(prng), identity: 'client', requestId }],
    () => ['PatchSchedule', { scheduleId, patch: patch(prng), identity: 'client', requestId }],
    () => ['PatchSchedule', { scheduleId, patch: patch(prng), identity: 'client', requestId }],
    () => ['PatchSchedule', { scheduleId, patch: patch(prng), identity: 'client', requestId }],
    () => ['DescribeSchedule', { scheduleId }],
    () => ['CountSchedules', { query: `ScheduleId = '${scheduleId}'` }],
  ])();
  // Without its query it counts the schedules of other programs.
  return call(method, prng.chance(0.2) && !('query' in request) ? mutated(prng, request) : request);
}

function patch(prng: Prng): Fields {
  return prng.pick<() => Fields>([
    () => ({ triggerImmediately: { overlapPolicy: overlap(prng) } }),
    () => ({ triggerImmediately: { overlapPolicy: overlap(prng) } }),
    () => ({ pause: 'paused by hand' }),
    () => ({ unpause: 'unpaused by hand' }),
    () => ({ backfillRequest: [{ ...past(prng), overlapPolicy: overlap(prng) }] }),
    () => ({}),
  ])();
}

/** Around a turn of the year, when the yearly interval of `schedule` is due: seconds since 1970 in multiples of 365 days. */
function past(prng: Prng): Fields {
  const due = 86_400 * 365 * prng.pick([50, 51]);
  return { startTime: { seconds: due - HOUR }, endTime: { seconds: due + HOUR * prng.pick([1, 2, -2]) } };
}
