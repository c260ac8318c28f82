/** What a history shard is asked about updates. Payloads are bytes of the public API's messages; the edge has checked their form. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { UpdateAttachment } from './callback-commands.ts';
import type { UpdateWaitStage } from './pending-update.ts';

export type UpdateAttributes = {
  readonly updateId: string;
  /** temporal.api.update.v1.Request, with its id. */
  readonly request: Uint8Array;
  readonly waitStage: Exclude<UpdateWaitStage, 'none'>;
  readonly attachment?: UpdateAttachment | undefined;
};

/** Reply: UpdateReply, perhaps much later. `firstExecutionRunId` '' = whichever chain it is. */
export type UpdateWorkflow = {
  readonly kind: 'updateWorkflow';
  readonly key: RunKey;
  readonly firstExecutionRunId: string;
  readonly update: UpdateAttributes;
};

/** Reply: UpdateReply, perhaps much later; rejected: update-not-found. */
export type PollUpdate = {
  readonly kind: 'pollUpdate';
  readonly key: RunKey;
  readonly updateId: string;
  readonly waitStage: UpdateWaitStage;
};

export type UpdateRequest = UpdateWorkflow | PollUpdate;

/** A start, with an update of the run that it makes or finds. Reply: perhaps much later, with `started`; rejected: as an update. */
export type StartAndUpdateOf<Start> = {
  readonly kind: 'startAndUpdate';
  readonly key: RunKey;
  readonly start: Start;
  readonly update: UpdateAttributes;
};

/** A speculative workflow task has waited for a poll, or been with a worker, for as long as it may. */
export type EndSpeculative = {
  readonly kind: 'endSpeculative';
  readonly key: RunKey;
  readonly scheduledEventId: number;
  /** When it was scheduled, or was started: stamps of tasks that leave no trace repeat themselves. */
  readonly sinceMs: number;
  readonly because: 'scheduleToStart' | 'startToClose';
  readonly jitter: number;
};

/** What a worker says of an update, in the messages of a completed workflow task. `id`: the message's, by which a command names it. */
export type UpdateMessage = {
  readonly id: string;
  readonly updateId: string;
  readonly body:
    | {
        readonly kind: 'acceptance';
        readonly requestMessageId: string;
        readonly requestSequencingEventId: number;
        /** The request as the worker has it: this server may have forgotten the update. */
        readonly request: Uint8Array | undefined;
      }
    | { readonly kind: 'rejection'; readonly hasRequest: boolean; readonly failure: Uint8Array | undefined }
    | {
        readonly kind: 'response';
        /** The update whose response the message says it is. undefined: it does not say. */
        readonly metaUpdateId: string | undefined;
        readonly identity: string;
        readonly outcome: Uint8Array | undefined;
      };
};
