/** What the shell does once the records that an effect rests on are committed. */
import type { ReplyEffect } from '../kernel/handled.ts';
import type { Deliver, DirectQuery } from './commands.ts';
import type { HistoryReply } from './replies.ts';

export type HistoryEffect = ReplyEffect<HistoryReply> | DirectQuery | Deliver;
