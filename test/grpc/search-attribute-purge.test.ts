/** Search attributes that are removed while workflows have them: what they have left is shown under no other name, and is in nobody's way. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status as codes } from '@grpc/grpc-js';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LogOptions } from '../../src/config/server-options.ts';
import { idsOf, listedServer } from '../support/listed-workflows.ts';
import { refusal } from '../support/refusal.ts';
import { embeddedServer } from '../support/servers.ts';

const [text, keyword, int, double, bool, datetime, keywordList] = [1, 2, 3, 4, 5, 6, 7];

async function logs(kind: string): Promise<LogOptions> {
  if (kind === 'in memory') return { kind: 'embedded', filename: undefined, sqlitePragmas: [] };
  const folder = await mkdtemp(join(tmpdir(), 'perdure-purge-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] };
}

describe.each(['in memory', 'on a file'])('%s', (kind) => {
  test('another attribute in the place of a removed one shows nothing of it; another namespace keeps its own', async () => {
    const log = await logs(kind);
    const { server, client, other } = await listedServer(log);
    const six = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6'];
    for (const each of [client, other]) {
      await add(each, Object.fromEntries(six.map((name) => [name, int])));
      for (let nth = 1; nth <= 20; nth++) await start(each, `wf-${nth}`, { A1: nth, A2: 100 + nth });
    }
    await start(client, 'late', { A1: 7 });
    expect(await idsOf(client, 'A1 > 0')).toHaveLength(21);
    await remove(client, 'A1');
    expect(await refusal(idsOf(client, 'A1 > 0'))).toEqual({ code: codes.INVALID_ARGUMENT, details: expect.stringContaining('A1') });
    await add(client, { B: int });
    expect([await idsOf(client, 'B IS NOT NULL'), await idsOf(client, 'B > 0')]).toEqual([[], []]);
    await client.workflow.getHandle('late').terminate();
    expect(await idsOf(client, 'B IS NOT NULL')).toEqual([]);
    await start(client, 'new', { B: 7 });
    expect(await idsOf(client, 'B > 0')).toEqual(['new']);
    expect(await idsOf(client, 'A2 > 110')).toHaveLength(10);
    expect(await idsOf(other, 'A1 = 7 AND A2 = 107')).toEqual(['wf-7']);
    await server.stop();
    if (kind === 'in memory') return;

    const again = await listedServer(log);
    expect(await idsOf(again.client, 'B IS NOT NULL')).toEqual(['new']);
    expect(await idsOf(again.other, 'A1 > 0')).toHaveLength(20);
    await again.server.stop();
  });

  test('added and removed a hundred times, an attribute is found by what was set since, in every type', async () => {
    const { server, client } = await listedServer(await logs(kind));
    const types = [
      { type: int, value: 5, query: 'Loop = 5' },
      { type: keywordList, value: ['red', 'green'], query: "Loop = 'red'" },
      { type: text, value: 'red apples', query: "Loop = 'apples'" },
    ];
    const rounds = Array.from({ length: 33 }, () => types).flat();
    for (const [round, { type, value, query }] of rounds.entries()) {
      await add(client, { Loop: type });
      expect(await idsOf(client, 'Loop IS NOT NULL')).toEqual([]);
      await start(client, `round-${round}`, { Loop: value });
      expect(await idsOf(client, query)).toEqual([`round-${round}`]);
      await remove(client, 'Loop');
    }
    await server.stop();
  });
});

test.each([
  ['the same type', keyword, "Color = 'red'"],
  ['another type, which takes such values too', text, "Color = 'red'"],
  ['a list', keywordList, "Color = 'red'"],
])(
  'added again with %s, an attribute has none of the values of before, even where a workflow that keeps one goes on',
  async (_what, type, query) => {
    const { server, client } = await listedServer(await logs('in memory'));
    await add(client, { Color: keyword });
    for (const id of ['closes', 'upserts', 'stays']) await start(client, id, { Color: 'red' });
    expect(await idsOf(client, query)).toHaveLength(3);
    await remove(client, 'Color');
    await add(client, { Color: type });
    expect(await idsOf(client, query)).toEqual([]);
    await client.workflow.getHandle('closes').terminate();
    await start(client, 'new', { Color: type === keywordList ? ['red'] : 'red' });
    expect(await idsOf(client, query)).toEqual(['new']);
    await upsertFrom(client, 'upserts', { Color: type === keywordList ? ['red', 'blue'] : 'red' });
    expect(new Set(await idsOf(client, query))).toEqual(new Set(['new', 'upserts']));
    await server.stop();
  },
);

test('workers and clients read the values of one that was added again as any other', async () => {
  const { server, client } = await listedServer(await logs('in memory'));
  const color = defineSearchAttributeKey('Color', SearchAttributeType.KEYWORD);
  for (let round = 0; round < 3; round++) {
    await add(client, { Color: keyword });
    const typedSearchAttributes = [{ key: color, value: `red ${round}` }];
    const handle = await client.workflow.start('T', { workflowId: `wf-${round}`, taskQueue: 'q', typedSearchAttributes });
    expect((await handle.describe()).typedSearchAttributes.get(color)).toBe(`red ${round}`);
    expect(await idsOf(client, `Color = 'red ${round}'`)).toEqual([`wf-${round}`]);
    await remove(client, 'Color');
  }
  await server.stop();
});

/** Encoded as JSON by hand: what no JSON library would write. */
const hostile: readonly (readonly [typeName: string, json: string])[] = [
  ['Text', '"\\u0000"'],
  ['Text', '"\\ud800 half"'],
  ['Keyword', '"\\u0000\\udc00"'],
  ['Keyword', '1'],
  ['Int', '9223372036854775807'],
  ['Int', '9223372036854775808'],
  ['Int', '-9223372036854775808'],
  ['Int', '1e999'],
  ['Double', 'NaN'],
  ['Double', '1e308'],
  ['Double', '1e999'],
  ['Bool', '1'],
  ['Datetime', '"9999-12-31T23:59:59.999999999Z"'],
  ['Datetime', '"9999-12-31T23:59:59-23:59"'],
  ['Datetime', '"0000-01-01T00:00:00+23:59"'],
  ['Datetime', '"10000-01-01T00:00:00Z"'],
  ['KeywordList', `[${Array.from({ length: 100_001 }, () => '"x"').join(',')}]`],
  ['KeywordList', `[${Array.from({ length: 500 }, () => '"x"').join(',')}]`],
  ['KeywordList', '["\\u0000", "\\ud800"]'],
];

test('a value that no column can hold is refused, or its workflow is shown without it; either way others are shown, and it can be removed', async () => {
  const { server, client } = await listedServer(await logs('on a file'));
  const types = { Text: text, Keyword: keyword, Int: int, Double: double, Bool: bool, Datetime: datetime, KeywordList: keywordList };
  await add(client, types);
  const accepted: string[] = [];
  for (const [nth, [typeName, json]] of hostile.entries()) {
    const data = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(json) };
    const refused = await startWith(client, `wf-${nth}`, { indexedFields: { [typeName]: data } }).then(
      () => undefined,
      (error: { readonly code: number }) => error.code,
    );
    expect([undefined, codes.INVALID_ARGUMENT], json.slice(0, 40)).toContain(refused);
    if (refused === undefined) accepted.push(`wf-${nth}`);
    expect(new Set(await idsOf(client, ''))).toEqual(new Set(accepted));
  }
  expect(accepted.length).toBeGreaterThan(5);
  expect(await idsOf(client, 'Int = 9223372036854775807')).toEqual(['wf-4']);
  expect(await idsOf(client, 'Double > 1e307')).toEqual(['wf-9']);
  await remove(client, ...Object.keys(types));
  await add(client, types);
  for (const name of Object.keys(types)) expect(await idsOf(client, `${name} IS NOT NULL`), name).toEqual([]);
  expect(new Set(await idsOf(client, ''))).toEqual(new Set(accepted));
  await server.stop();
});

test('a workflow that sets what was removed since is informed by its task, and sets nothing', async () => {
  const { server, client } = await listedServer(await logs('in memory'));
  await add(client, { Color: keyword, Size: int });
  await start(client, 'upserts', { Size: 1 });
  await remove(client, 'Color');
  expect(await refusal(upsertFrom(client, 'upserts', { Color: 'red', Size: 2 }))).toEqual({
    code: codes.INVALID_ARGUMENT,
    details: 'BadSearchAttributes: Namespace default has no mapping defined for search attribute Color',
  });
  expect(await idsOf(client, 'Size = 1')).toEqual(['upserts']);
  await server.stop();
});

test('a server that is killed right after a removal clears what is left when it is started again', async () => {
  const log = await logs('on a file');
  const server = await embeddedServer(log.kind === 'embedded' ? log.filename : undefined);
  onTestFinished(() => server.stop());
  const served = async (use: (client: Client) => Promise<void>): Promise<void> => {
    await server.start();
    const connection = await Connection.connect({ address: server.address });
    await use(new Client({ connection }));
    await connection.close();
  };
  await served(async (client) => {
    await add(client, { A1: int, A2: int, A3: int, A4: int, A5: int, A6: int });
    for (let nth = 1; nth <= 20; nth++) await start(client, `wf-${nth}`, { A1: nth, A6: nth });
    expect(await idsOf(client, 'A1 > 0')).toHaveLength(20);
    await remove(client, 'A1');
    await server.kill9();
  });
  await served(async (client) => {
    await add(client, { B: int });
    expect(await idsOf(client, 'B IS NOT NULL')).toEqual([]);
    expect(await idsOf(client, 'A6 > 0')).toHaveLength(20);
    await start(client, 'new', { B: 7 });
    expect(await idsOf(client, 'B > 0')).toEqual(['new']);
  });
});

test('one that every namespace has, and one of its own in its place', async () => {
  const { server, client } = await listedServer(await logs('in memory'));
  await add(client, Object.fromEntries(Array.from({ length: 20 }, (_, nth) => [`K${nth}`, keyword])));
  expect(await refusal(tryToAdd(client, { More: keyword }))).toEqual({
    code: codes.INVALID_ARGUMENT,
    details: 'Unable to create search attributes: cannot have more than 20 search attribute of type Keyword.',
  });
  await start(client, 'wf', { K3: 'red', K4: 'blue' });
  await remove(client, 'K3', 'K4');
  await add(client, { K3: keyword, More: keyword });
  expect(await idsOf(client, "K3 = 'red' OR More = 'blue' OR K3 = 'blue' OR More = 'red'")).toEqual([]);
  await server.stop();
});

type Attributes = Readonly<Record<string, string | number | readonly string[]>>;

async function start(client: Client, workflowId: string, attributes: Attributes): Promise<void> {
  await startWith(client, workflowId, indexed(attributes));
}

/** Each workflow has a task queue of its name. */
async function startWith(client: Client, workflowId: string, searchAttributes: temporal.api.common.v1.ISearchAttributes): Promise<void> {
  await client.connection.workflowService.startWorkflowExecution({
    namespace: client.options.namespace,
    workflowId,
    requestId: workflowId,
    workflowType: { name: 'T' },
    taskQueue: { name: workflowId },
    searchAttributes,
  });
}

/** As a worker would that knows no types. */
async function upsertFrom({ connection, options: { namespace } }: Client, workflowId: string, attributes: Attributes): Promise<void> {
  const { taskToken } = await connection.withDeadline(Date.now() + 60_000, () =>
    connection.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: workflowId } }),
  );
  const upsert = { upsertWorkflowSearchAttributesCommandAttributes: { searchAttributes: indexed(attributes) } };
  const commandType = temporal.api.enums.v1.CommandType.COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES;
  await connection.workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [{ commandType, ...upsert }] });
}

function indexed(attributes: Attributes): temporal.api.common.v1.ISearchAttributes {
  const payload = (value: Attributes[string]): temporal.api.common.v1.IPayload => ({
    metadata: { encoding: Buffer.from('json/plain') },
    data: Buffer.from(JSON.stringify(value)),
  });
  return { indexedFields: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, payload(value)])) };
}

async function tryToAdd({ connection, options: { namespace } }: Client, searchAttributes: Readonly<Record<string, number>>): Promise<void> {
  await (connection as Connection).operatorService.addSearchAttributes({ namespace, searchAttributes: { ...searchAttributes } });
}

/** As long as slots wait to be cleared, it is asked again. */
async function add(client: Client, searchAttributes: Readonly<Record<string, number>>): Promise<void> {
  for (;;) {
    const refused = await tryToAdd(client, searchAttributes).then(
      () => undefined,
      (error: { readonly code: number; readonly details: string }) => error,
    );
    if (refused === undefined) return;
    expect(refused).toMatchObject({ code: codes.RESOURCE_EXHAUSTED, details: expect.stringContaining('being cleared') });
  }
}

async function remove({ connection, options: { namespace } }: Client, ...searchAttributes: string[]): Promise<void> {
  await (connection as Connection).operatorService.removeSearchAttributes({ namespace, searchAttributes });
}
