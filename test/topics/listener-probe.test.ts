/** What a probe makes of listeners that are no brokers; what it makes of brokers, kafka-security.kafka.test.ts shows. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { probeListener } from '../../src/topics/kafka/listener-probe.ts';

test.each<readonly [string, (socket: Socket) => void]>([
  ['closes at once', (socket) => void socket.destroy()],
  ['says nothing', () => {}],
  ['speaks HTTP', (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')],
  ['answers another request', (socket) => void socket.write(Buffer.from([0, 0, 0, 10, 0, 0, 0, 1, 0, 33, 0, 0, 0, 0]))],
  ['answers with too little', (socket) => void socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0x1c, 0x41]))],
  ['names a million mechanisms', (socket) => void socket.write(Buffer.from([0, 0, 0, 10, 0, 0, 0x1c, 0x41, 0, 33, 0, 15, 66, 64]))],
  ['sends without end', (socket) => void socket.write(Buffer.alloc(1024 * 1024, 0x7f))],
])('who %s is no broker', async (_, answer) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    expect(await probeListener('127.0.0.1', (server.address() as AddressInfo).port, 200)).toBeUndefined();
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

test('nobody listens', async () => {
  expect(await probeListener('127.0.0.1', 1, 200)).toBeUndefined();
});
