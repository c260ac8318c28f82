/**
 * How long the owner of a queue with many dead letters takes for what people ask of it, on the embedded log and SQLite files.
 *
 *     node test/actors/deadletters/measure-queue.ts [LETTERS]
 */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type DeadLetterAnswer, Router } from '../../../src/actors/asks/router.ts';
import { CheckpointSchedule } from '../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { QueueHost } from '../../../src/actors/deadletters/queue/queue-host.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import type { DeadLetterRequest } from '../../../src/deadletters/letter-commands.ts';
import type { DeadLetterQueue, Letter } from '../../../src/deadletters/letter.ts';
import type { Condition } from '../../../src/filter/condition.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { deadLetterCodec } from '../../../src/codec/dead-letter-codec.ts';
import { deadLetterStateCodec } from '../../../src/codec/dead-letter-state-codec.ts';
import { decodeTaskInfo } from '../../../src/codec/task-info-codec.ts';
import { openEmbeddedLog } from '../../../src/topics/embedded/embedded-log.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { until } from '../../support/event-loop.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const letters = Number(positionals[0] ?? 100_000);
const queue: DeadLetterQueue = { number: 1, category: 'transfer', categoryId: 1, sourceCluster: 'active', targetCluster: 'active' };
const topic = 'dlq.perdure.transfer.active';
const folder = mkdtempSync(join(tmpdir(), 'perdure-measure-'));
const log = await openEmbeddedLog({ filename: join(folder, 'x.db'), topics: [{ name: topic, partitions: 1 }] });
const database = openSqlite({ filename: join(folder, 'x.db-state') });
const ports = { clock: systemClock, logger: silentLogger };
const schedule = new CheckpointSchedule(ports);

function served(): { readonly host: QueueHost; readonly router: Router } {
  const router = new Router(systemClock);
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
    // Nothing is merged here.
    execution: {
      registry: { view: { namespaceById: () => undefined, namespaceByName: () => undefined } },
      router,
      historyShards: 1,
      tasks: { decode: decodeTaskInfo, encode: () => new Uint8Array() },
      maxGeneration: () => 5,
      node: 'measure',
      build: '0.1.0',
    },
    checkpoints: { database, stateWire: deadLetterStateCodec, schedule },
  });
  router.deadLetters.attach(queue.number, host);
  host.actor.start();
  return { host, router };
}

let { host, router } = served();

async function ask<Request extends DeadLetterRequest>(request: Request): Promise<DeadLetterAnswer<Request>> {
  return await new Promise((resolve) => void router.askDeadLetters(queue.number, request, ownWork(FAR_AWAY_MS), resolve));
}

async function measured(what: string, work: () => Promise<unknown>): Promise<void> {
  const beganMs = performance.now();
  const result = await work();
  const ms = performance.now() - beganMs;
  console.log(`${ms.toFixed(1).padStart(9)} ms  ${what}${typeof result === 'string' ? `: ${result}` : ''}`);
}

async function kindOf(request: DeadLetterRequest): Promise<string> {
  const answer = await ask(request);
  return answer.kind;
}

await until(() => host.actor.status().state === 'active');
const causes = 7;
function letter(shard: number, sequence: number): Letter {
  const plain = letterOf(shard, sequence);
  const fingerprint = String(sequence % causes).padStart(16, '0');
  return { ...plain, failure: { ...plain.failure, fingerprint, errorMessage: `connection ${sequence} refused by host ${shard}` } };
}

const shards = 8;
await measured(`${letters} letters are handed over`, async () => {
  const ofShard = async (shard: number): Promise<void> => {
    for (let sequence = 1; sequence <= letters / shards; sequence += 100) {
      const given = Array.from({ length: 100 }, (_, index) => letter(shard, sequence + index));
      const answer = await ask({ kind: 'acceptLetters', shard, letters: given });
      if (answer.kind !== 'accepted') throw new Error(JSON.stringify(answer));
    }
  };
  await Promise.all(Array.from({ length: shards }, (_, index) => ofShard(index + 1)));
});
const page = { condition: undefined, afterMessageId: -1, bytesMax: 3_000_000 };
const workflow: Condition = { kind: 'compare', column: { name: 'WorkflowId', kind: 'keyword' }, operator: '=', operand: 'order-77' };
const rare: Condition = { kind: 'compare', column: { name: 'ErrorMessage', kind: 'keyword' }, operator: '=', operand: 'none' };
await measured('the first list behind that', () => kindOf({ kind: 'listLetters', ...page, max: 100, withContent: false }));
await measured('first page of 100', () => kindOf({ kind: 'listLetters', ...page, max: 100, withContent: false }));
await measured('first page of 100 with contents', () => kindOf({ kind: 'listLetters', ...page, max: 100, withContent: true }));
await measured('page of 1,000 with contents', () => kindOf({ kind: 'listLetters', ...page, max: 1_000, withContent: true }));
await measured('one letter', () => kindOf({ kind: 'readLetter', messageId: letters - 100 }));
await measured('count of all', () => kindOf({ kind: 'countMatching', condition: undefined }));
await measured('count by workflow id', () => kindOf({ kind: 'countMatching', condition: workflow }));
await measured('count by what has no index', () => kindOf({ kind: 'countMatching', condition: rare }));
await measured('groups by fingerprint', () => kindOf({ kind: 'groupLetters', condition: undefined, by: 'fingerprint', max: 100 }));
await measured('groups by cause', () => kindOf({ kind: 'groupLetters', condition: undefined, by: 'cause', max: 100 }));
await measured('a restart', async () => {
  await host.actor.drain();
  router.close();
  ({ host, router } = served());
  await until(() => host.actor.status().state === 'active');
});
await measured('groups by fingerprint behind it', () =>
  kindOf({ kind: 'groupLetters', condition: undefined, by: 'fingerprint', max: 100 }),
);
await measured('purge of all', async () => {
  await ask({ kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: letters - 1 }] });
  for (let from = 0; from < letters; from += 1_000) {
    const ids = Array.from({ length: 1_000 }, (_, index) => ({ messageId: from + index, generation: 0 }));
    const answer = await ask({ kind: 'purgeLetters', jobId: 'job', who: 'anna', why: 'measured', letters: ids });
    if (answer.kind !== 'purged') throw new Error(JSON.stringify(answer));
  }
  return kindOf({ kind: 'listLetters', ...page, max: 1, withContent: false });
});
await host.actor.drain();
router.close();
await database.close();
await log.close();
rmSync(folder, { recursive: true });
