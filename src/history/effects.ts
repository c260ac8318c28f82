/** What the shell does once the records that an effect rests on are committed. */
import type { ReplyEffect } from '../kernel/handled.ts';
import type { RunKey, TaskQueue } from './commands.ts';
import type { HistoryReply } from './replies.ts';

export type HistoryEffect = ReplyEffect<HistoryReply> | DirectQuery;

/** A query for a run without a pending workflow task: straight to a worker, its answer straight to `askId`. */
export type DirectQuery = {
  readonly kind: 'directQuery';
  readonly askId: number;
  readonly queryId: string;
  /** With the run id of the run that was resolved. */
  readonly key: RunKey;
  readonly workflowType: string;
  /** To try first: the sticky queue when there is one, else the normal queue. */
  readonly taskQueue: TaskQueue;
  readonly normalTaskQueue: TaskQueue;
  /** For the first try on a sticky queue; 0 otherwise. When it passes: resetStickyTaskQueue, then the normal queue. */
  readonly scheduleToStartTimeoutMs: number;
  /** Encoded `WorkflowQuery`. */
  readonly query: Uint8Array;
  readonly deadlineMs: number;
  readonly previousStartedEventId: number;
  /** Last event of the history that the normal queue's poller gets, from 1. */
  readonly lastEventId: number;
};
