/** Workflow ids that all have their home in the first of four history shards. */
import { Connection } from '@temporalio/client';
import { historyShardOf } from '../../src/kernel/shard.ts';
import type { ServerProcess } from '../support/server-process.ts';

/** As servers of tests have them. */
const SHARDS = 4;

export async function idsOfShard({ address }: ServerProcess, namespace: string, prefix: string, count: number): Promise<readonly string[]> {
  const connection = await Connection.connect({ address });
  try {
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
    const namespaceId = namespaceInfo?.id ?? '';
    const ids: string[] = [];
    for (let nth = 0; ids.length < count; nth++) {
      if (historyShardOf(namespaceId, `${prefix}-${nth}`, SHARDS) === 1) ids.push(`${prefix}-${nth}`);
    }
    return ids;
  } finally {
    await connection.close();
  }
}
