/**
 * The broker freezes and dies under a server that goes on. Appends end in doubt, which only a new claim settles; whatever was answered
 * must be there, once, and every workflow must come to its end. Judged by the checker of the crash campaigns.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CrashLoad } from '../crash/crash-load.ts';
import { check } from '../crash/checker.ts';
import { Prng } from '../simulation/prng.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { kafkaServers, withFolder } from '../support/servers.ts';

const seed = Number(process.env['CRASH_SEED'] ?? 20_261);
const quiescenceTimeoutMs = 60_000;

type Fault = 'blink' | 'freeze' | 'kill';
/** A freeze is longer than a request may take, a blink is not. */
const faults: readonly Fault[] = ['blink', 'kill', 'freeze', 'blink', 'kill'];
const freezeMs = 6_000;
const blinkMsMax = 1_500;

describe.skipIf(!(await canStartLocalKafka('a broker that dies')))('the broker is lost under load', () => {
  test(`${faults.join(', ')} (seed ${seed})`, { timeout: 180_000 }, async () => {
    const broker = await startLocalKafka();
    try {
      await withFolder(async (folder) => {
        const [server] = (await kafkaServers(folder, broker.brokers, 'broker-loss', 1)) as [ServerProcess];
        await server.start();
        try {
          await underLoad(server, broker);
        } finally {
          await server.stop();
        }
        expect(await server.exitCode(0)).toBe(0);
      });
    } finally {
      await broker.stop();
    }
  });
});

async function underLoad(server: ServerProcess, broker: LocalBroker): Promise<void> {
  const prng = new Prng(seed);
  const random = (): number => prng.fraction();
  const load = new CrashLoad({ addresses: [server.address], namespace: 'default', clients: 6, pollers: 6, random });
  load.run();
  for (const fault of faults) {
    await delay(300 + random() * 700);
    await meet(fault, broker, random);
    expect(await server.exitCode(0), `the server went on after ${fault}`).toBeUndefined();
  }
  const finalRuns = await load.finish(quiescenceTimeoutMs);
  const { entries } = load.recorder;
  expect(check({ entries, finalRuns })).toEqual([]);
  expect(entries.filter(({ type }) => type === 'info').length, 'calls that met a fault').toBeGreaterThan(0);
}

async function meet(fault: Fault, broker: LocalBroker, random: () => number): Promise<void> {
  switch (fault) {
    case 'kill':
      await broker.kill9();
      return broker.restart();
    case 'blink':
    case 'freeze':
      broker.pause();
      await delay(fault === 'freeze' ? freezeMs : random() * blinkMsMax);
      return broker.resume();
  }
}
