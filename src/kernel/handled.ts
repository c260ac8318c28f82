/** What a core makes of a command: `accept` gets it once its record is encoded; none of it leaves before that record and all earlier are committed. */
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

/** The records of a command that is accepted, in order. */
export function recordsOf<Record>(handled: Handled<Record, unknown, unknown>): readonly Record[] {
  return handled.kind === 'commit' ? [...(handled.before ?? []), handled.record] : [];
}

export const nothing: Handled<never, never, never> = { kind: 'wait', barrier: false, effects: [] };

export function answer<Reply>(reply: Reply): Handled<never, Reply, never> {
  return { kind: 'answer', reply, effects: [] };
}

/** The effects wait for all that is decided, and for the read barrier. */
export function later<Effect>(effects: readonly Effect[]): Handled<never, never, Effect> {
  return { kind: 'wait', barrier: true, effects };
}

export function rejected<Rejection>(
  rejection: Rejection,
): Handled<never, { readonly kind: 'rejected'; readonly rejection: Rejection }, never> {
  return answer({ kind: 'rejected', rejection });
}

export function invalid(message: string) {
  return rejected({ reason: 'invalid-argument', message } as const);
}

/** The effect that every core has: the answer to an ask that was not answered in its own turn. */
export type ReplyEffect<Reply> = { readonly kind: 'reply'; readonly askId: number; readonly reply: Reply };

/** Who waits for what an effect brings: its ask's number, whatever kind of effect it is. Undefined: nobody. */
export function askOf(effect: unknown): number | undefined {
  if (typeof effect !== 'object' || effect === null || !('askId' in effect)) return undefined;
  return typeof effect.askId === 'number' ? effect.askId : undefined;
}

/** What a command is about, for log lines: names and ids, never content. */
export type CommandIds = { readonly command: string } & Readonly<Record<string, string | number | undefined>>;

/** For each kind of request, the replies that it may get besides a rejection. */
export type RowsWithReplies<Kind extends PropertyKey, Reply extends { readonly kind: string }> = {
  readonly [Each in Kind]: { readonly replies: readonly Reply['kind'][] };
};

/** Kind of request -> what it may be answered, besides a rejection: by a table whose rows say so. */
export type ReplyTo<Rows extends RowsWithReplies<Kind, Reply>, Kind extends keyof Rows, Reply extends { readonly kind: string }> = {
  readonly [Each in Kind]: OfKind<Reply>[Rows[Each]['replies'][number]];
};

/** Kind -> the member of the union that has it. */
export type OfKind<Reply extends { readonly kind: string }> = { readonly [Each in Reply as Each['kind']]: Each };
