/** Names are the users' own: none of them means anything to a journal, also not those that the server itself uses in it. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Service } from '../fuzz/service.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';

const names = ['@claim', '@cluster', '@tasks', '@backlog', '/', '__proto__', 'constructor', '\u0000', 'größe \u{1f4a5}', 'last'];

test('namespaces and workflows of any name are there after kill -9', async () => {
  await withFolder(async (folder) => {
    const server = await embeddedServer(join(folder, 'journal.db'));
    await server.start();
    try {
      const before = new Service(server.address);
      const runs = new Map<string, string | undefined>();
      for (const namespace of names) {
        await before.call('RegisterNamespace', { namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 } });
        for (const workflowId of names) {
          const start = {
            namespace,
            workflowId,
            workflowType: { name: workflowId },
            taskQueue: { name: `q${workflowId}` },
            requestId: 'r',
          };
          const { runId } = await before.call<{ runId: string }>('StartWorkflowExecution', start);
          runs.set(`${namespace} ${workflowId}`, runId);
        }
      }
      before.close();
      await server.kill9();
      await server.start();
      const after = new Service(server.address);
      for (const namespace of names) {
        for (const workflowId of names) {
          const described = await after.call<{ workflowExecutionInfo: { execution: object } }>('DescribeWorkflowExecution', {
            namespace,
            execution: { workflowId },
          });
          const runId = runs.get(`${namespace} ${workflowId}`);
          expect(described.workflowExecutionInfo?.execution).toEqual({ workflowId, runId });
        }
      }
      after.close();
      expect(server.output).not.toContain(' ERROR ');
    } finally {
      await server.stop();
    }
  });
});
