/**
 * One connection to one broker for one purpose: opened when something is asked, opened anew after it was lost.
 *
 * kafkajs opens, authenticates and re-authenticates it; the requests on it are our own (`requests.ts`), past its retry layer, which may
 * send a batch twice or lose it silently. Each connection gets a kafkajs broker of its own, thrown away with it: a used one may be stuck
 * in its login, or believe itself connected while it disconnects.
 *
 * Waits are measured with the monotonic clock. kafkajs uses the wall clock: when that is set back by an hour, kafkajs times out nothing for
 * an hour, and waits an hour longer for a quota. Then the limits in this file end the wait.
 */
import { LogError } from '../../ports/log.ts';
import { assert } from '../../kernel/assert.ts';
import { isRequestTimeout, kafkaFailure } from './kafka-failure.ts';
import { throttleMs, type WireRequest } from './requests.ts';
import type { Broker } from 'kafkajs';
import type { Socket } from 'node:net';

/** What we use of kafkajs beyond its types (2.2.4, pinned). */
type Connection = {
  readonly connectionStatus: 'connected' | 'disconnecting' | 'disconnected';
  readonly socket?: Socket;
  send(call: {
    readonly request: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string; encode(): Promise<unknown> };
    readonly response: { decode(payload: Buffer): Promise<Answer>; parse(answer: Answer): Promise<Answer> };
    readonly logResponseError: boolean;
  }): Promise<Answer>;
};
/** kafkajs holds further requests on the connection back for `clientSideThrottleTime` milliseconds. */
type Answer = { readonly payload: Buffer; readonly clientSideThrottleTime: number };
export type InnerBroker = Broker & { readonly connectionPool: { readonly pool: readonly Connection[] } };

export type BrokerLineOptions = {
  /** A kafkajs broker for this address that was never connected. */
  readonly create: () => Promise<InnerBroker>;
  /** Names broker and address, for errors. */
  readonly describe: () => string;
  readonly heard: () => void;
  /** The broker has not answered within the time that a request may take. */
  readonly timedOut: () => void;
  readonly throttled: (throttledMs: number) => void;
};

let connectionsMade = 0;

type Attempt = { readonly sinceMs: number; readonly reject: (error: LogError) => void };

export class BrokerLine {
  readonly #options: BrokerLineOptions;
  readonly #attempts = new Set<Attempt>();
  #broker: InnerBroker | undefined;
  #opening: Promise<Connection> | undefined;
  #throttledUntilMs = -Infinity;
  #closings = 0;
  /** The number of the last connection; 0 before the first one. Lines never share a number: whoever sees another one has lost a connection. */
  connectionNumber = 0;

  constructor(options: BrokerLineOptions) {
    this.#options = options;
  }

  get connected(): boolean {
    return this.#opening === undefined && this.#connection?.connectionStatus === 'connected';
  }

  /** How long the oldest request has waited for its answer; 0 when none waits. */
  waitingMs(): number {
    const nowMs = performance.now();
    let oldestMs = nowMs;
    for (const { sinceMs } of this.#attempts) oldestMs = Math.min(oldestMs, sinceMs);
    return Math.max(0, nowMs - Math.max(oldestMs, this.#throttledUntilMs));
  }

  get idle(): boolean {
    return this.#attempts.size === 0;
  }

  throttledForMs(): number {
    return Math.max(0, this.#throttledUntilMs - performance.now());
  }

  async open(): Promise<void> {
    if (!this.connected) await this.#attempt(this.#connected());
  }

  send(request: WireRequest): Promise<Buffer> {
    return this.#attempt(this.#send(request));
  }

  async #send({ apiKey, apiVersion, apiName, body }: WireRequest): Promise<Buffer> {
    const open = this.#connection;
    const connection = this.connected && open !== undefined ? open : await this.#connected();
    const { payload, clientSideThrottleTime } = await connection.send({
      // kafkajs takes an object with these two methods for an encoder.
      request: { apiKey, apiVersion, apiName, encode: async () => ({ buf: body, buffer: body }) },
      response: {
        decode: async (bytes) => ({ payload: bytes, clientSideThrottleTime: throttleMs({ apiName }, bytes) }),
        parse: async (answer) => answer,
      },
      logResponseError: false,
    });
    if (clientSideThrottleTime > 0) {
      this.#throttledUntilMs = performance.now() + clientSideThrottleTime;
      this.#options.throttled(clientSideThrottleTime);
    }
    return payload;
  }

  /** Gives up the connection and all that waits for an answer on it. */
  close(why: string): void {
    this.#closings += 1;
    for (const connection of this.#broker?.connectionPool.pool ?? []) connection.socket?.destroy(new Error(why));
    this.#broker = undefined;
    this.#opening = undefined;
    const failure = new LogError('unavailable', `${this.#options.describe()}: ${why}`);
    const attempts = [...this.#attempts];
    this.#attempts.clear();
    for (const { reject } of attempts) reject(failure);
  }

  get #connection(): Connection | undefined {
    return this.#broker?.connectionPool.pool[0];
  }

  /** kafkajs has no time limit on a login, and forgets it when the connection breaks: what waits is ended by `close`, whatever kafkajs does. */
  #attempt<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const attempt: Attempt = { sinceMs: performance.now(), reject };
    this.#attempts.add(attempt);
    work.then(
      (result) => {
        if (!this.#attempts.delete(attempt)) return;
        this.#options.heard();
        resolve(result);
      },
      (error: unknown) => {
        if (!this.#attempts.delete(attempt)) return;
        if (isRequestTimeout(error)) this.#options.timedOut();
        try {
          reject(kafkaFailure(error, this.#options.describe()));
        } catch (bug) {
          reject(bug);
        }
      },
    );
    return promise;
  }

  /** Callers at the same time share one attempt. */
  #connected(): Promise<Connection> {
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#open().finally(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    this.#opening = opening;
    return opening;
  }

  async #open(): Promise<Connection> {
    const closings = this.#closings;
    const broker = await this.#options.create();
    if (closings !== this.#closings) throw new LogError('closed', 'the connection was given up before it was made');
    this.#broker = broker;
    await broker.connect();
    const connection = broker.connectionPool.pool[0];
    assert(connection !== undefined, 'kafkajs keeps connections per broker');
    this.connectionNumber = ++connectionsMade;
    return connection;
  }
}
