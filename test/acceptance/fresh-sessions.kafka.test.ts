/**
 * Workers come and go on a server that has just started: each session opens its polls, runs its workflows and leaves with polls open. Not
 * one call may be refused: the driver ends with the first that is.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { RawDriver } from '../bench/raw-driver.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, kafkaServers, withFolder } from '../support/servers.ts';

const users = 16;
const sessionsAtOnce = 4;
/** Of each server. */
const sessions = 10;
const workflowsEach = 25;

async function runSessions(server: ServerProcess): Promise<void> {
  await server.start();
  let done = 0;
  try {
    let opened = 0;
    const desk = async (): Promise<void> => {
      while (opened < sessions) {
        opened += 1;
        const finished = await runSession(server.address, workflowsEach);
        done += finished;
      }
    };
    await Promise.all(Array.from({ length: sessionsAtOnce }, desk));
    expect(done).toBe(sessions * workflowsEach);
    expect(server.output, 'nothing worth a word at level error').not.toMatch(/"?level"?[=:]\s*"?error/i);
  } finally {
    await server.stop();
  }
  expect(await server.exitCode(0)).toBe(0);
}

async function runSession(address: string, workflows: number): Promise<number> {
  const driver = await RawDriver.open({ name: 'Perdure', address, namespace: 'default', pids: [] });
  try {
    let begun = 0;
    let done = 0;
    const user = async (): Promise<void> => {
      while (begun++ < workflows) {
        await driver.runOne();
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: users / sessionsAtOnce }, user));
    // A refusal lets go of everybody who waits, and is thrown at the next one: let there be a next one.
    await driver.runOne();
    return done;
  } finally {
    await driver.close();
  }
}

describe('fresh workers on fresh servers: 1,500 workflows, no call refused', () => {
  test('in memory, three servers', async () => {
    for (let round = 0; round < 3; round++) await runSessions(await embeddedServer());
  });

  test('in a file', async () => {
    await withFolder(async (folder) => runSessions(await embeddedServer(join(folder, 'perdure.db'))));
  });

  const kafka = inject('kafka');
  if ('missing' in kafka) skipAloud('fresh workers on Kafka', kafka.missing);
  else {
    test('on Kafka, two servers', async () => {
      for (let round = 0; round < 2; round++) {
        await withFolder(async (folder) => {
          const [server] = await kafkaServers(folder, kafka.brokers, `sessions-${randomUUID()}`, 1);
          await runSessions(server!);
        });
      }
    });
  }
});
