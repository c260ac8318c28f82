/** How long the server, and this process, were busy with one thing at most: nobody else is served meanwhile. A figure, judged by people. */
import { setTimeout as delay } from 'node:timers/promises';
import { RawClient } from '../grpc/raw-client.ts';

const intervalMs = 100;

export class Pulse {
  serverMsMax = 0;
  ownMsMax = 0;
  readonly #client: RawClient;
  #beating = true;
  readonly #ended: Promise<void>;

  constructor(address: string) {
    this.#client = new RawClient(address);
    this.#ended = this.#beat();
  }

  async stop(): Promise<void> {
    this.#beating = false;
    await this.#ended;
    this.#client.close();
  }

  async #beat(): Promise<void> {
    while (this.#beating) {
      const slept = performance.now();
      await delay(intervalMs);
      const asked = performance.now();
      this.ownMsMax = Math.max(this.ownMsMax, asked - slept - intervalMs);
      await this.#client.call('/grpc.health.v1.Health/Check', new Uint8Array(0), { timeoutMs: undefined }).catch(() => {});
      this.serverMsMax = Math.max(this.serverMsMax, performance.now() - asked);
    }
  }
}
