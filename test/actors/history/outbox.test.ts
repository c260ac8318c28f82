/** Two shards in one process: what becomes of a parent and its child when an answer between them is lost, and after a crash. */
import { afterEach, describe, expect, test } from 'vitest';
import { ownWork, type AskFailure } from '../../../src/actors/asks/asks.ts';
import { systemSearchAttributes } from '../../../src/cluster/search-attributes.ts';
import { HistoryShard } from '../../../src/actors/history/history-shard.ts';
import type { HistoryAnswer } from '../../../src/actors/asks/router.ts';
import type { Endpoint } from '../../../src/actors/asks/switchboard.ts';
import { Router } from '../../../src/actors/asks/router.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import type { WorkflowCommand } from '../../../src/history/commands/workflow-commands.ts';
import { defaultHistoryLimits } from '../../../src/history/run/history-limits.ts';
import type { Description } from '../../../src/history/run/history-replies.ts';
import { historyShardOf } from '../../../src/kernel/shard.ts';
import { uuidAt } from '../../../src/kernel/uuid.ts';
import type { MatchingTask } from '../../../src/matching/matching-tasks.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { historyCodec } from '../../../src/codec/history-codec.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { decodeTaskInfo } from '../../../src/codec/task-info-codec.ts';
import { namespace } from '../../grpc/stub-ports.ts';
import { completion } from '../../history/completion.ts';
import { completeWorkflow, namespaceId, startAttributes, startChild, terminateWorkflow } from '../../history/shard-under-test.ts';
import { LetterQueues } from './letter-queues.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import { turns, until } from '../../support/event-loop.ts';

/** As operators set it: a task that fails so often is a letter. */
const failuresMax = 3;
const layout = { historyShards: 2, matchingPartitions: 1, taskQueuePartitions: 1 };
const parentKey = keyIn(1, 'parent');
const childKey = keyIn(2, 'child');

function keyIn(shard: number, name: string): RunKey {
  for (let index = 0; ; index++) {
    const workflowId = `${name}-${index}`;
    if (historyShardOf(namespaceId, workflowId, layout.historyShards) === shard) return { namespaceId, workflowId, runId: '' };
  }
}

/** One life of the process. The answers of a shard are lost while `losesAnswersTo` names the command. */
class Process {
  readonly clock = new HandClock();
  readonly router = new Router(this.clock);
  readonly shards: HistoryShard[] = [];
  readonly offered: MatchingTask[] = [];
  readonly queues = new LetterQueues(this.router, failuresMax, () => this.clock.wallMs());
  losesAnswersTo: HistoryRequest['kind'] | undefined;
  lost = 0;
  /** What the caller gets in the place of a lost answer. */
  failure: AskFailure = { kind: 'unavailable', message: 'the answer was lost' };
  /** Of the only namespace. */
  retentionMs = 5_000;

  constructor(log: MemoryLog) {
    const matching = this.router.matching.sink(0);
    this.router.matching.attach(0, {
      submit: (askId, request) => {
        if ('task' in request) this.offered.push(request.task);
        systemClock.soon(() => matching.answer(askId, { kind: 'done' }));
        return undefined;
      },
      cancel: () => {},
    });
    for (let shard = 1; shard <= layout.historyShards; shard++) this.#attach(shard, log);
  }

  #attach(number: number, log: MemoryLog): void {
    const sink = this.router.history.sink(number);
    const losing = new Set<number>();
    const shard = new HistoryShard({
      shard: number,
      topic: 'test.history',
      owner: 'test',
      log,
      codec: historyCodec,
      claims: jsonClaims,
      wire: historyWire,
      limits: defaultHistoryLimits,
      registry: {
        isFolded: true,
        view: {
          position: 0,
          registeredNameOf: () => undefined,
          namespaceById: () => ({ ...namespace('ns'), retentionMs: this.retentionMs }),
          systemSearchAttributes,
        },
      },
      cacheBytesMax: 1024 * 1024,
      layout,
      router: this.router,
      sink: {
        ...sink,
        answer: (askId, reply) => {
          if (!losing.delete(askId)) return sink.answer(askId, reply);
          this.lost += 1;
          sink.fail(askId, this.failure);
          return false;
        },
      },
      clock: this.clock,
      random: systemRandom,
      logger: silentLogger,
      onStatus: () => {},
      capture: this.queues.capture,
      isArchiving: false,
      sideRunners: {},
    });
    this.shards.push(shard);
    const endpoint: Endpoint<HistoryRequest> = {
      submit: (askId, command) => {
        if (command.kind === this.losesAnswersTo) losing.add(askId);
        return shard.submit(askId, command);
      },
      cancel: (askId) => shard.cancel(askId),
    };
    this.router.history.attach(number, endpoint);
  }

  async serve(): Promise<this> {
    for (const shard of this.shards) shard.actor.start();
    await until(() => this.shards.every((shard) => shard.actor.status().state === 'active'));
    return this;
  }

  async end(): Promise<void> {
    await Promise.all(this.shards.map((shard) => shard.actor.drain()));
    this.router.close();
  }

  ask<Command extends HistoryRequest>(shard: number, command: Command): Promise<HistoryAnswer<Command>> {
    return new Promise((resolve) => void this.router.askHistory(shard, command, ownWork(FAR_AWAY_MS), resolve));
  }

  async startParent(): Promise<void> {
    await this.ask(1, {
      kind: 'startWorkflow',
      key: parentKey,
      namespace: 'ns',
      newRunId: systemRandom.nonce(),
      requestId: systemRandom.nonce(),
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: undefined,
      onConflict: undefined,
      start: startAttributes(),
    });
  }

  /** Takes the workflow task that was offered last and answers it. */
  async work(key: RunKey, commands: readonly WorkflowCommand[]): Promise<void> {
    const find = (): MatchingTask | undefined => this.offered.find((task) => task.key.workflowId === key.workflowId);
    await until(() => find() !== undefined);
    const task = find()!;
    this.offered.splice(this.offered.indexOf(task), 1);
    const shard = task.historyShard;
    const { scheduledEventId, stamp } = task;
    const taskQueue = { name: 'queue', kind: 1, normalName: '' };
    const started = await this.ask(shard, {
      kind: 'startWorkflowTask',
      key: task.key,
      scheduledEventId,
      stamp,
      pollRequestId: systemRandom.nonce(),
      identity: 'worker',
      taskQueue,
    });
    if (started.kind !== 'workflowTask') throw new Error(`not started: ${JSON.stringify(started)}`);
    const reply = await this.ask(shard, completion(started, commands));
    expect(reply.kind).toBe('workflowTaskCompleted');
  }

  async terminateParent(): Promise<void> {
    await this.ask(1, terminateWorkflow({ key: parentKey }));
  }

  async describe(shard: number, key: RunKey): Promise<Description> {
    const reply = await this.ask(shard, { kind: 'describeWorkflow', key });
    if (reply.kind !== 'description') throw new Error(`no description: ${JSON.stringify(reply)}`);
    return reply;
  }

  /** Lets retries come to their time until the child is as wanted. */
  async untilChild(isSo: (child: Description) => boolean): Promise<void> {
    for (let round = 0; round < 200; round++) {
      if (isSo(await this.describe(2, childKey))) return;
      this.clock.advance(100);
      await turns(20);
    }
    throw new Error(`the child never got there: ${JSON.stringify(await this.describe(2, childKey))}`);
  }
}

const processes: Process[] = [];
afterEach(async () => {
  for (const process of processes.splice(0)) await process.end();
});

async function boot(log = new MemoryLog()): Promise<Process> {
  const process = new Process(log);
  processes.push(process);
  return await process.serve();
}

/** The parent has closed, and does not know that its child runs. */
async function orphaned(log: MemoryLog, parentClosePolicy: number): Promise<Process> {
  const process = await boot(log);
  await process.startParent();
  process.losesAnswersTo = 'startWorkflow';
  await process.work(parentKey, [startChild({ workflowId: childKey.workflowId, namespaceId, parentClosePolicy })]);
  await until(() => process.lost > 0);
  await process.terminateParent();
  expect((await process.describe(2, childKey)).status).toBe(1);
  process.losesAnswersTo = undefined;
  return process;
}

describe('a child whose parent closed before it heard of the start', () => {
  test.each(['at the next attempt', 'after a crash'])('is ended %s', async (when) => {
    const log = new MemoryLog();
    let process = await orphaned(log, 1);
    // The first one stands still: its clock does not move.
    if (when === 'after a crash') process = await boot(log);
    await process.untilChild(({ status }) => status === 5);
  });

  test.each(['at the next attempt', 'after a crash'])('goes on %s, if that is the policy', async (when) => {
    const log = new MemoryLog();
    let process = await orphaned(log, 2);
    if (when === 'after a crash') process = await boot(log);
    await process.untilChild(({ pendingWorkflowTask }) => pendingWorkflowTask !== undefined);
    await process.work(childKey, [completeWorkflow()]);
    expect((await process.describe(2, childKey)).status).toBe(2);
  });

  test('is ended although the answers go on being lost for a while', async () => {
    const process = await orphaned(new MemoryLog(), 1);
    process.losesAnswersTo = 'findChild';
    const { lost } = process;
    for (let round = 0; process.lost < lost + 3 && round < 1_000; round++) {
      process.clock.advance(100);
      await turns(20);
    }
    expect((await process.describe(2, childKey)).status, 'nothing is known yet').toBe(1);
    process.losesAnswersTo = undefined;
    await process.untilChild(({ status }) => status === 5);
  });
});

test('a child that its shard cannot write fails its start, and the parent hears of it', async () => {
  const process = await boot();
  await process.startParent();
  process.losesAnswersTo = 'startWorkflow';
  process.failure = { kind: 'tooLarge', message: 'the record would be too large' };
  await process.work(parentKey, [startChild({ workflowId: childKey.workflowId, namespaceId })]);
  await until(() => process.offered.some(({ key }) => key.workflowId === parentKey.workflowId));
  const { pendingChildren, historyLength } = await process.describe(1, parentKey);
  expect(pendingChildren).toEqual([]);
  // Started, three of a workflow task, Initiated, StartFailed, Scheduled.
  expect(historyLength).toBe(7);
  expect(process.lost).toBe(1);
});

test('the run id of a child has the time of its start in front', async () => {
  const process = await boot();
  await process.startParent();
  await process.work(parentKey, [startChild({ workflowId: childKey.workflowId, namespaceId })]);
  await until(() => process.offered.some(({ key }) => key.workflowId === childKey.workflowId));
  const { runId } = (await process.describe(2, childKey)).key;
  expect(runId.slice(0, 15)).toBe(uuidAt(process.clock.wallMs(), systemRandom.nonce()).slice(0, 15));
});

test('a child is kept as long as its namespace says, not as long as closed runs are by default', async () => {
  const process = await boot();
  await process.startParent();
  await process.work(parentKey, [startChild({ workflowId: childKey.workflowId, namespaceId })]);
  await process.work(childKey, [completeWorkflow()]);
  // Its parent hears of it: until then it is kept in any case.
  await turns(20);
  process.clock.advance(process.retentionMs - 1);
  await turns(20);
  expect((await process.describe(2, childKey)).status).toBe(2);
  process.clock.advance(1);
  await turns(20);
  expect(await process.ask(2, { kind: 'describeWorkflow', key: childKey })).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
});

describe('a message that cannot be built', () => {
  async function failing(): Promise<{ readonly process: Process; readonly attempts: () => number }> {
    const process = await boot();
    await process.startParent();
    const core = process.shards[0]?.actor.memory?.core;
    if (core === undefined) throw new Error('no memory');
    const handle = core.handle.bind(core);
    let attempts = 0;
    core.handle = (command, nowMs, askId) => {
      if (command.kind !== 'runOutboxTask') return handle(command, nowMs, askId);
      attempts += 1;
      throw new RangeError('planted');
    };
    await process.work(parentKey, [startChild({ workflowId: childKey.workflowId, namespaceId })]);
    return { process, attempts: () => attempts };
  }

  async function passUntil(process: Process, isSo: () => boolean): Promise<void> {
    for (let round = 0; round < 1_000 && !isSo(); round++) {
      process.clock.advance(100);
      await turns(20);
    }
  }

  test('is tried as often as operators say, and is one dead letter that says all there is to know', async () => {
    const { process, attempts } = await failing();
    const { letters } = process.queues;
    await passUntil(process, () => letters.transfer.size > 0);
    await passUntil(process, () => process.shards[0]?.actor.memory?.core.shard.handOvers?.get('transfer')?.waiting.length === 0);
    expect(attempts()).toBe(failuresMax);
    const [letter] = letters.transfer.values();
    expect([...letters.transfer.keys()]).toEqual([0]);
    const parent = await process.describe(1, parentKey);
    expect(letter).toMatchObject({
      handOver: { shard: 1, sequence: 1 },
      task: {
        taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
        shardId: 1,
        ...parent.key,
        namespace: 'ns',
        targetNamespaceId: '',
        workflowType: parent.workflowType,
        valueType: 'temporal.server.api.persistence.v1.TransferTaskInfo',
      },
      failure: {
        cause: 'retries-exhausted',
        errorType: 'RangeError',
        errorMessage: 'planted',
        attempts: failuresMax,
        handler: 'TransferQueueProcessor',
        node: 'host:7233',
        build: '0.1.0',
      },
      origin: { topic: 'test.history', partition: 0, group: 'test-history' },
      state: 'open',
    });
    if (letter === undefined) throw new Error('there is a letter');
    const { valueType, value, taskId } = letter.task;
    expect(decodeTaskInfo({ valueType, value })).toMatchObject({ kind: 'startChild', taskId, key: parent.key });
    expect(process.shards.map(({ actor }) => actor.status().state)).toEqual(['active', 'active']);
  });

  test('waits for its queue, and its workflow goes on meanwhile', async () => {
    const { process } = await failing();
    const { queues } = process;
    queues.isOpen = false;
    const line = () => process.shards[0]?.actor.memory?.core.shard.handOvers?.get('transfer');
    await passUntil(process, () => line()?.waiting.length === 1);
    expect(queues.letters.transfer.size).toBe(0);
    expect((await process.describe(1, parentKey)).status).toBe(1);
    queues.isOpen = true;
    await passUntil(process, () => line()?.waiting.length === 0);
    expect(queues.letters.transfer.size).toBe(1);
  });
});
