/**
 * Faults that somebody wants, to see dead letters come and go: `server start-dev --dev-faults`.
 *
 *     task=TASK_TYPE_TRANSFER_START_CHILD_EXECUTION,error=Unavailable dependency,kind=permanent,share=0.5,namespace=orders
 *
 * Without `task` every kind of task fails, without `namespace` those of all. Of a share it is always the same tasks that fail, at each attempt.
 */
import { fingerprint32 } from '../kernel/fingerprint.ts';

export type DevFault = {
  /** undefined: all. */
  readonly taskType: string | undefined;
  readonly namespace: string | undefined;
  readonly errorMessage: string;
  /** Whether it may go away: a task is tried again, or is a letter at once. */
  readonly kind: 'failed' | 'permanent';
  /** Which part of those tasks fails; above 0, up to 1. */
  readonly share: number;
};

export type FaultyTask = { readonly taskType: string; readonly namespace: string; readonly runId: string; readonly taskId: number };

/** Task types that a history shard has. */
export const faultyTaskTypes: readonly string[] = [
  ...['WORKFLOW_TASK', 'ACTIVITY_TASK', 'CLOSE_EXECUTION', 'CANCEL_EXECUTION', 'START_CHILD_EXECUTION', 'SIGNAL_EXECUTION'].map(
    (name) => `TASK_TYPE_TRANSFER_${name}`,
  ),
  ...['WORKFLOW_TASK_TIMEOUT', 'ACTIVITY_TIMEOUT', 'USER_TIMER', 'WORKFLOW_RUN_TIMEOUT', 'WORKFLOW_EXECUTION_TIMEOUT'].map(
    (name) => `TASK_TYPE_${name}`,
  ),
  ...['ACTIVITY_RETRY_TIMER', 'WORKFLOW_BACKOFF_TIMER'].map((name) => `TASK_TYPE_${name}`),
];

const anyTask: DevFault = { taskType: undefined, namespace: undefined, errorMessage: 'injected fault', kind: 'failed', share: 1 };

export function faultOf(faults: readonly DevFault[], { taskType, namespace, runId, taskId }: FaultyTask): DevFault | undefined {
  return faults.find(
    (fault) =>
      (fault.taskType === undefined || fault.taskType === taskType) &&
      (fault.namespace === undefined || fault.namespace === namespace) &&
      fingerprint32(`${runId} ${taskId}`) < fault.share * 2 ** 32,
  );
}

export function faultText({ taskType = 'every task', namespace, errorMessage, kind, share }: DevFault): string {
  const where = namespace === undefined ? '' : ` of ${namespace}`;
  const often = share === 1 ? '' : `, ${share * 100} % of them,`;
  return `${taskType}${where}${often} fails${kind === 'permanent' ? ' for good' : ''}: ${errorMessage}`;
}

export function parseDevFault(text: string): { readonly fault: DevFault } | { readonly problem: string } {
  let fault = anyTask;
  for (const part of text.split(',')) {
    const [name = '', ...rest] = part.split('=');
    const read = readPart(name.trim(), rest.join('=').trim());
    if ('problem' in read) return read;
    fault = { ...fault, ...read.part };
  }
  return { fault };
}

function readPart(name: string, value: string): { readonly part: Partial<DevFault> } | { readonly problem: string } {
  if (value === '') return { problem: `expected NAME=VALUE, got "${name}"` };
  switch (name) {
    case 'task':
      if (faultyTaskTypes.includes(value)) return { part: { taskType: value } };
      return { problem: `task: expected one of ${faultyTaskTypes.join(', ')}, got "${value}"` };
    case 'namespace':
      return { part: { namespace: value } };
    case 'error':
      return { part: { errorMessage: value } };
    case 'kind':
      if (value === 'failed' || value === 'permanent') return { part: { kind: value } };
      return { problem: `kind: expected failed or permanent, got "${value}"` };
    case 'share': {
      const share = Number(value);
      return share > 0 && share <= 1 ? { part: { share } } : { problem: `share: expected a number above 0, up to 1, got "${value}"` };
    }
    default:
      return { problem: `expected task, namespace, error, kind or share, got "${name}"` };
  }
}
