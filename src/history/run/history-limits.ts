/** Everything has a limit. Defaults are those of Temporal. */
export type HistoryLimits = Readonly<Record<keyof typeof defaultHistoryLimits, number>>;

const kib = 1024;
const mib = 1024 * kib;
const minute = 60_000;

export const defaultHistoryLimits = {
  blobBytesMax: 2 * mib,
  memoBytesMax: 2 * mib,
  /** Each key is looked at whenever the memo changes. */
  memoKeysMax: 10_000,
  idBytesMax: 1000,
  historyBytesSuggest: 4 * mib,
  historyEventsSuggest: 4096,
  historyBytesMax: 50 * mib,
  historyEventsMax: 51_200,
  /** Limits what an open run holds beside its history: what attempts of activities left, buffered events, memo and search attributes. */
  mutableStateBytesMax: 8 * mib,
  pendingActivitiesMax: 2000,
  pendingChildrenMax: 2000,
  pendingExternalSignalsMax: 2000,
  pendingExternalCancelsMax: 2000,
  signalsPerRunMax: 10_000,
  /** Request ids of starts that were attached to an open run. Temporal limits the callbacks that come with them. */
  attachedRequestIdsMax: 2000,
  /** Completion callbacks of a run: all stand in its row. */
  callbackBytesPerRunMax: mib,
  /** Timers of a run that are due together and fire in one record; the others fire in the next. */
  timersFiredTogetherMax: 1000,
  bufferedEventsMax: 100,
  bufferedBytesMax: 2 * mib,
  /** Limits the queries of one run. A query counts from when it begins to wait for a workflow task until that task is answered. */
  bufferedQueriesMax: 1,
  /** Limits the bytes of all these queries if there are several, because one task carries them all. */
  bufferedQueryBytesMax: 2 * mib,
  /** Admitted or accepted, and not completed, of one run. */
  updatesInFlightMax: 10,
  updateBytesInFlightMax: 20 * mib,
  /** Limits the updates of one run in all its life. */
  updatesPerRunMax: 2000,
  /** The part of the updates of a run from which on a workflow is told to continue as new. */
  updatesSuggestRatio: 0.9,
  /** Limits the updates of a namespace in a shard that no worker has accepted yet: they are in memory, and so are their runs. */
  updateBytesPerNamespaceMax: 64 * mib,
  /** Taken along by one workflow task, if they are more than one: all that a task is answered with is one record. */
  updateBytesPerTaskMax: mib,
  /** Events that a speculative workflow task has shipped, and may be dropped with nevertheless. */
  speculativeEventsDroppedMax: 10,
  /** A speculative workflow task that no worker has polled becomes a real one. */
  speculativeScheduleToStartMs: 5000,
  activityFailureBytesMax: 4 * kib,
  /** Causes of a failure that a workflow hears of. Workflows wrap it and pass it on, and no reader takes more than 100 levels. */
  failureCausesMax: 40,
  searchAttributeKeysMax: 100,
  searchAttributeValueBytesMax: 2 * kib,
  searchAttributesBytesMax: 40 * kib,
  /** What `TemporalPauseInfo` says of a run. All of it is written anew whenever one of its activities is paused, goes on or ends. */
  pauseInfoBytesMax: 16 * kib,
  /** What the upserts of one workflow task rewrite together, with 256 bytes a key: each rewrites the whole memo, or all attributes. */
  upsertedBytesPerTaskMax: 32 * mib,
  workflowTaskTimeoutMsDefault: 10_000,
  workflowTaskTimeoutMsMax: 120_000,
  workflowTaskHeartbeatMsMax: 30 * minute,
  /** A sticky queue whose worker names no wait, or none above 0. */
  stickyScheduleToStartMsDefault: 5000,
  stickyScheduleToStartMsMax: 60 * minute,
  /** A chained run starts at least this long after the execution time of the one before. */
  chainedRunIntervalMsMin: 1000,
  /** A transient workflow task from this attempt on gets a longer timeout instead of a pause. */
  workflowTaskBackoffAttempt: 4,
  workflowTaskBackoffMs: 5000,
  workflowTaskBackoffMsMax: 10 * minute,
  /** Failures in a row; Temporal: `system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute`. */
  workflowTaskProblemsReported: 5,
  /** Finished tasks that one record carries along; the others go with the next. */
  finishedTasksPerRecordMax: 10_000,
  /** The retention of a closed run whose start named none. */
  retentionMsDefault: 72 * 60 * minute,
  /** A closed run that others have to hear of first is looked at again after this. */
  retentionRecheckMs: 60 * minute,
  /** A run that is prepared for a reset is dropped this long after its first part, if nobody has gone on with it. */
  resetPreparationMsMax: 10 * minute,
  /** Runs that close together are archived within so long, and before their retention is over. */
  archiveDelayMsMax: 5 * minute,
  /** A run of which a letter is all that keeps it: how often it is asked whether that is in its queue still. */
  letterRecheckMs: 60 * minute,
  /** How many runs one record retires. */
  runsRetiredTogetherMax: 500,
} as const;
