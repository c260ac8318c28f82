/** Everything has a limit. Defaults are those of Temporal. */
export type HistoryLimits = {
  readonly blobBytesMax: number;
  readonly memoBytesMax: number;
  /** Each key is looked at whenever the memo changes. */
  readonly memoKeysMax: number;
  readonly idBytesMax: number;
  readonly historyBytesSuggest: number;
  readonly historyEventsSuggest: number;
  readonly historyBytesMax: number;
  readonly historyEventsMax: number;
  /** Of an open run, beside its history: what its activities' attempts left behind, buffered events, memo and search attributes. */
  readonly mutableStateBytesMax: number;
  readonly pendingActivitiesMax: number;
  readonly pendingChildrenMax: number;
  readonly pendingExternalSignalsMax: number;
  readonly pendingExternalCancelsMax: number;
  readonly signalsPerRunMax: number;
  /** Of starts that were given an open run. Temporal limits the callbacks that come with them. */
  readonly attachedRequestIdsMax: number;
  /** Completion callbacks of a run: all stand in its row. */
  readonly callbackBytesPerRunMax: number;
  /** Timers of a run that are due together and fire in one record; the others fire in the next. */
  readonly timersFiredTogetherMax: number;
  readonly bufferedEventsMax: number;
  readonly bufferedBytesMax: number;
  /** Of one run. A query counts from when it begins to wait for a workflow task until that task is answered. */
  readonly bufferedQueriesMax: number;
  /** Of all of them together, where there are several: one task carries them all. */
  readonly bufferedQueryBytesMax: number;
  /** Admitted or accepted, and not completed, of one run. */
  readonly updatesInFlightMax: number;
  readonly updateBytesInFlightMax: number;
  /** Of one run, all its life long. */
  readonly updatesPerRunMax: number;
  /** From this part of them on a workflow is told to continue as new. */
  readonly updatesSuggestRatio: number;
  /** Of a namespace in a shard, that no worker has accepted yet: they are in memory, and so is each run that has one. */
  readonly updateBytesPerNamespaceMax: number;
  /** Taken along by one workflow task, if they are more than one: all that a task is answered with is one record. */
  readonly updateBytesPerTaskMax: number;
  /** Events that a speculative workflow task has shipped, and may be dropped with nevertheless. */
  readonly speculativeEventsDroppedMax: number;
  /** A speculative workflow task that no worker has polled becomes a real one. */
  readonly speculativeScheduleToStartMs: number;
  readonly activityFailureBytesMax: number;
  /** Causes of a failure that a workflow hears of. Workflows wrap it and pass it on, and no reader takes more than 100 levels. */
  readonly failureCausesMax: number;
  readonly searchAttributeKeysMax: number;
  readonly searchAttributeValueBytesMax: number;
  readonly searchAttributesBytesMax: number;
  /** What `TemporalPauseInfo` says of a run. All of it is written anew whenever one of its activities is paused, goes on or ends. */
  readonly pauseInfoBytesMax: number;
  /**
   * Every upsert rewrites the whole memo, or all search attributes. This bounds what the upserts of one workflow task rewrite together, with
   * 256 bytes more for each key: a fraction of a second of work.
   */
  readonly upsertedBytesPerTaskMax: number;
  readonly workflowTaskTimeoutMsDefault: number;
  readonly workflowTaskTimeoutMsMax: number;
  readonly workflowTaskHeartbeatMsMax: number;
  /** A sticky queue whose worker names no wait, or none above 0. */
  readonly stickyScheduleToStartMsDefault: number;
  readonly stickyScheduleToStartMsMax: number;
  /** A chained run starts at least this long after the execution time of the one before. */
  readonly chainedRunIntervalMsMin: number;
  /** A transient workflow task from this attempt on gets a longer timeout instead of a pause. */
  readonly workflowTaskBackoffAttempt: number;
  readonly workflowTaskBackoffMs: number;
  readonly workflowTaskBackoffMsMax: number;
  /**
   * A workflow task that has failed so many times in a row is reported by `TemporalReportedProblems`; in Temporal
   * `system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute`.
   */
  readonly workflowTaskProblemsReported: number;
  /** Finished tasks that one record carries along; the others go with the next. */
  readonly finishedTasksPerRecordMax: number;
  /** Of a closed run, where the start names none. */
  readonly retentionMsDefault: number;
  /** A closed run that others have to hear of first is looked at again after this. */
  readonly retentionRecheckMs: number;
  /** A run that is prepared for a reset is dropped this long after its first part, if nobody has gone on with it. */
  readonly resetPreparationMsMax: number;
  /** Runs that close together are archived within so long, and before their retention is over. */
  readonly archiveDelayMsMax: number;
  /** A run of which a letter is all that keeps it: how often it is asked whether that is in its queue still. */
  readonly letterRecheckMs: number;
  /** In one record. */
  readonly runsRetiredTogetherMax: number;
};

const kib = 1024;
const mib = 1024 * kib;
const minute = 60_000;

export const defaultHistoryLimits: HistoryLimits = {
  blobBytesMax: 2 * mib,
  memoBytesMax: 2 * mib,
  memoKeysMax: 10_000,
  idBytesMax: 1000,
  historyBytesSuggest: 4 * mib,
  historyEventsSuggest: 4096,
  historyBytesMax: 50 * mib,
  historyEventsMax: 51_200,
  mutableStateBytesMax: 8 * mib,
  pendingActivitiesMax: 2000,
  pendingChildrenMax: 2000,
  pendingExternalSignalsMax: 2000,
  pendingExternalCancelsMax: 2000,
  signalsPerRunMax: 10_000,
  attachedRequestIdsMax: 2000,
  callbackBytesPerRunMax: mib,
  timersFiredTogetherMax: 1000,
  bufferedEventsMax: 100,
  bufferedBytesMax: 2 * mib,
  bufferedQueriesMax: 1,
  bufferedQueryBytesMax: 2 * mib,
  updatesInFlightMax: 10,
  updateBytesInFlightMax: 20 * mib,
  updatesPerRunMax: 2000,
  updatesSuggestRatio: 0.9,
  updateBytesPerNamespaceMax: 64 * mib,
  updateBytesPerTaskMax: mib,
  speculativeEventsDroppedMax: 10,
  speculativeScheduleToStartMs: 5000,
  activityFailureBytesMax: 4 * kib,
  failureCausesMax: 40,
  searchAttributeKeysMax: 100,
  searchAttributeValueBytesMax: 2 * kib,
  searchAttributesBytesMax: 40 * kib,
  pauseInfoBytesMax: 16 * kib,
  upsertedBytesPerTaskMax: 32 * mib,
  workflowTaskTimeoutMsDefault: 10_000,
  workflowTaskTimeoutMsMax: 120_000,
  workflowTaskHeartbeatMsMax: 30 * minute,
  stickyScheduleToStartMsDefault: 5000,
  stickyScheduleToStartMsMax: 60 * minute,
  chainedRunIntervalMsMin: 1000,
  workflowTaskBackoffAttempt: 4,
  workflowTaskBackoffMs: 5000,
  workflowTaskBackoffMsMax: 10 * minute,
  workflowTaskProblemsReported: 5,
  finishedTasksPerRecordMax: 10_000,
  retentionMsDefault: 72 * 60 * minute,
  retentionRecheckMs: 60 * minute,
  resetPreparationMsMax: 10 * minute,
  archiveDelayMsMax: 5 * minute,
  letterRecheckMs: 60 * minute,
  runsRetiredTogetherMax: 500,
};
