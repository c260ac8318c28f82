/** The words of the commands. `admin dlq`: what comes from other clusters; `admin queue dlq`: this cluster's own tasks. */
export type DlqKind = 'admin dlq' | 'admin queue dlq';
