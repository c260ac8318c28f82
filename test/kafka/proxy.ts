/**
 * A TCP proxy between us and a broker, for everything that networks do:
 *
 *     client ──▶ proxy ──▶ broker        silence('answers'): the broker still hears us, we no longer hear the broker
 *            ◀── ····· ◀──               silence('all'):     nobody hears anybody; nothing is closed, as with a firewall that forgot
 *
 * Silence is for the connections of that moment: those made later work. Delays and resets are for all, until they are set to 0. A closed
 * proxy refuses connections until it is opened again.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

type Pair = { readonly client: Socket; readonly broker: Socket; silent: 'no' | 'answers' | 'all' };

export class FaultyProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  readonly #random: () => number;
  readonly #waiting = new WeakMap<Socket, Buffer[]>();
  /** In each direction. */
  delayMs = 0;
  /** Of the pieces that a client sends: how many are the last of their connection. Half of those arrive. */
  resetShare = 0;
  resets = 0;
  /** Sees each piece that a client sends before it is passed on: whoever waits for a certain request can fall silent or cut just then. */
  heard: ((bytes: Buffer) => void) | undefined;

  static async start(brokerPort: () => number, random: () => number = Math.random): Promise<FaultyProxy> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new FaultyProxy(server, brokerPort, random);
  }

  private constructor(server: Server, brokerPort: () => number, random: () => number) {
    this.#server = server;
    this.#random = random;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#join(client, connect(brokerPort(), '127.0.0.1')));
  }

  #join(client: Socket, broker: Socket): void {
    const pair: Pair = { client, broker, silent: 'no' };
    this.#pairs.add(pair);
    for (const socket of [client, broker]) socket.setNoDelay(true);
    client.on('data', (bytes: Buffer) => {
      this.heard?.(bytes);
      if (this.#random() < this.resetShare) {
        this.resets += 1;
        if (this.#random() < 0.5) broker.end(bytes);
        client.resetAndDestroy();
      } else if (pair.silent !== 'all') this.#pass(bytes, broker);
    });
    broker.on('data', (bytes: Buffer) => {
      if (pair.silent === 'no') this.#pass(bytes, client);
    });
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      // What was passed on before still arrives.
      broker.destroySoon();
    };
    for (const socket of [client, broker]) socket.on('error', end).on('close', end);
  }

  /** Each timer passes on the oldest piece, so that they keep their order when the delay changes. */
  #pass(bytes: Buffer, to: Socket): void {
    const waiting = this.#waiting.get(to) ?? [];
    if (this.delayMs === 0 && waiting.length === 0) {
      to.write(bytes);
      return;
    }
    waiting.push(bytes);
    this.#waiting.set(to, waiting);
    setTimeout(() => to.write(waiting.shift() ?? ''), this.delayMs);
  }

  silence(what: 'answers' | 'all'): void {
    for (const pair of this.#pairs) pair.silent = what;
  }

  /** All connections, for both sides. What is passed on by then arrives. */
  cut(): void {
    for (const { client } of this.#pairs) client.destroy();
  }

  async open(): Promise<void> {
    await once(this.#server.listen(this.port, '127.0.0.1'), 'listening');
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
