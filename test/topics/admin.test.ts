import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { withAdmin } from '../../src/topics/kafka/admin.ts';

const sockets = new Set<Socket>();
const silent = createServer((socket) => {
  socket.on('error', () => {});
  sockets.add(socket);
});

afterEach(() => hangUp());

function hangUp(): void {
  silent.close();
  for (const socket of sockets) socket.destroy();
}

test('who waits for a Kafka that accepts connections and says nothing is told where', async () => {
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const broker = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const lines: string[] = [];
  const write = (line: string): void => {
    lines.push(line);
    hangUp();
  };
  const logger = createLogger({ level: 'warn', format: 'text', write, nowMs: () => Date.now() });
  const kafka = {
    brokers: [broker],
    topicPrefix: 'perdure',
    replicationFactor: 1,
    tls: undefined,
    sasl: undefined,
    autoCreateTopics: false,
  };
  await expect(withAdmin({ kafka, logger }, async () => {})).rejects.toMatchObject({ name: 'LogError', code: 'unavailable' });
  expect(lines).toEqual([expect.stringMatching(new RegExp(`WARN +still connecting to Kafka +brokers=${broker}\n$`))]);
});
