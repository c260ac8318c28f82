/** What others see on the history topic: a plain consumer, and the script that goes with the repository. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { RawDriver } from '../bench/raw-driver.ts';
import {
  decodeStartWorkflowExecutionResponse,
  decodeTerminateWorkflowExecutionResponse,
  emptyStartWorkflowExecutionRequest,
  emptyTerminateWorkflowExecutionRequest,
  encodeStartWorkflowExecutionRequest,
  encodeTerminateWorkflowExecutionRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { ServiceClient } from '../support/service-client.ts';
import { kafkaServers, withFolder } from '../support/servers.ts';
import { consumeAll, kafkaClient } from './kafka-admin.ts';
import type { ConsumedRecord } from './kafka-admin.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
const kafka = inject('kafka');

if ('missing' in kafka) skipAloud('records that others can read', kafka.missing);
else readableRecords(kafka.brokers);

function readableRecords(brokers: readonly string[]): void {
  describe('records that others can read', () => {
    test('keys and headers are text that names the workflow; show-topic prints them', async () => {
      await withFolder(async (folder) => {
        const prefix = `readable-${randomUUID()}`;
        const [server] = await kafkaServers(folder, brokers, prefix, 1);
        await server!.start();
        let foreign: string;
        try {
          const driver = await RawDriver.open({ name: 'Perdure', address: server!.address, namespace: 'default', pids: [] }, 1);
          await driver.runOne();
          await driver.close();
          foreign = await startAndTerminate(server!.address, 'größe/注文 🛒');
        } finally {
          await server!.stop();
        }
        const topic = `${prefix}.history`;
        const records = await consumeAll(kafkaClient(brokers), topic);

        checkClaims(records);
        const whole = records.filter(({ message }) => /^default\/bench-[0-9a-f]{8}-0$/.test(text(message.key)));
        expect(whole.map(({ message }) => text(message.headers?.['type']))).toEqual([
          'WorkflowExecutionStarted',
          'WorkflowTaskStarted',
          'WorkflowTaskCompleted',
          // Held back until its end is known, so that attempts leave no events: a start is a fact of ours first.
          'ActivityStarted',
          'ActivityTaskStarted',
          'WorkflowTaskStarted',
          'WorkflowTaskCompleted',
        ]);
        for (const record of whole) checkRecord(record, 'default', text(record.message.key).replace('default/', ''));
        expect(new Set(whole.map(({ partition }) => partition)).size, 'a workflow stays in one partition').toBe(1);

        const others = records.filter(({ message }) => text(message.key) === 'default/größe/注文 🛒');
        expect(others.map(({ message }) => text(message.headers?.['type']))).toEqual([
          'WorkflowExecutionStarted',
          'WorkflowExecutionTerminated',
        ]);
        for (const record of others) {
          checkRecord(record, 'default', 'größe/注文 🛒');
          expect(text(record.message.headers?.['run-id'])).toBe(foreign);
        }
        await checkScript(brokers, topic, records);
      });
    });
  });
}

/** Exactly these headers, all text; offsets without a hole; timestamps that never go back. */
function checkRecord({ message }: ConsumedRecord, namespace: string, workflowId: string): void {
  const headers = Object.fromEntries(Object.entries(message.headers ?? {}).map(([name, value]) => [name, text(value)]));
  expect(headers).toEqual({
    type: expect.stringMatching(/^[A-Z][A-Za-z]+$/),
    namespace,
    'workflow-id': workflowId,
    'run-id': expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/),
    'perdure.schema': expect.stringMatching(/^\d+$/),
    'perdure.epoch': expect.stringMatching(/^\d+$/),
    'perdure.sequence': expect.stringMatching(/^\d+$/),
  });
}

function checkClaims(records: readonly ConsumedRecord[]): void {
  for (const [partition, own] of Map.groupBy(records, (record) => record.partition)) {
    const [first] = own;
    expect(text(first?.message.key), `partition ${partition} begins with its owner's claim`).toBe('@claim');
    expect(Object.keys(first?.message.headers ?? {}).toSorted()).toEqual(['perdure.epoch', 'perdure.schema', 'perdure.sequence', 'type']);
    expect(
      own.map(({ message }) => Number(message.offset)),
      'no holes',
    ).toEqual(own.map((_, at) => at));
    expect(
      own.map(({ message }) => Number(text(message.headers?.['perdure.sequence']))),
      'numbered',
    ).toEqual(own.map((_, at) => at));
    const times = own.map(({ message }) => Number(message.timestamp));
    expect(times, 'times never go back').toEqual(times.toSorted((a, b) => a - b));
  }
}

async function checkScript(brokers: readonly string[], topic: string, records: readonly ConsumedRecord[]): Promise<void> {
  const script = ['scripts/show-topic.ts', '--brokers', brokers.join(','), '--topic', topic];
  const { stdout } = await run(process.execPath, script, { cwd: repository });
  const expected = records.map(({ partition, message }) => {
    const { type, 'run-id': runId, 'perdure.epoch': epoch, 'perdure.sequence': sequence } = message.headers ?? {};
    const when = new Date(Number(message.timestamp)).toISOString();
    const whom = runId === undefined ? '' : `  run-id=${text(runId)}`;
    const place = `${topic}/${partition} @${message.offset}  ${when}  ${text(epoch)}.${text(sequence)}`;
    return `${place}  ${text(message.key)}  ${text(type)}${whom}  ${message.value?.byteLength} bytes`;
  });
  expect(stdout.trimEnd().split('\n')).toEqual(expected);
}

type HeaderValue = NonNullable<ConsumedRecord['message']['headers']>[string];

/** As UTF-8, strictly: what is no text throws. */
function text(value: HeaderValue | null): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) throw new Error('a header with several values');
  return new TextDecoder('utf-8', { fatal: true }).decode(value);
}

/** Gives the run id. */
async function startAndTerminate(address: string, workflowId: string): Promise<string> {
  const client = new ServiceClient(address);
  const start = {
    name: 'StartWorkflowExecution',
    encode: encodeStartWorkflowExecutionRequest,
    decode: decodeStartWorkflowExecutionResponse,
  };
  const terminate = {
    name: 'TerminateWorkflowExecution',
    encode: encodeTerminateWorkflowExecutionRequest,
    decode: decodeTerminateWorkflowExecutionResponse,
  };
  try {
    const taskQueue = { name: 'nobody', kind: 1, normalName: '' };
    const request = {
      ...emptyStartWorkflowExecutionRequest(),
      namespace: 'default',
      workflowId,
      workflowType: { name: 'Order' },
      taskQueue,
    };
    const started = await client.call(start, request, 10_000);
    if (started.kind !== 'ok') throw new Error(`not started: ${started.message}`);
    const workflowExecution = { workflowId, runId: '' };
    const ended = await client.call(
      terminate,
      { ...emptyTerminateWorkflowExecutionRequest(), namespace: 'default', workflowExecution },
      10_000,
    );
    if (ended.kind !== 'ok') throw new Error(`not terminated: ${ended.message}`);
    return started.response.runId;
  } finally {
    client.close();
  }
}
