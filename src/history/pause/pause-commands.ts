/** What operators ask of a workflow as a whole: to stand still, to go on. */
import type { RunKey } from '../../kernel/run-key.ts';

type PauseRequest = {
  /** `runId` '' = the current run. */
  readonly key: RunKey;
  readonly identity: string;
  readonly reason: string;
  readonly requestId: string;
};

/** Reply: Done, also when the same request has paused it; rejected: failed-precondition when another has. */
export type PauseWorkflow = { readonly kind: 'pauseWorkflow' } & PauseRequest;

/** Reply: Done; rejected: failed-precondition when it is not paused. */
export type UnpauseWorkflow = { readonly kind: 'unpauseWorkflow' } & PauseRequest;
