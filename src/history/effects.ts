/** What the shell does once the records that an effect rests on are committed. */
import type { ReplyEffect } from '../kernel/handled.ts';
import type { DeliverCallback } from './callback/callback-commands.ts';
import type { Deliver } from './commands.ts';
import type { DirectQuery } from './query/query-commands.ts';
import type { WriteRow } from './execution/row-commands.ts';
import type { HistoryReply } from './replies.ts';
import type { TaskRowsToList } from './shard-tasks/shard-task-commands.ts';
import type { SpeculativeEffect } from './workflow-task/speculative-effect.ts';

/** Its run is in memory: its row of List is to be written as it is. */
export type RowToWrite = Pick<WriteRow, 'taskId' | 'tries'> & { readonly kind: 'rowToWrite' };

export type HistoryEffect =
  | ReplyEffect<HistoryReply>
  | DirectQuery
  | Deliver
  | RowToWrite
  | DeliverCallback
  | TaskRowsToList
  | SpeculativeEffect;
