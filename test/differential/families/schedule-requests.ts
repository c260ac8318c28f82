import type { Prng } from '../../simulation/prng.ts';
import type { Fields } from '../program.ts';
import { payload, payloads, seconds } from './requests.ts';

/** Specs that answer the same whenever they are asked: nothing of them is due while a program runs. */
export function spec(prng: Prng): Fields {
  const parts: Fields = {
    ...(prng.chance(0.4) ? { interval: [{ interval: seconds(prng.pick([86_400, 7_200])), phase: seconds(prng.pick([0, 60])) }] } : {}),
    ...(prng.chance(0.4) ? { structuredCalendar: [structured(prng)] } : {}),
    ...(prng.chance(0.3) ? { calendar: [calendar(prng)] } : {}),
    ...(prng.chance(0.3) ? { cronString: [prng.pick(CRONS)] } : {}),
    ...(prng.chance(0.2) ? { excludeStructuredCalendar: [structured(prng)] } : {}),
    ...(prng.chance(0.1) ? { excludeCalendar: [calendar(prng)] } : {}),
    ...(prng.chance(0.25) ? { timezoneName: prng.pick(['Europe/London', 'America/New_York', 'Asia/Kolkata', 'Nowhere/At']) } : {}),
    ...(prng.chance(0.15) ? { startTime: { seconds: 1_900_000_000 } } : {}),
    ...(prng.chance(0.15) ? { endTime: { seconds: 2_000_000_000 } } : {}),
  };
  return Object.keys(parts).length === 0 ? { interval: [{ interval: seconds(86_400) }] } : parts;
}

const CRONS = [
  '0 9 * * MON',
  '30 2 1 * *',
  '@daily',
  '@every 2h',
  'CRON_TZ=Europe/Berlin 0 12 * * *',
  '0 0 29 2 *',
  '15 14 1 1 * 2040',
  'x',
  '0 25 * * *',
  '@hourly # noted',
];

function range(prng: Prng, from: number, to: number): Fields {
  const start = prng.int(from, to);
  return prng.pick<Fields>([{ start }, { start, end: prng.int(start, to) }, { start, end: to, step: prng.int(1, 5) }]);
}

function structured(prng: Prng): Fields {
  return {
    second: [{ start: 0 }],
    minute: [range(prng, 0, 59)],
    hour: [range(prng, 0, 23)],
    dayOfMonth: [prng.chance(0.5) ? { start: 1, end: 31 } : range(prng, 1, 31)],
    month: [prng.chance(0.5) ? { start: 1, end: 12 } : range(prng, 1, 12)],
    ...(prng.chance(0.2) ? { year: [{ start: 2030, end: 2035 }] } : {}),
    dayOfWeek: [prng.chance(0.6) ? { start: 0, end: 6 } : range(prng, 0, 6)],
    ...(prng.chance(0.3) ? { comment: 'noted' } : {}),
  };
}

function calendar(prng: Prng): Fields {
  return {
    minute: prng.pick(['0', '*/15', '5-10', '']),
    hour: prng.pick(['9', '*', '1,13', '23/2']),
    dayOfMonth: prng.pick(['', '*', '1', '31', '32']),
    month: prng.pick(['', '*', 'Feb', 'january-march', '13']),
    dayOfWeek: prng.pick(['', '*', 'Mon-Fri', 'sunday', '7', 'noday']),
    year: prng.pick(['', '2031']),
  };
}

export const OVERLAPS = ['UNSPECIFIED', 'SKIP', 'BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_OTHER', 'TERMINATE_OTHER', 'ALLOW_ALL'];

export const overlap = (prng: Prng): string => `SCHEDULE_OVERLAP_POLICY_${prng.pick(OVERLAPS)}`;

export function schedule(prng: Prng): Fields {
  return {
    spec: prng.chance(0.6) ? { interval: [{ interval: seconds(86_400 * 365) }] } : spec(prng),
    action: {
      startWorkflow: {
        workflowId: '$W3',
        workflowType: { name: 'scheduled' },
        taskQueue: { name: '$Q3' },
        input: payloads('in'),
        workflowRunTimeout: seconds(100),
        memo: { fields: { note: payload('of a schedule') } },
        searchAttributes: { indexedFields: { DiffKeyword: payload('s') } },
        header: { fields: { trace: payload('header') } },
      },
    },
    policies: {
      overlapPolicy: overlap(prng),
      catchupWindow: seconds(prng.pick([60, 5, 86_400])),
      pauseOnFailure: prng.chance(0.3),
      ...(prng.chance(0.3) ? { keepOriginalWorkflowId: true } : {}),
    },
    state: {
      notes: prng.pick(['', 'noted']),
      paused: prng.chance(0.3),
      ...(prng.chance(0.3) ? { limitedActions: true, remainingActions: prng.pick([0, 1, 2]) } : {}),
    },
  };
}

export function createRequest(prng: Prng): Fields {
  return {
    scheduleId: '$W0-schedule',
    schedule: schedule(prng),
    identity: 'client',
    requestId: prng.pick(['create-1', 'create-1', 'create-2']),
    ...(prng.chance(0.4) ? { memo: { fields: { note: payload('memo') } } } : {}),
    ...(prng.chance(0.4) ? { searchAttributes: { indexedFields: { DiffKeyword: payload('k') } } } : {}),
    ...(prng.chance(0.2) ? { initialPatch: { triggerImmediately: { overlapPolicy: overlap(prng) } } } : {}),
  };
}
