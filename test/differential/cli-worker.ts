import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import * as activities from '../sdk/activities.ts';

let installed = false;

/** A worker with the workflows of the SDK scenarios, on the queue `cli`. */
export class CliWorker {
  readonly #connection: NativeConnection;
  readonly #worker: Worker;
  readonly #done: Promise<void>;

  private constructor(connection: NativeConnection, worker: Worker) {
    this.#connection = connection;
    this.#worker = worker;
    this.#done = worker.run();
  }

  static async start(address: string): Promise<CliWorker> {
    if (!installed) {
      const telemetryOptions = { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } };
      Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions });
      installed = true;
    }
    const connection = await NativeConnection.connect({ address });
    const workflowsPath = fileURLToPath(new URL('../sdk/bundled-workflows.ts', import.meta.url));
    const worker = await Worker.create({ connection, taskQueue: 'cli', workflowsPath, activities, identity: 'cli-worker' });
    return new CliWorker(connection, worker);
  }

  async stop(): Promise<void> {
    this.#worker.shutdown();
    await this.#done;
    await this.#connection.close();
  }
}
