/** What a flood takes of any server on Node, by `plain-server.mjs`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Flood, type FloodPlan } from './flood.ts';
import { Turns } from './turns.ts';

const program = fileURLToPath(new URL('plain-server.mjs', import.meta.url));
/** Until what its first calls compile is compiled, and then as long as a server is watched in a round. */
const warmUpMs = 1_000;
const floodedMs = 2_000;

/** The longest of its turns, on a processor. */
export async function plainTurnMs(plan: FloodPlan): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-flood-'));
  const turns = new Turns(join(folder, 'turns.txt'));
  const server = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...turns.environment },
  });
  const closed = once(server, 'close');
  try {
    const [address] = await once(createInterface(server.stdout), 'line');
    const flood = new Flood(plan, String(address));
    try {
      await flood.begun();
      await delay(warmUpMs);
      const fromMs = Date.now();
      await delay(floodedMs);
      return turns.longestMs(fromMs, Date.now());
    } finally {
      await flood.end();
    }
  } finally {
    server.kill();
    await closed;
    await rm(folder, { recursive: true, force: true });
  }
}
