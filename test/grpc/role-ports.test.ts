/** The ports of the history and matching roles, of servers as people start them. */
import { connect, type ClientHttp2Session } from 'node:http2';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import type { RolePort } from '../../src/config/role-ports.ts';
import { AdminClient } from './admin-client.ts';
import { healthOf } from '../support/grpc-health.ts';
import { healthPageOf } from '../support/health-page.ts';
import { memoryServer } from '../support/memory-server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function served(history: Partial<RolePort>, matching: Partial<RolePort>): Promise<RunningServer> {
  const any = { host: '127.0.0.1', port: 0, orFree: false };
  const server = await memoryServer({ rolePorts: { history: { ...any, ...history }, matching: { ...any, ...matching } } });
  closing.push(() => server.stop());
  return server;
}

async function takenPort(): Promise<number> {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  closing.push(() => other.close());
  const address = other.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

test.each([
  ['history', ['temporal.api.workflowservice.v1.HistoryService', 'temporal.server.api.historyservice.v1.HistoryService']],
  ['matching', ['temporal.api.workflowservice.v1.MatchingService', 'temporal.server.api.matchingservice.v1.MatchingService']],
] as const)('the port of %s answers health checks in both protocols, by its own names, and nothing else', async (role, names) => {
  const server = await served({}, {});
  const address = `127.0.0.1:${server.rolePorts[role]}`;
  expect(await healthPageOf(address)).toMatchObject([200, { status: 'SERVING' }]);
  expect((await fetch(`http://${address}/health/live`)).status).toBe(200);
  for (const name of ['', ...names]) expect(await healthOf(address, name)).toBe('SERVING');
  await expect(healthOf(address, 'temporal.api.workflowservice.v1.WorkflowService')).rejects.toMatchObject({ code: 5 });
  for (const page of ['visibility/rebuild', 'health/state']) expect((await fetch(`http://${address}/${page}`)).status).toBe(404);
  expect((await healthPageOf(server.address))[0]).toBe(200);
});

test('members are listed with the ports of their roles', async () => {
  const { rolePorts, port, address } = await served({}, {});
  const client = await AdminClient.at(address);
  closing.push(() => client.close());
  const { members } = await client.call('ListClusterMembers');
  const { history, matching } = rolePorts;
  expect((members as readonly { rpcPort: number }[]).map(({ rpcPort }) => rpcPort)).toEqual([port, history, matching, port]);
});

test('a role that listens elsewhere is listed there', async () => {
  const server = await memoryServer({ rolePorts: { history: { host: '127.0.0.2', port: 0, orFree: false } } });
  closing.push(() => server.stop());
  const client = await AdminClient.at(server.address);
  closing.push(() => client.close());
  const history = { rpcAddress: '127.0.0.2', rpcPort: server.rolePorts.history };
  const { members } = await client.call('ListClusterMembers');
  const frontend = { rpcAddress: '127.0.0.1', rpcPort: server.port };
  expect(members).toMatchObject([frontend, history, frontend, frontend]);
  expect((await client.call('ListClusterMembers', { rpcAddress: '127.0.0.2' }))['members']).toMatchObject([history]);
});

test('probes have connections of their own, and not as many as clients', async () => {
  const server = await served({}, {});
  const open = Array.from({ length: 101 }, () => connect(`http://127.0.0.1:${server.rolePorts.history}`));
  closing.push(() => open.forEach((session) => session.destroy()));
  const isRefused = (session: ClientHttp2Session) =>
    new Promise<boolean>((resolve) => {
      session
        .once('error', () => resolve(true))
        .once('close', () => resolve(true))
        .once('remoteSettings', () => resolve(false));
    });
  expect((await Promise.all(open.map(isRefused))).filter(Boolean)).toHaveLength(1);
  expect(await healthOf(server.address)).toBe('SERVING');
});

test('a standard port that is in use gives way to a free one', async () => {
  const port = await takenPort();
  const { rolePorts } = await served({ port, orFree: true }, {});
  expect(rolePorts.history).not.toBe(port);
  expect(await healthOf(`127.0.0.1:${rolePorts.history}`)).toBe('SERVING');
});

test('a standard port gives way to one that somebody has given the frontend', async () => {
  const port = await takenPort();
  await closing.splice(0)[0]?.();
  const server = await memoryServer({ port, rolePorts: { history: { host: '127.0.0.1', port, orFree: true } } });
  closing.push(() => server.stop());
  expect(server.port).toBe(port);
  expect(await healthOf(`127.0.0.1:${server.rolePorts.history}`)).toBe('SERVING');
});

test('a port that somebody has named is taken or the start fails, and leaves no port open', async () => {
  const port = await takenPort();
  await expect(served({}, { port })).rejects.toThrow(`matching: cannot listen on 127.0.0.1:${port}: the port is in use`);
});

test('without ports of roles there are none', async () => {
  const server = await memoryServer();
  closing.push(() => server.stop());
  expect(server.rolePorts).toEqual({});
});
