/** What operators set about the letters that there are; their keys and defaults are in src/config/dead-letter-settings.ts. */
export type LetterSettings = {
  /** Letters in one step of a job, 1 to 1,000. */
  readonly lettersPerStepMax: number;
  /** Whether `dlq_message_count` is told. */
  readonly emitsMetrics: boolean;
  readonly emitsReplicationMetrics: boolean;
  /** A letter whose merges have failed so often is in quarantine. */
  readonly maxGeneration: number;
  readonly mergeRps: number;
  readonly mergeConcurrency: number;
  readonly mergeTaskTimeoutMs: number;
  /** What changes letters without a reason is refused. */
  readonly requiresReason: boolean;
  /** Open letters that a purge may carry over at once. */
  readonly compactionMaxCarry: number;
};
