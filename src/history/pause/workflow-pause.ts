/** A workflow that stands still until an operator lets it go on. It is open; that it runs says the status that is kept, that it is paused the one that is shown. */
export type WorkflowPause = {
  readonly timeMs: number;
  readonly identity: string;
  readonly reason: string;
  readonly requestId: string;
};
