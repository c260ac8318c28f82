/** A workflow id of a namespace, with all its runs. */
export type ExecutionId = { readonly namespaceId: string; readonly workflowId: string };

/** One run of it; `runId` '' = the current one, where a command may leave that open. */
export type RunKey = ExecutionId & { readonly runId: string };
