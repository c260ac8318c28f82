/** `perdure admin dlq` and `perdure admin queue dlq` as processes, beside a service whose dead letters are the test's. */
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  CountDeadLettersRequest,
  DeadLetter,
  GroupDeadLettersRequest,
  ListDeadLettersRequest,
} from '../../src/wire/generated/api/deadletter/service.ts';
import { freePort } from '../support/server-process.ts';
import { Child } from './child.ts';
import { FakeDeadLetters, letter, refusal } from './fake-dead-letters.ts';
import { bin, perdureAt, type Ran } from './perdure-process.ts';

let fake: FakeDeadLetters;
beforeEach(async () => {
  fake = new FakeDeadLetters();
  await fake.listen();
});
afterEach(() => fake.close());

const perdure = (line: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> => perdureAt(fake.address, line, env);

const fromB = (messageId: number, category = 'replication', more: Partial<DeadLetter> = {}): DeadLetter =>
  letter(messageId, {
    queue: { category, sourceCluster: 'cluster-b' },
    taskType: 'TASK_TYPE_REPLICATION_HISTORY',
    firstEventId: 3,
    nextEventId: 9,
    version: 11,
    ...more,
  });

describe('read', () => {
  test('of replication: a JSON list of eight fields, whose taskId is the id of the dead letter', async () => {
    fake.letters.push(fromB(7), fromB(2, 'namespace-replication', { taskType: 'NAMESPACE_TASK' }));
    const { code, out, err } = await perdure('admin dlq read --cluster cluster-b');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const common = { namespaceId: 'namespace-id', firstEventId: 3, nextEventId: 9, version: 11 };
    expect(JSON.parse(out)).toEqual([
      { taskId: 7, taskType: 'TASK_TYPE_REPLICATION_HISTORY', workflowId: 'order-7', runId: 'run-7', ...common },
      { taskId: 2, taskType: 'NAMESPACE_TASK', workflowId: 'order-2', runId: 'run-2', ...common },
    ]);
  });

  test('of tasks: all fields, those that do not apply as empty text and 0', async () => {
    fake.letters.push(letter(5, { payload: { valueType: 'T', value: new Uint8Array(0), json: '{"taskId":"1005"}', problem: '' } }));
    const { out } = await perdure('admin queue dlq read --category transfer --payload');
    expect(JSON.parse(out)).toEqual([
      {
        messageId: 5,
        taskId: 1_005,
        shardId: 2,
        sourceShardId: 0,
        sourceTaskId: 0,
        attempts: 70,
        generation: 0,
        version: 0,
        taskType: 'TASK_TYPE_TRANSFER_ACTIVITY_TASK',
        category: 'transfer',
        sourceCluster: 'active',
        targetCluster: 'active',
        state: 'open',
        namespaceId: 'namespace-id',
        namespace: 'orders',
        workflowId: 'order-5',
        runId: 'run-5',
        workflowType: 'Order',
        cause: 'retries-exhausted',
        disposition: 'exhausted',
        errorType: 'Internal',
        errorMessage: 'attempt of 5 failed',
        fingerprint: '00c0ffee00c0ffee',
        taskFireTime: '',
        firstFailureTime: '2024-01-01T00:00:00.000Z',
        lastFailureTime: '2024-01-01T01:00:00.000Z',
        deadLetterTime: '2024-01-01T01:00:00.000Z',
        payload: { taskId: '1005' },
      },
    ]);
  });

  test('--long adds those fields to the eight', async () => {
    fake.letters.push(fromB(7, 'replication', { sourceShardId: 3 }));
    const [item] = JSON.parse((await perdure('admin dlq read --cluster cluster-b --long')).out) as readonly object[];
    expect(item).toMatchObject({ taskId: 7, messageId: 7, sourceTaskId: 1_007, sourceShardId: 3, category: 'replication' });
    expect(Object.keys(item ?? {})).toHaveLength(29);
  });

  test('prints ids beyond what a double holds with all their digits', async () => {
    fake.letters.push(letter(0, { taskId: '9223372036854775807' }));
    expect((await perdure('admin queue dlq read --category transfer')).out).toContain('"taskId":9223372036854775807,');
    expect((await perdure('admin queue dlq read --category transfer -o text')).out).toContain(' 9223372036854775807 ');
    const { out } = await perdure('admin queue dlq count --category transfer --task-id 9223372036854775807');
    expect(out).toBe('1\n');
  });

  test('what cannot be decoded is shown as its bytes, with the reason', async () => {
    const payload = { valueType: 'T', value: Buffer.from('\0\xffraw', 'latin1'), json: '', problem: 'no such field' };
    fake.letters.push(letter(0, { damage: 'its value cannot be decoded', payload }));
    const { code, out } = await perdure('admin queue dlq read --category transfer --payload');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject([
      { messageId: 0, damage: 'its value cannot be decoded', payload: { valueType: 'T', value: 'AP9yYXc=', problem: 'no such field' } },
    ]);
  });

  test('an empty list is one in JSON, and nothing as text', async () => {
    expect((await perdure('admin queue dlq read --category transfer')).out).toBe('[]\n');
    for (const format of ['text', 'jsonl', 'none']) {
      expect(await perdure(`admin queue dlq read --category transfer -o ${format}`)).toEqual({ code: 0, out: '', err: '' });
    }
  });

  test('as lines, and as a table whose quarantined rows say so', async () => {
    const message = 'line one\nline two \u001b[31mred';
    fake.letters.push(letter(9, { errorMessage: message }), letter(10, { state: 'quarantined', generation: 5 }));
    const lines = (await perdure('admin queue dlq read --category transfer -o jsonl')).out.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { messageId: number }).messageId)).toEqual([9, 10]);
    const { out } = await perdure('admin queue dlq read --category transfer -o text');
    expect(out).toMatch(
      /^MESSAGE ID +TASK ID +TASK TYPE +NAMESPACE +WORKFLOW +SHARD +ATTEMPTS +GEN +LAST ERROR +AGE\n9 +1009 +TRANSFER_ACTIVITY_TASK +orders +order-9 +2 +70 +0 +Internal: line one line two +\[31mred +\d+ d\n10 .* quarantined\n$/,
    );
    expect(out).not.toContain('\u001b');
  });

  test('pages through everything, and stops at the limit', async () => {
    for (let id = 0; id < 2_500; id++) fake.letters.push(letter(id));
    const { out } = await perdure('admin queue dlq read --category transfer');
    expect((JSON.parse(out) as { messageId: number }[]).map(({ messageId }) => messageId)).toEqual(
      fake.letters.map((each) => each.messageId),
    );
    expect(fake.requestsOf<ListDeadLettersRequest>('ListDeadLetters').map(({ pageSize }) => pageSize)).toEqual([1_000, 1_000, 1_000]);
    fake.asked.length = 0;
    const few = await perdure('admin queue dlq read --category transfer --limit 7 --page-size 5');
    expect(JSON.parse(few.out)).toHaveLength(7);
    expect(fake.requestsOf<ListDeadLettersRequest>('ListDeadLetters').map(({ pageSize }) => pageSize)).toEqual([5, 2]);
  });

  test('holds no more than a page of a long list', async () => {
    for (let id = 0; id < 100_000; id++) fake.letters.push(letter(id, { errorMessage: 'x'.repeat(500) }));
    const { code, out, err } = await perdure('admin queue dlq read --category transfer', { NODE_OPTIONS: '--max-old-space-size=40' });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toHaveLength(100_000);
  });

  test('a failure in mid-list closes the list', async () => {
    for (let id = 0; id < 10; id++) fake.letters.push(letter(id));
    fake.refuse = (_, nth) => (nth === 3 ? refusal(status.INTERNAL, 'the disk is full') : undefined);
    const { code, out, err } = await perdure('admin queue dlq read --category transfer --page-size 4');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toHaveLength(8);
    expect(err).toBe('perdure: INTERNAL: the disk is full\n');
  });

  test('a failure in mid-audit closes the list', async () => {
    fake.refuse = (_, nth) => (nth === 3 ? refusal(status.INTERNAL, 'the disk is full') : undefined);
    const { code, out, err } = await perdure('admin queue dlq audit --limit 0 -o json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject([{ messageIds: [41] }, { messageIds: [41] }]);
    expect(err).toBe('perdure: INTERNAL: the disk is full\n');
  });

  test('goes on when a queue is without an owner for a moment', async () => {
    fake.letters.push(letter(1));
    fake.refuse = (_, nth) => (nth < 3 ? refusal(status.UNAVAILABLE, 'dlq.perdure.transfer.active: takeover') : undefined);
    expect(await perdure('admin queue dlq count --category transfer')).toEqual({ code: 0, out: '1\n', err: '' });
  });

  test('whoever reads may go away', async () => {
    for (let id = 0; id < 5_000; id++) fake.letters.push(letter(id));
    const line = `${bin} admin queue dlq read --category transfer -o jsonl --page-size 100 --address ${fake.address}`;
    const child = new Child('/bin/bash', ['-c', `${line} | head -n 1; echo "code \${PIPESTATUS[0]}"`]);
    await child.exit;
    expect(child.out.trimEnd().split('\n').at(-1)).toBe('code 0');
    expect(child.err).toBe('');
    expect(fake.requestsOf('ListDeadLetters').length).toBeLessThan(50);
  });
});

describe('what is selected', () => {
  const last = <Request>(method: string): Request | undefined => fake.requestsOf<Request>(method).at(-1);

  test('all flags hold together', async () => {
    await perdure(
      'admin queue dlq count --category timer --namespace orders --shard-id 3 --message-id 4 --message-id 5 --workflow-id w --run-id r --min-message-id 2 --max-message-id 9 --query "Attempts > 3"',
    );
    expect(last<CountDeadLettersRequest>('CountDeadLetters')).toEqual({
      queues: [{ category: 'timer', sourceCluster: '' }],
      selection: {
        messageIds: [4, 5],
        minMessageId: 2,
        maxMessageId: 9,
        taskId: '',
        workflowId: 'w',
        runId: 'r',
        namespace: 'orders',
        shardId: 3,
        query: 'Attempts > 3',
      },
    });
  });

  test('without flags it is all dead letters of both replication queues, or of the one that is named', async () => {
    await perdure('admin dlq count --cluster cluster-b');
    const queues = [
      { category: 'replication', sourceCluster: 'cluster-b' },
      { category: 'namespace-replication', sourceCluster: 'cluster-b' },
    ];
    expect(last<CountDeadLettersRequest>('CountDeadLetters')?.queues).toEqual(queues);
    for (const [index, type] of ['replication', 'namespace'].entries()) {
      await perdure(`admin dlq count --cluster cluster-b --dlq-type ${type}`);
      expect(last<CountDeadLettersRequest>('CountDeadLetters')?.queues).toEqual([queues[index]]);
    }
  });

  test('the namespace of the environment filters nothing', async () => {
    await perdure('admin queue dlq count --category transfer', { TEMPORAL_NAMESPACE: 'billing' });
    expect(last<CountDeadLettersRequest>('CountDeadLetters')?.selection?.namespace).toBe('');
  });

  test('a category may be its id, and replication without a cluster is that of all', async () => {
    fake.letters.push(letter(0), fromB(1), fromB(2, 'replication', { queue: { category: 'replication', sourceCluster: 'cluster-c' } }));
    expect((await perdure('admin queue dlq count --category 1')).out).toBe('1\n');
    expect((await perdure('admin queue dlq count --category replication')).out).toBe('2\n');
    expect((await perdure('admin queue dlq count --category 3 --cluster cluster-c')).out).toBe('1\n');
    expect(await perdure('admin queue dlq read --category namespace-replication')).toEqual({ code: 0, out: '[]\n', err: '' });
  });

  test('0 is the id of no category, whatever queues have none', async () => {
    fake.letters.push(fromB(1, 'namespace-replication'), fromB(2, 'callbacks'));
    expect(await perdure('admin queue dlq purge --category 0 --yes')).toMatchObject({ code: 0, out: 'purged 0\n' });
    expect(fake.requestsOf<CountDeadLettersRequest>('CountDeadLetters').map(({ queues }) => queues)).toEqual([
      [{ category: '0', sourceCluster: '' }],
    ]);
    expect(await perdure('admin queue dlq list --category 0 -o json')).toMatchObject({ code: 1, out: '' });
  });

  test('a category that was mistyped is no queue without dead letters', async () => {
    fake.letters.push(letter(0), fromB(1));
    expect(await perdure('admin queue dlq list --category tranfser')).toEqual({
      code: 1,
      out: '',
      err: 'perdure: INVALID_ARGUMENT: Unknown task category: tranfser; known are transfer, replication, namespace-replication\n',
    });
    expect((await perdure('admin queue dlq list --category namespace-replication -o json')).out).toBe('[]\n');
  });

  test('a filter beside a task id, however large, stands by itself', async () => {
    const command = `admin queue dlq count --category transfer --task-id 9223372036854775807 --query`;
    await perdure(`${command} "Attempts = 1) OR (Attempts = 2"`);
    expect(last<CountDeadLettersRequest>('CountDeadLetters')?.selection).toMatchObject({
      taskId: '9223372036854775807',
      query: 'Attempts = 1) OR (Attempts = 2',
    });
  });

  test('one task that several dead letters tell of is refused, with the dead letters', async () => {
    fake.letters.push(letter(1, { taskId: '77' }), letter(2, { taskId: '77' }), fromB(4), fromB(4, 'namespace-replication'));
    const tasks = await perdure('admin queue dlq read --category transfer --task-id 77');
    expect(tasks).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--task-id matches 2 dead letters\n') });
    expect(tasks.err).toMatch(/message 1 of transfer\/active: task 77.* shard 2, order-1\/run-1\n.*message 2 .*\n.*--shard-id/);
    expect((await perdure('admin queue dlq count --category transfer --task-id 77 --shard-id 3')).out).toBe('1\n');
    const replicated = await perdure('admin dlq count --cluster cluster-b --task-id 4');
    expect(replicated).toMatchObject({ code: 2, err: expect.stringContaining('--dlq-type') });
    expect((await perdure('admin dlq count --cluster cluster-b --task-id 4 --dlq-type namespace')).out).toBe('1\n');
  });

  test.each([
    ['admin dlq read', '--cluster is missing'],
    ['admin queue dlq read', '--category is missing'],
    ['admin dlq read --cluster b --dlq-type both', '--dlq-type: expected replication or namespace, got "both"'],
    ['admin queue dlq read --category transfer --shard-id 0', 'Invalid ShardID: 0'],
    ['admin queue dlq read --category transfer --shard-id=-1', 'Invalid ShardID: -1'],
    ['admin queue dlq read --category transfer --message-id 1.5', '--message-id: expected a whole number from 0, got "1.5"'],
    ['admin queue dlq read --category transfer --message-id 9223372036854775807', 'no dead letter has an id as high'],
    ['admin queue dlq read --category transfer --task-id 9223372036854775808', '--task-id: expected a whole number'],
    ['admin queue dlq read --category transfer --min-message-id 9 --max-message-id 8', '--min-message-id 9 is above --max-message-id 8'],
    ['admin queue dlq read --category transfer --limit many', '--limit: expected a whole number from 0, got "many"'],
    ['admin queue dlq read --category transfer -o yaml', '--output: expected json, jsonl, text or none, got "yaml"'],
    ['admin queue dlq groups --category transfer --by colour', '--by: expected fingerprint'],
    ['admin queue dlq read --categroy transfer', 'Did you mean --category?'],
  ])('%s ends with 2', async (line, said) => {
    const { code, out, err } = await perdure(line);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(said);
    expect(fake.asked).toEqual([]);
  });
});

describe('count, list, show and groups', () => {
  test('count prints a number, or an object', async () => {
    fake.letters.push(letter(1), letter(2), letter(3));
    expect(await perdure('admin queue dlq count --category transfer')).toEqual({ code: 0, out: '3\n', err: '' });
    expect((await perdure('admin queue dlq count --category transfer -o json')).out).toBe('{"count": 3}\n');
    expect((await perdure('admin queue dlq count --category transfer -o none')).out).toBe('');
  });

  test('list shows the queues, most dead letters first', async () => {
    fake.letters.push(fromB(0), letter(1), letter(2, { state: 'quarantined' }));
    const { out } = await perdure('admin queue dlq list --time-format iso');
    expect(out).toMatch(
      /^CATEGORY +SOURCE +TARGET +COUNT +QUARANTINED +OLDEST +TOP ERROR\ntransfer +active +active +2 +1 +2024-01-01T01:00:00.000Z +Internal \(2\)\nreplication +cluster-b .*\n$/,
    );
    expect(JSON.parse((await perdure('admin dlq list --cluster cluster-b -o json')).out)).toMatchObject([
      { category: 'replication', sourceCluster: 'cluster-b', count: 1, open: 1, quarantined: 0, oldestTime: '2024-01-01T01:00:00.000Z' },
    ]);
  });

  test('the short command shows this cluster’s own dead letters too, or says where they are', async () => {
    fake.letters.push(letter(1), letter(2));
    const listed = await perdure('admin dlq list');
    expect(listed.out).toMatch(/^CATEGORY .*\ntransfer +active +active +2 /);
    expect((await perdure('admin queue dlq list')).out).toBe(listed.out);
    const err =
      'perdure: no dead letter of replication matches, but 2 dead letters of this cluster’s own tasks are waiting: perdure admin queue dlq list\n';
    for (const [line, out] of [
      ['list --dlq-type replication -o json', '[]\n'],
      ['list --cluster cluster-b -o json', '[]\n'],
      ['read --cluster cluster-b', '[]\n'],
      ['count --cluster active', '0\n'],
      ['groups --cluster cluster-b -o json', '[]\n'],
      ['merge --cluster cluster-b', 'merged 0, failed 0, skipped 0\n'],
      ['purge --cluster cluster-b --dry-run -o none', ''],
    ] as const) {
      expect(await perdure(`admin dlq ${line}`), line).toEqual({ code: 0, out, err });
    }
    expect((await perdure('admin queue dlq count --category timer')).err).toBe('');
    fake.letters.length = 0;
    expect(await perdure('admin dlq count --cluster cluster-b')).toEqual({ code: 0, out: '0\n', err: '' });
  });

  test('show tells of one dead letter all there is', async () => {
    const payload = { valueType: 'T', value: new Uint8Array(0), json: '{"taskId":"1041"}', problem: '' };
    fake.letters.push(letter(41, { payload }));
    const { code, out } = await perdure('admin queue dlq show --category transfer --message-id 41');
    expect(code).toBe(0);
    for (const said of ['message 41 of transfer/active', 'attempt of 41 failed', 'at second (b.ts:2:2)', 'Cause: the disk is full'])
      expect(out).toContain(said);
    for (const said of ['2024-01-02T00:00:00.000Z merge-failed Internal job-1', '"taskId": "1041"']) expect(out).toContain(said);
    expect(JSON.parse((await perdure('admin queue dlq show --category transfer --task-id 1041 -o json')).out)).toMatchObject({
      messageId: 41,
      payload: { taskId: '1041' },
      errorChain: [{ errorType: 'Cause', errorMessage: 'the disk is full' }],
      history: [{ time: '2024-01-02T00:00:00.000Z', kind: 'merge-failed', errorType: 'Internal', jobId: 'job-1' }],
      headers: { 'perdure.message-id': '41' },
    });
  });

  test('show finds a dead letter of either replication queue, and says what became of one that is gone', async () => {
    fake.letters.push(fromB(3, 'namespace-replication'));
    const found = await perdure('admin dlq show --cluster cluster-b --message-id 3');
    expect(found).toMatchObject({ code: 0, out: expect.stringContaining('message 3 of namespace-replication/cluster-b\n') });
    const gone = await perdure('admin queue dlq show --category transfer --message-id 41');
    expect(gone).toEqual({ code: 1, out: '', err: 'perdure: NOT_FOUND: message 41 is already merged\n' });
  });

  test('show has no dead letter of another shard than the one that is named', async () => {
    fake.letters.push(letter(41));
    expect(await perdure('admin queue dlq show --category transfer --message-id 41 --shard-id 3')).toEqual({
      code: 1,
      out: '',
      err: 'perdure: NOT_FOUND: message 41 is not selected\nIt is in transfer, but another flag excludes it.\n',
    });
    expect((await perdure('admin queue dlq show --category transfer --message-id 41 --shard-id 2')).code).toBe(0);
  });

  test('groups count what dead letters have in common', async () => {
    fake.letters.push(letter(1), letter(2, { cause: 'permanent-error' }), letter(3, { cause: 'permanent-error' }));
    const { out } = await perdure('admin queue dlq groups --category transfer --by cause --time-format iso');
    expect(out).toMatch(
      /^CAUSE +COUNT +LOWEST ID +OLDEST +NEWEST +ERROR\npermanent-error +2 +2 .*attempt of 2 failed\nretries-exhausted +1 .*\n$/,
    );
    expect(fake.requestsOf<GroupDeadLettersRequest>('GroupDeadLetters')[0]).toMatchObject({ by: 'cause', maxGroups: 0 });
    expect(JSON.parse((await perdure('admin queue dlq groups --category transfer --limit 1 -o json')).out)).toEqual([
      expect.objectContaining({ key: '00c0ffee00c0ffee', count: 3, oldestTime: '2024-01-01T01:00:00.000Z' }),
    ]);
  });

  test('groups of one error tell by their type of task what sets them apart', async () => {
    const same = { errorType: 'Internal', errorMessage: 'no room' };
    fake.letters.push(
      letter(1, { ...same, taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK' }),
      letter(2, { ...same, fingerprint: '1'.repeat(16) }),
    );
    const { out } = await perdure('admin queue dlq groups --category transfer --time-format iso');
    expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['FINGERPRINT', 'COUNT', 'LOWEST ID', 'OLDEST', 'NEWEST', 'TASK TYPE', 'ERROR'],
      ['00c0ffee00c0ffee', '1', '1', expect.anything(), expect.anything(), 'TRANSFER_WORKFLOW_TASK', 'Internal: no room'],
      ['1111111111111111', '1', '2', expect.anything(), expect.anything(), 'TRANSFER_ACTIVITY_TASK', 'Internal: no room'],
      [''],
    ]);
  });
});

describe('a server that refuses', () => {
  test.each([
    [status.PERMISSION_DENIED, 'Request unauthorized.', 5, 'PERMISSION_DENIED: Request unauthorized.'],
    [status.INVALID_ARGUMENT, 'Unknown task category: transfers', 2, 'INVALID_ARGUMENT: Unknown task category: transfers'],
    [status.NOT_FOUND, 'no cluster-x', 1, 'NOT_FOUND: no cluster-x'],
    [status.UNIMPLEMENTED, 'unknown method', 1, 'may have another version'],
    [status.DEADLINE_EXCEEDED, 'too slow', 4, 'has not answered in time'],
  ])('with %s', async (code, details, exitCode, said) => {
    fake.refuse = () => refusal(code, details);
    const ran = await perdure('admin queue dlq read --category transfer');
    expect(ran).toMatchObject({ code: exitCode, out: '' });
    expect(ran.err).toContain(said);
  });

  test('or that is not there, ends with 4 and three parts', async () => {
    const nobody = `127.0.0.1:${await freePort()}`;
    const ran = await perdure(`admin queue dlq count --category transfer --address ${nobody}`);
    expect(ran).toMatchObject({ code: 4, out: '' });
    expect(ran.err).toMatch(
      new RegExp(
        `^perdure: no server answers at ${nobody}\n.*ECONNREFUSED [\\d.:]+\nGive the address of the gRPC port of a running server: --address HOST:PORT\\.\n$`,
      ),
    );
  });

  test('never is served: 4, with the reason', async () => {
    fake.refuse = () => refusal(status.UNAVAILABLE, 'the queue has no owner');
    const ran = await perdure('admin queue dlq count --category transfer');
    expect(ran).toMatchObject({ code: 4, out: '', err: expect.stringMatching(/does not serve this right now\nthe queue has no owner\n/) });
    expect(fake.asked.length).toBeGreaterThan(3);
  });

  test('gets the key and the headers of the command line', async () => {
    await perdure('admin queue dlq count --category transfer --api-key secret --no-tls --grpc-meta Team=payments');
    expect(fake.asked[0]?.metadata).toMatchObject({ authorization: 'Bearer secret', team: 'payments' });
  });
});

describe('what others wrote', () => {
  const evil = 'pwned\u001b]0;title\u0007\u009b31m\u202eback';
  const long = evil + 'k'.repeat(900);
  // oxlint-disable-next-line no-control-regex
  const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

  test('reaches no terminal as commands: in tables, in JSON, and in errors', async () => {
    fake.letters.push(letter(1, { workflowId: long, errorMessage: evil }), letter(2, { workflowId: long, taskId: '1001' }));
    const queue = '--category transfer';
    for (const line of [
      'read -o text',
      'read',
      'read -o jsonl',
      'show --message-id 1',
      'show --message-id 1 -o json',
      'groups --by cause',
    ]) {
      const { out } = await perdure(`admin queue dlq ${line} ${queue}`);
      expect(out, line).not.toBe('');
      expect(out, line).not.toMatch(raw);
    }
    const [first] = JSON.parse((await perdure(`admin queue dlq read ${queue}`)).out) as readonly { readonly workflowId: string }[];
    expect(first?.workflowId).toBe(long);
    const table = (await perdure(`admin queue dlq read -o text ${queue}`)).out;
    expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThan(300);
    const ambiguous = await perdure(`admin queue dlq purge ${queue} --task-id 1001`);
    expect(ambiguous).toMatchObject({ code: 2, err: expect.stringContaining('pwned') });
    expect(ambiguous.err).not.toMatch(raw);
    fake.refuse = () => refusal(status.NOT_FOUND, `no such thing: ${evil}`);
    const { err } = await perdure(`admin queue dlq count ${queue}`);
    expect(err).toMatch(/^perdure: NOT_FOUND: no such thing: pwned/);
    expect(err).not.toMatch(raw);
  });
});
