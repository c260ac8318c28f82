import type { Socket } from 'node:net';
import { Allowance } from './allowance.ts';
import type { TransportLimits } from './transport-limits.ts';
import { NamespaceShares, stretchMs, type NamespaceShare } from './namespace-shares.ts';

/** What is spent for what clients send, in about the time that one piece of a request takes: less than a microsecond. */
export const readingCost = { piece: 1, call: 50, headerByte: 0.01, pieceByte: 0.002 } as const;

export type ReadConnection = {
  readonly socket: Socket;
  readonly address: Address;
  readonly cancelled: Allowance;
  share: NamespaceShare<ReadConnection>;
  costOfTurn: number;
  /** What it cost in the last turn in which it was read. */
  costBefore: number;
  cancelledAtOnce: number;
  isStopped: boolean;
  isClosed: boolean;
  /** It has cancelled too much, and is read again when this fires. */
  heldBy: NodeJS.Timeout | undefined;
};

type NewConnection = { readonly socket: Socket; readonly begin: () => void };

type Address = {
  readonly cancelled: Allowance;
  readonly waiting: NewConnection[];
  timer: NodeJS.Timeout | undefined;
};

/**
 * When connections are read. A connection that makes much work is read later than others, and not ended for it: whoever cancels many calls may be a proxy in
 * front of many clients.
 *
 *     in one turn      a connection has its share, and so have those of a namespace beside others, and all together; whoever was read longest ago begins the next
 *     over seconds     who cancels calls beyond an allowance waits until it is there again
 *     new connections  wait while those of their address are beyond theirs: to connect again is no way around
 */
export class FairReading {
  readonly #limits: TransportLimits['reading'];
  readonly #connections = new Set<ReadConnection>();
  readonly #addresses = new Map<string, Address>();
  readonly #shares = new NamespaceShares<ReadConnection>(performance.eventLoopUtilization());
  /** Whether others have caught up with those that rest: it is looked at before long. */
  #isLooking = false;
  #turn = 0;
  #costOfTurn = 0;
  /** Connections that were read in this turn. */
  #spenders: ReadConnection[] = [];
  readonly #stopped = new Set<ReadConnection>();
  #isEnding = false;

  constructor(limits: TransportLimits['reading']) {
    this.#limits = limits;
  }

  /** `open`: hands the socket over to whoever reads it; now or later, or never, if it closes before. */
  admit(socket: Socket, open: (connection: ReadConnection) => void): void {
    const address = this.#addressOf(socket.remoteAddress ?? '');
    const begin = (): void => {
      if (socket.destroyed) return;
      const connection = this.#connection(socket, address);
      this.#connections.add(connection);
      socket.once('close', () => this.#forget(connection));
      open(connection);
    };
    if (address.waiting.length === 0 && address.cancelled.waitMs(performance.now()) === 0) begin();
    else {
      address.waiting.push({ socket, begin });
      this.#admitLater(address);
    }
  }

  stop(): void {
    for (const { waiting, timer } of this.#addresses.values()) {
      clearTimeout(timer);
      for (const { socket } of waiting.splice(0)) socket.destroy();
    }
  }

  spend(connection: ReadConnection, cost: number): void {
    if (connection.isClosed) return;
    if (!this.#isEnding) {
      this.#isEnding = true;
      setImmediate(() => this.#beginTurn());
    }
    if (connection.costOfTurn === 0) this.#spenders.push(connection);
    const { share } = connection;
    const shareBefore = share.costOfTurn;
    connection.costOfTurn += cost;
    this.#costOfTurn += cost;
    this.#shares.read(share, cost);
    // The end of a write may have started it again.
    const { costOfConnectionMax, costOfTurnMax } = this.#limits;
    if (connection.isStopped || this.hasReadEnough(connection)) this.#stop(connection);
    if (shareBefore <= costOfConnectionMax && share.costOfTurn > costOfConnectionMax && this.#shares.isBesideOthers(share))
      this.#stopShare(share);
    if (this.#costOfTurn > costOfTurnMax) this.#stopAll();
  }

  names(connection: ReadConnection, namespace: string): void {
    if (connection.share.namespace === namespace || connection.isClosed) return;
    this.#shares.leave(connection, connection.share);
    connection.share = this.#shares.of(namespace);
    connection.share.connections.add(connection);
    if (this.#shares.rests(connection.share)) this.#rest(connection.share);
  }

  hasReadEnough({ costOfTurn }: ReadConnection): boolean {
    return costOfTurn > this.#limits.costOfConnectionMax;
  }

  get turn(): number {
    return this.#turn;
  }

  /** A call that was begun in `turn` was cancelled before its answer. False: the connection should be ended. */
  cancelled(connection: ReadConnection, turn: number): boolean {
    if (connection.isClosed) return true;
    this.#waste(connection, 1);
    if (turn === this.#turn) connection.cancelledAtOnce++;
    return connection.cancelledAtOnce <= this.#limits.cancelledAtOnceMax;
  }

  /** A connection is ended for what it has sent. It may come again, but not soon. */
  ended(connection: ReadConnection): void {
    if (!connection.isClosed) this.#waste(connection, endedCost);
  }

  #waste(connection: ReadConnection, count: number): void {
    const nowMs = performance.now();
    const { cancelled, address } = connection;
    cancelled.take(count, nowMs);
    address.cancelled.take(count, nowMs);
    // Who has hardly cancelled anything does not wait for the others of his address.
    const waitMs = cancelled.isHalfUsed(nowMs) ? Math.max(cancelled.waitMs(nowMs), address.cancelled.waitMs(nowMs)) : 0;
    if (waitMs > 0) this.#hold(connection, waitMs);
  }

  #connection(socket: Socket, address: Address): ReadConnection {
    const { cancelledBurst, cancelledPerSecond } = this.#limits;
    const cancelled = new Allowance(cancelledBurst, cancelledPerSecond);
    const share = this.#shares.of('');
    const connection = {
      socket,
      address,
      cancelled,
      share,
      costOfTurn: 0,
      costBefore: 0,
      cancelledAtOnce: 0,
      isStopped: false,
      isClosed: false,
      heldBy: undefined,
    };
    share.connections.add(connection);
    return connection;
  }

  #stop(connection: ReadConnection): void {
    connection.isStopped = true;
    this.#stopped.add(connection);
    stopReading(connection.socket);
  }

  #stopAll(): void {
    if (this.#stopped.size === this.#connections.size) return;
    for (const connection of this.#connections) if (!connection.isStopped) this.#stop(connection);
  }

  #beginTurn(): void {
    this.#isEnding = false;
    this.#costOfTurn = 0;
    this.#turn++;
    this.#endTurnOfShares();
    for (const connection of this.#spenders) if (!connection.isClosed) this.#wasRead(connection);
    this.#spenders = [];
    this.#startThoseThatMay();
  }

  /** Connections that were read longest ago come first: among all, among those of their namespace, and among those that wait. */
  #wasRead(connection: ReadConnection): void {
    connection.costBefore = connection.costOfTurn;
    connection.costOfTurn = 0;
    connection.cancelledAtOnce = 0;
    for (const line of [this.#connections, connection.share.connections]) moveBehind(line, connection);
    if (connection.isStopped) moveBehind(this.#stopped, connection);
  }

  /** The kernel tells of them in this order. One that asks little has not long to wait for those that ask much. */
  #startThoseThatMay(): void {
    if (this.#stopped.size === 0) return;
    const waiting = [...this.#stopped].filter((connection) => this.#mayBeRead(connection));
    for (const connection of waiting) if (connection.costBefore <= littleCost) this.#start(connection);
    for (const connection of waiting) if (connection.costBefore > littleCost) this.#start(connection);
  }

  #mayBeRead({ heldBy, share }: ReadConnection): boolean {
    return heldBy === undefined && !this.#shares.rests(share);
  }

  #endTurnOfShares(): void {
    this.#shares.turned(performance.eventLoopUtilization(), performance.now());
    for (const share of this.#shares.resting()) this.#rest(share);
  }

  #rest(share: NamespaceShare<ReadConnection>): void {
    this.#stopShare(share);
    if (this.#isLooking) return;
    this.#isLooking = true;
    setTimeout(() => this.#lookAgain(), stretchMs);
  }

  #lookAgain(): void {
    this.#isLooking = false;
    this.#endTurnOfShares();
    this.#startThoseThatMay();
  }

  #stopShare({ connections }: NamespaceShare<ReadConnection>): void {
    for (const connection of connections) if (!connection.isStopped) this.#stop(connection);
  }

  #start(connection: ReadConnection): void {
    connection.isStopped = false;
    this.#stopped.delete(connection);
    startReading(connection.socket);
  }

  #hold(connection: ReadConnection, waitMs: number): void {
    if (connection.heldBy !== undefined) return;
    this.#stop(connection);
    connection.heldBy = setTimeout(
      () => {
        connection.heldBy = undefined;
        if (this.#shares.rests(connection.share)) this.#rest(connection.share);
        else if (connection.isStopped) this.#start(connection);
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

  #forget(connection: ReadConnection): void {
    connection.isClosed = true;
    clearTimeout(connection.heldBy);
    this.#shares.leave(connection, connection.share);
    this.#stopped.delete(connection);
    this.#connections.delete(connection);
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

function moveBehind(line: Set<ReadConnection>, connection: ReadConnection): void {
  line.delete(connection);
  line.add(connection);
}

/** A connection that costs no more in a turn asks little: ten calls. */
const littleCost = 500;
/** What it costs to be ended, in cancelled calls. */
const endedCost = 500;
/** Far below what a peer gives an answer to its ping. */
const holdMsMax = 1_000;
/** Between two connections that have waited: the first has shown by then what it sends. */
const admissionMs = 5;
/** Of more addresses, those that came first are forgotten; what they owe is a matter of seconds. */
const addressesMax = 10_000;

/**
 * Lets a socket that HTTP/2 reads wait, and go on. Node's session reads the handle of its socket by itself, up to 2 MiB in one turn of the event loop, and
 * `pause` of the socket has no say in that: the handle has. It hands over 64 KiB at a time; what it has handed over is dealt with to its end.
 */
function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop();
}

/** While a write is under way the session has stopped its socket itself, so that nobody asks who reads no answers; behind the write it goes on. */
function startReading(socket: Socket): void {
  const handle = handleOf(socket);
  if (handle?.writeQueueSize === 0) handle.readStart();
}

type Handle = { readStop(): void; readStart(): void; readonly writeQueueSize: number };

/** undefined: the socket is closed. */
function handleOf(socket: Socket): Handle | undefined {
  const handle: unknown = '_handle' in socket ? socket._handle : undefined;
  return isHandle(handle) ? handle : undefined;
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'readStop' in value && 'readStart' in value && 'writeQueueSize' in value;
}
