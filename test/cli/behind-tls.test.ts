/** Every command that asks a server, through a proxy that ends TLS: what our own port does not do. */
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';
import { perdureAt } from './perdure-process.ts';

const folder = 'test/cli/fixtures/tls';
const certificate = `${folder}/certificate.pem`;

let server: RunningServer & { readonly address: string };
let proxy: Server;
let address = '';

beforeAll(async () => {
  server = await memoryServer({ historyShards: 1 });
  const tls = { cert: readFileSync(certificate), key: readFileSync(`${folder}/key.pem`), ALPNProtocols: ['h2', 'http/1.1'] };
  proxy = createServer(tls, (client) => {
    const [host = '', port = ''] = server.address.split(':');
    const upstream = connect({ host, port: Number(port) });
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) socket.on('error', () => void [client, upstream].map((each) => each.destroy()));
  });
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});
afterAll(async () => {
  proxy.close();
  await server.stop();
});

// A server in memory has no table to rebuild, and says so.
const codes: ReadonlyMap<string, number> = new Map([['admin visibility rebuild', 1]]);
const commands = ['admin state', 'admin visibility rebuild', 'admin queue dlq list', 'admin shard describe --shard-id 1', 'cluster health'];

test.each(commands)('%s works with --tls, by flags and by variables, and says nothing of its own about that', async (line) => {
  for (const [flags, env] of [
    [` --tls --tls-ca-path ${certificate}`, {}],
    [' --tls --tls-disable-host-verification', {}],
    ['', { TEMPORAL_TLS: 'true', TEMPORAL_TLS_SERVER_CA_CERT_PATH: certificate }],
    [` --api-key k --tls-server-name localhost --tls-ca-path ${certificate}`, {}],
  ] as const) {
    expect(await perdureAt(address, `${line}${flags} -o none`, env), `${line}${flags}`).toEqual({
      code: codes.get(line) ?? 0,
      out: '',
      err: '',
    });
  }
});

test.each(commands)('%s trusts no certificate that nobody named', async (line) => {
  const { code, out, err } = await perdureAt(address, `${line} --tls`);
  expect({ code, out: out.replace('NOT_SERVING\n', '') }).toEqual({ code: 4, out: '' });
  expect(err).toMatch(/self.signed certificate/);
});
