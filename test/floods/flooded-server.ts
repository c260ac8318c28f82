/**
 * A server under a flood, and what its other users notice of it.
 *
 *     test process       victim: workflows of one activity, one after the other on each of a few lanes    ──┐
 *                        GET /health/live, each tenth of a second                                          ──┼──▶ server process
 *     flood process      a program of ./programs, at a lower priority                                     ──┘ └▶ a second one beside it
 *
 * The victim's pace under the flood is judged by its pace while the same flood goes to a server that is not the victim's, in windows that take turns in
 * one run. So both paces are of a machine that does the flood's work, with the processors, the disk and the other programs that it has: what is left is
 * what the flood took because it shares a server with the victim. A server under a flood is never idle, so a machine that does much else takes more of
 * its time than of one that mostly waits for clients; that is not the flood's doing, and the report says how much it was.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GrpcConnection } from '../bench/grpc-connection.ts';
import { text } from '../bench/protobuf.ts';
import { RawDriver } from '../bench/raw-driver.ts';
import { freePort, ServerProcess } from '../support/server-process.ts';
import { Flood, type FloodPlan } from './flood.ts';
import { Turns } from './turns.ts';

export const victimNamespace = 'victim';
export const floodNamespace = 'flood';

export type FloodPlace = 'memory' | 'a file';

export type FloodReport = {
  /** Workflows of the victim a second while the flood is on its server, by those while it is on the other. */
  readonly paceRatio: number;
  /**
   * What server and victim had of the time in which they wanted a processor, while the flood is on the server, by what they had while it is on the other.
   * At most 1.
   */
  readonly processorShare: number;
  /** The longest answer of GET /health/live meanwhile. Infinity: one was not answered. */
  readonly liveMs: number;
  readonly calmLiveMs: number;
  /** The longest of the server's event loop, on a processor. */
  readonly turnMs: number;
  /** What the program wrote on its last line; it says whether the flood got through. */
  readonly told: string;
};

const lanes = 4;
const warmUpMs = 1_000;
const windowMs = 1_500;
const rounds = 2;
const settlingMs = 300;

export class FloodedServer {
  readonly process: ServerProcess;
  readonly #beside: ServerProcess;
  readonly #turns: Turns;

  private constructor(process: ServerProcess, beside: ServerProcess, turns: Turns) {
    this.process = process;
    this.#beside = beside;
    this.#turns = turns;
  }

  /** `place`: where they keep their state. Further files are in `folder`. */
  static async start(folder: string, place: FloodPlace = 'memory'): Promise<FloodedServer> {
    const turns = new Turns(join(folder, 'turns.txt'));
    const start = async (name: string, environment: NodeJS.ProcessEnv): Promise<ServerProcess> => {
      const port = await freePort();
      const server = new ServerProcess(
        port,
        argsOf(port, place === 'memory' ? [] : ['--db-filename', join(folder, `${name}.db`)]),
        undefined,
        environment,
      );
      await server.start();
      return server;
    };
    return new FloodedServer(await start('flooded', turns.environment), await start('beside', {}), turns);
  }

  async stop(): Promise<void> {
    await Promise.all([this.process.stop(), this.#beside.stop()]);
  }

  async under(plan: FloodPlan): Promise<FloodReport> {
    const { address } = this.process;
    const driver = await RawDriver.open({ name: 'victim', address, namespace: victimNamespace, pids: [] }, lanes);
    const lists = plan.victimCounts === true ? await GrpcConnection.connect(address) : undefined;
    const victim = new Victim(driver, lists);
    const live = new LiveProbe(address);
    const figures = { calm: 0, flooded: 0, liveMs: 0, calmLiveMs: 0, turnMs: 0, told: '', calmShare: 0, floodedShare: 0 };
    try {
      await victim.paceFor(warmUpMs);
      for (let round = 0; round < rounds; round++) {
        await during(plan, this.#beside.address, async () => {
          const processors = this.#processors();
          live.watch();
          figures.calm += await victim.paceFor(windowMs);
          figures.calmShare += processors.share();
          figures.calmLiveMs = Math.max(figures.calmLiveMs, await live.longestMs());
        });
        figures.told = await during(plan, address, async () => {
          const [fromMs, processors] = [Date.now(), this.#processors()];
          live.watch();
          figures.flooded += await victim.paceFor(windowMs);
          figures.floodedShare += processors.share();
          figures.liveMs = Math.max(figures.liveMs, await live.longestMs());
          figures.turnMs = Math.max(figures.turnMs, this.#turns.longestMs(fromMs, Date.now()));
        });
      }
    } finally {
      await victim.stop();
    }
    const { calm, flooded, calmShare, floodedShare, ...rest } = figures;
    return { paceRatio: flooded / calm, processorShare: Math.min(1, floodedShare / calmShare), ...rest };
  }

  /** From now on. */
  #processors(): { share(): number } {
    const [server, client] = [new ProcessorShare(this.process.pid), new ProcessorShare(process.pid)];
    return { share: () => server.now() * client.now() };
  }

  /** SIGTERM while a flood goes on. */
  async stopUnder(plan: FloodPlan): Promise<void> {
    await during(plan, this.process.address, async () => {
      await delay(settlingMs);
      await this.process.stop();
    });
  }
}

function argsOf(port: number, more: readonly string[]): readonly string[] {
  const namespaces = [victimNamespace, floodNamespace].flatMap((name) => ['--namespace', name]);
  const listener = ['--ip', '127.0.0.1', '--port', String(port), '--headless'];
  return ['server', 'start-dev', ...listener, '--log-level', 'error', ...namespaces, ...more];
}

/** The flood's last line. */
async function during(plan: FloodPlan, address: string, watch: () => Promise<void>): Promise<string> {
  const flood = new Flood(plan, address);
  try {
    await flood.begun();
    await watch();
  } catch (error) {
    await flood.end();
    throw error;
  }
  const told = await flood.end();
  // What it has left is worked off.
  await delay(settlingMs);
  return told;
}

class Victim {
  readonly #driver: RawDriver;
  readonly #lists: GrpcConnection | undefined;
  #finished = 0;
  #isRunning = true;

  constructor(driver: RawDriver, lists: GrpcConnection | undefined) {
    this.#driver = driver;
    this.#lists = lists;
    for (let lane = 0; lane < lanes; lane++) void this.#lane();
  }

  /** Workflows a second. */
  async paceFor(ms: number): Promise<number> {
    const [before, begunMs] = [this.#finished, performance.now()];
    await delay(ms);
    return ((this.#finished - before) * 1_000) / (performance.now() - begunMs);
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

/** Of the time in which the first thread of a process, the one of its event loop, wanted a processor; 1 where nobody can tell. */
class ProcessorShare {
  readonly #file: string;
  readonly #since: readonly number[];

  constructor(pid: number | undefined) {
    this.#file = `/proc/${pid}/task/${pid}/schedstat`;
    this.#since = this.#times();
  }

  now(): number {
    const [ran = 0, waited = 0] = this.#times().map((ns, index) => ns - (this.#since[index] ?? 0));
    return ran + waited === 0 ? 1 : ran / (ran + waited);
  }

  /** Nanoseconds on a processor, and those in which it waited for one. */
  #times(): readonly number[] {
    try {
      return readFileSync(this.#file, 'utf8').split(' ').slice(0, 2).map(Number);
    } catch {
      return [];
    }
  }
}
