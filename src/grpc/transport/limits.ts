import { transportSettings } from '../../config/transport-settings.ts';
import type { ReadingLimits } from './fair-reading.ts';

/** What one listener takes from the network. Everything a client can make grow has a limit. */
export type TransportLimits = {
  /** One request message, as sent and after decompression. */
  readonly messageBytesMax: number;
  /** Of HTTP/2; `GET /health` has its own. */
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  /** From accept until the first bytes tell HTTP/2 from HTTP/1, and from there until an HTTP/2 client has sent its settings. */
  readonly firstBytesTimeoutMs: number;
  /** Connections whose first bytes are not here yet; over it, the oldest is closed. */
  readonly undecidedConnectionsMax: number;
  /** HTTP/1 connections; over it, the oldest is closed. */
  readonly plainConnectionsMax: number;
  /** One request and its answer over HTTP/1, from beginning to end. */
  readonly plainRequestTimeoutMs: number;
  /** From the headers of a call until its whole request is here; its deadline may be sooner. */
  readonly requestTimeoutMs: number;
  /** Workers hold many polls on one connection. */
  readonly concurrentStreamsMax: number;
  readonly headerListBytesMax: number;
  readonly headerPairsMax: number;
  readonly sessionMemoryMiBMax: number;
  readonly reading: ReadingLimits;
  readonly invalidFramesMax: number;
  readonly rejectedStreamsMax: number;
  /** Our own pings, which find clients that vanished without a word. */
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
  /** A connection without a call for so long is closed; clients connect again by themselves. */
  readonly idleTimeoutMs: number;
  /** Answers of at least this size are compressed when the client accepts gzip. */
  readonly gzipAnswerBytesMin: number;
  /**
   * Of all connections together: headers of open calls, requests not complete yet, answers not compressed yet or not taken yet. Over it, whoever makes us
   * keep the most is cut.
   */
  readonly keptBytesMax: number;
};

export const defaultTransportLimits: TransportLimits = {
  messageBytesMax: 4 * 1024 * 1024,
  connectionsMax: transportSettings.connectionsMax.default,
  connectionsPerAddressMax: transportSettings.connectionsPerAddressMax.default,
  firstBytesTimeoutMs: 10_000,
  undecidedConnectionsMax: 1_000,
  plainConnectionsMax: 100,
  plainRequestTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  concurrentStreamsMax: transportSettings.concurrentStreamsMax.default,
  headerListBytesMax: 16 * 1024,
  headerPairsMax: 128,
  sessionMemoryMiBMax: 64,
  // A worker that stops cancels all its polls together; a proxy does it for many clients, all the time.
  reading: {
    costOfConnectionMax: 5_000,
    costOfTurnMax: 25_000,
    cancelledAtOnceMax: 300,
    cancelledBurst: 1_000,
    cancelledPerSecond: 500,
    cancelledBurstOfAddress: 2_000,
    cancelledPerSecondOfAddress: 1_000,
  },
  invalidFramesMax: 1_000,
  rejectedStreamsMax: 100,
  pingIntervalMs: 60_000,
  pingTimeoutMs: 10_000,
  idleTimeoutMs: 120_000,
  gzipAnswerBytesMin: 16 * 1024,
  keptBytesMax: 256 * 1024 * 1024,
};

/** Those that operators set, by what the metric calls them. */
export const limitKeys = {
  connections: { key: transportSettings.connectionsMax.key, what: 'a connection is refused: there are as many as there may be' },
  connections_of_address: {
    key: transportSettings.connectionsPerAddressMax.key,
    what: 'a connection is refused: its address has as many as one may have',
  },
  calls_of_connection: {
    key: transportSettings.concurrentStreamsMax.key,
    what: 'a connection has as many calls as it may: its client waits with further ones',
  },
} as const;
