/** A server whose workflow tasks all become dead letters, and whose purges can be undone for so long. */
import { randomUUID } from 'node:crypto';
import { embeddedServer, kafkaServer } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';
import type { Site } from './merge-servers.ts';

const fault = { taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK', errorMessage: 'planted', kind: 'permanent', share: 1 } as const;
const hidden = { devFaults: [{ ...fault, namespace: undefined }] };

export async function undoServer({ folder, database, brokers }: Site, undoWindow: string): Promise<ServerProcess> {
  if (brokers === undefined) {
    return await embeddedServer(database, ['--dynamic-config-value', `perdure.dlq.undoWindow="${undoWindow}"`], hidden);
  }
  const dynamic = [`perdure.dlq.undoWindow: [{ value: "${undoWindow}", constraints: {} }]`];
  return await kafkaServer(folder, { brokers, topicPrefix: `undo-${randomUUID()}`, hidden, dynamic });
}
