/** What has to be loaded before a command is decided, or a record folded. Asked again after each load: that may name more. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { ParentLink } from '../commands/history-commands.ts';
import { beginsRun, type HistoryRecord } from '../run/record.ts';
import { childStartKey, executionKey, type ShardView } from '../run/state.ts';
import type { PrepareReset, ResetWorkflow } from '../commands/operation-commands.ts';
import { isLastMessage } from '../run/tasks.ts';
import type { LoadKey } from '../shard/residency.ts';

/** undefined: nothing. */
export type Lacks = readonly LoadKey[] | undefined;

export function deletionLacks({ key }: { readonly key: RunKey }, shard: ShardView): Lacks {
  return shard.runToDeleteUnread(key) === undefined ? runLacks(shard, key) : undefined;
}

export function messageLacks({ taskId }: { readonly taskId: number }, shard: ShardView): Lacks {
  const task = shard.transfers.get(taskId);
  if (task === undefined) return undefined;
  const lacking = isLastMessage(task) ? undefined : runLacks(shard, task.key);
  // Its parent may have closed, and a run that goes on may have the child.
  return lacking ?? (task.kind === 'startChild' ? runLacks(shard, { ...task.key, runId: '' }) : undefined);
}

export function startLacks(shard: ShardView, key: RunKey): Lacks {
  if (shard.isCurrentCold(key)) return currentOf(key);
  const current = shard.currentRuns.get(executionKey(key.namespaceId, key.workflowId));
  if (current === undefined || current.start.firstRunId === current.key.runId) return undefined;
  return runLacks(shard, { ...current.key, runId: current.start.firstRunId });
}

/** The answer tells the state of the child that there is. */
export function childLacks(shard: ShardView, key: RunKey, parent: ParentLink): Lacks {
  const { runId: parentRunId, initiatedEventId } = parent;
  if (shard.isChildStartCold(key, parent)) return [{ kind: 'childStart', parentRunId, initiatedEventId }];
  const runId = shard.childStarts.get(childStartKey(parent));
  return runId === undefined ? startLacks(shard, key) : runLacks(shard, { ...key, runId });
}

/** The base run, the one that went on from it before, the current one, which makes way, and the one that was prepared. */
export function resetLacks(shard: ShardView, { key, newRunId }: ResetWorkflow | PrepareReset, isPrepared: boolean): Lacks {
  const lacking = runLacks(shard, key) ?? runLacks(shard, { ...key, runId: '' });
  const resetRunId = shard.runs.get(key.runId)?.resetRunId ?? '';
  return (
    lacking ??
    (resetRunId === '' ? undefined : runLacks(shard, { ...key, runId: resetRunId })) ??
    (isPrepared ? runLacks(shard, { ...key, runId: newRunId }) : undefined)
  );
}

/** The parent, and the current run, which may go on with what the parent began. */
export function parentLacks(shard: ShardView, { namespaceId, workflowId, runId }: ParentLink): Lacks {
  return runLacks(shard, { namespaceId, workflowId, runId }) ?? runLacks(shard, { namespaceId, workflowId, runId: '' });
}

export function runLacks(shard: ShardView, key: RunKey): Lacks {
  if (key.runId === '') return shard.isCurrentCold(key) ? currentOf(key) : undefined;
  return shard.isRunCold(key) ? [{ kind: 'run', ...idsOf(key) }] : undefined;
}

function currentOf({ namespaceId, workflowId }: RunKey): readonly LoadKey[] {
  return [{ kind: 'current', namespaceId, workflowId }];
}

/** A key may come with more than its ids. */
function idsOf({ namespaceId, workflowId, runId }: RunKey): RunKey {
  return { namespaceId, workflowId, runId };
}

/** The runs that a record changes, or brings tasks of, and does not begin. Those that it retires are not needed. */
export function recordLacks(shard: ShardView, record: HistoryRecord): Lacks {
  const { namespaceId, workflowId } = record;
  let lacking: Map<string, LoadKey> | undefined;
  const need = (key: RunKey): void => {
    if (!shard.isRunCold(key) || shard.isBehind(key.runId) || record.runs.some((change) => change.runId === key.runId && beginsRun(change)))
      return;
    lacking ??= new Map();
    lacking.set(key.runId, { kind: 'run', ...idsOf(key) });
  };
  for (const { runId } of record.runs) need({ namespaceId, workflowId, runId });
  for (const task of record.tasks) if (!isLastMessage(task)) need(task.key);
  for (const { task } of record.lettersBegun ?? []) if (!isLastMessage(task)) need(task.key);
  return lacking === undefined ? undefined : [...lacking.values()];
}
