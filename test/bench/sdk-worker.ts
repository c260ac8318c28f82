import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import * as activities from './sdk-activities.ts';

/** A plain TypeScript worker in a process of its own: `sdk-worker.ts <address> <namespace> <task queue>`; stops on a message. */
const [address = '', namespace = '', taskQueue = ''] = process.argv.slice(2);

Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  activities,
  workflowsPath: fileURLToPath(new URL('./sdk-workflows.ts', import.meta.url)),
});
process.once('message', () => worker.shutdown());
const running = worker.run();
process.send?.('ready');
await running;
await connection.close();
process.disconnect();
