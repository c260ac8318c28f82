/** What a shard is told of completion callbacks, and what it has somebody do for them. */
import type { TriedTask } from './task-commands.ts';
import type { RunKey } from '../../kernel/run-key.ts';

/** Callbacks that a run begins with, or that an open one is given by a start. Public bytes, temporal.api.common.v1.Callback. */
export type StartCallbacks = { readonly callbacks: readonly Uint8Array[]; readonly callbacksMax: number };

/** Callbacks of an update. Its request has them too: these are for an update that is there already, and for limits. */
export type UpdateAttachment = {
  readonly requestId: string;
  readonly callbacks: readonly Uint8Array[];
  /** As many as a run may have, and as many as one update. */
  readonly callbacksMax: number;
  readonly updateCallbacksMax: number;
};

/** What of a start an open run is given, where the start asks for that. */
export type OnConflict = {
  readonly attachRequestId: boolean;
  /** Callbacks are attached only together with the request id. */
  readonly attachCallbacks: boolean;
  readonly attachLinks: boolean;
  readonly links: readonly Uint8Array[];
};

/** It is the turn of a callback's task. What is to be sent is handed out once that is committed (DeliverCallback). */
export type RunCallback = TriedTask & { readonly kind: 'runCallback' };

export type UpdateRejection = {
  /** temporal.api.failure.v1.Failure */
  readonly failure: Uint8Array;
  readonly timeMs: number;
};

export type UpdateEnded = {
  /** Type of the event with which the request that brought the callback came into the run; 0: there is none. */
  readonly attachedWith: number;
  /** Rejected, or ended by the close of its run. undefined: the event tells its end. */
  readonly failed: UpdateRejection | undefined;
};

export type DeliverCallback = TriedTask & {
  readonly kind: 'deliverCallback';
  readonly key: RunKey;
  readonly namespace: string;
  readonly callback: Uint8Array;
  /** The request that attached it to the open run, or that brought its update; '': it came with the start. */
  readonly attachedBy: string;
  readonly startTimeMs: number;
  /** The event that tells the end. */
  readonly closeEventId: number;
  /** Absent: it waited for the end of the run. */
  readonly update?: UpdateEnded;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
};

/** An attempt has ended. One that no further attempt can repair is told by handOverTask. */
export type CallbackAnswered = {
  readonly kind: 'callbackAnswered';
  readonly taskId: number;
  readonly outcome:
    | { readonly kind: 'delivered' }
    /** `pauseMs`: until the next attempt. */
    | { readonly kind: 'failed'; readonly message: string; readonly pauseMs: number };
};

export type OwnCallbackCommand = RunCallback | CallbackAnswered;
