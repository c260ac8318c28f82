import { cpuMsOf } from './target.ts';
import type { Target } from './target.ts';
import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { loopDelayFigures } from './loop-delay.ts';
import type { Pace } from './pace.ts';
import { RawDriver } from './raw-driver.ts';

type Sample = { readonly startMs: number; readonly endToEndMs: number };

/** Closed loop: every user starts its next workflow when the last one is complete. */
export async function rawRound(target: Target, users: number, pace: Pace): Promise<readonly Figure[]> {
  const driver = await RawDriver.open(target);
  try {
    const { samples, seconds, serverCpuMs, driverCpuMs, loopDelay } = await measure(target, driver, users, pace);
    const starts = samples.map(({ startMs }) => startMs);
    const ends = samples.map(({ endToEndMs }) => endToEndMs);
    const label = `raw ${users} at a time:`;
    return [
      figure(`${label} workflows`, '/s', samples.length / seconds),
      figure(`${label} start p50`, 'ms', percentile(starts, 0.5)),
      figure(`${label} start p99`, 'ms', percentile(starts, 0.99)),
      figure(`${label} end to end p50`, 'ms', percentile(ends, 0.5)),
      figure(`${label} end to end p99`, 'ms', percentile(ends, 0.99)),
      figure(`${label} server CPU a workflow`, 'ms', serverCpuMs / samples.length),
      figure(`${label} driver CPU a workflow`, 'ms', driverCpuMs / samples.length),
      ...loopDelay.map((each) => ({ ...each, name: `${label} ${each.name}` })),
    ];
  } finally {
    await driver.close();
  }
}

type Measured = {
  readonly samples: readonly Sample[];
  readonly seconds: number;
  readonly serverCpuMs: number;
  readonly driverCpuMs: number;
  readonly loopDelay: readonly Figure[];
};

async function measure(target: Target, driver: RawDriver, users: number, pace: Pace): Promise<Measured> {
  const begin = performance.now();
  const [opens, closes] = [begin + pace.warmUpMs, begin + pace.warmUpMs + pace.windowMs];
  const samples: Sample[] = [];
  const user = async (): Promise<void> => {
    while (performance.now() < closes) {
      const sample = await driver.runOne();
      const now = performance.now();
      if (now >= opens && now < closes) samples.push(sample);
    }
  };
  const running = Promise.all(Array.from({ length: users }, user));
  const cpu = Promise.all([at(opens, target), at(closes, target)]);
  await running;
  const [before, after] = await cpu;
  if (samples.length === 0) throw new Error(`${target.name}: not one workflow finished in ${pace.windowMs} ms`);
  const seconds = pace.windowMs / 1000;
  const loopDelay = loopDelayFigures(target.loopDelayFile, before.atMs, after.atMs);
  return { samples, seconds, serverCpuMs: after.server - before.server, driverCpuMs: after.driver - before.driver, loopDelay };
}

type Moment = { readonly atMs: number; readonly server: number; readonly driver: number };

async function at(time: number, target: Target): Promise<Moment> {
  await new Promise((resolve) => setTimeout(resolve, time - performance.now()));
  const { user, system } = process.cpuUsage();
  return { atMs: Date.now(), server: cpuMsOf(target.pids), driver: (user + system) / 1000 };
}
