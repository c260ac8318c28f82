/**
 * A refusal changes nothing, seen from outside: random bodies for every method, forged and damaged tokens; meanwhile the topics get no
 * record that no accepted call explains, a workflow that nobody names stays as it was, and the process holds no more than before.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { Connection } from '@temporalio/client';
import type { WorkflowService } from '@temporalio/client';
import Long from 'long';
import type { Admin } from 'kafkajs';
import { publicServices, rpcsOf, type Rpc } from '../fuzz/descriptors.ts';
import { type Names, sparing } from '../fuzz/mutate.ts';
import { anyBody } from '../fuzz/requests.ts';
import { RawClient } from '../grpc/raw-client.ts';
import { Prng } from '../simulation/prng.ts';
import { enums, payloadOf } from '../sdk/fields.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seed } from '../support/seed.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { kafkaServers } from '../support/servers.ts';
import { kafkaClient, topicLength } from './kafka-admin.ts';
import { openHandles, residentMiB } from './processes.ts';

const bodiesEach = 75;
const namespace = 'default';
/** Never named by the generator of bodies. */
const probe = { workflowId: 'acceptance-probe' };
const probeQueue = { name: 'acceptance-probe-queue' };
const rssGrowthMiBMax = 150;

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('bad input on Kafka', kafka.missing);
else badInput(kafka.brokers);

function badInput(brokers: readonly string[]): void {
  const topicPrefix = `bad-input-${randomUUID()}`;
  // Matching tidies its backlog a second after the fact.
  const topics = ['history', 'cluster'].map((name) => `${topicPrefix}.${name}`);
  let folder: string;
  let server: ServerProcess;
  let raw: RawClient;
  let connection: Connection;
  let service: WorkflowService;
  let admin: Admin;
  let workflowTask: Uint8Array;
  let activityTask: Uint8Array;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-bad-input-'));
    [server] = (await kafkaServers(folder, brokers, topicPrefix, 1)) as [ServerProcess];
    await server.start();
    raw = new RawClient(server.address);
    connection = await Connection.connect({ address: server.address });
    service = connection.workflowService;
    admin = kafkaClient(brokers).admin();
    await admin.connect();
    await setUpProbe();
  });
  afterAll(async () => {
    raw.close();
    await connection.close();
    await admin.disconnect();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** In the middle of everything: an activity runs, a timer ticks, a signal woke it, and its workflow task has been started. */
  async function setUpProbe(): Promise<void> {
    const workflowTaskTimeout = { seconds: Long.fromNumber(120) };
    await service.startWorkflowExecution({
      namespace,
      ...probe,
      workflowType: { name: 'Probe' },
      taskQueue: probeQueue,
      workflowTaskTimeout,
    });
    const first = await pollProbe();
    const anHour = { seconds: Long.fromNumber(3_600) };
    await service.respondWorkflowTaskCompleted({
      namespace,
      taskToken: first,
      commands: [
        {
          commandType: enums.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
          scheduleActivityTaskCommandAttributes: {
            activityId: 'probe',
            activityType: { name: 'probe' },
            taskQueue: probeQueue,
            startToCloseTimeout: anHour,
          },
        },
        {
          commandType: enums.CommandType.COMMAND_TYPE_START_TIMER,
          startTimerCommandAttributes: { timerId: 'probe', startToFireTimeout: anHour },
        },
      ],
    });
    activityTask = (await polled(() => service.pollActivityTaskQueue({ namespace, taskQueue: probeQueue }))).taskToken;
    await service.signalWorkflowExecution({
      namespace,
      workflowExecution: probe,
      signalName: 'wake',
      input: { payloads: [payloadOf('up')] },
    });
    workflowTask = await pollProbe();
  }

  async function pollProbe(): Promise<Uint8Array> {
    return (await polled(() => service.pollWorkflowTaskQueue({ namespace, taskQueue: probeQueue }))).taskToken;
  }

  function polled<T>(poll: () => Promise<T>): Promise<T> {
    return connection.withDeadline(Date.now() + 10_000, poll);
  }

  async function stateOfProbe(): Promise<unknown> {
    const description = await service.describeWorkflowExecution({ namespace, execution: probe });
    const { history } = await service.getWorkflowExecutionHistory({ namespace, execution: probe });
    return [description, history];
  }

  async function recordsInAll(): Promise<number> {
    const lengths = await Promise.all(topics.map((topic) => topicLength(admin, topic)));
    return lengths.reduce((sum, length) => sum + length, 0);
  }

  /** Nothing of the probe changed, and no record was written that no accepted call explains. */
  async function harmless(attack: () => Promise<{ readonly accepted: number }>): Promise<void> {
    const before = { probe: await stateOfProbe(), records: await recordsInAll() };
    const { accepted } = await attack();
    const grown = (await recordsInAll()) - before.records;
    expect(grown, `${accepted} accepted calls`).toBeLessThanOrEqual(accepted * recordsOfOneCallMax);
    expect(await stateOfProbe()).toEqual(before.probe);
  }

  describe(`bad input changes nothing (seed ${seed})`, () => {
    const prng = new Prng(seed);
    const rpcs = publicServices.flatMap(rpcsOf);
    // What starts something comes last: it goes on by itself afterwards.
    const inOrder = rpcs.toSorted((a, b) => Number(startsWork(a)) - Number(startsWork(b)));

    test(`${bodiesEach} bodies for each of ${rpcs.length} methods`, async () => {
      const pid = server.pid ?? 0;
      await send(inOrder[0]!, 50);
      const before = { handles: openHandles(pid), rss: residentMiB(pid) };
      for (const rpc of inOrder) await harmless(() => send(rpc, bodiesEach));
      raw.close();
      raw = new RawClient(server.address);
      await service.getSystemInfo({});
      expect(await server.exitCode(0), 'it still runs').toBeUndefined();
      expect(server.output).not.toContain('a call failed because of a bug');
      expect(residentMiB(pid) - before.rss, 'MiB more than before').toBeLessThan(rssGrowthMiBMax);
      await expect.poll(() => leaked(before.handles, openHandles(pid)), { timeout: 60_000 }).toEqual([]);
    });

    test('what was accepted can be read again: a new process comes to the same state', async () => {
      const before = await stateOfProbe();
      await server.kill9();
      await server.start();
      await connection.close();
      connection = await Connection.connect({ address: server.address });
      service = connection.workflowService;
      expect(await stateOfProbe()).toEqual(before);
    });

    test('damaged tokens are refused with one text, and the true ones still work, given out by another process', async () => {
      await harmless(async () => {
        for (const method of ['RespondWorkflowTaskCompleted', 'RespondWorkflowTaskFailed', 'RespondQueryTaskCompleted'])
          await damaged(method, workflowTask);
        for (const method of activityMethods) await damaged(method, activityTask);
        return { accepted: 0 };
      });
      await service.recordActivityTaskHeartbeat({ namespace, taskToken: activityTask });
      await service.respondActivityTaskCompleted({ namespace, taskToken: activityTask });
      await service.respondWorkflowTaskCompleted({ namespace, taskToken: workflowTask });
      const { history } = await service.getWorkflowExecutionHistory({ namespace, execution: probe });
      const completed = (history?.events ?? []).filter(({ activityTaskCompletedEventAttributes: attributes }) => attributes);
      expect(completed).toHaveLength(1);
    });

    /** One bit, a cut, something behind it, another kind's token. */
    async function damaged(method: string, token: Uint8Array): Promise<void> {
      const requestType = rpcs.find((rpc) => rpc.method === method)?.requestType;
      if (requestType === undefined) throw new Error(`no method ${method}`);
      const tokens = Array.from({ length: 40 }, () => flipped(token, prng));
      tokens.push(token.subarray(0, token.length - 1), Uint8Array.from([...token, 0]), token.subarray(1));
      for (const taskToken of tokens) {
        const request = requestType.encode(requestType.fromObject({ namespace, taskToken, completedType: 1 })).finish();
        const { code, details } = await raw.refusal(method, request);
        expect([code, details]).toEqual([3, 'Error deserializing task token.']);
      }
    }
  });

  async function send(rpc: Rpc, count: number): Promise<{ readonly accepted: number }> {
    const prng = new Prng(seed + rpc.path.length * 7_919);
    const outcomes = await Promise.all(
      Array.from({ length: count }, async () => {
        try {
          // The least that a poll takes seriously.
          await raw.call(rpc.path, anyBody(rpc.requestType, prng, sparing(rpc.method, names)), { timeoutMs: 2_100 });
          return 'accepted';
        } catch (error) {
          const { code } = error as { readonly code: number };
          expect(ourMistakes.has(code), `${rpc.path} answered ${String(error)}`).toBe(false);
          // Who was not answered in time does not know.
          return code === deadlineExceeded ? 'accepted' : 'refused';
        }
      }),
    );
    return { accepted: outcomes.filter((outcome) => outcome === 'accepted').length };
  }
}

const activityMethods = [
  'RespondActivityTaskCompleted',
  'RespondActivityTaskFailed',
  'RespondActivityTaskCanceled',
  'RecordActivityTaskHeartbeat',
] as const;

const deadlineExceeded = 4;
/** UNKNOWN, INTERNAL, UNAVAILABLE, DATA_LOSS: not what a caller did. */
const ourMistakes: ReadonlySet<number> = new Set([2, 13, 14, 15]);

/** A start: its record, its workflow task on the backlog, and what becomes of both. */
const recordsOfOneCallMax = 4;

/** A namespace that exists, and a workflow id that is not the probe's. */
const names: Names = (field, prng) =>
  field === 'namespace' ? namespace : field === 'workflowId' && prng.chance(0.7) ? 'bad-input-target' : undefined;

function startsWork({ method }: Rpc): boolean {
  return /Start|Register|Poll/.test(method);
}

function flipped(token: Uint8Array, prng: Prng): Uint8Array {
  const copy = Uint8Array.from(token);
  const at = prng.int(0, copy.length - 1);
  copy[at] = (copy[at] ?? 0) ^ (1 << prng.int(0, 7));
  return copy;
}

/** Kinds of handles of which there are more than before. */
function leaked(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): readonly string[] {
  const [allowed, found] = [new Map(before), [...after]];
  return found.filter(([kind, count]) => count > (allowed.get(kind) ?? 0)).map(([kind, count]) => `${kind}: ${count}`);
}
