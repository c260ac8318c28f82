/** What a plan, a job and the journal of them may hold. */
export const jobLimits = {
  /** Stretches of ids of one plan: of what a filter selects, more are planned in parts. */
  rangesMax: 10_000,
  /** At a time, of one queue. */
  activeJobsMax: 16,
  rpsMin: 0.1,
  rpsMax: 10_000,
  concurrencyMax: 64,
  taskTimeoutMsMin: 1_000,
  taskTimeoutMsMax: 600_000,
  reasonCharsMax: 500,
  /** Of who asked, and of what jobs of one command have in common. */
  nameCharsMax: 1_000,
  queryCharsMax: 8_192,
  /** A plan that nobody applies. */
  planExpiryMs: 3_600_000,
  /** Until then whoever applies an expired one is told so. */
  planKeptMs: 7_200_000,
  /** The oldest are forgotten; so with those that follow. */
  plansMax: 1_000,
  /** A job that has ended. */
  jobKeptMs: 30 * 24 * 3_600_000,
  /** Of one queue. */
  endedJobsMax: 1_000,
  /** Of all plans, and of all jobs that have ended: their ids and failures, in memory, roughly. */
  plansBytesMax: 64 * 1024 * 1024,
  endedJobsBytesMax: 64 * 1024 * 1024,
  /** Told of one job, each. */
  failuresTold: 100,
  skipsTold: 100,
  noopsTold: 100,
  causesTold: 1_000,
  /** Plans and jobs that are written again at once, and their bytes, roughly; one always is. */
  carriedMax: 100,
  carriedBytesMax: 1024 * 1024,
  /** Of one list. */
  listedMax: 1_000,
  /** Ids that are asked for and not handled: what a takeover has to look at again. */
  windowIdsMax: 1_000,
  /** Of letters of which nobody has said what has come of them: those that are asked once more. */
  unknownIdsMax: 1_000,
} as const;

/** Letters that are tried before all outcomes so far are looked at; then the rest. */
const canarySteps = [1, 11, 111, 1_111] as const;

/** So many may be tried once the outcomes of `tried` are known. */
export function canaryLimit(tried: number): number {
  return canarySteps.find((end) => tried < end) ?? Infinity;
}
