/** What one accepted command wrote (see Records in README.md). `evolve` of records in log order is the whole truth about a shard. */
import type { AnsweredRequest } from './answered-requests.ts';
import type { AskedByOperator, UnpauseActivity } from '../commands/operation-commands.ts';
import type { ActivityOptions } from './activity-operations.ts';
import type { CallbackAttempted } from './callback.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { StickyAttributes } from '../commands/history-commands.ts';
import type { HistoryEvent, RecordedEvent, EventKind } from './events.ts';
import type { HandedOverTask } from './hand-over-lines.ts';
import type { AcceptedLetters } from '../commands/hand-over-commands.ts';
import type { BegunLetter, EndedLetter } from './letter-marks.ts';
import type { LetterName } from '../commands/redrive-commands.ts';
import type { TaskQueue } from '../generated/public-api.ts';
import type { BatchProgress } from '../../batches/batch.ts';
import type { ProgressChange } from './progress-change.ts';
import type { Schedule, ScheduledBy } from './schedule-state.ts';
import type { BaseRun, WorkflowTask, StartOfTask, Activity } from './state.ts';
import type { Task } from './tasks.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';

export type HistoryRecord = {
  readonly timeMs: number;
  /** The name of the first event or fact, for people who read the topic. */
  readonly type: string;
  readonly namespaceId: string;
  readonly namespace: string;
  readonly workflowId: string;
  /** The run that the command was about. */
  readonly runId: string;
  readonly runs: readonly RunChange[];
  readonly tasks: readonly Task[];
  readonly finishedTaskIds: readonly number[];
} & AboutShard;

/** What few records have: of runs and tasks of any workflow ids. Absent: none. */
export type AboutShard = {
  /** Closed runs, in memory or not, whose retention is over: nothing of them stays, nor their retention timers. */
  readonly retiredRuns?: readonly RunKey[];
  /** Tasks for workers, of any runs, that matching has stored: no takeover offers them again. */
  readonly taskIdsAtMatching?: readonly number[];
  /** Tasks that have failed for good, and are whole: memory may not have them any more. */
  readonly tasksHandedOver?: readonly HandedOverTask[];
  /** Hand-overs of earlier records that queues have accepted. */
  readonly lettersAccepted?: readonly AcceptedLetters[];
  readonly lettersBegun?: readonly BegunLetter[];
  /** Executions of dead letters that have ended, begun by earlier records or by this one. */
  readonly lettersEnded?: readonly EndedLetter[];
  /** Letters whose owners know what has come of them. */
  readonly lettersConfirmed?: readonly LetterName[];
};

/** All of one workflow id: the unit of a decision is a workflow id with its runs. */
export type RunChange = { readonly runId: string; readonly events: readonly RecordedEvent[]; readonly facts: readonly PlacedFact[] };

export function beginsRun({ events }: RunChange): boolean {
  return events[0]?.event.eventId === 1;
}

/** `afterEvents`: how many of the change's events come before the fact. */
export type PlacedFact = { readonly afterEvents: number; readonly fact: Fact };

export type Fact =
  /** Who asked for this run, and how long it is kept once closed. Follows its Started event. */
  | { readonly kind: 'startRequest'; readonly requestId: string; readonly retentionMs: number }
  /** A transient attempt was scheduled: nothing of it is in history. */
  | ({ readonly kind: 'workflowTaskScheduled' } & Pick<
      WorkflowTask,
      'scheduledEventId' | 'attempt' | 'taskQueue' | 'startToCloseTimeoutMs'
    >)
  /** The scheduled task continues a chain of heartbeats that began then. */
  | { readonly kind: 'workflowTaskHeartbeat'; readonly originalScheduledTimeMs: number }
  /** A transient attempt was started. */
  | ({ readonly kind: 'workflowTaskStarted' } & StartOfTask)
  /** A transient attempt failed or timed out. */
  | { readonly kind: 'workflowTaskFailed'; readonly unhandledCommand: boolean }
  /** The scheduled task moved to another queue, under a new stamp. */
  | { readonly kind: 'workflowTaskRequeued'; readonly taskQueue: TaskQueue }
  /** `TemporalReportedProblems` from here on; none: it is gone. */
  | { readonly kind: 'problemsReported'; readonly problems: readonly string[] }
  | { readonly kind: 'stickySet'; readonly sticky: StickyAttributes }
  | { readonly kind: 'stickyCleared' }
  /** Happened while a workflow task was started: takes effect now, gets its id and its place in history at the end of that task. */
  | { readonly kind: 'eventBuffered'; readonly event: HistoryEvent }
  /** The events that follow are the buffered ones, and those that came with this record. */
  | { readonly kind: 'bufferFlushed' }
  /** A cancelled timer had fired, but its event was still buffered. */
  | { readonly kind: 'timerFiredUnbuffered'; readonly timerId: string }
  | ({ readonly kind: 'activityStarted' } & Pick<Activity, 'scheduledEventId' | 'requestId' | 'identity' | 'workerVersion'>)
  | { readonly kind: 'activityStartWithdrawn'; readonly scheduledEventId: number }
  | { readonly kind: 'activityHeartbeat'; readonly scheduledEventId: number; readonly details: Uint8Array | undefined }
  /** An attempt ended and another follows after `intervalMs`. */
  | {
      readonly kind: 'activityRetried';
      readonly scheduledEventId: number;
      readonly intervalMs: number;
      readonly failure: Uint8Array | undefined;
    }
  | { readonly kind: 'activityBackoffEnded'; readonly scheduledEventId: number }
  | ({ readonly kind: 'activitiesPaused'; readonly scheduledEventIds: readonly number[] } & AskedByOperator)
  /** The workflow of these activities is paused: they wait for its unpause. */
  | { readonly kind: 'activitiesWithheld'; readonly scheduledEventIds: readonly number[] }
  /** `TemporalPauseInfo` from here on; none: it is gone. */
  | { readonly kind: 'pauseInfoChanged'; readonly entries: readonly string[] }
  | ({ readonly kind: 'activityUnpaused'; readonly scheduledEventId: number } & Pick<UnpauseActivity, 'resetAttempts' | 'resetHeartbeat'>)
  | {
      readonly kind: 'activityReset';
      readonly scheduledEventId: number;
      readonly resetHeartbeat: boolean;
      readonly keepPaused: boolean;
      readonly restoreOptions: boolean;
    }
  /** undefined: they are those of the Scheduled event again. */
  | { readonly kind: 'activityOptionsUpdated'; readonly scheduledEventId: number; readonly options: ActivityOptions | undefined }
  /** An operator's: of these activities, or, without any, of the workflow. `operation`: answered-requests.ts. */
  | ({ readonly kind: 'requestAnswered'; readonly scheduledEventIds: readonly number[] } & AnsweredRequest)
  /** The activity's next attempt goes out then, or, if that is past, at once. */
  | { readonly kind: 'activityRescheduled'; readonly scheduledEventId: number; readonly scheduledTimeMs: number }
  | CallbackAttempted
  /** A worker has refused an update that an event had admitted: the run forgets it. `failure`: for its callbacks; undefined: it has none. */
  | { readonly kind: 'updateRejected'; readonly updateId: string; readonly failure: Uint8Array | undefined }
  /** The run goes on from an event of another one: what came up to here are copies, and its clocks begin now. */
  | { readonly kind: 'runReset'; readonly requestId: string; readonly bases: readonly BaseRun[] }
  /** The run is being prepared for a reset of that one: these events and those of the records that follow are copies of its. */
  | { readonly kind: 'preparationBegun'; readonly baseRunId: string }
  /** The run is the newest of its workflow id from now on. */
  | { readonly kind: 'preparationEnded' }
  /** The run of that id goes on from an event of this one. */
  | { readonly kind: 'runResetTo'; readonly runId: string }
  /** The run carries a schedule, which is so far now. */
  | ({
      readonly kind: 'scheduleChanged';
      /** undefined: as it was. */
      readonly definition: Uint8Array | undefined;
      /** What the last workflow came to; undefined: nothing new. */
      readonly last: Pick<Schedule, 'lastCompletionResult' | 'continuedFailure'> | undefined;
      /** Fields that are set, or without a value removed; undefined: none. */
      readonly memo: Uint8Array | undefined;
      readonly searchAttributes: Uint8Array | undefined;
      /** When its next step is due; undefined: never, as it is. */
      readonly wakeTimeMs: number | undefined;
    } & ProgressChange)
  /** The run carries a batch job, which is so far now. `definition` undefined: as it was. */
  | { readonly kind: 'batchChanged'; readonly definition: Uint8Array | undefined; readonly progress: BatchProgress }
  /** A schedule has started the run's chain, and waits for its end. */
  | { readonly kind: 'scheduledBy'; readonly by: ScheduledBy }
  /** A command or task of the shard's own for this run cannot be decided: the run's timers and transfer tasks wait aside from here on. */
  | { readonly kind: 'runPutAside'; readonly failedCommand: string; readonly taskId: number; readonly reason: string }
  /** The run is aside no longer: its tasks wait in the queues again. */
  | { readonly kind: 'runTakenBack' }
  | { readonly kind: 'runForgotten' };

export type FactOf<Kind extends Fact['kind']> = Extract<Fact, { readonly kind: Kind }>;

/** What people who read the topic see of a record about runs: the name of its first event, or fact. */
export function recordType(runs: readonly RunChange[]): string {
  const event = runs[0]?.events[0];
  if (event !== undefined) return typeNamed(event.event.type);
  const fact = runs[0]?.facts[0];
  return fact === undefined ? 'TasksFinished' : typeNamed(fact.fact.kind);
}

const recordTypes = new Map<EventKind | Fact['kind'], string>();

function typeNamed(kind: EventKind | Fact['kind']): string {
  const known = recordTypes.get(kind);
  if (known !== undefined) return known;
  const type = pascalCase(kind);
  recordTypes.set(kind, type);
  return type;
}
