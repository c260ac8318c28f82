/** The commands over dead letters beside a server on Kafka; those that take longest run beside one in memory alone. */
import { randomUUID } from 'node:crypto';
import { inject, test } from 'vitest';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { kafkaServer, withFolder } from '../support/servers.ts';
import { CommandsOverLetters, workflowTasksFail } from './commands-over-letters.ts';
import { registerNamespace } from './perdure-process.ts';

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('commands over dead letters on Kafka', kafka.missing);
else
  test('dead letters on Kafka are listed, read, counted, grouped, shown, purged and merged', () =>
    withFolder(async (folder) => {
      const topicPrefix = `commands-${randomUUID()}`;
      const server = await kafkaServer(folder, { brokers: kafka.brokers, topicPrefix, hidden: { devFaults: [workflowTasksFail] } });
      try {
        await server.start();
        await registerNamespace(server.address, workflowTasksFail.namespace);
        await new CommandsOverLetters(server.address).mostImportant();
      } finally {
        await server.stop();
      }
    }));
