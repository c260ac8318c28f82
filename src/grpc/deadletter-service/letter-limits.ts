/** What one request may ask for. */
export const letterLimits = {
  /** Letters of a page; more is lowered to it. */
  pageLettersMax: 1_000,
  /** Of payloads and texts in a page. One letter is given, however large. */
  pageBytesMax: 3 * 1024 * 1024,
  pageQueuesMax: 1_000,
  /** Each is a topic, and has an owner of its own. */
  queuesOfOthersMax: 100,
  pageJobsMax: 100,
  pageEntriesMax: 1_000,
  groupsMax: 100,
  /** As many as a queue takes at a time. */
  putLettersMax: 100,
  /** Between the last letter of a shard and those that are put: a queue whose topic was deleted has lost so many at most. A number beyond is a mistake. */
  missingLettersMax: 100_000,
  messageIdsMax: 10_000,
  /** Of letters that are named and not there: those whose fate an error tells. */
  missingTold: 10,
  reasonCharsMax: 500,
  /** Letters a second; 0 = no limit. */
  rpsMin: 0.1,
  rpsMax: 10_000,
  concurrencyMax: 64,
  taskTimeoutMsMin: 1_000,
  taskTimeoutMsMax: 600_000,
  /** That a call waits for a job to change. */
  jobWaitMsMax: 60_000,
} as const;
