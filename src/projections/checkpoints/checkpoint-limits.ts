/** When a checkpoint is written. Whatever comes first, for each journal; what was noted while one is under way goes with the next. */
export type CheckpointLimits = {
  /** Records that no checkpoint covers. */
  readonly recordsMax: number;
  /** Bytes of records that no checkpoint covers, roughly. */
  readonly recordBytesMax: number;
  /** Nothing was committed for so long, and something is not written. */
  readonly idleMs: number;
  /** Something has not been written for so long. */
  readonly busyMs: number;
  /** State is encoded for so long at a time, a quarter of the event loop's time at most. */
  readonly captureSliceMs: number;
  /** Pauses while the database does not take it: from, doubling up to. */
  readonly retryDelayMs: number;
  readonly retryDelayMsMax: number;
  /** What is not away but wrong is tried again when somebody may have mended it. */
  readonly refusedRetryDelayMs: number;
  /** How often it is said that nothing is written. */
  readonly reportEveryMs: number;
  /** A server that stops waits so long for the last one. */
  readonly finishMsMax: number;
};

export const defaultCheckpointLimits: CheckpointLimits = {
  recordsMax: 10_000,
  recordBytesMax: 16 * 1024 * 1024,
  idleMs: 1_000,
  busyMs: 10_000,
  captureSliceMs: 2,
  retryDelayMs: 100,
  retryDelayMsMax: 5_000,
  refusedRetryDelayMs: 60_000,
  reportEveryMs: 10_000,
  finishMsMax: 5_000,
};
