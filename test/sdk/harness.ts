import { Client, Connection } from '@temporalio/client';
import type { Workflow, WorkflowHandle, WorkflowOptions } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { WorkerOptions, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import type { temporal } from '@temporalio/proto';
import { assert } from 'vitest';
import { fileURLToPath } from 'node:url';
import * as activities from './activities.ts';
import { gateOf, openGatesOf } from './gates.ts';
import type { Gate } from './gates.ts';
import { followHistory, readHistory } from './history.ts';
import type { RunHistory } from './history.ts';
import { searchAttributes } from './search-attributes.ts';
import type { RunningServer } from './servers.ts';

export type Scenario = {
  readonly name: string;
  run(stage: Stage): Promise<void>;
};

/**
 * One server with one worker on it, shared by all scenarios: a worker costs more CPU than most scenarios do. Scenarios that need workers
 * of their own (crash, hand-over) ask for them on a queue of their own.
 */
export class Suite {
  readonly server: RunningServer;
  readonly client: Client;
  readonly taskQueue: string;
  readonly bundle: WorkflowBundleWithSourceMap;
  /** Event type → the scenarios whose histories had it. */
  readonly seen = new Map<string, Set<string>>();
  /** The connection of all workers: a client on it can start workflows eagerly. */
  readonly native: NativeConnection;
  /** Of closed runs of workflows that a worker drove. */
  readonly #histories: { readonly workflowId: string; readonly history: { readonly events: RunHistory['events'] } }[] = [];
  #shared: StartedWorker | undefined;

  private constructor(server: RunningServer, client: Client, native: NativeConnection, bundle: WorkflowBundleWithSourceMap) {
    this.server = server;
    this.client = client;
    this.taskQueue = `sdk-${randomName()}`;
    this.bundle = bundle;
    this.native = native;
  }

  static async open(server: RunningServer): Promise<Suite> {
    const bundle = await workflowBundle();
    const connection = await Connection.connect({ address: server.address });
    await connection.operatorService.addSearchAttributes({ namespace: server.namespace, searchAttributes });
    const client = new Client({ connection, namespace: server.namespace });
    const native = await NativeConnection.connect({ address: server.address });
    const suite = new Suite(server, client, native, bundle);
    suite.#shared = await suite.startWorker(suite.taskQueue);
    return suite;
  }

  stage(scenario: Scenario): Stage {
    return new Stage(this, scenario.name);
  }

  async startWorker(taskQueue: string, options: Partial<WorkerOptions> = {}): Promise<StartedWorker> {
    const worker = await Worker.create({
      connection: this.native,
      namespace: this.server.namespace,
      taskQueue,
      workflowBundle: this.bundle,
      activities,
      maxHeartbeatThrottleInterval: 20,
      defaultHeartbeatThrottleInterval: 20,
      shutdownForceTime: '5s',
      ...options,
    });
    return new StartedWorker(worker);
  }

  note(scenario: string, workflowId: string, history: RunHistory): void {
    for (const type of history.types) {
      const scenarios = this.seen.get(type) ?? new Set();
      this.seen.set(type, scenarios.add(scenario));
    }
    const type = history.events[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name;
    if (type !== rawWorkflowType) this.#histories.push({ workflowId, history: { events: history.events } });
  }

  /**
   * Histories that do not replay, with the reason: the strictest reader of a history is the SDK that made it. By one worker: to start one for each
   * scenario took more of the processor than the scenarios.
   */
  async unreplayable(): Promise<readonly string[]> {
    const failed: string[] = [];
    for await (const result of Worker.runReplayHistories({ workflowBundle: this.bundle }, this.#histories)) {
      if (result.error !== undefined) failed.push(`${result.workflowId} does not replay: ${String(result.error)}`);
    }
    return failed;
  }

  async close(): Promise<void> {
    await this.#shared?.stop();
    await this.native.close();
    await this.client.connection.close();
  }
}

export class StartedWorker {
  readonly #worker: Worker;
  readonly #done: Promise<void>;

  constructor(worker: Worker) {
    this.#worker = worker;
    this.#done = worker.run();
  }

  async stop(): Promise<void> {
    this.#worker.shutdown();
    await this.#done;
  }
}

/** A workflow run of a scenario. */
export class Run<T extends Workflow = Workflow> {
  readonly handle: WorkflowHandle<T>;
  readonly workflowId: string;
  readonly runId: string;
  readonly #stage: Stage;

  constructor(stage: Stage, handle: WorkflowHandle<T>, runId: string) {
    this.handle = handle;
    this.workflowId = handle.workflowId;
    this.runId = runId;
    this.#stage = stage;
  }

  history(): Promise<RunHistory> {
    return readHistory(this.#stage.client.workflow, this.#stage.namespace, this);
  }

  /** Waits until the run has `count` events of that type. */
  until(type: string, count = 1): Promise<RunHistory> {
    const there = (history: RunHistory): boolean => history.types.filter((seen) => seen === type).length >= count;
    return followHistory(this.#stage.client.workflow, this.#stage.namespace, this, there);
  }

  gate(name: string): Gate {
    return gateOf(this.workflowId, name);
  }
}

/** What one scenario works with: its own workflow ids, and the memory of every run that it caused. */
export class Stage {
  readonly suite: Suite;
  readonly name: string;
  readonly id: string;
  readonly #runs: { readonly workflowId: string; readonly runId: string }[] = [];

  constructor(suite: Suite, name: string) {
    this.suite = suite;
    this.name = name;
    this.id = `${name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}-${randomName()}`;
  }

  get client(): Client {
    return this.suite.client;
  }

  get namespace(): string {
    return this.suite.server.namespace;
  }

  get taskQueue(): string {
    return this.suite.taskQueue;
  }

  get service(): Client['workflowService'] {
    return this.client.workflowService;
  }

  /** By name: the client's typing of a workflow function's arguments cannot be carried through a generic wrapper. */
  async start<T extends Workflow>(workflow: T, args: Parameters<T>, options: StartOptions = {}): Promise<Run<T>> {
    const workflowId = options.workflowId ?? this.id;
    const { firstExecutionRunId } = await this.client.workflow.start<Workflow>(workflow.name, {
      taskQueue: this.taskQueue,
      ...options,
      workflowId,
      args,
    });
    return this.track(this.client.workflow.getHandle<T>(workflowId), firstExecutionRunId);
  }

  /** A run that the scenario did not start by `start`: a child, a raw start, the next run of a chain. */
  async observe(workflowId: string, runId?: string): Promise<Run> {
    const handle = this.client.workflow.getHandle(workflowId, runId);
    if (runId !== undefined) return this.track(handle, runId);
    const description = await handle.describe();
    return this.track(handle, description.runId);
  }

  /** The whole answer of the server, in wire terms. */
  describe(run: Run): () => Promise<temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse> {
    const execution = { workflowId: run.workflowId, runId: run.runId };
    return () => this.service.describeWorkflowExecution({ namespace: this.namespace, execution });
  }

  track<T extends Workflow>(handle: WorkflowHandle<T>, runId: string): Run<T> {
    if (!this.#runs.some((run) => run.runId === runId)) this.#runs.push({ workflowId: handle.workflowId, runId });
    return new Run(this, handle, runId);
  }

  /** The scenario is over, well or not. */
  release(): void {
    openGatesOf(this.id);
  }

  /** Every run must have closed; chains are followed to their last run. */
  async allClosed(): Promise<void> {
    for (const run of this.#runs) {
      for (let runId: string | undefined = run.runId; runId !== undefined;) {
        const history: RunHistory = await readHistory(this.client.workflow, this.namespace, { workflowId: run.workflowId, runId });
        this.suite.note(this.name, run.workflowId, history);
        assert(history.isClosed, `${run.workflowId} is still open: ${history.types.join(', ')}`);
        runId = history.nextRunId;
      }
    }
  }
}

/** The workflow type of runs whose worker is the scenario itself: no SDK worker ever drove them, and no bundle has it. */
export const rawWorkflowType = 'raw';

type StartOptions = Partial<WorkflowOptions>;

let bundled: Promise<WorkflowBundleWithSourceMap> | undefined;

function workflowBundle(): Promise<WorkflowBundleWithSourceMap> {
  if (bundled === undefined) {
    // Failing workflows are what half of the scenarios are about: the worker's warnings would bury the test's own output.
    const logger = new DefaultLogger('ERROR');
    const telemetryOptions = { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } };
    Runtime.install({ logger, telemetryOptions, workerHeartbeatInterval: '1s' });
    bundled = bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('./bundled-workflows.ts', import.meta.url)), logger });
  }
  return bundled;
}

function randomName(): string {
  return crypto.randomUUID().slice(0, 8);
}
