import { transportSettings } from '../../config/transport-settings.ts';

export const defaultTransportLimits = {
  messageBytesMax: 4 * 1024 * 1024,
  /** Connections of HTTP/2; `GET /health` has its own. */
  connectionsMax: transportSettings.connectionsMax.default,
  connectionsPerAddressMax: transportSettings.connectionsPerAddressMax.default,
  /** How long it may take until the first bytes tell HTTP/2 from HTTP/1, and from there until an HTTP/2 client has sent its settings. */
  firstBytesTimeoutMs: 10_000,
  /** Connections whose first bytes are not here yet; over it, the oldest is closed. */
  undecidedConnectionsMax: 1_000,
  /** HTTP/1 connections; over it, the oldest is closed. */
  plainConnectionsMax: 100,
  /** One request and its answer over HTTP/1, from beginning to end. */
  plainRequestTimeoutMs: 10_000,
  /** How long it may take from the headers of a call until its whole request is here; its deadline may be sooner. */
  requestTimeoutMs: 10_000,
  /** Workers hold many polls on one connection. */
  concurrentStreamsMax: transportSettings.concurrentStreamsMax.default,
  headerListBytesMax: 16 * 1024,
  headerPairsMax: 128,
  sessionMemoryMiBMax: 64,
  // A worker that stops cancels all its polls together; a proxy does it for many clients, all the time.
  reading: {
    /** What one connection may cost in one turn of the event loop: a hundred calls. Then the others have their turns. */
    costOfConnectionMax: 5_000,
    /** What all connections may cost in one turn: then come timers, the log, connections that are new, and `GET /health/live`. */
    costOfTurnMax: 25_000,
    /** Calls of a connection that are begun and cancelled in one turn. A stalled server may see a hundred; more are made to be work. */
    cancelledAtOnceMax: 300,
    /** Calls that are cancelled before their answer: as many at once, and then so many a second. */
    cancelledBurst: 1_000,
    cancelledPerSecond: 500,
    /** Cancelled calls of all connections of an address together, also of those that it has closed since. */
    cancelledBurstOfAddress: 2_000,
    cancelledPerSecondOfAddress: 1_000,
  },
  invalidFramesMax: 1_000,
  rejectedStreamsMax: 100,
  /** Our own pings, which find clients that vanished without a word. */
  pingIntervalMs: 60_000,
  pingTimeoutMs: 10_000,
  /** A connection without a call for so long is closed; clients connect again by themselves. */
  idleTimeoutMs: 120_000,
  /** Answers of at least this size are compressed when the client accepts gzip. */
  gzipAnswerBytesMin: 16 * 1024,
  /** Headers of open calls, requests not complete, answers not compressed or not taken. Over it, whoever makes us keep the most is cut. */
  keptBytesMax: 256 * 1024 * 1024,
};

export type TransportLimits = Readonly<typeof defaultTransportLimits>;

export const limitKeys = {
  connections: { key: transportSettings.connectionsMax.key, what: 'a connection was refused: the server has as many as its limit allows' },
  connections_of_address: {
    key: transportSettings.connectionsPerAddressMax.key,
    what: 'a connection was refused: its address has as many as its limit allows',
  },
  calls_of_connection: {
    key: transportSettings.concurrentStreamsMax.key,
    what: 'a connection has as many calls as its limit allows: its client must wait before it sends more',
  },
} as const;
