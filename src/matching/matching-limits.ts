/** Every bound of a matching host, with its unit. Times follow Temporal's server where workers can see them. */
export type MatchingLimits = Readonly<Record<keyof typeof matchingLimits, number>>;

export const matchingLimits = {
  /** Open polls of one task-queue partition; one more is rejected. */
  pollsPerQueueMax: 5_000,
  /** Stored tasks of one task-queue partition; one more is rejected and stays with history. */
  storedTasksPerQueueMax: 200_000,
  /** Stored tasks of a queue if there is a database, where most of them are rows alone. */
  tableTasksPerQueueMax: 5_000_000,
  /**
   * Stored tasks that may be offered and are in memory, with a database: of one lane of a queue, of a whole host, also in bytes (what clients name a
   * workflow may take 4 KB of a task), and of one lane where others fill the host's: one without a fairness key, and one of a key or of several. Those
   * that came since and are not written come on top.
   */
  windowTasksPerLaneMax: 1_000,
  windowTasksPerHostMax: 20_000,
  windowBytesPerHostMax: 16 * 1024 * 1024,
  windowTasksPerLaneMin: 10,
  windowTasksPerKeyedLaneMin: 2,
  /** Lanes of one fairness key, of a queue and of a host; keys beyond share eight of a level. One takes 0.5 KB, and keeps a few tasks. */
  keyedLanesPerQueueMax: 1_000,
  keyedLanesPerHostMax: 10_000,
  sharedLanesPerLevel: 8,
  /** Lanes of a level that hold nothing, and are remembered because they are ahead of the others. */
  idleLanesMax: 200,
  /** Reads of rows that are under way for one queue. */
  coldReadsPerQueueMax: 8,
  /** Stored tasks of one queue that are offered, given out or resting. While it has so many, no more rows are read. */
  heldTasksPerQueueMax: 20_000,
  /** Tasks that leave memory in one turn, once they are written: a few milliseconds of work. */
  shedTasksPerTurnMax: 500,
  /** Rows of one queue that are counted by one statement, after a takeover: some milliseconds in a database. */
  countedTasksPerReadMax: 20_000,
  /** Rows that could not be read are read again, after twice as long each time. */
  coldReadRetryFirstMs: 100,
  coldReadRetryMaxMs: 5_000,
  /** Tasks in memory only: those of a sticky queue, and those that child partitions offer to their root. */
  memoryTasksPerQueueMax: 10_000,
  queriesPerQueueMax: 1_000,
  /** An empty queue takes 1.7 KB: made-up names must not fill memory. A full host evicts an idle one; each namespace has its even share. */
  queuesPerHostMax: 20_000,
  /** How many queues of a full host are looked at, for each new name, to find an idle one. */
  evictionLooksMax: 32,
  /** Identities remembered per queue for DescribeTaskQueue. */
  pollersPerQueueMax: 1_000,
  /** How long a worker that stops is known, so that its polls that come late end at once; how many are, of at most 1,000 bytes each. */
  stoppedWorkerMs: 30_000,
  stoppedWorkersPerHostMax: 2_000,
  /** A sticky queue without a poll for so long is unavailable. */
  stickyPollWindowMs: 10_000,
  /** A query is refused when no poll was seen for so long. */
  queryPollWindowMs: 20_000,
  /** Stored tasks that become offers at once; in one turn of a takeover, lanes that are loaded and offers to parents: a few milliseconds of work. */
  storedTasksPerTurnMax: 500,
  /** The highest rate of a queue, and what DescribeTaskQueue shows for a queue without a limit. */
  tasksPerSecondMax: 100_000,
  /** Fairness keys of a queue, and of all queues of a host, that are remembered because they have used some of their rate: 200 bytes each. */
  keyBucketsPerQueueMax: 2_000,
  keyBucketsPerHostMax: 50_000,
  /** Fairness keys of a queue whose weights are set by UpdateTaskQueueConfig, as in Temporal. */
  fairnessWeightsPerQueueMax: 1_000,
  /** What operators have said of a host's queues, in memory and in each checkpoint. A namespace has its even share in any case. */
  configBytesPerHostMax: 1_048_576,
  /** How long DescribeTaskQueue says that a rate limit held something up. */
  rateLimitedMemoryMs: 30_000,
  /** How long DescribeTaskQueue remembers a poller. */
  pollerMemoryMs: 300_000,
  /** A queue that nobody used for so long leaves memory. */
  queueIdleMs: 300_000,
  /** A poll whose deadline comes while its start is under way waits so much longer; the edge keeps a second in hand. */
  startGraceMs: 400,
  /** A start that history could not answer is asked again, after twice as long each time. */
  startRetryFirstMs: 50,
  startRetryMaxMs: 1_000,
  /** A task whose shard is not served lets its poll go and is offered again after twice as long each time. */
  restFirstMs: 250,
  restMaxMs: 10_000,
  /** Polls of a child that wait at its parent. Else a task would be stored while a poll waits elsewhere: a record costs more than a hop. */
  forwardedPollsMax: 10,
  /** Stored tasks of one priority that a child offers its parent at a time; one of each fairness key besides: none holds up another. */
  offeredTasksMax: 8,
  /** Tasks under way to the parent, whose add is not answered yet; more are stored at once. */
  forwardedAddsMax: 1_000,
  /** A clock that is set back by less delays nothing for longer than that; by more, all that waits is told. */
  clockStepMsMin: 1_000,
  /** How long such an offer stays there before it is handed back. */
  offerHoldMs: 60_000,
  /** After the parent handed something back, or could not be reached, it is left alone for so long. */
  forwardRetryMs: 1_000,
  /** Removals of stored tasks are journaled with the next record, at the latest after so long. */
  removalsFlushMs: 1_000,
  /** Expired deadlines that one command handles: thousands may come together, and each may store a task of 2.2 KB in its record. */
  duePerCommandMax: 1_000,
  /** Expired tasks that one look for work passes over. As many as a queue may hold expire while its workers are away. */
  expiredPerLookMax: 2_000,
  /** When the handling of an entry's deadline throws, the entry is handled again after so long. */
  brokenRetryMs: 10_000,
  removalsPerRecordMax: 10_000,
} as const;

/** The limits of windows for a process that has a share of the memory that all limits are made for. */
export function windowLimitsOf(share: number): Pick<MatchingLimits, 'windowTasksPerHostMax' | 'windowBytesPerHostMax'> {
  const { windowTasksPerHostMax, windowBytesPerHostMax } = matchingLimits;
  const part = (whole: number): number => Math.floor(share * whole);
  return { windowTasksPerHostMax: part(windowTasksPerHostMax), windowBytesPerHostMax: part(windowBytesPerHostMax) };
}
