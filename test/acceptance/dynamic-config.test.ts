/** What an operator writes into the file of dynamic configuration holds while the server serves. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { freePort, ServerProcess } from '../support/server-process.ts';
import { withFolder } from '../support/servers.ts';
import { appendUndecidableTimer } from './undecidable-timer.ts';

const attempts = (max: number): string => `history.TaskDLQUnexpectedErrorAttempts:\n  - value: ${max}\n`;

async function idOfDefault(address: string): Promise<string> {
  const connection = await Connection.connect({ address });
  try {
    return (await connection.workflowService.describeNamespace({ namespace: 'default' })).namespaceInfo?.id ?? '';
  } finally {
    await connection.close();
  }
}

test('a task that fails is tried for as long as the file says, and is a dead letter once the file says that it has failed often enough', async () => {
  await withFolder(async (folder) => {
    const dynamic = join(folder, 'dynamic.yaml');
    const config = join(folder, 'server.yaml');
    const port = await freePort();
    await writeFile(dynamic, attempts(1_000));
    await writeFile(
      config,
      [
        'dynamicConfigClient: { filepath: dynamic.yaml, pollInterval: 5s }',
        'log: { level: info, encoding: console }',
        `services: { frontend: { rpc: { grpcPort: ${port}, bindOnIP: 127.0.0.1 } } }`,
        'persistence: { datastores: { default: { sql: { pluginName: sqlite, databaseName: perdure.db } } } }',
        '',
      ].join('\n'),
    );
    const server = new ServerProcess(port, ['server', 'start', '--config', config]);
    const seen = async (text: string): Promise<void> => {
      while (!server.output.includes(text)) await delay(20);
    };
    try {
      await server.start();
      const namespaceId = await idOfDefault(server.address);
      await server.stop();
      await appendUndecidableTimer(join(folder, 'perdure.db'), { namespaceId, workflowId: 'poisoned' });

      await server.start();
      await seen('could not be decided');
      await writeFile(dynamic, 'history.TaskDLQUnexpectedErrorAttempts: 1\n');
      await seen('its previous values stay in effect');
      expect(server.output).not.toContain('Marking task as terminally failed');

      await writeFile(dynamic, attempts(1));
      await seen('Marking task as terminally failed');
      expect(server.output).toMatch(/dynamic configuration has changed .*key=history\.TaskDLQUnexpectedErrorAttempts old=1000 new=1\n/);
    } finally {
      await server.stop();
    }
  });
});
