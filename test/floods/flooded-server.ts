/**
 * A server under a flood, and what its other users notice of it.
 *
 *     test process       victim: workflows of one activity, one after the other on each of a few lanes    ──┐
 *                        GET /health/live, each tenth of a second                                          ──┼──▶ server process
 *     flood process      a program of ./programs, at a lower priority                                     ──┘
 *
 * The victim's pace under the flood is judged by its own pace without it, in windows that take turns in one run: how fast the machine is, and what
 * else it does, is in both. A server under a flood is never idle, so on a busy machine it waits for a processor more than without; that is not the
 * flood's doing, and those times do not count. For the same reason the flood has a lower priority: a client somewhere else would take nothing from
 * server and victim.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { GrpcConnection } from '../bench/grpc-connection.ts';
import { text } from '../bench/protobuf.ts';
import { RawDriver } from '../bench/raw-driver.ts';
import { freePort, ServerProcess } from '../support/server-process.ts';

export const victimNamespace = 'victim';
export const floodNamespace = 'flood';

export type FloodPlan = {
  /** Of ./programs; `args` follow the address of the server. */
  readonly program: string;
  readonly args?: readonly string[];
  /** The victim counts its workflows after each of them. */
  readonly victimCounts?: boolean;
};

export type FloodReport = {
  /** Workflows of the victim a second under the flood, by those without it. */
  readonly paceRatio: number;
  /** The longest answer of GET /health/live under the flood, and without it. Infinity: one was not answered. */
  readonly liveMs: number;
  readonly calmLiveMs: number;
  /** The longest of the server's event loop, on a processor. */
  readonly turnMs: number;
  /** What the program wrote on its last line; it says whether the flood got through. */
  readonly told: string;
};

const probe = fileURLToPath(new URL('turn-probe.mjs', import.meta.url));
const lanes = 4;
const warmUpMs = 1_000;
const calmMs = 1_000;
const floodedMs = 2_000;
const rounds = 2;
/** Before a window counts: what the one before has left is worked off. */
const settlingMs = 300;

export class FloodedServer {
  readonly process: ServerProcess;
  readonly #turnsFile: string;

  private constructor(process: ServerProcess, turnsFile: string) {
    this.process = process;
    this.#turnsFile = turnsFile;
  }

  /** `more`: further arguments. Its files are in `folder`. */
  static async start(folder: string, more: readonly string[] = []): Promise<FloodedServer> {
    const port = await freePort();
    const turnsFile = join(folder, 'turns.txt');
    const namespaces = [victimNamespace, floodNamespace].flatMap((name) => ['--namespace', name]);
    const args = [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--headless',
      '--log-level',
      'error',
      '--port',
      String(port),
      ...namespaces,
      ...more,
    ];
    const server = new ServerProcess(port, args, undefined, {
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${probe}`.trim(),
      FLOOD_TURNS: turnsFile,
    });
    await server.start();
    return new FloodedServer(server, turnsFile);
  }

  async under(plan: FloodPlan): Promise<FloodReport> {
    const { address } = this.process;
    const driver = await RawDriver.open({ name: 'victim', address, namespace: victimNamespace, pids: [] }, lanes);
    const lists = plan.victimCounts === true ? await GrpcConnection.connect(address) : undefined;
    const victim = new Victim(driver, lists, () => waitedMs(this.process.pid));
    const live = new LiveProbe(address);
    const figures = { calm: 0, flooded: 0, liveMs: 0, calmLiveMs: 0, turnMs: 0, told: '' };
    try {
      await victim.paceFor(warmUpMs);
      for (let round = 0; round < rounds; round++) {
        live.watch();
        figures.calm += await victim.paceFor(calmMs);
        figures.calmLiveMs = Math.max(figures.calmLiveMs, await live.longestMs());
        const flood = new Flood(plan, address);
        try {
          await flood.begun();
          const fromMs = Date.now();
          live.watch();
          figures.flooded += await victim.paceFor(floodedMs);
          figures.liveMs = Math.max(figures.liveMs, await live.longestMs());
          figures.turnMs = Math.max(figures.turnMs, this.#longestTurnMs(fromMs, Date.now()));
        } finally {
          figures.told = await flood.end();
        }
        await delay(settlingMs);
      }
    } finally {
      await victim.stop();
    }
    const { calm, flooded, ...rest } = figures;
    return { paceRatio: flooded / calm, ...rest };
  }

  /** How long SIGTERM takes while a flood goes on. */
  async stopUnder(plan: FloodPlan): Promise<number> {
    const flood = new Flood(plan, this.process.address);
    try {
      await flood.begun();
      await delay(settlingMs);
      const begunMs = performance.now();
      await this.process.stop();
      return performance.now() - begunMs;
    } finally {
      await flood.end();
    }
  }

  #longestTurnMs(fromMs: number, untilMs: number): number {
    const lines = readFileSync(this.#turnsFile, 'utf8').split('\n');
    const turns = lines.map((line) => line.split(' ').map(Number)).filter(([atMs = 0]) => atMs > fromMs && atMs <= untilMs);
    return Math.max(0, ...turns.map(([, longestMs = 0]) => longestMs));
  }
}

class Victim {
  readonly #driver: RawDriver;
  readonly #lists: GrpcConnection | undefined;
  /** For a processor, by the server. */
  readonly #waitedMs: () => number;
  #finished = 0;
  #isRunning = true;

  constructor(driver: RawDriver, lists: GrpcConnection | undefined, waitedMs: () => number) {
    this.#driver = driver;
    this.#lists = lists;
    this.#waitedMs = waitedMs;
    for (let lane = 0; lane < lanes; lane++) void this.#lane();
  }

  /** Workflows a second, of the time in which the server did not wait for a processor. */
  async paceFor(ms: number): Promise<number> {
    const [before, begunMs, waitedMs] = [this.#finished, performance.now(), this.#waitedMs()];
    await delay(ms);
    return ((this.#finished - before) * 1_000) / (performance.now() - begunMs - (this.#waitedMs() - waitedMs));
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    // What is under way never comes to its end.
    await this.#driver.close();
    await this.#lists?.close();
  }

  async #lane(): Promise<void> {
    while (this.#isRunning) {
      // What is refused under a flood is not done: the pace shows it.
      const isDone = await this.#one().then(
        () => true,
        () => false,
      );
      if (isDone) this.#finished++;
      else await delay(20);
    }
  }

  async #one(): Promise<void> {
    await this.#driver.runOne();
    await this.#lists?.call('CountWorkflowExecutions', countOfVictim);
  }
}

/** namespace */
const countOfVictim = text(1, victimNamespace);

const liveIntervalMs = 100;
const liveTimeoutMs = 10_000;

class LiveProbe {
  readonly #address: string;
  #asked: Promise<number>[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(address: string) {
    this.#address = address;
  }

  watch(): void {
    this.#asked = [];
    this.#timer = setInterval(() => this.#asked.push(this.#ask()), liveIntervalMs);
  }

  async longestMs(): Promise<number> {
    clearInterval(this.#timer);
    return Math.max(...(await Promise.all(this.#asked)));
  }

  async #ask(): Promise<number> {
    const begunMs = performance.now();
    try {
      const answer = await fetch(`http://${this.#address}/health/live`, { signal: AbortSignal.timeout(liveTimeoutMs) });
      await answer.arrayBuffer();
      return answer.ok ? performance.now() - begunMs : Infinity;
    } catch {
      return Infinity;
    }
  }
}

/** A program that floods until it is ended. Its first line says that it has begun. */
class Flood {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #begun: Promise<void>;
  #output = '';

  constructor({ program, args = [] }: FloodPlan, address: string) {
    const file = fileURLToPath(new URL(`programs/${program}.ts`, import.meta.url));
    this.#child = spawn(process.execPath, [file, address, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (this.#child.pid !== undefined) setPriority(this.#child.pid, Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));
    this.#closed = once(this.#child, 'close');
    this.#begun = new Promise((resolve, reject) => {
      this.#child.stdout?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
        resolve();
      });
      this.#child.once('close', () => reject(new Error(`${program} ended before it began`)));
    });
  }

  begun(): Promise<void> {
    return this.#begun;
  }

  /** Its last line. */
  async end(): Promise<string> {
    this.#child.kill('SIGKILL');
    await this.#closed;
    return this.#output.trim().split('\n').at(-1) ?? '';
  }
}

/** That the first thread of a process, the one of its event loop, has waited for a processor; 0 where nobody can tell. */
function waitedMs(pid = 0): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
