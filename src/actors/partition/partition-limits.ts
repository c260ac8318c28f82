import { RECORD_BYTES_MAX } from './commit-window.ts';
import type { OwnerLimits } from '../ownership/partition-owner.ts';

export type PartitionLimits = OwnerLimits & {
  /** Asks that wait to be decided; those beyond it are refused as busy, and those of a namespace that has as many as it leaves to others. */
  readonly mailboxCommandsMax: number;
  /** Asks that may wait for state that is not in memory, shared by namespaces. What is in memory is decided meanwhile. */
  readonly parkedAsksMax: number;
  /** Commands decided in one go before I/O gets a turn. */
  readonly turnCommandsMax: number;
  /** Decided but not sent; past it commands stay in the mailbox. */
  readonly openBytesMax: number;
  readonly openRecordsMax: number;
  /** Answers that wait for commits or proof; past it commands stay in the mailbox. */
  readonly heldMax: number;
  readonly recordBytesMax: number;
};

export const defaultPartitionLimits: PartitionLimits = {
  mailboxCommandsMax: 20_000,
  parkedAsksMax: 10_000,
  turnCommandsMax: 256,
  openBytesMax: 24 * 1024 * 1024,
  openRecordsMax: 20_000,
  heldMax: 50_000,
  recordBytesMax: RECORD_BYTES_MAX,
  // Callers are promised the reason within 5 s. Two seconds are for what comes on top: the silence is counted from what is asked of the
  // log, and a flood makes late both the request that asks it (all of a connection's arrive together) and the turn in which the time is up.
  // Not less: leaders that are moved on purpose take a second, and whoever is told asks again.
  logSilenceMsMax: 3_000,
  watchIntervalMs: 1_000,
  retryDelayMs: 50,
  retryDelayMsMax: 2_000,
};
