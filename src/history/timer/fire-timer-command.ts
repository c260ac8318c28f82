/** A timer of the folded state is due. No reply. */
export type FireTimer = {
  readonly kind: 'fireTimer';
  readonly taskId: number;
  readonly jitter: number;
  /** There for the end of a run's time: another run may go on in its place. */
  readonly newRunId?: string;
  /** For how long that one is kept once it is closed, as its namespace says now; absent: as this one. */
  readonly retentionMs?: number | undefined;
};
