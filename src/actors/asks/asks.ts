/** What the loop owes those who asked, when it cannot give them their actor's reply. */

/** Whether it happened is not known. */
export type Unavailable = { readonly kind: 'unavailable'; readonly message: string };
/** Nothing happened: this actor does not serve. Whoever knows of a later owner than `epoch` may ask that one; others tell their caller. */
export type NotHere = {
  readonly kind: 'notHere';
  readonly message: string;
  /** Who serves instead, as its claim names it; '' = not known. */
  readonly hint: string;
  /** The latest ownership that this actor knows of; 0 = none. */
  readonly epoch: number;
};
export type DeadlineExceeded = { readonly kind: 'deadline'; readonly message: string };
/** Refused, nothing happened: RESOURCE_EXHAUSTED. */
export type Busy = { readonly kind: 'busy'; readonly message: string };
/** Refused, nothing happened: the command's record would be too large. */
export type TooLarge = { readonly kind: 'tooLarge'; readonly message: string };

/** A bug of ours met this command: INTERNAL. Nothing happened, and nobody else is concerned. */
export type Internal = { readonly kind: 'internal'; readonly message: string };

/** What is stored of the workflow cannot be read: DATA_LOSS. Nothing happened; whoever asks again is answered once somebody has mended it. */
export type DataLoss = { readonly kind: 'dataLoss'; readonly message: string };

/** `reason`: short; the log has the rest. */
export function internalError(reason: string): Internal {
  return { kind: 'internal', message: `internal error, see the server's log: ${reason}` };
}

export type AskFailure = Unavailable | NotHere | DeadlineExceeded | Busy | TooLarge | Internal | DataLoss;

const failureKinds: { readonly [Kind in AskFailure['kind']]: true } = {
  unavailable: true,
  notHere: true,
  deadline: true,
  busy: true,
  tooLarge: true,
  internal: true,
  dataLoss: true,
};

export function isAskFailure(reply: { readonly kind: string }): reply is AskFailure {
  return Object.hasOwn(failureKinds, reply.kind);
}

type Refused = { readonly kind: 'rejected'; readonly rejection: { readonly message: string } };

export function refusalMessage(answer: AskFailure | Refused): string {
  return answer.kind === 'rejected' ? answer.rejection.message : answer.message;
}

/** The asks of one actor, as its loop sees them. */
export interface AskSink {
  fail(askId: number, failure: AskFailure): void;
  /** None of these. There may be ten thousand: they are told in their order, in turns of the event loop, but for those whose reply comes before. */
  failAll(askIds: readonly number[], failure: AskFailure): void;
  /** No other ask that is open now gets a reply, told likewise; whether a command among them happened is not known. */
  abandon(message: string): void;
}

/** Nobody asked: the command is the actor's own (a timer, a finished task). */
export const NOBODY = 0;

export type AskContext = {
  /** Finite, by the clock's `monoMs`: whatever is lost, no ask stays open for ever. */
  readonly deadlineMs: number;
  /** The caller in whose name it is asked; undefined: the server itself asks, or the caller is not known. */
  readonly principal: Principal | undefined;
  /** The span that the ask belongs to, as in a `traceparent` header; '': none. */
  readonly trace: string;
};

export type Principal = { readonly name: string; readonly authType: string };

/** The context of asks that the server makes of its own accord: timers, deliveries, retries. */
export function ownWork(deadlineMs: number): AskContext {
  return { deadlineMs, principal: undefined, trace: '' };
}
