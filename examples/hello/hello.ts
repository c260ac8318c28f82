/**
 * A worker and a client of one workflow, as anybody would write them for Temporal: nothing in here knows about Perdure.
 *
 *     npm run hello                                    against localhost:7233
 *     TEMPORAL_ADDRESS=10.0.0.7:7233 npm run hello     against any other Temporal-compatible server
 *     TEMPORAL_NAMESPACE=orders npm run hello          in another namespace, which must exist
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import * as activities from './activities.ts';
import { hello } from './workflows.ts';

const address = process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233';
const namespace = process.env['TEMPORAL_NAMESPACE'] ?? 'default';
const taskQueue = 'hello';
/** As gRPC counts. */
const NOT_FOUND = 5;

async function main(): Promise<void> {
  // The greeting should not drown in the worker's own notes.
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const connection = await Connection.connect({ address, connectTimeout: '3 seconds' });
  await connection.workflowService.describeNamespace({ namespace });
  const nativeConnection = await NativeConnection.connect({ address });
  try {
    const worker = await Worker.create({
      connection: nativeConnection,
      namespace,
      taskQueue,
      workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
      activities,
    });
    const client = new Client({ connection, namespace });
    const workflowId = `hello-${randomUUID()}`;
    const greeting = await worker.runUntil(client.workflow.execute(hello, { taskQueue, workflowId, args: ['Perdure'] }));
    console.log(greeting);
    console.log(`workflow ${workflowId} is complete on ${address}`);
  } finally {
    await nativeConnection.close();
    await connection.close();
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? `hello: ${error.message}` : error);
  // A worker would go on asking for tasks of a namespace that may come into being.
  if (isGrpcServiceError(error) && error.code === NOT_FOUND) {
    console.error(
      `Create the namespace with the Temporal CLI (temporal operator namespace create --namespace ${namespace}), or start the server with --namespace ${namespace}`,
    );
  } else {
    console.error(`Is a server running on ${address}? Start one with: npm start`);
  }
  process.exitCode = 1;
}
