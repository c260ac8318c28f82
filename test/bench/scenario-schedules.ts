/**
 * How late schedules act, and what they cost while they wait. Nobody polls: a workflow that has begun is all that is asked for.
 *
 *     schedules of an hour: idle ─▶ as many of a minute, one after the other ─▶ as many that are due in the same second
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { figure, percentile, type Figure } from './figures.ts';
import type { Pace } from './pace.ts';
import { cpuMsOf, residentMiBOf, type Target } from './target.ts';

const callers = 32;
/** What comes of the creations: checkpoints, garbage. */
const settlingMs = 10_000;
const minuteSeconds = 60;
const hourSeconds = 3_600;
/** Nobody's workflow is in anybody's way. */
const allowAll = 6;

type Service = Connection['workflowService'];

export async function schedulesRound(target: Target, pace: Pace, schedules: number): Promise<readonly Figure[]> {
  const connection = await Connection.connect({ address: target.address });
  const { workflowService: service } = connection;
  const { namespace } = target;
  const mine = `${Date.now()}`;
  try {
    await delay(pace.warmUpMs);
    // The probe of the event loop is in it.
    const withoutAny = await cpuShare(target, pace.windowMs);
    // Half an hour from now, so that none of them acts.
    const halfAnHourAgo = (Math.floor(Date.now() / 1_000) % hourSeconds) + hourSeconds / 2;
    const createdMs = await timed(() =>
      inParallel(schedules, (nth) => create(service, namespace, `${mine}-idle-${nth}`, hourSeconds, halfAnHourAgo % hourSeconds)),
    );
    await delay(settlingMs);
    const idle = await cpuShare(target, pace.windowMs);
    await inParallel(schedules, (nth) => create(service, namespace, `${mine}-minute-${nth}`, minuteSeconds, nth % minuteSeconds));
    await delay(minuteSeconds * 1_000);
    const busy = await cpuShare(target, minuteSeconds * 1_000);
    const late = await latenesses(service, namespace, `${mine}-minute`, schedules);
    const residentMiB = residentMiBOf(target.pids);
    const burstMs = await burst(service, namespace, mine, { schedules, createdMs });
    return [
      figure(`${schedules} schedules of a minute: action late, p99`, 'ms', percentile(late, 0.99)),
      figure('… p50', 'ms', percentile(late, 0.5)),
      figure('… the server’s processor, of a core', '%', 100 * busy),
      figure('… of an hour, none due: of a core, beyond the idle server', '%', Math.max(0, 100 * (idle - withoutAny))),
      figure('… both: RSS', 'MiB', residentMiB),
      figure('… all due in one second: the last one late', 'ms', burstMs),
      figure('schedules created', '/s', (1_000 * schedules) / createdMs),
    ];
  } finally {
    await connection.close();
  }
}

async function create(service: Service, namespace: string, scheduleId: string, everySeconds: number, phaseSeconds: number): Promise<void> {
  const [interval, phase] = [everySeconds, phaseSeconds].map((seconds) => ({ seconds: seconds as never }));
  await service.createSchedule({
    ...{ namespace, scheduleId, requestId: 'create' },
    schedule: {
      spec: { interval: [{ interval: interval!, phase: phase! }] },
      action: { startWorkflow: { workflowId: scheduleId, workflowType: { name: 'T' }, taskQueue: { name: 'nobody' } } },
      policies: { overlapPolicy: allowAll },
    },
  });
}

async function cpuShare({ pids }: Target, windowMs: number): Promise<number> {
  const [beforeMs, begunMs] = [cpuMsOf(pids), performance.now()];
  await delay(windowMs);
  return (cpuMsOf(pids) - beforeMs) / (performance.now() - begunMs);
}

/** Of the newest action of each, in milliseconds; those that have not acted are left out. */
async function latenesses(service: Service, namespace: string, prefix: string, schedules: number): Promise<readonly number[]> {
  const late: number[] = [];
  await inParallel(schedules, async (nth) => {
    const { info } = await service.describeSchedule({ namespace, scheduleId: `${prefix}-${nth}` });
    const action = info?.recentActions?.at(-1);
    if (action !== undefined) late.push(timeMs(action.actualTime) - timeMs(action.scheduleTime));
  });
  return late;
}

/** At a second by which all of them are there. `createdMs`: what as many took before, when nothing else was to do. */
async function burst(service: Service, namespace: string, mine: string, before: { schedules: number; createdMs: number }): Promise<number> {
  const { schedules, createdMs } = before;
  const atSeconds = Math.ceil((Date.now() + 3 * createdMs) / 1_000) + 10;
  await inParallel(schedules, (nth) => create(service, namespace, `${mine}-burst-${nth}`, hourSeconds, atSeconds % hourSeconds));
  const leftMs = atSeconds * 1_000 - Date.now();
  if (leftMs < 0) throw new Error(`schedules that are due at once came ${-leftMs} ms too late: the machine has other things to do`);
  await delay(leftMs);
  for (;;) {
    await delay(1_000);
    const late = await latenesses(service, namespace, `${mine}-burst`, schedules);
    if (late.length === schedules) return Math.max(...late);
  }
}

type Time = { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined;

function timeMs(time: Time): number {
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}

async function timed(run: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await run();
  return performance.now() - begun;
}

async function inParallel(total: number, call: (nth: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let nth = next++; nth < total; nth = next++) await call(nth);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}
