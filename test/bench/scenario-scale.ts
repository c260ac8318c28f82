import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { GrpcConnection } from './grpc-connection.ts';
import {
  completeCommand,
  completeTask,
  completionWithoutSticky,
  countRequest,
  listRequest,
  pollNormal,
  readWorkflowTask,
  signalRequest,
  startRequest,
  timerCommand,
} from './messages.ts';
import type { Completion, Queues } from './messages.ts';
import type { Pace } from './pace.ts';
import { uniqueQueues } from './raw-driver.ts';
import { rawRound } from './scenario-raw.ts';
import { ServerProcess } from './server-process.ts';
import { residentMiBOf } from './target.ts';
import type { Target } from './target.ts';

export type Scale = {
  /** Each waits on a timer of a day. */
  readonly openWorkflows: number;
  readonly wakesPerSecond: number;
  /** Each is finished by its first task. */
  readonly closedWorkflows: number;
};

const timerMs = 24 * 3_600_000;
const atOnce = 48;
/** Longer than the server waits for before it writes what is idle. */
const settleMs = 4_000;

/**
 * A server in whose database many workflows wait: what each costs, what is slower with them, and how soon it serves again after SIGKILL.
 *
 *   start ─▶ raw ─▶ open workflows ─▶ raw ─▶ wake some at random ─▶ lists ─▶ load, SIGKILL ─▶ start ─▶ wake some
 */
export async function scaleRound(command: string, namespace: string, pace: Pace, scale: Scale): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  let server = await ServerProcess.start(command);
  try {
    const queues = uniqueQueues(namespace);
    figures.push(...(await rawWith(server, namespace, pace, 'none open')));
    const rssBefore = residentMiBOf([server.pid]);
    figures.push(await passWorkflows(server, queues, scale.openWorkflows, 'open', timerCommand(timerMs), figures));
    await delay(settleMs);
    const rss = residentMiBOf([server.pid]);
    figures.push(figure(`RSS, ${scale.openWorkflows} open`, 'MiB', rss));
    figures.push(figure('RSS an open workflow', 'KiB', ((rss - rssBefore) * 1024) / scale.openWorkflows));
    figures.push(...bytesOnDisk(server, scale.openWorkflows, 'an open workflow'));
    figures.push(...(await rawWith(server, namespace, pace, 'all open')));
    figures.push(...(await wakeSome(server, queues, pace, scale, 'wakes')));
    figures.push(...(await lists(server, queues, scale.openWorkflows)));
    await rawWith(server, namespace, pace, 'before the kill');
    server = await server.killAndStart();
    figures.push(figure('SIGKILL, exec to GetSystemInfo', 'ms', server.readyMs));
    figures.push(...(await wakeSome(server, queues, { ...pace, warmUpMs: 0 }, scale, 'wakes after the start')));
    figures.push(figure('RSS after the start', 'MiB', residentMiBOf([server.pid])));
    return figures;
  } finally {
    await server.stop();
  }
}

/** What takes minutes shows that it goes on. */
function told(each: Figure): Figure {
  console.error(`${each.name}: ${each.value.toFixed(0)} ${each.unit}`);
  return each;
}

async function rawWith(server: ServerProcess, namespace: string, pace: Pace, label: string): Promise<readonly Figure[]> {
  const figures = await rawRound(targetOf(server, namespace), 16, pace);
  const kept = figures.filter(({ name }) => /workflows|start p99|server CPU/.test(name));
  return kept.map((each) => ({ ...each, name: `${each.name}, ${label}` }));
}

/**
 * A server through which many workflows have gone: what it takes after each tenth of them, on disk, and after a start.
 *
 *   start ─▶ raw ─▶ closed workflows ─▶ raw ─▶ lists ─▶ load, SIGKILL ─▶ start
 */
export async function closedRound(command: string, namespace: string, pace: Pace, { closedWorkflows }: Scale): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  let server = await ServerProcess.start(command);
  try {
    const queues = uniqueQueues(namespace);
    figures.push(...(await rawWith(server, namespace, pace, 'none closed')));
    figures.push(await passWorkflows(server, queues, closedWorkflows, 'closed', completeCommand(), figures));
    await delay(settleMs);
    figures.push(figure(`RSS, ${closedWorkflows} closed`, 'MiB', residentMiBOf([server.pid])));
    figures.push(...bytesOnDisk(server, closedWorkflows, 'a closed workflow'));
    figures.push(...(await rawWith(server, namespace, pace, 'all closed')));
    figures.push(...(await lists(server, queues, closedWorkflows)));
    await rawWith(server, namespace, pace, 'before the kill');
    server = await server.killAndStart();
    figures.push(figure('SIGKILL, exec to GetSystemInfo', 'ms', server.readyMs));
    await delay(settleMs);
    figures.push(figure('RSS after the start', 'MiB', residentMiBOf([server.pid])));
    return figures;
  } finally {
    await server.stop();
  }
}

/** Starts them, and answers the first task of each with the command. */
async function passWorkflows(
  server: ServerProcess,
  queues: Queues,
  count: number,
  word: 'open' | 'closed',
  answer: Uint8Array,
  figures: Figure[],
): Promise<Figure> {
  const begin = performance.now();
  const tenth = Math.ceil(count / 10);
  const worker = await Sleepers.open(server, queues, completionWithoutSticky(queues, answer));
  try {
    let next = 0;
    const starter = async (): Promise<void> => {
      for (let number = next++; number < count; number = next++) {
        const tasked = worker.nextTaskOf(workflowIdOf(queues, number));
        await worker.call('StartWorkflowExecution', startRequest(queues, workflowIdOf(queues, number), 'sleeper'));
        await tasked;
        if ((number + 1) % tenth === 0) figures.push(told(figure(`RSS, after ${number + 1}`, 'MiB', residentMiBOf([server.pid]))));
      }
    };
    await Promise.race([Promise.all(Array.from({ length: atOnce }, starter)), worker.failed]);
    return figure(`workflows until they are ${word}`, '/s', (count * 1000) / (performance.now() - begin));
  } finally {
    await worker.close();
  }
}

/** Open loop: a signal is due whether or not those before it have arrived. */
async function wakeSome(
  server: ServerProcess,
  queues: Queues,
  pace: Pace,
  { openWorkflows, wakesPerSecond }: Scale,
  label: string,
): Promise<readonly Figure[]> {
  const worker = await Sleepers.open(server, queues, completionWithoutSticky(queues));
  const samples: number[] = [];
  let refused = 0;
  const wake = async (number: number, from: number): Promise<void> => {
    const workflowId = workflowIdOf(queues, number);
    const tasked = worker.nextTaskOf(workflowId);
    try {
      await worker.call('SignalWorkflowExecution', signalRequest(queues, workflowId, crypto.randomUUID()));
      await tasked;
      samples.push(performance.now() - from);
    } catch {
      refused += 1;
    }
  };
  try {
    const begin = performance.now();
    const total = Math.round((pace.windowMs / 1000) * wakesPerSecond);
    // No workflow twice: its second signal would wait for the task that the first one made.
    const numbers = distinctNumbers(Math.min(total, openWorkflows), openWorkflows);
    const running: Promise<void>[] = [];
    for (const [index, number] of numbers.entries()) {
      const dueMs = begin + (index * 1000) / wakesPerSecond;
      const aheadMs = dueMs - performance.now();
      if (aheadMs > 0) await delay(aheadMs);
      running.push(wake(number, dueMs));
    }
    await Promise.race([Promise.all(running), worker.failed]);
    const seconds = (performance.now() - begin) / 1000;
    return [
      figure(label, '/s', samples.length / seconds),
      figure(`${label}: signal to worker p50`, 'ms', percentile(samples, 0.5)),
      figure(`${label}: signal to worker p99`, 'ms', percentile(samples, 0.99)),
      figure(`${label}: refused`, '', refused),
    ];
  } finally {
    await worker.close();
  }
}

async function lists(server: ServerProcess, queues: Queues, count: number): Promise<readonly Figure[]> {
  const connection = await GrpcConnection.connect(server.address);
  try {
    const timed = async (name: string, method: string, request: Uint8Array): Promise<Figure> => {
      const samples: number[] = [];
      for (let i = 0; i < 9; i++) {
        const begin = performance.now();
        await connection.call(method, request, 60);
        samples.push(performance.now() - begin);
      }
      return figure(name, 'ms', percentile(samples, 0.5));
    };
    const one = workflowIdOf(queues, Math.floor(count / 2));
    return [
      await timed('List by workflow id', 'ListWorkflowExecutions', listRequest(queues, `WorkflowId = '${one}'`, 1_000)),
      await timed('List of one type, a page of 1000', 'ListWorkflowExecutions', listRequest(queues, `WorkflowType = 'sleeper'`, 1_000)),
      await timed('List of all, a page of 20', 'ListWorkflowExecutions', listRequest(queues, '', 20)),
      await timed('Count of the open ones', 'CountWorkflowExecutions', countRequest(queues, `ExecutionStatus = 'Running'`)),
      await timed('Count by status', 'CountWorkflowExecutions', countRequest(queues, 'GROUP BY ExecutionStatus')),
    ];
  } finally {
    await connection.close();
  }
}

/** Client and worker: answers every task in the same way, and tells whoever waits for that workflow's. */
class Sleepers {
  readonly #clients: GrpcConnection;
  readonly #worker: GrpcConnection;
  readonly #waiting = new Map<string, () => void>();
  readonly failed: Promise<never>;

  private constructor(clients: GrpcConnection, worker: GrpcConnection, queues: Queues, completion: Completion) {
    this.#clients = clients;
    this.#worker = worker;
    this.failed = new Promise<never>((_, reject) => {
      for (let i = 0; i < atOnce; i++) {
        this.#work(pollNormal(queues), completion).catch((error: unknown) => {
          if (!worker.isClosing) reject(error instanceof Error ? error : new Error(String(error)));
        });
      }
    });
    // Raced by whoever measures; between two measurements nobody does.
    this.failed.catch(() => {});
  }

  static async open({ address }: ServerProcess, queues: Queues, completion: Completion): Promise<Sleepers> {
    return new Sleepers(await GrpcConnection.connect(address), await GrpcConnection.connect(address), queues, completion);
  }

  call(method: string, request: Uint8Array): Promise<Buffer> {
    return this.#clients.call(method, request);
  }

  /** Resolves when a task of it has been answered. */
  nextTaskOf(workflowId: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(workflowId, resolve));
  }

  async close(): Promise<void> {
    await this.#worker.close();
    await this.#clients.close();
  }

  async #work(poll: Uint8Array, completion: Completion): Promise<void> {
    while (!this.#worker.isClosing) {
      const task = readWorkflowTask(await this.#worker.call('PollWorkflowTaskQueue', poll, 70));
      if (task === undefined) continue;
      await this.#worker.call('RespondWorkflowTaskCompleted', completeTask(task.token, completion));
      this.#waiting.get(task.workflowId)?.();
      this.#waiting.delete(task.workflowId);
    }
  }
}

function bytesOnDisk({ folder }: ServerProcess, workflows: number, each: string): readonly Figure[] {
  const files = readdirSync(folder).filter((file) => file !== 'output.log');
  const bytesOf = (wanted: (file: string) => boolean): number =>
    files.filter(wanted).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  const isState = (file: string): boolean => file.includes('-state');
  return [
    figure(`journal on disk, ${each}`, 'B', bytesOf((file) => !isState(file)) / workflows),
    figure(`state on disk, ${each}`, 'B', bytesOf(isState) / workflows),
  ];
}

function distinctNumbers(count: number, below: number): readonly number[] {
  const numbers = new Set<number>();
  while (numbers.size < count) numbers.add(Math.floor(Math.random() * below));
  return [...numbers];
}

function workflowIdOf({ normal }: Queues, number: number): string {
  return `${normal}-sleeper-${number}`;
}

function targetOf({ address, pid }: ServerProcess, namespace: string): Target {
  return { name: address, address, namespace, pids: [pid] };
}
