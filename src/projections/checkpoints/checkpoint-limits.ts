/** When a checkpoint is written. Whatever comes first, for each journal; what was noted while one is under way goes with the next. */
export const defaultCheckpointLimits = {
  /** Records that no checkpoint covers, and their bytes, roughly. */
  recordsMax: 10_000,
  recordBytesMax: 16 * 1024 * 1024,
  /** Nothing was committed for so long, and something is not written. */
  idleMs: 1_000,
  /** Something has not been written for so long. */
  busyMs: 10_000,
  /** State is encoded for so long at a time, a quarter of the event loop's time at most. */
  captureSliceMs: 2,
  /** Pauses while the database does not take it: from, doubling up to. */
  retryDelayMs: 100,
  retryDelayMsMax: 5_000,
  /** What is not away but wrong is tried again when somebody may have mended it. */
  refusedRetryDelayMs: 60_000,
  /** How often it is said that nothing is written. */
  reportEveryMs: 10_000,
  /** A server that stops waits so long for the last one. */
  finishMsMax: 5_000,
};

export type CheckpointLimits = Readonly<typeof defaultCheckpointLimits>;
