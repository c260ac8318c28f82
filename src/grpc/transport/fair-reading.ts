import type { Socket } from 'node:net';
import { Allowance } from './allowance.ts';
import { startReading, stopReading } from './socket-reading.ts';

/** What is spent for what clients send, in about the time that one piece of a request takes: less than a microsecond. */
export const readingCost = { piece: 1, call: 50, headerByte: 0.01 } as const;

export type ReadingLimits = {
  /** In one turn of the event loop, of one connection: a hundred calls. Then the others have their turns. */
  readonly costOfConnectionMax: number;
  /** Of all together: then come timers, the log, connections that are new, and `GET /health/live`. */
  readonly costOfTurnMax: number;
  /**
   * Calls of a connection that are begun and cancelled in one turn, before anybody could have answered. Clients cancel what takes long; a hundred of these in
   * one turn are the work of a stalled server, and many hundreds are made to be work: such a connection is ended.
   */
  readonly cancelledAtOnceMax: number;
  /** Calls that are cancelled before their answer: as many at once, and then so many a second. */
  readonly cancelledBurst: number;
  readonly cancelledPerSecond: number;
  /** Of all connections of an address together, also of those that it has closed since. */
  readonly cancelledBurstOfAddress: number;
  readonly cancelledPerSecondOfAddress: number;
};

type Connection = {
  readonly socket: Socket;
  readonly address: Address;
  readonly cancelled: Allowance;
  costOfTurn: number;
  cancelledAtOnce: number;
  isStopped: boolean;
  /** It has cancelled too much, and is read again when this fires. */
  heldBy: NodeJS.Timeout | undefined;
};

type NewConnection = { readonly socket: Socket; readonly begin: () => void };

type Address = {
  readonly cancelled: Allowance;
  /** New connections, the first first. */
  readonly waiting: NewConnection[];
  timer: NodeJS.Timeout | undefined;
};

/**
 * When connections are read. A connection that makes much work is read later than others, and not ended for it: whoever cancels many calls may be a proxy in
 * front of many clients.
 *
 *     in one turn      a connection has its share, all together have theirs; whoever was not read begins the next one
 *     over seconds     who cancels calls beyond an allowance waits until it is there again
 *     new connections  wait while those of their address are beyond theirs: to connect again is no way around
 */
export class FairReading {
  readonly #limits: ReadingLimits;
  readonly #connections = new Map<Socket, Connection>();
  readonly #addresses = new Map<string, Address>();
  #turn = 0;
  #costOfTurn = 0;
  /** In this turn. */
  #spenders: Connection[] = [];
  readonly #stopped = new Set<Connection>();
  #isEnding = false;

  constructor(limits: ReadingLimits) {
    this.#limits = limits;
  }

  /** `open`: hands the socket over to whoever reads it; now or later, or never, if it closes before. */
  admit(socket: Socket, open: () => void): void {
    const address = this.#addressOf(socket.remoteAddress ?? '');
    const begin = (): void => {
      if (socket.destroyed) return;
      this.#connections.set(socket, this.#connection(socket, address));
      socket.once('close', () => this.#forget(socket));
      open();
    };
    if (address.waiting.length === 0 && address.cancelled.waitMs(performance.now()) === 0) begin();
    else {
      address.waiting.push({ socket, begin });
      this.#admitLater(address);
    }
  }

  /** New connections that wait are ended. */
  stop(): void {
    for (const { waiting, timer } of this.#addresses.values()) {
      clearTimeout(timer);
      for (const { socket } of waiting.splice(0)) socket.destroy();
    }
  }

  /** Something was read, and dealt with. */
  spend(socket: Socket, cost: number): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    if (!this.#isEnding) {
      this.#isEnding = true;
      setImmediate(() => this.#beginTurn());
    }
    if (connection.costOfTurn === 0) this.#spenders.push(connection);
    connection.costOfTurn += cost;
    this.#costOfTurn += cost;
    // The end of a write may have started it again.
    if (connection.isStopped || connection.costOfTurn > this.#limits.costOfConnectionMax) this.#stop(connection);
    if (this.#costOfTurn > this.#limits.costOfTurnMax) this.#stopAll();
  }

  /** Calls that are begun now are of this turn. */
  get turn(): number {
    return this.#turn;
  }

  /** A call that was begun in `turn` was cancelled before its answer. False: the connection should be ended. */
  cancelled(socket: Socket, turn: number): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return true;
    this.#waste(connection, 1);
    if (turn === this.#turn) connection.cancelledAtOnce++;
    return connection.cancelledAtOnce <= this.#limits.cancelledAtOnceMax;
  }

  /** A connection is ended for what it has sent. It may come again, but not soon. */
  ended(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) this.#waste(connection, endedCost);
  }

  #waste(connection: Connection, count: number): void {
    const nowMs = performance.now();
    const { cancelled, address } = connection;
    cancelled.take(count, nowMs);
    address.cancelled.take(count, nowMs);
    // Who has hardly cancelled anything does not wait for the others of his address.
    const waitMs = cancelled.isHalfUsed(nowMs) ? Math.max(cancelled.waitMs(nowMs), address.cancelled.waitMs(nowMs)) : 0;
    if (waitMs > 0) this.#hold(connection, waitMs);
  }

  #connection(socket: Socket, address: Address): Connection {
    const { cancelledBurst, cancelledPerSecond } = this.#limits;
    const cancelled = new Allowance(cancelledBurst, cancelledPerSecond);
    return { socket, address, cancelled, costOfTurn: 0, cancelledAtOnce: 0, isStopped: false, heldBy: undefined };
  }

  #stop(connection: Connection): void {
    connection.isStopped = true;
    this.#stopped.add(connection);
    stopReading(connection.socket);
  }

  #stopAll(): void {
    if (this.#stopped.size === this.#connections.size) return;
    for (const connection of this.#connections.values()) if (!connection.isStopped) this.#stop(connection);
  }

  #beginTurn(): void {
    this.#isEnding = false;
    this.#costOfTurn = 0;
    this.#turn++;
    // Whoever was not read comes first: the kernel tells of them in this order.
    const waiting = [...this.#stopped].filter(({ heldBy }) => heldBy === undefined);
    for (const connection of waiting) if (connection.costOfTurn === 0) this.#start(connection);
    for (const connection of waiting) if (connection.costOfTurn > 0) this.#start(connection);
    for (const connection of this.#spenders) {
      connection.costOfTurn = 0;
      connection.cancelledAtOnce = 0;
    }
    this.#spenders = [];
  }

  #start(connection: Connection): void {
    connection.isStopped = false;
    this.#stopped.delete(connection);
    startReading(connection.socket);
  }

  #hold(connection: Connection, waitMs: number): void {
    if (connection.heldBy !== undefined) return;
    this.#stop(connection);
    connection.heldBy = setTimeout(
      () => {
        connection.heldBy = undefined;
        if (connection.isStopped) this.#start(connection);
      },
      Math.min(waitMs, holdMsMax),
    );
  }

  #admitLater(address: Address): void {
    if (address.timer !== undefined) return;
    const waitMs = Math.min(address.cancelled.waitMs(performance.now()), holdMsMax);
    address.timer = setTimeout(
      () => {
        address.timer = undefined;
        if (address.cancelled.waitMs(performance.now()) === 0) address.waiting.shift()?.begin();
        if (address.waiting.length > 0) this.#admitLater(address);
      },
      Math.max(waitMs, admissionMs),
    );
  }

  #forget(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    clearTimeout(connection.heldBy);
    this.#stopped.delete(connection);
    this.#connections.delete(socket);
  }

  #addressOf(name: string): Address {
    const known = this.#addresses.get(name);
    if (known !== undefined) return known;
    const { cancelledBurstOfAddress, cancelledPerSecondOfAddress } = this.#limits;
    const address = { cancelled: new Allowance(cancelledBurstOfAddress, cancelledPerSecondOfAddress), waiting: [], timer: undefined };
    this.#addresses.set(name, address);
    if (this.#addresses.size > addressesMax) this.#addresses.delete(this.#addresses.keys().next().value ?? '');
    return address;
  }
}

/** In cancelled calls. */
const endedCost = 500;
/** Far below what a peer gives an answer to its ping. */
const holdMsMax = 1_000;
/** Between two connections that have waited: the first has shown by then what it sends. */
const admissionMs = 5;
/** Those that came first are forgotten; what they owe is a matter of seconds. */
const addressesMax = 10_000;
