/** Dead letters through AdminService, as Temporal's tools ask for them. */
import { status as codes } from '@grpc/grpc-js';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadServiceMessages, type ServiceMessages } from '../../../src/wire/services.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { openBench, type Bench } from '../frontend-bench.ts';
import type { Plain } from './letter-client.ts';
import { job, jobsAre, theCaller } from './jobs.ts';
import { LetterOwners } from './letter-owners.ts';
import type { JobState } from '../../../src/kernel/letter-words.ts';

const service = 'temporal.server.api.adminservice.v1.AdminService';
const key = { taskCategory: 1, sourceCluster: 'active', targetCluster: 'active' };
const name = '1_active_active_B8jqXXpO';
const all = { inclusiveMaxTaskMetadata: { messageId: '9223372036854775807' } };

type Class = {
  fromObject(message: Plain): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): Plain;
};

let messages: ServiceMessages;
let owners: LetterOwners;
let bench: Bench;
beforeAll(async () => {
  messages = await loadServiceMessages();
});
beforeEach(async () => {
  owners = new LetterOwners();
  bench = await openBench({ jobs: owners });
  owners.serveOn(bench.stub);
  owners.addQueue('transfer', 'active');
});
afterEach(() => bench.close());

function classOf(type: string): Class {
  // The classes differ in their types alone.
  return (messages.adminservice.v1 as unknown as Readonly<Record<string, Class>>)[type] as Class;
}

function bytesOf(operation: string, request: Plain): Uint8Array {
  const type = classOf(`${operation}Request`);
  return type.encode(type.fromObject(request)).finish();
}

async function call(operation: string, request: Plain = {}): Promise<Plain> {
  const type = classOf(`${operation}Response`);
  const answer = await bench.client.call(`/${service}/${operation}`, bytesOf(operation, request));
  return type.toObject(type.decode(answer), { longs: Number, enums: String });
}

async function refused(operation: string, request: Plain): Promise<readonly [number, string]> {
  const { code, details } = await bench.client.refusal(`/${service}/${operation}`, bytesOf(operation, request));
  return [code, details];
}

function fill(queue: number, count: number): void {
  for (let id = 0; id < count; id += 1) owners.add(queue, id, letterOf(3, id + 1));
}

describe('queues of history tasks', () => {
  test('are listed with exact numbers; those without a number on the wire are not', async () => {
    owners.addQueue('timer', 'active');
    owners.addQueue('namespace-replication', 'west');
    fill(1, 3);
    owners.add(1, 7, letterOf(3, 8, { state: 'quarantined' }));
    const timers = { queueName: '2_active_active_B8jqXXpO', lastMessageId: -1 };
    expect(await call('ListQueues', { queueType: 2 })).toEqual({
      queues: [{ queueName: name, messageCount: 4, lastMessageId: 7 }, timers],
    });
    const { nextPageToken } = await call('ListQueues', { queueType: 2, pageSize: 1 });
    expect(await call('ListQueues', { queueType: 2, pageSize: 1, nextPageToken })).toEqual({ queues: [timers] });
  });

  test('are read page by page, and the end is an empty page', async () => {
    fill(1, 3);
    const task = (id: number) => ({
      metadata: id === 0 ? {} : { messageId: id },
      payload: { shardId: 3, blob: { encodingType: 'ENCODING_TYPE_PROTO3', data: Uint8Array.of(8, id + 1) } },
    });
    const first = await call('GetDLQTasks', { dlqKey: key, pageSize: 2 });
    expect(first['dlqTasks']).toEqual([task(0), task(1)]);
    const second = await call('GetDLQTasks', { dlqKey: key, pageSize: 2, nextPageToken: first['nextPageToken'] });
    expect(second['dlqTasks']).toEqual([task(2)]);
    expect(await call('GetDLQTasks', { dlqKey: key, nextPageToken: second['nextPageToken'] })).toEqual({});
    const other = { dlqKey: { ...key, taskCategory: 2 }, nextPageToken: first['nextPageToken'] };
    expect(await refused('GetDLQTasks', other)).toEqual([codes.INVALID_ARGUMENT, 'NextPageToken was given for another request.']);
  });

  test('of another target are not there', async () => {
    expect(await refused('GetDLQTasks', { dlqKey: { ...key, targetCluster: 'west' } })).toEqual([
      codes.NOT_FOUND,
      expect.stringMatching(/^queue not found: type = 2 and name = 1_active_west_/),
    ]);
  });
});

test('queues that are not served are listed beside the others, with the reason and without numbers', async () => {
  const trouble = 'the broker refuses its topic';
  const whyNoQueue = (category: string): string | undefined => (category === 'outbound' ? trouble : undefined);
  await bench.close();
  bench = await openBench({ jobs: owners, whyNoQueue });
  owners.serveOn(bench.stub);
  owners.addQueue('transfer', 'active');
  owners.addQueue('timer', 'active');
  fill(1, 3);
  owners.away.add(2);
  const unknown = { messageCount: -1, lastMessageId: -1 };
  expect(await call('ListQueues', { queueType: 2 })).toEqual({
    queues: [
      { queueName: name, messageCount: 3, lastMessageId: 2 },
      { queueName: '2_active_active_B8jqXXpO', ...unknown, trouble: 'dead letter queue 2 is being taken over' },
      { queueName: expect.stringMatching(/^7_active_active_/), ...unknown, trouble },
    ],
  });
});

describe('jobs', () => {
  const jobToken = () => messages.adminservice.v1.DLQJobToken.encode({ workflowId: `manage-dlq-tasks-${name}`, runId: job.jobId }).finish();

  test.each<[string, string, number]>([
    ['PurgeDLQTasks', 'purge', 0],
    ['MergeDLQTasks', 'merge', 100],
  ])('%s makes one over all dead letters up to an id', async (operation, planned, rps) => {
    jobsAre(owners, () => ({}));
    expect(await call(operation, { dlqKey: key, ...all })).toEqual({ jobToken: Uint8Array.from(jobToken()) });
    expect(owners.jobsRequests).toEqual([
      {
        kind: 'planLetters',
        actor: 'anonymous',
        caller: theCaller,
        reason: '',
        query: '',
        groupId: '',
        operation: planned,
        queue: { number: 1, category: 'transfer', sourceCluster: 'active' },
        selection: { ids: [{ from: 0, to: Number.MAX_SAFE_INTEGER }], condition: undefined },
        options: { rps, concurrency: 8, taskTimeoutMs: 30_000, canary: false, maxFailures: 0, overridesLoopGuard: false },
      },
      { kind: 'applyPlan', planId: 'plan-1', hash: 'h', isDirect: true, by: { actor: 'anonymous', caller: theCaller } },
    ]);
    const range = { inclusiveMinTaskMetadata: { messageId: 3 }, inclusiveMaxTaskMetadata: { messageId: 5 } };
    await call(operation, { dlqKey: key, ...range });
    expect(owners.jobsRequests[2]).toMatchObject({ selection: { ids: [{ from: 3, to: 5 }] } });
    expect(await refused(operation, { dlqKey: key, ...range, inclusiveMaxTaskMetadata: { messageId: 2 } })).toEqual([
      codes.INVALID_ARGUMENT,
      'Invalid range of message ids: 3 to 2',
    ]);
  });

  test.each<[JobState, string]>([
    ['running', 'RUNNING'],
    ['paused', 'RUNNING'],
    ['cancelling', 'RUNNING'],
    ['cancelled', 'FAILED'],
    ['completed', 'COMPLETED'],
    ['completed-with-failures', 'FAILED'],
    ['failed', 'FAILED'],
  ])('one that is %s is described as %s', async (state, shown) => {
    jobsAre(owners, () => ({ state, endTimeMs: 9_000 }));
    expect(await call('DescribeDLQJob', { jobToken: jobToken() })).toEqual({
      dlqKey: { ...key, taskCategory: 'TASK_CATEGORY_TRANSFER' },
      operationType: 'DLQ_OPERATION_TYPE_MERGE',
      operationState: `DLQ_OPERATION_STATE_${shown}`,
      startTime: { seconds: 2 },
      endTime: { seconds: 9 },
      maxMessageId: 6,
      lastProcessedMessageId: 4,
      messagesProcessed: 2,
      messagesFailed: 1,
      failureCauses: [{ messageId: 4, errorType: 'Internal', errorMessage: 'again' }],
    });
  });

  test('of dead letters that were left out says how many, why, and what to do', async () => {
    const skips = [
      { messageId: 2, reason: 'loop-guard' },
      { messageId: 5, reason: 'undecodable' },
    ];
    const { counts } = job;
    jobsAre(owners, () => ({ state: 'completed-with-failures', counts: { ...counts, failed: 1, skipped: 2 }, skips }));
    expect(await call('DescribeDLQJob', { jobToken: jobToken() })).toMatchObject({
      operationState: 'DLQ_OPERATION_STATE_FAILED',
      messagesFailed: 3,
      failureCauses: [
        { messageId: 2, errorType: 'Skipped', errorMessage: expect.stringMatching(/^loop-guard: .*--override-loop-guard/) },
        { messageId: 4, errorType: 'Internal', errorMessage: 'again' },
        { messageId: 5, errorType: 'Skipped', errorMessage: 'undecodable' },
      ],
    });
  });

  test('are cancelled with a reason', async () => {
    jobsAre(owners, () => ({}));
    expect(await call('CancelDLQJob', { jobToken: jobToken(), reason: 'enough' })).toEqual({ canceled: true });
    expect(owners.jobsRequests.at(-1)).toEqual({
      kind: 'cancelJob',
      jobId: job.jobId,
      actor: 'anonymous',
      caller: theCaller,
      reason: 'enough',
    });
  });

  test.each(['DescribeDLQJob', 'CancelDLQJob'])('%s of one that is not there, or is of another queue, is NOT_FOUND', async (operation) => {
    const answer = [codes.NOT_FOUND, `DLQ job not found: manage-dlq-tasks-${name} ${job.jobId}`];
    expect(await refused(operation, { jobToken: jobToken() })).toEqual(answer);
    jobsAre(owners, () => ({ queue: { number: 2, category: 'timer', sourceCluster: 'active', incarnation: 7 } }));
    expect(await refused(operation, { jobToken: jobToken() })).toEqual(answer);
  });

  test('that overlap are refused with the one that has the dead letters', async () => {
    owners.jobs = () => ({
      kind: 'rejected',
      rejection: { reason: 'overlap', message: 'job j-1 works on some of these dead letters: wait until it has ended, or cancel it' },
    });
    expect(await refused('PurgeDLQTasks', { dlqKey: key, ...all })).toEqual([
      codes.FAILED_PRECONDITION,
      'job j-1 works on some of these dead letters: wait until it has ended, or cancel it',
    ]);
  });
});

describe('queues of replication', () => {
  const ofReplication = { type: 'DEAD_LETTER_QUEUE_TYPE_REPLICATION' };
  let west: number;
  beforeEach(() => {
    west = owners.addQueue('replication', 'west');
    const { ReplicationTaskInfo } = messages.persistence.v1;
    const value = ReplicationTaskInfo.encode(ReplicationTaskInfo.fromObject({ workflowId: 'order', taskId: 77, firstEventId: 3 })).finish();
    for (let id = 0; id < 4; id += 1) {
      const letter = letterOf(1 + (id % 2), id + 1);
      owners.add(west, id + 1, { ...letter, task: { ...letter.task, value } });
    }
  });

  test('are read over all sources, with ids that can be given back', async () => {
    const east = owners.addQueue('replication', 'east');
    owners.add(east, 9, letterOf(1, 1));
    const first = await call('GetDLQMessages', { ...ofReplication, maximumPageSize: 3 });
    expect(first).toMatchObject({ totalCount: 5, replicationTasksInfo: [{ workflowId: 'order', firstEventId: 3 }, {}, {}] });
    const seen = (page: Plain) =>
      (page['dlqMessages'] as readonly Plain[]).map(({ sourceCluster, messageId = 0 }) => `${String(sourceCluster)} ${Number(messageId)}`);
    expect(seen(first)).toEqual(['west 1', 'west 2', 'west 3']);
    const second = await call('GetDLQMessages', { ...ofReplication, maximumPageSize: 3, nextPageToken: first['nextPageToken'] });
    expect(seen(second)).toEqual(['west 4', 'east 9']);
    expect(second).not.toHaveProperty('nextPageToken');
    const ofShard = await call('GetDLQMessages', { ...ofReplication, sourceCluster: 'west', shardId: 2, inclusiveEndMessageId: 3 });
    expect(seen(ofShard)).toEqual(['west 2']);
  });

  test('a page of much text ends before it is too large for clients', async () => {
    const letters = 1_000;
    const namespaces = owners.addQueue('namespace-replication', 'west');
    const { ReplicationTask } = messages.replication.v1;
    const value = ReplicationTask.encode(ReplicationTask.fromObject({ data: { data: Buffer.alloc(2_000) } })).finish();
    const workflowId = 'w'.repeat(900);
    for (let id = 0; id < letters; id += 1) {
      const { task, failure, ...letter } = letterOf(1, id + 1);
      owners.add(namespaces, id, {
        ...letter,
        task: { ...task, value, workflowId },
        failure: { ...failure, errorMessage: 'e'.repeat(2_000) },
      });
    }
    const ids: number[] = [];
    let more: Plain = {};
    do {
      const request = bytesOf('GetDLQMessages', { type: 'DEAD_LETTER_QUEUE_TYPE_NAMESPACE', ...more });
      const answer = await bench.client.call(`/${service}/GetDLQMessages`, request);
      expect(answer.byteLength).toBeLessThan(4 * 1024 * 1024);
      const type = classOf('GetDLQMessagesResponse');
      const page = type.toObject(type.decode(answer), { longs: Number });
      ids.push(...(page['dlqMessages'] as readonly Plain[]).map(({ messageId = 0 }) => Number(messageId)));
      more = page['nextPageToken'] === undefined ? {} : { nextPageToken: page['nextPageToken'] };
    } while (Object.keys(more).length > 0);
    expect(ids).toEqual(Array.from({ length: letters }, (_, id) => id));
  });

  test('are shown with all digits of what another cluster counts', async () => {
    const { task, ...letter } = letterOf(1, 5);
    owners.add(west, 5, { ...letter, task: { ...task, taskVersion: 2n ** 60n + 1n } });
    const answer = await bench.client.call(`/${service}/GetDLQMessages`, bytesOf('GetDLQMessages', ofReplication));
    const type = classOf('GetDLQMessagesResponse');
    const page = type.toObject(type.decode(answer), { longs: String });
    expect((page['dlqMessages'] as readonly Plain[]).at(-1)).toMatchObject({ messageId: '5', version: '1152921504606846977' });
  });

  test('are purged and merged only where one queue is meant', async () => {
    owners.addQueue('replication', 'east');
    const several = [codes.INVALID_ARGUMENT, 'source_cluster is not set: there are queues of west, east'];
    expect(await refused('PurgeDLQMessages', ofReplication)).toEqual(several);
    expect(await refused('MergeDLQMessages', ofReplication)).toEqual(several);
    expect(await refused('GetDLQMessages', { ...ofReplication, sourceCluster: 'south' })).toEqual([
      codes.NOT_FOUND,
      'cluster south is not found: there are active, west, east',
    ]);
    expect(owners.jobsRequests).toEqual([]);
  });

  test('are purged up to an id, and the answer waits', async () => {
    const states: JobState[] = ['running', 'running', 'completed'];
    jobsAre(owners, ({ kind }) => ({ state: kind === 'describeJob' ? (states.shift() ?? 'completed') : 'running' }));
    expect(await call('PurgeDLQMessages', { ...ofReplication, inclusiveEndMessageId: 2 })).toEqual({});
    expect(states).toEqual([]);
    expect(owners.jobsRequests[0]).toMatchObject({ operation: 'purge', queue: { number: west }, selection: { ids: [{ from: 0, to: 2 }] } });
  });

  test('are merged page by page; what failed is told at the end, and stops nothing', async () => {
    const failed = { ...job.counts, selected: 2, merged: 1, failed: 1 };
    jobsAre(owners, () => ({ state: 'completed-with-failures', counts: failed }));
    const { nextPageToken } = await call('MergeDLQMessages', { ...ofReplication, maximumPageSize: 2 });
    owners.add(west, 5, letterOf(1, 5));
    expect(await refused('MergeDLQMessages', { ...ofReplication, maximumPageSize: 2, nextPageToken })).toEqual([
      codes.FAILED_PRECONDITION,
      '2 of 4 tasks failed again: message 4: again',
    ]);
    const planned = owners.jobsRequests.flatMap((request) => (request.kind === 'planLetters' ? [request.selection.ids] : []));
    expect(planned).toEqual([[{ from: 1, to: 2 }], [{ from: 3, to: 4 }]]);
  });

  test('are merged as a whole without a page size', async () => {
    jobsAre(owners, () => ({ state: 'completed', counts: { ...job.counts, failed: 0 } }));
    expect(await call('MergeDLQMessages', { ...ofReplication, inclusiveEndMessageId: 0 })).toEqual({});
    expect(owners.jobsRequests).toHaveLength(2);
  });

  test('up to no id nothing is changed', async () => {
    for (const method of ['PurgeDLQMessages', 'MergeDLQMessages'] as const) {
      expect(await refused(method, { ...ofReplication, inclusiveEndMessageId: -1 })).toEqual([
        codes.INVALID_ARGUMENT,
        'Invalid message id: -1',
      ]);
    }
    expect(owners.jobsRequests).toEqual([]);
  });
});

test('of a name without end a text shows the beginning, and what there is instead', async () => {
  const name = 'x'.repeat(200_000);
  const [code, text] = await refused('GetDLQMessages', { type: 'DEAD_LETTER_QUEUE_TYPE_REPLICATION', sourceCluster: name });
  expect(code).toBe(codes.NOT_FOUND);
  expect(text).toMatch(/^cluster x{200}… is not found: there is active$/);
});
