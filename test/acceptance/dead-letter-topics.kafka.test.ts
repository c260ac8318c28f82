/**
 * The topics of dead letters on a real broker, as whoever operates it sees them: their settings, their records, what strangers write there, what a
 * purge leaves; and a merge whose broker is killed, and whose server is frozen while another takes over.
 */
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workflowTasksFail } from '../cli/commands-over-letters.ts';
import { perdureAt, registerNamespace } from '../cli/perdure-process.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import { kafkaServer, withFolder } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { consumeAll, kafkaClient, withAdmin, type ConsumedRecord } from './kafka-admin.ts';

const prefix = 'letters';
const topic = `dlq.${prefix}.transfer.active`;
const queue = 'admin queue dlq';
const patience = { timeout: 60_000, interval: 100 };
const { namespace } = workflowTasksFail;
/** What is purged is gone at once. */
const noUndo = ['perdure.dlq.undoWindow:', '  - value: 0s'];

describe.skipIf(!(await canStartLocalKafka('dead letters on a broker that is killed')))('the topics of dead letters', () => {
  let broker: LocalBroker;
  beforeAll(async () => {
    broker = await startLocalKafka();
  });
  afterAll(() => broker?.stop());

  test('hold dead letters that any tool reads, pass over strangers, and lose what is purged; merges outlive broker and server', () =>
    withFolder(async (folder) => {
      const settings = { brokers: broker.brokers, topicPrefix: prefix, dynamic: noUndo, logLevel: 'info' } as const;
      const faulty = await kafkaServer(folder, { ...settings, hidden: { devFaults: [workflowTasksFail] } });
      const mended = await kafkaServer(folder, settings, Number(faulty.address.split(':')[1]));
      const next = await kafkaServer(folder, settings);
      try {
        await faulty.start();
        await registerNamespace(faulty.address, namespace);
        await makeLetters(faulty, 0, 4);
        await settingsAreRight(broker);
        await lettersAreReadable(broker);
        await strangersChangeNothing(broker, faulty);
        await nothingIsLeftOfPurged(broker, faulty);
        await makeLetters(faulty, 10, 200);
        await faulty.stop();
        await mergeOutlives(broker, mended, next);
      } finally {
        for (const server of [faulty, mended, next]) await server.stop();
      }
    }));
});

async function countAt({ address }: ServerProcess): Promise<number> {
  const { out } = await perdureAt(address, `${queue} count --category transfer`);
  return out === '' ? Number.NaN : Number(out);
}

/** On top of those that are there. */
async function makeLetters(server: ServerProcess, from: number, count: number): Promise<void> {
  const before = await countAt(server);
  const { workflowService: service, close } = await connectionTo(server);
  const ids = Array.from({ length: count }, (_, nth) => `order-${from + nth}`);
  const common = { namespace, workflowType: { name: 'Order' }, taskQueue: { name: 'nobody' } };
  await Promise.all(ids.map((workflowId) => service.startWorkflowExecution({ ...common, workflowId, requestId: workflowId })));
  await close();
  await expect.poll(() => countAt(server), patience).toBe(before + count);
}

async function connectionTo({ address }: ServerProcess) {
  const connection = await Connection.connect({ address });
  return { workflowService: connection.workflowService, close: () => connection.close() };
}

async function settingsAreRight({ brokers }: LocalBroker): Promise<void> {
  await withAdmin(kafkaClient(brokers), async (admin) => {
    // 2: a topic. 1: set for it, and no default.
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: topic }] });
    const own = resources[0]?.configEntries.filter(({ configSource }) => Number(configSource) === 1) ?? [];
    expect(Object.fromEntries(own.map(({ configName, configValue }) => [configName, configValue]))).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'segment.ms': '3600000',
      'message.timestamp.type': 'CreateTime',
      'max.message.bytes': '8388608',
    });
    expect(await admin.fetchTopicOffsets(topic)).toHaveLength(1);
  });
}

async function lettersAreReadable(broker: LocalBroker): Promise<void> {
  const letters = (await recordsOf(broker)).filter(isLetter);
  expect(letters.map(({ message: { key } }) => String(key))).toEqual(['0', '1', '2', '3']);
  const headers = Object.entries(letters[0]?.message.headers ?? {}).map(([name, value]) => [name, String(value)]);
  expect(Object.fromEntries(headers)).toMatchObject({
    ...{ 'perdure.schema': '1', 'perdure.message-id': '0', 'perdure.category': 'transfer', 'perdure.namespace': namespace },
    ...{ 'perdure.cause': 'permanent-error', 'perdure.error-message': 'the dependency is away', 'perdure.workflow-type': 'Order' },
    'perdure.task-type': 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
    'perdure.state': 'open',
    'perdure.value-encoding': 'proto3',
    '__dlq.errors.message': 'the dependency is away',
    'x-original-topic': `${prefix}.dlq-redrive`,
  });
}

function recordsOf({ brokers }: LocalBroker): Promise<readonly ConsumedRecord[]> {
  return consumeAll(kafkaClient(brokers), topic);
}

function isLetter({ message: { key, value } }: ConsumedRecord): boolean {
  return value !== null && !String(key).startsWith('@');
}

/** Not by key, nor with a tombstone, nor as a control record, nor with headers like ours. */
async function strangersChangeNothing({ brokers }: LocalBroker, server: ServerProcess): Promise<void> {
  const producer = kafkaClient(brokers).producer();
  await producer.connect();
  const ours = { 'perdure.schema': '1', 'perdure.epoch': '1', 'perdure.sequence': '9999', 'perdure.message-id': '2' };
  const messages = [
    { key: '41', value: 'garbage' },
    { key: '3', value: null },
    { key: '@head', value: '{"nextId":5}' },
    { key: '2', value: 'x', headers: ours },
  ];
  await producer.send({ topic, messages });
  // As a tool does that redrives to where letters say that they came from.
  await producer.send({ topic: `${prefix}.dlq-redrive`, messages: [{ key: '2', value: 'x', headers: ours }] });
  await producer.disconnect();
  await makeLetters(server, 4, 2);
  await server.kill9();
  await server.start();
  await expect.poll(() => countAt(server), patience).toBe(6);
  await expect.poll(() => server.output, patience).toContain('records that Kafka tools sent back are not executed');
  const { out } = await perdureAt(server.address, `${queue} read --category transfer`);
  const letters = JSON.parse(out) as readonly { readonly messageId: number; readonly errorMessage: string }[];
  expect(letters.map(({ messageId }) => messageId)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(new Set(letters.map(({ errorMessage }) => errorMessage))).toEqual(new Set(['the dependency is away']));
}

async function nothingIsLeftOfPurged(broker: LocalBroker, server: ServerProcess): Promise<void> {
  const { code, out } = await perdureAt(server.address, `${queue} purge --category transfer --min-message-id 1`);
  expect([code, out]).toEqual([0, 'purged 5\n']);
  const left = async () => (await recordsOf(broker)).filter(isLetter).map(({ message: { key } }) => String(key));
  await expect.poll(left, patience).toEqual(['0']);
}

async function mergeOutlives(broker: LocalBroker, server: ServerProcess, next: ServerProcess): Promise<void> {
  await server.start();
  await expect.poll(() => countAt(server), patience).toBe(201);
  const begun = await perdureAt(server.address, `${queue} merge --category transfer --rps 60 --no-wait -o json`);
  const { jobIds } = JSON.parse(begun.out) as { readonly jobIds: readonly [string] };
  await expect.poll(() => countAt(server), patience).toBeLessThan(190);
  await broker.kill9();
  await broker.restart();
  await expect.poll(() => countAt(server), patience).toBeLessThan(150);
  server.pause();
  await next.start();
  server.resume();
  // It has been told who serves now.
  expect(await server.exitCode(30_000)).toBe(3);
  const described = async (): Promise<unknown> => {
    const { out } = await perdureAt(next.address, `${queue} job describe ${jobIds[0]} -o json`);
    return out === '' ? undefined : JSON.parse(out);
  };
  const counts = { selected: 201, merged: 201, failed: 0, skipped: 0, gone: 0, notTried: 0, remaining: 0 };
  await expect.poll(described, patience).toMatchObject({ state: 'completed', counts });
  expect(await countAt(next)).toBe(0);
}
