/** What the shell does once the records that an effect rests on are committed. */
import type { TriedTask } from '../commands/task-commands.ts';
import type { ReplyEffect } from '../../kernel/handled.ts';
import type { DeliverCallback } from '../commands/callback-commands.ts';
import type { Deliver } from '../commands/history-commands.ts';
import type { DirectQuery } from '../commands/query-commands.ts';
import type { HistoryReply } from './history-replies.ts';
import type { TaskRowsToList } from '../commands/shard-task-commands.ts';
import type { SpeculativeEffect } from './speculative-effect.ts';

/** The run is in memory: its row of List is to be written as it is. */
export type RowToWrite = TriedTask & { readonly kind: 'rowToWrite' };

export type HistoryEffect =
  | ReplyEffect<HistoryReply>
  | DirectQuery
  | Deliver
  | RowToWrite
  | DeliverCallback
  | TaskRowsToList
  | SpeculativeEffect;
