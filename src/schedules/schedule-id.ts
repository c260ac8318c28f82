/** Where a schedule is kept: under an id that no workflow has, so that a schedule and a workflow may share theirs. The form is Temporal's. */

const prefix = 'temporal-sys-scheduler:';

export function keptAs(scheduleId: string): string {
  return `${prefix}${scheduleId}`;
}

/** Of a workflow that says in lists that it is a schedule: its own. */
export function scheduleIdOf({ workflowId }: { readonly workflowId: string }): string {
  return workflowId.startsWith(prefix) ? workflowId.slice(prefix.length) : workflowId;
}

export function isSchedules({ workflowId }: { readonly workflowId: string }): boolean {
  return workflowId.startsWith(prefix);
}

/** Of the schedule, not of its run: one that is made anew acts at the same times. As in Temporal. */
export function jitterSeedOf(namespaceId: string, scheduleId: string): string {
  return `${namespaceId}-${scheduleId}`;
}
