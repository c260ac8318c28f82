/**
 * A TCP proxy between us and a broker that can make the connections of a moment go silent, as a firewall does that forgot them: nothing is
 * closed, nothing arrives. Connections made later work.
 *
 *     client ──▶ proxy ──▶ broker        silence('answers'): the broker still hears us, we no longer hear the broker
 *            ◀── ····· ◀──               silence('all'):     nobody hears anybody
 *
 * Or one that resets connections under way: `resetShare` of what clients send is the last of its connection, and arrives or not.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Transform } from 'node:stream';
import type { AddressInfo, Server, Socket } from 'node:net';

type Pair = { readonly client: Socket; readonly broker: Socket };

export class SilencingProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  resetShare = 0;
  resets = 0;

  static async start(brokerPort: () => number, port = 0): Promise<SilencingProxy> {
    const server = createServer();
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return new SilencingProxy(server, brokerPort);
  }

  private constructor(server: Server, brokerPort: () => number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#join(client, connect(brokerPort(), '127.0.0.1')));
  }

  #join(client: Socket, broker: Socket): void {
    const pair = { client, broker };
    this.#pairs.add(pair);
    const gate = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (Math.random() >= this.resetShare) return done(null, chunk);
        this.resets += 1;
        if (Math.random() < 0.5) broker.end(chunk);
        client.resetAndDestroy();
      },
    });
    client.pipe(gate).pipe(broker);
    broker.pipe(client);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      broker.destroy();
    };
    for (const socket of [client, broker]) socket.on('error', end).on('close', end);
  }

  silence(what: 'answers' | 'all'): void {
    for (const { client, broker } of this.#pairs) {
      broker.unpipe(client);
      broker.resume();
      if (what === 'answers') continue;
      client.unpipe();
      client.resume();
    }
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const { client, broker } of this.#pairs) {
      client.destroy();
      broker.destroy();
    }
    await once(this.#server, 'close');
  }
}
