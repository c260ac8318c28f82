/** The line that names Temporal's web UI, beside what listens on its port. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { isWebUi } from '../../src/cli/server/is-web-ui.ts';
import { freePort } from '../support/server-process.ts';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';

const main = fileURLToPath(new URL('./stub-main.ts', import.meta.url));
const children = childrenOfEachTest();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function listen(listener: RequestListener, port = 0): Promise<number> {
  const server = createServer(listener).listen(port, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function startDev(...flags: readonly string[]): Child {
  const child = new Child(process.execPath, [main, 'server', 'start-dev', '--port', '0', ...flags], { STUB: 'serve' });
  children.push(child);
  return child;
}

/** As the web UI 2.54 answers, in part. */
const settings = {
  Auth: { Enabled: false, Options: null },
  DefaultNamespace: 'default',
  ShowTemporalSystemNamespace: false,
  Version: '2.54.1',
};
const webUi: RequestListener = ({ url }, response) => {
  response.statusCode = url === '/api/v1/settings' ? 200 : 404;
  response.end(JSON.stringify(settings));
};

describe("Temporal's web UI", () => {
  test('is named behind the banner', async () => {
    const port = await listen(webUi);
    const child = startDev('--ui-port', String(port));
    await child.seen('out', /Web UI/);
    const lines = child.out.split('\n');
    expect(lines.slice(-3)).toEqual([expect.stringMatching(/^With Temporal's CLI:/), `Web UI:               http://localhost:${port}`, '']);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
  });

  test('is named when it is started after the server', async () => {
    const port = await freePort();
    const child = startDev('--ui-port', String(port));
    await child.seen('out', /workflow-id ID\n/);
    expect(child.out).not.toContain('Web UI');
    await listen(webUi, port);
    await child.seen('out', new RegExp(`^Web UI: {15}http://localhost:${port}\n`, 'm'));
  });

  test('is not waited for by a server that stops', async () => {
    const asked = Promise.withResolvers<void>();
    const port = await listen(() => asked.resolve());
    const child = startDev('--ui-port', String(port));
    await asked.promise;
    await child.seen('out', /workflow-id ID\n/);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.out).not.toContain('Web UI');
  });

  test('is not looked for with --headless', async () => {
    let asked = 0;
    const port = await listen(() => void (asked += 1));
    const child = startDev('--headless', '--ui-port', String(port));
    await child.seen('out', /workflow-id ID\n/);
    child.process.kill('SIGTERM');
    await child.exit;
    expect(asked).toBe(0);
  });
});

describe('what is no web UI is not taken for it', () => {
  const never = new AbortController().signal;

  test('it is, for comparison', async () => {
    expect(await isWebUi(await listen(webUi), never)).toBe(true);
  });

  test.each<[string, RequestListener]>([
    ['a page', (_, response) => response.end('<html>')],
    ['another program with settings', (_, response) => response.end('{"Version":"1"}')],
    ['null', (_, response) => response.end('null')],
    ['its settings behind an error', (_, response) => response.writeHead(500).end(JSON.stringify(settings))],
    ['what leads elsewhere', (_, response) => response.writeHead(302, { location: '/api/v1/settings' }).end()],
    ['an answer that breaks off', (_, response) => response.write('{', () => response.destroy())],
    ['nothing, ever', () => {}],
    ['another protocol', ({ socket }) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n')],
    ['more and more', (_, response) => void setInterval(() => response.write('x'.repeat(100_000)), 1).unref()],
  ])('%s', async (_what, listener) => {
    expect(await isWebUi(await listen(listener), never)).toBe(false);
  });

  test('nobody', async () => {
    expect(await isWebUi(await freePort(), never)).toBe(false);
  });
});
