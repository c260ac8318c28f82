import { setTimeout as delay } from 'node:timers/promises';
import { figure } from './figures.ts';
import type { Figure } from './figures.ts';
import { RawDriver } from './raw-driver.ts';
import { ServerProcess } from './server-process.ts';
import { residentMiBOf } from './target.ts';

const idleMs = 3_000;
const giveUpAfterMs = 30_000;

/** From exec to the first answer and to the first finished workflow; then the memory of the idle server. */
export async function startRound(command: string, namespace: string): Promise<readonly Figure[]> {
  const server = await ServerProcess.start(command);
  try {
    await firstWorkflow({ name: command, address: server.address, namespace, pids: [] });
    const firstWorkflowMs = performance.now() - server.startedAt;
    await delay(idleMs);
    return [
      figure('exec to GetSystemInfo', 'ms', server.readyMs),
      figure('exec to first workflow done', 'ms', firstWorkflowMs),
      figure('idle RSS', 'MiB', residentMiBOf([server.pid])),
    ];
  } finally {
    await server.stop();
  }
}

/** A server may answer GetSystemInfo before it takes workflows: that is what the second figure is for. */
async function firstWorkflow(target: Parameters<typeof RawDriver.open>[0]): Promise<void> {
  const deadline = performance.now() + giveUpAfterMs;
  for (;;) {
    const driver = await RawDriver.open(target, 1);
    try {
      await driver.runOne();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(5);
    } finally {
      await driver.close();
    }
  }
}
