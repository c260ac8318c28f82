/** Where a schedule is kept: under an id that no workflow has, so that a schedule and a workflow may share theirs. The form is Temporal's. */

const prefix = 'temporal-sys-scheduler:';

export function keptAs(scheduleId: string): string {
  return `${prefix}${scheduleId}`;
}

/** The id of a schedule, from that of the workflow that lists show in its place. */
export function scheduleIdOf({ workflowId }: { readonly workflowId: string }): string {
  return workflowId.startsWith(prefix) ? workflowId.slice(prefix.length) : workflowId;
}

export function isSchedules({ workflowId }: { readonly workflowId: string }): boolean {
  return workflowId.startsWith(prefix);
}

/** Belongs to the schedule, not to its run, as in Temporal: one that is made anew acts at the same times. */
export function jitterSeedOf(namespaceId: string, scheduleId: string): string {
  return `${namespaceId}-${scheduleId}`;
}
