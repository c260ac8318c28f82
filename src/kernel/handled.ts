/**
 * What a pure core makes of one command, before anything has changed. The partition loop gives it back to the core's `accept` once its
 * record is encoded and will be appended; nothing of it leaves the actor before that record, and all earlier ones, are committed.
 */
export type Handled<Record, Reply, Effect> =
  /** Accepted: one record. `reply` undefined = the answer comes later, through a reply effect. */
  | {
      readonly kind: 'commit';
      readonly record: Record;
      /** Records in front of it, each whole by itself: after a crash some of them may be there without the rest. */
      readonly before?: readonly Record[];
      readonly reply: Reply | undefined;
      readonly effects: readonly Effect[];
    }
  /** A read or a rejection: no record, but it rests on what was read, so it waits for those commits and for the read barrier. */
  | { readonly kind: 'answer'; readonly reply: Reply; readonly effects: readonly Effect[] }
  /** Only volatile state changed; the answer, if any, comes later. `barrier`: the effects wait like an answer; otherwise they go at once. */
  | { readonly kind: 'wait'; readonly barrier: boolean; readonly effects: readonly Effect[] };

/** The effect that every core has: the answer to an ask that was not answered in its own turn. */
export type ReplyEffect<Reply> = { readonly kind: 'reply'; readonly askId: number; readonly reply: Reply };

/** Who waits for what an effect brings: its ask's number, whatever kind of effect it is. Undefined: nobody. */
export function askOf(effect: unknown): number | undefined {
  if (typeof effect !== 'object' || effect === null || !('askId' in effect)) return undefined;
  return typeof effect.askId === 'number' ? effect.askId : undefined;
}

/** What a command is about, for log lines: names and ids, never content. */
export type CommandIds = { readonly command: string } & Readonly<Record<string, string | number | undefined>>;
