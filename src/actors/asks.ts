/** What the loop owes those who asked, when it cannot give them their actor's reply. */

/** `refused`: the command was not accepted, so nothing happened; otherwise that is not known. */
export type Unavailable = { readonly kind: 'unavailable'; readonly message: string; readonly refused?: true };
export type DeadlineExceeded = { readonly kind: 'deadline'; readonly message: string };
/** Refused, nothing happened: RESOURCE_EXHAUSTED. */
export type Busy = { readonly kind: 'busy'; readonly message: string };
/** Refused, nothing happened: the command's record would be too large. */
export type TooLarge = { readonly kind: 'tooLarge'; readonly message: string };

/** A bug of ours met this command: INTERNAL. Nothing happened, and nobody else is concerned. */
export type Internal = { readonly kind: 'internal'; readonly message: string };

/** `reason`: short; the log has the rest. */
export function internalError(reason: string): Internal {
  return { kind: 'internal', message: `internal error, see the server's log: ${reason}` };
}

export type AskFailure = Unavailable | DeadlineExceeded | Busy | TooLarge | Internal;

const failureKinds: { readonly [Kind in AskFailure['kind']]: true } = {
  unavailable: true,
  deadline: true,
  busy: true,
  tooLarge: true,
  internal: true,
};

export function isAskFailure(reply: { readonly kind: string }): reply is AskFailure {
  return Object.hasOwn(failureKinds, reply.kind);
}

/** The asks of one actor, as its loop sees them. */
export interface AskSink {
  /** This ask gets no reply. */
  fail(askId: number, failure: AskFailure): void;
  /** No ask that is open now gets a reply; whether a command among them happened is not known. */
  abandon(message: string): void;
}

/** Nobody asked: the command is the actor's own (a timer, a finished task). */
export const NOBODY = 0;
