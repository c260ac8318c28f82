/**
 * A program is a list of calls that can be made against any Temporal-compatible server. Its requests are plain objects of the public
 * API; what only the server knows is named:
 *
 *     $W0, $Q0       a workflow id and a task queue of this execution (0..9)
 *     $RUN0, $OLD0   the newest and the previous run id that a start of $W0 gave
 *     $CALLBACK      the address of a target of completion callbacks, which takes all
 *     $TOKEN0, $TOKENOLD0, $ATOKEN0, $ATOKENOLD0, $PAGE   tokens of the last answers (whole value only)
 */
export type Fields = { readonly [name: string]: unknown };

export type Step =
  | { readonly op: 'call'; readonly method: string; readonly request: Fields; readonly slot?: number; readonly timeoutMs?: number }
  /** Starts a call that a later `await` step finishes; the oldest first. */
  | { readonly op: 'begin'; readonly method: string; readonly request: Fields; readonly slot?: number; readonly timeoutMs?: number }
  | { readonly op: 'await' }
  /** Polls when the workflow says that a workflow task waits; `blindly` also when it does not. */
  | { readonly op: 'poll'; readonly slot: number; readonly sticky?: boolean; readonly blindly?: boolean }
  | { readonly op: 'pollActivity'; readonly slot: number }
  /** Makes a call until its answer stays the same: for what a server does a little later. */
  | { readonly op: 'steady'; readonly method: string; readonly request: Fields }
  /** Until no history grows any more. */
  | { readonly op: 'settle' }
  | { readonly op: 'sleep'; readonly ms: number };

export type Program = {
  readonly family: string;
  readonly seed: number;
  readonly steps: readonly Step[];
};

export const NAMESPACE = 'default';

export function call(method: string, request: Fields, more: { readonly slot?: number; readonly timeoutMs?: number } = {}): Step {
  return { op: 'call', method, request: { namespace: NAMESPACE, ...request }, ...more };
}
