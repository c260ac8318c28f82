/**
 * How fast a job merges dead letters that have nothing left to do, through the whole path: jobs, the owner of the queue, shards, and back; and how long
 * the turns of the server's event loop are meanwhile.
 *
 *     node test/actors/deadletters/measure-merge.ts [LETTERS] [CONCURRENCY]
 */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';
import { Router } from '../../../src/actors/asks/router.ts';
import { CheckpointSchedule } from '../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { QueueHost } from '../../../src/actors/deadletters/queue/queue-host.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import * as service from '../../../src/cli/admin/dlq/service.ts';
import type { GrpcMethod } from '../../../src/cli/grpc-client.ts';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import type { DeadLetterQueue, Letter } from '../../../src/deadletters/letter.ts';
import type { PendingTask } from '../../../src/history/run/tasks.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { deadLetterCodec } from '../../../src/codec/dead-letter-codec.ts';
import { deadLetterStateCodec } from '../../../src/codec/dead-letter-state-codec.ts';
import { decodeTaskInfo, encodeTaskInfo } from '../../../src/codec/task-info-codec.ts';
import { openEmbeddedLog } from '../../../src/topics/embedded/embedded-log.ts';
import { ownLimits } from '../../../src/wire/wire-limits.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { until } from '../../support/event-loop.ts';
import { embeddedServer } from '../../support/servers.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const letters = Number(positionals[0] ?? 20_000);
const concurrency = Number(positionals[1] ?? 64);
const queue: DeadLetterQueue = { number: 1, category: 'transfer', categoryId: 1, sourceCluster: 'active', targetCluster: 'active' };
const topic = 'dlq.perdure.transfer.active';
const folder = mkdtempSync(join(tmpdir(), 'perdure-measure-'));
const turnsFile = join(folder, 'turns.txt');
const file = join(folder, 'x.db');
const probe = fileURLToPath(new URL('../../bench/long-turns-probe.mjs', import.meta.url));

const server = await embeddedServer(file);
await server.start();
await delay(1_000);
await server.stop();
await fill();
process.env['NODE_OPTIONS'] = `--import=${probe}`;
process.env['BENCH_LONG_TURNS'] = turnsFile;
await server.start();
const client = new Client(server.address, credentials.createInsecure());
await merge();
client.close();
await server.stop();
console.log(readFileSync(turnsFile, 'utf8'));
rmSync(folder, { recursive: true });

/** Of activities of workflows that are gone. */
async function fill(): Promise<void> {
  const log = await openEmbeddedLog({ filename: file, topics: [{ name: topic, partitions: 1 }] });
  const database = openSqlite({ filename: `${file}-state` });
  const router = new Router(systemClock);
  const ports = { clock: systemClock, logger: silentLogger };
  const host = new QueueHost({
    ...ports,
    queue,
    topic,
    owner: 'measure',
    log,
    codec: deadLetterCodec(queue, 'perdure'),
    claims: jsonClaims,
    sink: router.deadLetters.sink(queue.number),
    random: systemRandom,
    onStatus: () => {},
    execution: {
      registry: { view: { namespaceById: () => undefined, namespaceByName: () => undefined } },
      router,
      historyShards: 1,
      tasks: { decode: decodeTaskInfo, encode: () => new Uint8Array() },
      maxGeneration: () => 5,
      node: 'measure',
      build: '0.1.0',
    },
    checkpoints: { database, stateWire: deadLetterStateCodec, schedule: new CheckpointSchedule(ports), limits: {} },
  });
  router.deadLetters.attach(queue.number, host);
  host.actor.start();
  await until(() => host.actor.status().state === 'active');
  for (let sequence = 1; sequence <= letters; sequence += 100) {
    const given = Array.from({ length: 100 }, (_, index) => letter(sequence + index));
    const answer = await new Promise<{ readonly kind: string }>((resolve) => {
      router.askDeadLetters(queue.number, { kind: 'acceptLetters', shard: 1, letters: given }, ownWork(FAR_AWAY_MS), resolve);
    });
    if (answer.kind !== 'accepted') throw new Error(JSON.stringify(answer));
  }
  await host.actor.drain();
  router.close();
  await database.close();
  await log.close();
}

function letter(sequence: number): Letter {
  const { task, ...rest } = letterOf(1, sequence);
  const { namespaceId, workflowId, runId, taskId } = task;
  const pending: PendingTask = {
    kind: 'activityTask',
    taskId: Number(taskId),
    key: { namespaceId, workflowId, runId },
    version: 0,
    scheduledEventId: 5,
    stamp: 1,
    taskQueue: { name: 'orders', kind: 1, normalName: '' },
    scheduleToStartTimeoutMs: 0,
  };
  return { ...rest, task: { ...task, taskType: 'TASK_TYPE_TRANSFER_ACTIVITY_TASK', ...encodeTaskInfo(pending) } };
}

async function merge(): Promise<void> {
  const selector = { category: 'transfer', sourceCluster: 'active' };
  const options = { rps: 0, concurrency, taskTimeoutMs: 0, canary: false, maxFailures: 0, overrideLoopGuard: false };
  const planned = await call(service.calls.PlanDeadLetters, {
    operation: 1,
    queue: selector,
    selection: undefined,
    options,
    reason: '',
    groupId: '',
  });
  const plan = planned.plan;
  if (plan === undefined) throw new Error('no plan');
  const beganMs = performance.now();
  await call(service.calls.ApplyPlan, { planId: plan.planId, hash: plan.hash });
  for (;;) {
    const { job } = await call(service.calls.DescribeJob, { jobId: plan.planId, unlessState: '', waitMs: 5_000 });
    const s = (performance.now() - beganMs) / 1_000;
    console.log(s.toFixed(1), 's', job?.state, JSON.stringify(job?.counts), Math.round((job?.counts?.merged ?? 0) / s), 'letters a second');
    if (job?.state.startsWith('comp')) return;
  }
}

function call<Request, Response>({ path, encode, decode }: GrpcMethod<Request, Response>, request: Request): Promise<Response> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
      Buffer.from(encode(request)),
      { deadline: Date.now() + 30_000 },
      (error, bytes) =>
        error === null && bytes !== undefined ? resolve(decode(bytes, ownLimits)) : reject(error ?? new Error('no answer')),
    );
  });
}
