import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createLogger, silentLogger } from '../../src/observability/logger.ts';
import { waitForPreviousOwner, type OwnerLimits, type PreviousOwner } from '../../src/start/previous-owner.ts';
import { listenerAddresses } from '../../src/start/server-contact.ts';
import type { AddressInfo, Socket } from 'node:net';

const limits = { answerTimeoutMs: 200, patienceMs: 200, askAgainMs: 50 };
const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

async function serving(headers: Readonly<Record<string, string>>): Promise<{ readonly server: Server; readonly address: string }> {
  const server = createServer((_request, response) => response.writeHead(200, headers).end('{}')).listen(0, '127.0.0.1');
  closing.push(() => server.close());
  await once(server, 'listening');
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Takes connections and does this with them. */
async function listening(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => onConnection(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  closing.push(() => server.close());
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function waiting(previous: Partial<PreviousOwner>, other: Partial<OwnerLimits> = {}): Promise<void> {
  return waitForPreviousOwner({ owner: 'kafka-2:7233 pid 12', instance: 'one', addresses: [], ...previous }, 'orders', silentLogger, {
    ...limits,
    ...other,
  });
}

describe('whoever claimed last', () => {
  test('still answers: the start is refused, with its name and what to do', async () => {
    const { address } = await serving({ 'perdure-instance': 'one' });
    await expect(waiting({ addresses: ['127.0.0.1:1', address] }, { answerTimeoutMs: 60_000 })).rejects.toThrow(
      'another server (kafka-2:7233 pid 12) serves prefix orders: stop one of them, or change perdure.kafka.topicPrefix',
    );
  });

  test('stops while it is waited for: taken over', async () => {
    const { server, address } = await serving({ 'perdure-instance': 'one' });
    const lines: string[] = [];
    // The first answer is what makes it go.
    const write = (line: string): void => {
      lines.push(line);
      server.close();
    };
    const logger = createLogger({ level: 'warn', format: 'json', write, nowMs: () => 0 });
    // It ends with the first refusal, however late a busy machine brings the first answer.
    const patient = { ...limits, answerTimeoutMs: 10_000, patienceMs: 10_000 };
    await waitForPreviousOwner({ owner: 'o', instance: 'one', addresses: [address] }, 'orders', logger, patient);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('another server serves this prefix, waiting for it to stop');
  });

  test('is gone, and another process answers on its address: taken over', async () => {
    const { address } = await serving({ 'perdure-instance': 'two' });
    const stranger = await serving({});
    await waiting({ addresses: [address, stranger.address] });
  });

  test('is frozen (its kernel still takes connections): taken over', async () => {
    await waiting({ addresses: [await listening(() => {})] });
  });

  test('still answers at one of its addresses, others swallow what is sent there: refused without waiting for those', async () => {
    const { address } = await serving({ 'perdure-instance': 'one' });
    const addresses = [await listening(() => {}), address];
    await expect(waiting({ addresses }, { answerTimeoutMs: 60_000 })).rejects.toThrow('another server');
  });

  test('takes its time to answer, each time: refused all the same when patience is over', async () => {
    const answer = 'HTTP/1.1 200 OK\r\nperdure-instance: one\r\ncontent-length: 0\r\n\r\n';
    const address = await listening((socket) => void setTimeout(() => socket.end(answer), 400));
    await expect(waiting({ addresses: [address] }, { answerTimeoutMs: 60_000, askAgainMs: 1 })).rejects.toThrow('another server');
  });

  test.each([
    ['changes the protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['sends us elsewhere', 'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/health\r\n\r\n'],
    ['has headers without end', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}`],
    ['speaks something else', 'what is it?\r\n'.repeat(100)],
  ])('another program answers on its address and %s: taken over', async (_, answer) => {
    await waiting({ addresses: [await listening((socket) => void socket.write(answer))] });
  });

  test.each([
    ['nobody listens', '127.0.0.1:1'],
    ['a name that only its container knows', 'no-such-host.invalid:7233'],
    ['what is no address', 'http://[:x'],
  ])('%s: taken over', async (_, address) => {
    await waiting({ addresses: [address] });
  });

  test('wrote its claim before claims named a process: taken over', async () => {
    const { address } = await serving({ 'perdure-instance': '' });
    await waiting({ instance: '', addresses: [address] });
  });
});

describe('the addresses in a claim', () => {
  const entry = { netmask: '', mac: '', cidr: null } as const;
  const machine = {
    name: 'pod-1',
    interfaces: {
      lo: [{ ...entry, family: 'IPv4' as const, address: '127.0.0.1', internal: true }],
      eth0: [
        { ...entry, family: 'IPv4' as const, address: '10.1.2.3', internal: false },
        { ...entry, family: 'IPv6' as const, address: 'fd00::5', internal: false, scopeid: 0 },
        { ...entry, family: 'IPv6' as const, address: 'fe80::1', internal: false, scopeid: 2 },
      ],
    },
  };
  test.each([
    ['localhost', 7233, ['127.0.0.1:7233', '[::1]:7233']],
    ['10.0.0.9', 7233, ['10.0.0.9:7233']],
    ['fd00::9', 7233, ['[fd00::9]:7233']],
    ['0.0.0.0', 7233, ['127.0.0.1:7233', 'pod-1:7233', '10.1.2.3:7233']],
    ['::', 7233, ['127.0.0.1:7233', 'pod-1:7233', '10.1.2.3:7233', '[fd00::5]:7233']],
    ['0.0.0.0', 0, []],
  ])('listening on %s:%i', (host, port, addresses) => {
    expect(listenerAddresses(host, port, machine)).toEqual(addresses);
  });
});
