/** What the shell does for a speculative workflow task, which no journal tells it of. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { PriorityFields } from '../../kernel/priority.ts';
import type { TaskQueue } from '../generated/public-api.ts';

export type SpeculativeEffect =
  /** The task waits for a poll: past mailbox and log, straight to matching. `expiryTimeMs`: then it becomes a real one. */
  | {
      readonly kind: 'speculativeOffered';
      readonly key: RunKey;
      readonly scheduledEventId: number;
      readonly stamp: number;
      readonly scheduledTimeMs: number;
      readonly taskQueue: TaskQueue;
      readonly expiryTimeMs: number;
      readonly priority?: PriorityFields;
    }
  /** The task is with a worker. */
  | {
      readonly kind: 'speculativeStarted';
      readonly key: RunKey;
      readonly scheduledEventId: number;
      readonly startedTimeMs: number;
      readonly startToCloseTimeoutMs: number;
    };
