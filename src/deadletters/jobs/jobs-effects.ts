import type { ReplyEffect } from '../../kernel/handled.ts';
import type { JobsReply, PlanLetters } from './commands.ts';
import type { JobEntry } from './jobs-records.ts';

/** `storePlan` tells which letters they are. */
export type SelectLetters = { readonly kind: 'selectLetters'; readonly askId: number; readonly request: PlanLetters };
/** Nobody waits for that any more. */
export type GiveUpSelection = { readonly kind: 'giveUpSelection'; readonly askId: number };
/** A job is made, changed, or further than it was, and that is committed. */
export type JobChanged = { readonly kind: 'jobChanged'; readonly entry: JobEntry };

/** What was to be carried is committed. `isAll`: the journal may begin at the cut. */
export type JobsCarried = { readonly kind: 'carried'; readonly cut: number; readonly isAll: boolean };

export type JobsEffect = SelectLetters | GiveUpSelection | JobChanged | JobsCarried | ReplyEffect<JobsReply>;
