import type { UpdateAttachment } from './callback-commands.ts';

/**
 * Updates that history does not show (yet). They are in memory alone: a takeover forgets them, and their callers ask again.
 *
 *   admitted ──a workflow task starts──▶ sent ──▶ accepted (an event; `Run.updates` has it from then on)
 *      ▲                                  │  ├──▶ rejected: no trace
 *      │                                  │  └──▶ not answered: rejected, as by a worker that knows no updates
 *      └── the task failed or timed out ──┘
 */
export type PendingUpdate = {
  readonly updateId: string;
  readonly namespaceId: string;
  /** temporal.api.update.v1.Request */
  readonly request: Uint8Array;
  /** Started id of the workflow task that took it along; 0 = it waits for one. */
  readonly sentWith: number;
  /** What the request and its repetitions have brought: attached once a worker accepts the update. */
  readonly attachments: readonly UpdateAttachment[];
};

/** What the reply to a start says of it. */
export type UpdateStarted = {
  readonly kind: 'started';
  readonly runId: string;
  readonly firstExecutionRunId: string;
  readonly started: boolean;
  /** WorkflowExecutionStatus of that run. */
  readonly status: number;
};

export type UpdateWait = {
  readonly askId: number;
  readonly updateId: string;
  readonly waitStage: UpdateWaitStage;
  /** What the start is answered that the update came with; undefined: it came with none. */
  readonly started: UpdateStarted | undefined;
};

/** `none`: how it stands is answered at once. */
export type UpdateWaitStage = 'none' | 'accepted' | 'completed';

/** One that is empty takes memory too, and keeps its run there. */
const pendingUpdateOverheadBytes = 1024;

export function pendingUpdateBytes({ request, attachments }: Pick<PendingUpdate, 'request' | 'attachments'>): number {
  return request.length + pendingUpdateOverheadBytes + attachments.reduce((sum, attachment) => sum + attachmentBytes(attachment), 0);
}

export function attachmentBytes({ requestId, callbacks }: UpdateAttachment): number {
  return callbacks.reduce((sum, callback) => sum + callback.length, requestId.length);
}
