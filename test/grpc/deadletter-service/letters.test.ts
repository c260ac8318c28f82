/** Dead letters through the front door: pages over several queues, counts, one dead letter with all of it, groups, queues. */
import { status as codes } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Letter } from '../../../src/deadletters/letter.ts';
import type { LetterRow } from '../../../src/deadletters/letter-records.ts';
import { loadServiceMessages } from '../../../src/wire/services.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { openBench, type Bench } from '../frontend-bench.ts';
import { until } from '../../support/event-loop.ts';
import { RawClient } from '../raw-client.ts';
import { bytesOf, LetterClient, type Plain, serviceName } from './letter-client.ts';
import { LetterOwners } from './letter-owners.ts';

const transfer = { category: 'transfer' };
const timer = { category: 'timer' };
const both = { queues: [transfer, timer] };

let owners: LetterOwners;
let bench: Bench;
let client: LetterClient;
beforeEach(async () => {
  owners = new LetterOwners();
  bench = await openBench({ jobs: owners });
  owners.serveOn(bench.stub);
  client = new LetterClient(bench.address);
  owners.addQueue('transfer', 'active');
  owners.addQueue('timer', 'active');
});
afterEach(async () => {
  client.close();
  await bench.close();
});

function fill(queue: number, count: number, change: (letter: Letter, id: number) => Letter = (letter) => letter): void {
  for (let id = 0; id < count; id += 1) owners.add(queue, id, change(letterOf(3, id + 1), id));
}

type Listed = { readonly queue: Plain; readonly messageId?: number; readonly payload?: Plain } & Plain;
type Page = { readonly letters?: readonly Listed[]; readonly nextPageToken?: Uint8Array };

async function pagesOf(request: Plain): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page: Page = await client.call('ListDeadLetters', nextPageToken === undefined ? request : { ...request, nextPageToken });
    pages.push((page.letters ?? []).map(({ queue, messageId = 0 }) => `${String(queue['category'])} ${messageId}`));
    ({ nextPageToken } = page);
  } while (nextPageToken !== undefined);
  return pages;
}

describe('a list', () => {
  test('goes through the queues as they are named, and on with its token', async () => {
    fill(1, 5);
    fill(2, 3);
    expect(await pagesOf({ ...both, pageSize: 3 })).toEqual([
      ['transfer 0', 'transfer 1', 'transfer 2'],
      ['transfer 3', 'transfer 4', 'timer 0'],
      ['timer 1', 'timer 2'],
    ]);
    expect(await pagesOf({ queues: [timer, timer, transfer], pageSize: 1_000_000 })).toHaveLength(1);
    expect(await pagesOf({ queues: [timer, { category: '2', sourceCluster: 'active' }] })).toEqual([['timer 0', 'timer 1', 'timer 2']]);
  });

  test('shows what is known of a dead letter', async () => {
    fill(1, 1);
    const { letters } = await client.call('ListDeadLetters', { queues: [transfer] });
    expect(letters).toEqual([
      {
        queue: { category: 'transfer', sourceCluster: 'active' },
        taskId: '3001',
        taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
        shardId: 3,
        namespaceId: '32049b68-7872-4094-8e63-d0dd59896a83',
        namespace: 'default',
        workflowId: 'order-1',
        runId: '0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11',
        workflowType: 'Order',
        firstEventId: 5,
        targetCluster: 'active',
        cause: 'retries-exhausted',
        disposition: 'exhausted',
        errorType: 'Unavailable',
        errorMessage: 'connection 1 refused',
        fingerprint: '0123456789abcdef',
        attempts: 70,
        state: 'open',
        firstFailureTime: { seconds: 1_770_000_000 },
        lastFailureTime: { seconds: 1_770_000_600 },
        deadLetterTime: { seconds: 1_770_000_600, nanos: 1_000_000 },
        node: 'host:7233',
        build: '0.1.0',
      },
    ]);
  });

  test('is cut at 3 MiB of payload, and a larger dead letter comes alone', async () => {
    const MiB = 1024 * 1024;
    const sizes = [1.2, 1.2, 1.2, 5, 0.1];
    fill(1, sizes.length, (letter, id) => {
      const value = new Uint8Array((sizes[id] ?? 0) * MiB);
      return { ...letter, task: { ...letter.task, valueType: 'foreign', value } };
    });
    expect(await pagesOf({ queues: [transfer], withPayload: true })).toEqual([
      ['transfer 0', 'transfer 1'],
      ['transfer 2'],
      ['transfer 3'],
      ['transfer 4'],
    ]);
    expect(await pagesOf({ queues: [transfer] })).toHaveLength(1);
  });

  test('of a queue that has no owner is UNAVAILABLE, and the other queues are listed', async () => {
    fill(1, 1);
    owners.away.add(2);
    expect(await client.refused('ListDeadLetters', both)).toEqual([codes.UNAVAILABLE, 'dead letter queue 2 is being taken over']);
    expect(await client.refused('CountDeadLetters', both)).toEqual([codes.UNAVAILABLE, 'dead letter queue 2 is being taken over']);
    expect(await pagesOf({ queues: [transfer] })).toEqual([['transfer 0']]);
  });

  test('holds its token for one request', async () => {
    fill(1, 3);
    const first: Page = await client.call('ListDeadLetters', { queues: [transfer], pageSize: 2 });
    const { nextPageToken = new Uint8Array(0) } = first;
    const other = (request: Plain) => client.refused('ListDeadLetters', { ...request, nextPageToken });
    const changed = [codes.INVALID_ARGUMENT, 'NextPageToken was given for another request.'];
    expect(await other(both)).toEqual(changed);
    expect(await other({ queues: [transfer], selection: { workflowId: 'order-1' } })).toEqual(changed);
    nextPageToken[5] = (nextPageToken[5] ?? 0) ^ 1;
    expect(await other({ queues: [transfer] })).toEqual([codes.INVALID_ARGUMENT, 'Invalid NextPageToken.']);
  });

  test('goes on where a queue came into being between two pages', async () => {
    fill(2, 3);
    const request = { queues: [{ category: 'visibility' }, timer, { category: 'archival' }], pageSize: 2 };
    const { nextPageToken }: Page = await client.call('ListDeadLetters', request);
    fill(owners.addQueue('visibility', 'active'), 1);
    fill(owners.addQueue('archival', 'active'), 1);
    const { letters = [] }: Page = await client.call('ListDeadLetters', { ...request, nextPageToken });
    expect(letters.map(({ queue, messageId = 0 }) => `${String(queue['category'])} ${messageId}`)).toEqual(['timer 2', 'archival 0']);
  });

  test('of a queue that nothing came to is empty', async () => {
    expect(await pagesOf({ queues: [{ category: 'visibility' }, { category: 'replication', sourceCluster: 'active' }] })).toEqual([[]]);
    expect(await client.call('CountDeadLetters', { queues: [{ category: 'outbound' }] })).toEqual({});
  });

  test('of a category that this version does not know', async () => {
    const number = owners.addQueue('callbacks', 'active');
    fill(number, 2);
    expect(await client.call('CountDeadLetters', { queues: [{ category: 'callbacks' }] })).toEqual({ count: 2 });
  });
});

test('a group that is the thousandth and first of one queue, and large in another, is counted whole', async () => {
  const ofType = (errorType: string) => (letter: Letter) => ({ ...letter, failure: { ...letter.failure, errorType } });
  fill(1, 1_001, (letter, id) => ofType(id === 1_000 ? 'Common' : `Rare${id}`)(letter));
  fill(2, 5, (letter, id) => ofType(id < 3 ? 'Common' : '')(letter));
  expect(await client.call('GroupDeadLetters', { ...both, by: 'error-type', maxGroups: 2 })).toMatchObject({
    groups: [{ key: 'Common', count: 4 }, { count: 2 }],
  });
});

describe('whoever goes away', () => {
  test('ends what is asked of each queue for him', async () => {
    bench.stub.answers.deadLetters = () => 'never';
    const raw = new RawClient(bench.address);
    const counting = raw.start(`/${serviceName}/CountDeadLetters`, bytesOf('CountDeadLetters', both));
    await until(() => bench.stub.openAsks === 2);
    counting.cancel();
    await expect(counting.answer).rejects.toMatchObject({ code: codes.CANCELLED });
    await until(() => bench.stub.openAsks === 0);
    expect(bench.stub.cancelled).toHaveLength(2);
    raw.close();
  });
});

describe('the payload', () => {
  async function payloadOf(valueType: string, value: Uint8Array): Promise<Plain | undefined> {
    owners.add(1, 0, { ...letterOf(3, 1), task: { ...letterOf(3, 1).task, valueType, value } });
    const { letters = [] }: Page = await client.call('ListDeadLetters', { queues: [transfer], withPayload: true });
    return letters[0]?.payload;
  }
  const persistence = 'temporal.server.api.persistence.v1';

  test('is shown as proto JSON', async () => {
    const { TransferTaskInfo, ReplicationTaskInfo } = (await loadServiceMessages()).persistence.v1;
    const value = TransferTaskInfo.encode(
      TransferTaskInfo.fromObject({
        workflowId: 'order-1',
        taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
        taskId: '9007199254740993',
        visibilityTime: { seconds: 1_770_000_000, nanos: 120_000_000 },
        closeExecutionTaskDetails: { canSkipVisibilityArchival: true },
      }),
    ).finish();
    const { json, ...payload } = (await payloadOf(`${persistence}.TransferTaskInfo`, value)) ?? {};
    expect(payload).toEqual({ valueType: `${persistence}.TransferTaskInfo`, value: Uint8Array.from(value) });
    expect(JSON.parse(String(json))).toEqual({
      workflowId: 'order-1',
      taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
      taskId: '9007199254740993',
      visibilityTime: '2026-02-02T02:40:00.120Z',
      closeExecutionTaskDetails: { canSkipVisibilityArchival: true },
    });

    const nested = ReplicationTaskInfo.encode(
      ReplicationTaskInfo.fromObject({ branchToken: Buffer.from('branch'), taskEquivalents: [{ visibilityTime: { seconds: 1 } }] }),
    ).finish();
    const replication = await payloadOf(`${persistence}.ReplicationTaskInfo`, nested);
    expect(JSON.parse(String(replication?.['json']))).toEqual({
      branchToken: Buffer.from('branch').toString('base64'),
      taskEquivalents: [{ visibilityTime: '1970-01-01T00:00:01Z' }],
    });
  });

  test('that cannot be read comes as it is, with the reason', async () => {
    const value = Uint8Array.of(0x0a, 200, 1);
    expect(await payloadOf(`${persistence}.TransferTaskInfo`, value)).toEqual({
      valueType: `${persistence}.TransferTaskInfo`,
      value: Uint8Array.from(value),
      problem: expect.stringMatching(/^undecodable temporal.server.api.persistence.v1.TransferTaskInfo: /),
    });
    expect(await payloadOf('elsewhere.Task', value)).toMatchObject({ problem: 'unknown message type: elsewhere.Task' });
  });

  test('of a damaged dead letter is shown with its headers', async () => {
    owners.addDamaged(1, 7, Uint8Array.of(1, 2, 3), 'unknown schema 9');
    const { letter, headers } = await client.call('GetDeadLetter', { queue: transfer, messageId: 7 });
    expect(headers).toEqual([{ name: 'perdure.schema', value: '9' }]);
    expect(letter).toMatchObject({
      messageId: 7,
      damage: 'unknown schema 9',
      payload: { value: Uint8Array.of(1, 2, 3), problem: 'unknown schema 9' },
    });
    expect(letter).not.toHaveProperty('errorMessage');
  });
});

test('one dead letter is shown with its stack, its chain and what happened to it', async () => {
  const letter = letterOf(3, 1, { generation: 1 });
  const errorChain = [{ errorType: 'Unavailable', errorMessage: 'no route' }];
  const history = [{ timeMs: 1_000, kind: 'merge-failed', errorType: 'Unavailable', jobId: 'job-1', fingerprint: 'f' }];
  owners.add(1, 4, { ...letter, jobId: 'job-1', history, failure: { ...letter.failure, errorStack: 'at x', errorChain } });
  expect(await client.call('GetDeadLetter', { queue: { category: '1' }, messageId: 4 })).toMatchObject({
    letter: { messageId: 4, generation: 1 },
    errorStack: 'at x',
    errorChain,
    history: [{ time: { seconds: 1 }, kind: 'merge-failed', errorType: 'Unavailable', jobId: 'job-1' }],
    jobId: 'job-1',
  });
  expect(await client.refused('GetDeadLetter', { queue: transfer, messageId: 41 })).toEqual([
    codes.NOT_FOUND,
    'message 41 is already merged',
  ]);
});

test('groups of several queues are added up, the most dead letters first', async () => {
  const byType = (errorType: string) => (letter: Letter) => ({ ...letter, failure: { ...letter.failure, errorType } });
  fill(1, 2, byType('Internal'));
  fill(2, 3, byType('Unavailable'));
  owners.add(2, 9, byType('Internal')(letterOf(3, 10)));
  owners.add(2, 10, byType('Internal')(letterOf(3, 11)));
  expect(await client.call('GroupDeadLetters', { ...both, by: 'error-type' })).toMatchObject({
    groups: [
      { key: 'Internal', count: 4, errorType: 'Internal', errorMessage: 'connection 1 refused' },
      { key: 'Unavailable', count: 3 },
    ],
  });
  const { groups } = await client.call('GroupDeadLetters', { ...both, by: 'error-type', maxGroups: 1 });
  expect(groups).toHaveLength(1);
  const onlyTwo = { queues: [timer], selection: { query: "ErrorType = 'Internal'" } };
  expect(await client.call('GroupDeadLetters', onlyTwo)).toMatchObject({
    groups: [{ key: '0123456789abcdef', count: 2, lowestMessageId: 9 }],
  });
});

test('queues are listed with their dead letters; one without an owner with its trouble', async () => {
  fill(1, 3);
  owners.add(1, 3, letterOf(3, 9, { state: 'quarantined' }));
  owners.addDamaged(1, 4, new Uint8Array(0), 'unknown schema 9');
  owners.away.add(2);
  const named = (category: string) => ({
    name: { category, sourceCluster: 'active' },
    targetCluster: 'active',
    topic: `dlq.perdure.${category}.active`,
  });
  expect(await client.call('ListDeadLetterQueues')).toEqual({
    queues: [
      {
        ...named('transfer'),
        categoryId: 1,
        open: 4,
        quarantined: 1,
        nextMessageId: 5,
        oldestTime: { seconds: 1_770_000_600, nanos: 1_000_000 },
        topErrors: [{ errorType: 'Unavailable', count: 4 }, { count: 1 }],
        damaged: 1,
      },
      { ...named('timer'), categoryId: 2, trouble: 'dead letter queue 2 is being taken over' },
    ],
  });
  const { queues, nextPageToken } = await client.call('ListDeadLetterQueues', { pageSize: 1 });
  expect(queues).toHaveLength(1);
  expect(await client.call('ListDeadLetterQueues', { pageSize: 5, nextPageToken })).toMatchObject({ queues: [named('timer')] });
});

describe('a selection', () => {
  const namespaces = ['default', 'shop', 'gone'];
  const rowsChosen = fc.record(
    {
      messageIds: fc.array(fc.nat(39), { minLength: 1, maxLength: 25 }),
      minMessageId: fc.nat(20),
      maxMessageId: fc.integer({ min: 20, max: 50 }),
      taskId: fc.integer({ min: 3_000, max: 3_045 }),
      workflowId: fc.constantFrom('order-0', 'order-1', 'order-2'),
      runId: fc.constantFrom('0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11', '0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b12'),
      namespace: fc.constantFrom(...namespaces, 'unknown'),
      shardId: fc.integer({ min: 1, max: 4 }),
      query: fc.constantFrom(
        '',
        'Attempts > 3',
        "ErrorType = 'Internal' OR Attempts = 1",
        "NOT Namespace = 'shop'",
        'MessageId BETWEEN 5 AND 30',
      ),
    },
    { requiredKeys: [] },
  );
  type Chosen = typeof rowsChosen extends fc.Arbitrary<infer Value> ? Value : never;

  const meetsQuery: Readonly<Record<string, (row: LetterRow) => boolean>> = {
    '': () => true,
    'Attempts > 3': ({ attempts }) => attempts > 3,
    "ErrorType = 'Internal' OR Attempts = 1": ({ errorType, attempts }) => errorType === 'Internal' || attempts === 1,
    "NOT Namespace = 'shop'": ({ namespace }) => namespace !== 'shop',
    'MessageId BETWEEN 5 AND 30': ({ messageId }) => messageId >= 5 && messageId <= 30,
  };

  /** In the words of the request, without any condition. */
  function isChosen(row: LetterRow, chosen: Chosen): boolean {
    const { messageIds, minMessageId = 0, maxMessageId = Infinity, taskId, workflowId, runId, namespace, shardId, query = '' } = chosen;
    return (
      (messageIds === undefined || messageIds.includes(row.messageId)) &&
      row.messageId >= minMessageId &&
      row.messageId <= maxMessageId &&
      (taskId === undefined || row.taskId === taskId) &&
      (workflowId === undefined || row.workflowId === workflowId) &&
      (runId === undefined || row.runId === runId) &&
      (namespace === undefined || row.namespace === namespace) &&
      (shardId === undefined || row.shardId === shardId) &&
      (meetsQuery[query] as (row: LetterRow) => boolean)(row)
    );
  }

  test('lists what it says, and counts as many', async () => {
    for (const queue of [1, 2]) {
      fill(queue, 40, (letter, id) => {
        const runId = `0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b1${1 + (id % 2)}`;
        const task = { ...letter.task, workflowId: `order-${id % 3}`, runId, namespace: namespaces[id % 3] ?? '', shardId: 1 + (id % 4) };
        return {
          ...letter,
          task,
          failure: { ...letter.failure, attempts: id % 7, errorType: id % 5 === queue ? 'Internal' : 'Unavailable' },
        };
      });
    }
    const expected = (chosen: Chosen) =>
      [1, 2].flatMap((queue) => {
        const rows = owners.rowsOf(queue).filter((row) => isChosen(row, chosen));
        return rows.map(({ messageId }) => `${queue === 1 ? 'transfer' : 'timer'} ${messageId}`);
      });
    await fc.assert(
      fc.asyncProperty(rowsChosen, fc.integer({ min: 1, max: 30 }), async (selection, pageSize) => {
        const wanted = expected(selection);
        expect((await pagesOf({ ...both, selection, pageSize })).flat()).toEqual(wanted);
        const { count = 0 } = await client.call('CountDeadLetters', { ...both, selection });
        expect(count).toBe(wanted.length);
      }),
      { numRuns: 150 },
    );
  });
});

test('thousands of queues in one request cost one look at what there is', async () => {
  const queues = Array.from({ length: 20_000 }, (_, at) => ({ category: at % 2 === 0 ? 'outbound' : '7', sourceCluster: 'active' }));
  expect(await client.call('CountDeadLetters', { queues: [...queues, transfer] })).toEqual({});
  expect(bench.stub.clusterCommands).toEqual([{ kind: 'syncCluster' }]);
});
