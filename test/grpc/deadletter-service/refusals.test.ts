/** What is asked wrongly: the code and the text of each refusal, and that nothing is asked of any job. */
import { status as codes } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { letterOf } from '../../deadletters/letters.ts';
import { openBench, type Bench } from '../frontend-bench.ts';
import { bytesOf, LetterClient, methodNames, type Plain, serviceName } from './letter-client.ts';
import { LetterOwners } from './letter-owners.ts';

const transfer = { category: 'transfer' };
const merge = { operation: 'OPERATION_MERGE', queue: transfer };
const categories = 'transfer, timer, replication, visibility, archival, outbound, namespace-replication';

let owners: LetterOwners;
let bench: Bench;
let client: LetterClient;
beforeEach(async () => {
  owners = new LetterOwners();
  bench = await openBench({ jobs: owners, audit: owners });
  owners.serveOn(bench.stub);
  client = new LetterClient(bench.address);
  owners.addQueue('transfer', 'active');
  owners.addQueue('replication', 'west');
  owners.add(1, 0, letterOf(3, 1));
});
afterEach(async () => {
  client.close();
  await bench.close();
  expect(owners.jobsRequests).toEqual([]);
});

const selected = (selection: Plain): Plain => ({ queues: [transfer], selection });
const ids = (count: number): readonly number[] => Array.from({ length: count }, (_, id) => id);

describe.each(['ListDeadLetters', 'CountDeadLetters', 'GroupDeadLetters'])('%s', (method) => {
  test.each<[Plain, string]>([
    [{}, 'queues is not set'],
    [{ queues: [{ category: 'transfers' }] }, `Unknown task category: transfers; known are ${categories}`],
    [{ queues: [{ category: '' }] }, `Unknown task category: ; known are ${categories}`],
    [{ queues: [{ category: '6' }] }, 'Invalid task category id: 6'],
    [{ queues: [{ category: '0' }] }, 'Invalid task category id: 0'],
    [{ queues: [{ category: '-1' }] }, 'Invalid task category id: -1'],
    [{ queues: [{ category: 'replication' }] }, 'SourceCluster is not set on request.'],
    [selected({ shardId: -1 }), 'Invalid ShardID: -1'],
    [selected({ taskId: '9223372036854775808' }), 'Invalid task id: a whole number from 0 to 2^63 - 1 is expected'],
    [selected({ taskId: '7 OR 1' }), 'Invalid task id: a whole number from 0 to 2^63 - 1 is expected'],
    [selected({ messageIds: [3, -2] }), 'Invalid message id: -2'],
    [selected({ minMessageId: -1 }), 'Invalid message id: -1'],
    [selected({ maxMessageId: -7 }), 'Invalid message id: -7'],
    [selected({ maxMessageId: '9223372036854775807' }), 'Selection.max_message_id is outside ±2^53'],
    [selected({ minMessageId: 5, maxMessageId: 3 }), 'Invalid range of message ids: 5 to 3'],
    [selected({ messageIds: ids(10_001) }), 'message_ids has 10001 values, and may have 10000'],
    [
      selected({ query: "Namespace = 'shop' AND Attempts ~ 3" }),
      'invalid filter: at position 33: expected an operator, AND, OR or the end, found ~',
    ],
    [selected({ query: 'x'.repeat(8_193) }), 'invalid filter: it has 8193 characters, and may have 8192'],
  ])('of %j is refused', async (request, text) => {
    expect(await client.refused(method, request)).toEqual([codes.INVALID_ARGUMENT, expect.stringContaining(text)]);
  });

  test('of an unknown cluster names those that there are', async () => {
    const queues = [{ category: 'transfer', sourceCluster: 'east' }];
    expect(await client.refused(method, { queues })).toEqual([codes.NOT_FOUND, 'cluster east is not found: there are active, west']);
  });

  test('of a shard that is not there is refused, unless dead letters tell of it', async () => {
    expect(await client.refused(method, selected({ shardId: 9 }))).toEqual([
      codes.NOT_FOUND,
      'shard 9 is not found: there are shards 1 to 4',
    ]);
    owners.add(1, 1, letterOf(9, 1));
    await expect(client.call(method, selected({ shardId: 9 }))).resolves.toBeDefined();
    await expect(client.call(method, selected({ shardId: 5 }))).resolves.toEqual({});
  });

  test('of a shard that dead letters of another queue tell of is empty', async () => {
    owners.add(2, 1, letterOf(9, 1));
    await expect(client.call(method, selected({ shardId: 9 }))).resolves.toEqual({});
  });
});

test.each<[string, Plain, string]>([
  ['ListDeadLetters', { queues: [transfer], pageSize: -1 }, 'Invalid PageSize.'],
  ['ListDeadLetters', { queues: [transfer], nextPageToken: Buffer.from('not ours') }, 'Invalid NextPageToken.'],
  ['ListDeadLetterQueues', { pageSize: -1 }, 'Invalid PageSize.'],
  ['ListDeadLetterQueues', { nextPageToken: Buffer.from('not ours') }, 'Invalid NextPageToken.'],
  ['GetDeadLetter', { messageId: 3 }, 'queue is not set'],
  ['GetDeadLetter', { queue: transfer, messageId: -3 }, 'Invalid message id: -3'],
  [
    'GroupDeadLetters',
    { queues: [transfer], by: 'colour' },
    'Unknown grouping: colour; known are fingerprint, cause, disposition, error-type, ',
  ],
  ['GroupDeadLetters', { queues: [transfer], maxGroups: -1 }, 'Invalid max_groups: -1'],
  ['PlanDeadLetters', { queue: transfer }, 'operation is not set'],
  ['PlanDeadLetters', { operation: 9, queue: transfer }, 'Unknown operation: 9'],
  ['PlanDeadLetters', { operation: 'OPERATION_MERGE' }, 'queue is not set'],
  ['PlanDeadLetters', { ...merge, selection: { query: 'Colour = 1' } }, 'invalid filter: at position 1: expected a field of dead letters'],
  ['PlanDeadLetters', { ...merge, reason: 'x'.repeat(501) }, 'reason has 501 characters, and may have 500'],
  ['PlanDeadLetters', { ...merge, options: { rps: 0.05 } }, 'Invalid rps: 0.05; it is 0.1 to 10000, or 0 for no limit'],
  ['PlanDeadLetters', { ...merge, options: { rps: -1 } }, 'Invalid rps: -1'],
  ['PlanDeadLetters', { ...merge, options: { rps: NaN } }, 'Invalid rps: NaN'],
  ['PlanDeadLetters', { ...merge, options: { concurrency: 65 } }, 'Invalid concurrency: 65; it is 1 to 64'],
  ['PlanDeadLetters', { ...merge, options: { concurrency: 0 } }, 'Invalid concurrency: 0'],
  ['PlanDeadLetters', { ...merge, options: { taskTimeout: { nanos: 1e6 } } }, 'Invalid task_timeout: 1 ms; it is 1 s to 10 min'],
  ['PlanDeadLetters', { ...merge, options: { taskTimeout: { seconds: 601 } } }, 'Invalid task_timeout: 601000 ms'],
  ['PlanDeadLetters', { ...merge, options: { maxFailures: -1 } }, 'Invalid max_failures: -1'],
  ['PlanDeadLetters', { ...merge, options: { overrideLoopGuard: true } }, 'override_loop_guard needs a reason'],
  ['PlanDeadLetters', { ...merge, operation: 'OPERATION_PURGE', options: { canary: true } }, 'only a merge can go in steps'],
  ['ApplyPlan', {}, 'plan_id is not set'],
  ['DescribeJob', {}, 'job_id is not set'],
  ['DescribeJob', { jobId: 'x', wait: { seconds: -1 } }, 'wait is negative'],
  ['DescribeJob', { jobId: 'x', unlessState: 'planned' }, 'Unknown state: planned; known are running, paused, '],
  ['ListJobs', { pageSize: -1 }, 'Invalid PageSize.'],
  ['ListJobs', { queue: { category: 'x' } }, `Unknown task category: x; known are ${categories}`],
  ['PauseJob', {}, 'job_id is not set'],
  ['ResumeJob', { jobId: 'x', reason: 'x'.repeat(501) }, 'reason has 501 characters, and may have 500'],
  ['CancelJob', {}, 'job_id is not set'],
  ['UpdateJob', { jobId: 'x' }, 'neither rps nor concurrency is set'],
  ['UpdateJob', { jobId: 'x', rps: 10_001 }, 'Invalid rps: 10001'],
])('%s of %j is refused', async (method, request, text) => {
  expect(await client.refused(method, request)).toEqual([codes.INVALID_ARGUMENT, expect.stringContaining(text)]);
});

test('a plan over one dead letter that is not in the queue says what became of it', async () => {
  expect(await client.refused('PlanDeadLetters', { ...merge, selection: { messageIds: [41] } })).toEqual([
    codes.NOT_FOUND,
    'message 41 is already merged',
  ]);
});

test('a plan needs a queue that is there', async () => {
  expect(await client.refused('PlanDeadLetters', { ...merge, queue: { category: 'timer' } })).toEqual([
    codes.NOT_FOUND,
    'queue not found: timer of active',
  ]);
});

test('a plan needs a reason where operators want one', async () => {
  const settings = { mergeRps: 1, mergeConcurrency: 1, mergeTaskTimeoutMs: 1, requiresReason: true };
  const strict = await openBench({ jobs: owners, letterSettings: () => settings });
  owners.serveOn(strict.stub);
  const strictClient = new LetterClient(strict.address);
  expect(await strictClient.refused('PlanDeadLetters', merge)).toEqual([
    codes.INVALID_ARGUMENT,
    'reason is not set: this cluster requires one',
  ]);
  strictClient.close();
  await strict.close();
});

test('bytes of any kind are answered or refused, and break nothing', async () => {
  const expected = new Set<number>([codes.INVALID_ARGUMENT, codes.NOT_FOUND, codes.RESOURCE_EXHAUSTED, codes.UNIMPLEMENTED]);
  const valid = bytesOf('ListDeadLetters', { ...selected({ messageIds: [1, 2], query: 'Attempts > 3', taskId: '7' }), pageSize: 3 });
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.tuple(fc.nat(valid.length - 1), fc.nat(255)).map(([at, byte]) => valid.with(at, byte)),
    fc.nat(valid.length).map((end) => valid.subarray(0, end)),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methodNames), anyBytes, async (method, bytes) => {
      const code = await bench.client.call(`/${serviceName}/${method}`, bytes).then(
        () => codes.OK,
        (error: unknown) => (error as { readonly code: codes }).code,
      );
      expect(code === codes.OK || expected.has(code), `${method} ends with ${codes[code]}`).toBe(true);
    }),
    { numRuns: 500 },
  );
  // What they named by chance, the actor of jobs does not know.
  owners.jobsRequests.length = 0;
});

test('what is not built says so', async () => {
  expect(await client.refused('PlanDeadLetters', { ...merge, operation: 'OPERATION_RESTORE' })).toEqual([
    codes.UNIMPLEMENTED,
    'OPERATION_RESTORE is not supported by this server yet',
  ]);
});

test.each<[Plain, string]>([
  [{ queue: transfer }, 'neither message_ids nor job_id is set'],
  [{ queue: transfer, messageIds: [-1] }, 'Invalid message id: -1'],
  [{ queue: transfer, messageIds: [1], jobId: 'j' }, 'message_ids and job_id are set: leave one of them out'],
  [{ messageIds: [1] }, 'queue is not set'],
  [{ queue: transfer, messageIds: [1], reason: 'x'.repeat(501) }, 'reason'],
])('RestoreDeadLetters of %j is refused', async (request, text) => {
  expect(await client.refused('RestoreDeadLetters', request)).toEqual([codes.INVALID_ARGUMENT, expect.stringContaining(text)]);
});

test('a server that carries out no jobs says so, and lists no queues', async () => {
  const none = await openBench();
  const noneClient = new LetterClient(none.address);
  expect(await noneClient.call('ListDeadLetterQueues')).toEqual({});
  expect(await noneClient.refused('DescribeJob', { jobId: 'x' })).toEqual([codes.UNAVAILABLE, 'dead letter jobs do not run here']);
  noneClient.close();
  await none.close();
});

describe('a queue that could not be opened', () => {
  const trouble = 'the dead letters of dlq.perdure.timer.active are not served: its topic cannot be made';
  const timer = { category: 'timer' };
  let closed: Bench;
  let ofClosed: LetterClient;
  beforeEach(async () => {
    const whyNoQueue = (category: string): string | undefined => (category === 'timer' ? trouble : undefined);
    closed = await openBench({ jobs: owners, audit: owners, whyNoQueue });
    owners.serveOn(closed.stub);
    owners.add(owners.addQueue('transfer', 'active'), 0, letterOf(3, 1));
    ofClosed = new LetterClient(closed.address);
  });
  afterEach(async () => {
    ofClosed.close();
    await closed.close();
  });

  test.each<[string, Plain]>([
    ['CountDeadLetters', { queues: [timer] }],
    ['CountDeadLetters', { queues: [transfer, timer] }],
    ['ListDeadLetters', { queues: [timer] }],
    ['GroupDeadLetters', { queues: [timer], by: 'cause' }],
    ['GetDeadLetter', { queue: timer, messageId: 0 }],
    ['PlanDeadLetters', { operation: 'OPERATION_MERGE', queue: timer }],
  ])('is no empty one for %s of %j', async (method, request) => {
    expect(await ofClosed.refused(method, request)).toEqual([codes.UNAVAILABLE, trouble]);
  });

  test('is listed behind the others, with the reason', async () => {
    const { queues } = await ofClosed.call('ListDeadLetterQueues');
    expect(queues).toMatchObject([
      { name: { category: 'transfer' }, open: 1 },
      { name: { category: 'timer', sourceCluster: 'active' }, topic: 'dlq.perdure.timer.active', trouble },
    ]);
  });

  test('leaves the others as they are', async () => {
    expect(await ofClosed.call('CountDeadLetters', { queues: [transfer] })).toEqual({ count: 1 });
  });
});
