/** Commands of the operations guide beside dead letters, as processes, beside a whole server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';
import { freePort } from '../support/server-process.ts';
import { perdureAt, perdureOnTerminal, type Ran } from './perdure-process.ts';

let server: RunningServer & { readonly address: string };
beforeAll(async () => {
  server = await memoryServer({ historyShards: 4 });
});
afterAll(() => server.stop());

const perdure = (line: string): Promise<Ran> => perdureAt(server.address, line);

describe('admin shard describe', () => {
  test('tells who owns a shard', async () => {
    const { code, out } = await perdure('admin shard describe --shard-id 4 -o json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ shardId: 4, rangeId: 1, owner: server.address, state: 'acquired' });
    const text = await perdure('admin shard describe --shard-id 1');
    expect(text.out).toMatch(/^shardId +1\nrangeId +1\nowner +127\.0\.0\.1:\d+\nstate +acquired\n$/);
  });

  test('of a shard that cannot be', async () => {
    expect(await perdure('admin shard describe --shard-id 5')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('NOT_FOUND: '),
    });
    for (const id of ['0', '=-1']) {
      const ran = await perdure(`admin shard describe --shard-id${id.startsWith('=') ? id : ` ${id}`}`);
      expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining('INVALID_ARGUMENT: ') });
    }
    expect(await perdure('admin shard describe')).toMatchObject({ code: 2, err: expect.stringContaining('--shard-id is missing') });
    expect(await perdure('admin shard describe --shard-id one')).toMatchObject({ code: 2 });
  });
});

test('admin cluster describe tells of the cluster', async () => {
  const { code, out } = await perdure('admin cluster describe -o json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    clusterName: 'active',
    clusterId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    historyShardCount: 4,
    versionInfo: { current: { version: expect.any(String) } },
    serverVersion: expect.any(String),
    persistenceStore: expect.any(String),
    visibilityStore: expect.any(String),
    members: [server.address],
  });
  expect((await perdure('admin cluster describe')).out).toMatch(/^clusterName +active\nclusterId +.*\nhistoryShardCount +4\n/);
});

describe('cluster health', () => {
  test('of one that serves', async () => {
    expect(await perdure('cluster health')).toEqual({ code: 0, out: 'SERVING\n', err: '' });
    expect(await perdure('cluster health -o json')).toEqual({ code: 0, out: '{"status":"SERVING"}\n', err: '' });
    expect((await perdure('cluster health --cluster active')).out).toBe('SERVING\n');
  });

  test('of one that the server does not know, and of none', async () => {
    expect(await perdure('cluster health --cluster cluster-x')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('NOT_FOUND: cluster cluster-x'),
    });
    const nobody = `127.0.0.1:${await freePort()}`;
    const ran = await perdure(`cluster health --address ${nobody}`);
    expect(ran).toMatchObject({ code: 4, out: 'NOT_SERVING\n', err: expect.stringContaining(`no server answers at ${nobody}`) });
  });
});

describe('namespace', () => {
  test('register and list', async () => {
    const line =
      'namespace register orders --retention 3d --description "what we sell" --owner-email a@b.c --data team=x --clusters active';
    expect(await perdure(line)).toEqual({ code: 0, out: 'Namespace orders registered.\n', err: '' });
    expect(await perdure('namespace register orders')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('ALREADY_EXISTS: '),
    });
    const { out } = await perdure('namespace list');
    expect(out).toMatch(/^NAME +ID +STATE +RETENTION +ACTIVE +CLUSTERS\n/);
    expect(out).toMatch(/^orders +[0-9a-f-]{36} +REGISTERED +72h +active +active$/m);
    const listed = JSON.parse((await perdure('namespace list -o json')).out) as readonly { readonly name: string }[];
    expect(listed.find(({ name }) => name === 'orders')).toEqual({
      name: 'orders',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      state: 'NAMESPACE_STATE_REGISTERED',
      description: 'what we sell',
      ownerEmail: 'a@b.c',
      data: { team: 'x' },
      retention: '72h',
      activeCluster: 'active',
      clusters: ['active'],
      isGlobalNamespace: false,
    });
  });

  test('describe shows one, update changes what is given, and both have the same fields', async () => {
    await perdure('namespace register billing --retention 3d --description bills --data team=x');
    const { code, out } = await perdure('namespace describe billing');
    expect(code).toBe(0);
    expect(out).toMatch(/^name +billing\nid +[0-9a-f-]{36}\nstate +NAMESPACE_STATE_REGISTERED\ndescription +bills\n/);
    expect(out).toMatch(/^retention +72h$/m);
    const json = async (line: string): Promise<object> => JSON.parse((await perdure(`${line} -o json`)).out) as object;
    const before = await json('namespace describe billing');
    expect(before).toMatchObject({
      name: 'billing',
      data: { team: 'x' },
      retention: '72h',
      clusters: ['active'],
      historyArchival: 'disabled',
    });
    const after = { ...before, retention: '720h', ownerEmail: 'a@b.c' };
    expect(await json('namespace update billing --retention 30d --owner-email a@b.c')).toEqual(after);
    expect(await json('namespace describe billing')).toEqual(after);
    expect(await perdure('namespace describe nobody')).toMatchObject({ code: 1, out: '', err: expect.stringContaining('NOT_FOUND: ') });
    expect(await perdure('namespace update nobody --retention 3d')).toMatchObject({ code: 1, out: '' });
  });

  test('delete needs to be confirmed, frees the name, and says where what it held is', async () => {
    await perdure('namespace register shipping');
    expect(await perdure('namespace delete shipping')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('needs --yes here'),
    });
    const wrong = await perdureOnTerminal(server.address, 'namespace delete shipping', 'yes\\n');
    expect(wrong).toMatchObject({ code: 1, screen: expect.stringContaining('nothing was deleted') });
    expect(await perdure('namespace describe shipping')).toMatchObject({ code: 0 });
    const typed = await perdureOnTerminal(server.address, 'namespace delete shipping', 'shipping\\n');
    expect(typed).toMatchObject({
      code: 0,
      screen: expect.stringMatching(/shipping deleted\..* under the name shipping-deleted-[0-9a-f]+\.\n$/),
    });
    expect(await perdure('namespace register shipping')).toMatchObject({ code: 0 });
    expect(JSON.parse((await perdure('namespace delete shipping --yes -o json')).out)).toEqual({
      namespace: 'shipping',
      deleted: true,
      deletedNamespace: expect.stringMatching(/^shipping-deleted-/),
    });
    expect(await perdure('namespace delete shipping --yes')).toMatchObject({ code: 1, err: expect.stringContaining('NOT_FOUND: ') });
  });

  test.each([
    ['namespace describe', 'NAMESPACE is missing'],
    ['namespace update orders', 'no change is given'],
    ['namespace update orders --description=', 'an empty text changes nothing'],
    ['namespace delete --yes', 'NAMESPACE is missing'],
    ['namespace register', 'NAMESPACE is missing'],
    ['namespace register x --retention soon', '--retention: expected a duration such as 72h or 3d, got "soon"'],
    ['namespace register x --data nothing', '--data: expected KEY=VALUE, got "nothing"'],
    ['namespace register x --retention 1s', 'INVALID_ARGUMENT: '],
  ])('%s ends with 2', async (line, said) => {
    expect(await perdure(line)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(said) });
  });
});
