/**
 * What a crash run records, in Jepsen's shape: every call as an `invoke` and, when it ended, `ok` (answered), `fail` (a definite
 * refusal: nothing happened) or `info` (no answer: happened once or not at all). One line of JSON each, so that other checkers can
 * read it.
 */

import type { Program } from './crash-program.ts';

/** `runId` of what is asked for: '' = of the run that is the current one. */
export type Operation =
  | {
      readonly f: 'start';
      readonly workflowId: string;
      readonly requestId: string;
      readonly program: Program;
      readonly runId?: string;
    }
  | { readonly f: 'signal'; readonly workflowId: string; readonly runId: string; readonly requestId: string }
  | { readonly f: 'pause' | 'unpause'; readonly workflowId: string; readonly runId: string; readonly requestId: string }
  | {
      readonly f: 'reset';
      readonly workflowId: string;
      readonly runId: string;
      readonly requestId: string;
      /** The first event that the new run does not take along. */
      readonly finishEventId: number;
      readonly newRunId?: string;
    }
  /** Of the run that is the current one, by an id of its own: asked again, it is the same one. */
  | {
      readonly f: 'update';
      readonly workflowId: string;
      readonly updateId: string;
      readonly name: UpdateName;
      readonly answer?: UpdateAnswer;
    }
  /** A workflow task or an activity attempt was handed to a worker. */
  | {
      readonly f: 'deliver';
      readonly task: 'workflow' | 'activity';
      readonly runId: string;
      readonly scheduledEventId: number;
      readonly attempt: number;
      readonly pollId: string;
      /** Of one that has brought updates, and may leave no trace: when it was started. */
      readonly speculativeSinceMs?: number;
    }
  | {
      readonly f: 'completeActivity';
      readonly workflowId: string;
      readonly runId: string;
      readonly scheduledEventId: number;
      readonly result: string;
    }
  | {
      readonly f: 'completeWorkflowTask';
      readonly workflowId: string;
      readonly runId: string;
      readonly startedEventId: number;
      readonly closes: boolean;
      /** It does nothing, or refuses updates and does nothing else. */
      readonly changesNothing: boolean;
      /** So it was answered: the task leaves no trace. */
      readonly isDropped?: boolean;
    }
  /** A read of a whole history while the run went on: its events must be a prefix of the final ones. */
  | { readonly f: 'read'; readonly workflowId: string; readonly runId: string; readonly events: readonly ObservedEvent[] };

/** What a worker does with it: crash-updates.ts. */
export type UpdateName = 'now' | 'later' | 'refused';

export type UpdateAnswer = {
  /** The run that has it. */
  readonly runId: string;
  readonly stage: 'admitted' | 'accepted' | 'completed';
  /** Of one that has completed: what its worker said, or why it has failed. */
  readonly value?: string;
  readonly failure?: string;
};

/** Types of failures: it has refused the update, or its run was over before the update was. */
export const refusedByWorker = 'Refused';
export const cutOffByClose = 'AcceptedUpdateCompletedWorkflow';

export type Entry = {
  readonly type: 'invoke' | 'ok' | 'fail' | 'info';
  /** One sequential caller; a call's ending carries the same process as its invoke. */
  readonly process: number;
  readonly timeMs: number;
  readonly index: number;
  readonly operation: Operation;
};

/** Of one event as a client reads it: what the checks need. */
export type ObservedEvent = {
  readonly eventId: number;
  readonly timeMs: number;
  readonly type: string;
  /** Request ids of starts, signals, pauses and unpauses. */
  readonly requestId?: string;
  /** For events about an activity, timer or child: the event that scheduled it. For workflow task events likewise. */
  readonly scheduledEventId?: number;
  readonly startedEventId?: number;
  /** Of a workflow task that was started: whose poll got it. */
  readonly poller?: string;
  /** Of an activity, or of a workflow. */
  readonly result?: string;
  /** Of a start. */
  readonly begun?: Begun;
  /** Of a close: the run that follows; '' = none. */
  readonly nextRunId?: string;
  /** Of an event about an update. */
  readonly update?: ObservedUpdate;
  /** Of the workflow task that a reset has failed. */
  readonly reset?: { readonly baseRunId: string; readonly newRunId: string };
};

export type ObservedUpdate = {
  readonly updateId: string;
  /** Of its end. */
  readonly acceptedEventId?: number;
  readonly value?: string;
  readonly failure?: string;
};

export type Begun = {
  /** '' = it continues none. */
  readonly continuedRunId: string;
  readonly firstRunId: string;
  readonly attempt: number;
  /** temporal.api.enums.v1.ContinueAsNewInitiator */
  readonly initiator: number;
  readonly inputBytes: number;
};

export type FinalRun = {
  readonly workflowId: string;
  readonly runId: string;
  readonly events: readonly ObservedEvent[];
  /** As it says itself: the run that a reset has made of it. Absent: there is none. */
  readonly resetRunId?: string;
  /** List does not know it. */
  readonly isUnlisted?: boolean;
};

/** Every call of a run and, at quiescence, all histories. `healedMs`: when the last fault ended. */
export type CrashRun = { readonly entries: readonly Entry[]; readonly finalRuns: readonly FinalRun[] };

export class Recorder {
  readonly entries: Entry[] = [];
  #nextProcess = 0;

  newProcess(): number {
    return this.#nextProcess++;
  }

  add(type: Entry['type'], process: number, operation: Operation): void {
    this.entries.push({ type, process, timeMs: Date.now(), index: this.entries.length, operation });
  }
}
