/** Where a batch job is kept: under an id that no workflow has, so that a job and a workflow may share theirs. */

const prefix = 'temporal-sys-batcher:';

export function jobKeptAs(jobId: string): string {
  return `${prefix}${jobId}`;
}

/** The id of a job, from that of the workflow that lists show in its place. */
export function jobIdOf({ workflowId }: { readonly workflowId: string }): string {
  return workflowId.startsWith(prefix) ? workflowId.slice(prefix.length) : workflowId;
}

export function isBatchJobs({ workflowId }: { readonly workflowId: string }): boolean {
  return workflowId.startsWith(prefix);
}
