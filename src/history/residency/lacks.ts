/**
 * What has to be loaded before a command is decided, or a record folded: deciding and folding never wait, and what they do not find is
 * nowhere. Asked again after each load, since what was loaded may name more (the first run of a chain).
 *
 *     command                                   needs
 *     start, signal- and update-with-start      the current run, and the first of its chain: a request may be known to either
 *     start of a child, findChild               the child that this parent has started, else the same
 *     fireTimer, runOutboxTask, finishOutboxTask  the run of the task, which is in memory itself
 *     delete, stopBatch                         its run, if that can be read
 *     reset, start and end of a child           the run, and the current one; of a reset, the run that the last one made, too, and the prepared one
 *     any other                                 its run, or the current one
 */
import { unreachable } from '../../kernel/assert.ts';
import { commandKey } from '../command-key.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryCommand, ParentLink } from '../commands.ts';
import { beginsRun, type HistoryRecord } from '../record.ts';
import { childStartKey, executionKey, type ShardView } from '../state.ts';
import type { PrepareReset, ResetWorkflow } from '../reset/reset-commands.ts';
import { isLastMessage } from '../tasks.ts';
import type { LoadKey } from './residency.ts';

/** undefined: nothing. */
export type Lacks = readonly LoadKey[] | undefined;

export function commandLacks(shard: ShardView, command: HistoryCommand): Lacks {
  switch (command.kind) {
    case 'startWorkflow':
      return command.parent === undefined ? startLacks(shard, command.key) : childLacks(shard, command.key, command.parent);
    case 'signalWithStartWorkflow':
    case 'startAndUpdate':
      return startLacks(shard, command.key);
    case 'findChild':
      return childLacks(shard, command.key, command.parent);
    case 'finishQueryDispatch':
      // When the sticky queue has not answered, its stickiness is looked at; when nobody could answer, whether it is there at all.
      return command.outcome.kind === 'answered' && command.outcome.result.answered ? undefined : runLacks(shard, command.query.key);
    case 'deleteWorkflow':
    case 'deleteSchedule':
    case 'stopBatch':
      return shard.runToDeleteUnread(command.key) === undefined ? runLacks(shard, command.key) : undefined;
    case 'resetWorkflow':
      return runLacks(shard, { ...command.key, runId: command.readTo.runId }) ?? resetLacks(shard, command, command.isPrepared);
    case 'prepareReset':
      return resetLacks(shard, command, true);
    case 'recordChildClosed':
      return parentLacks(shard, command.parent);
    case 'runOutboxTask':
    case 'finishOutboxTask': {
      const task = shard.transfers.get(command.taskId);
      if (task === undefined) return undefined;
      const lacking = isLastMessage(task) ? undefined : runLacks(shard, task.key);
      // Its parent may have closed, and a run that goes on may have the child.
      return lacking ?? (task.kind === 'startChild' ? runLacks(shard, { ...task.key, runId: '' }) : undefined);
    }
    case 'updateWorkflow':
    case 'pollUpdate':
    case 'endSpeculative':
    case 'signalWorkflow':
    case 'requestCancelWorkflow':
    case 'terminateWorkflow':
    case 'scheduleFirstWorkflowTask':
    case 'startWorkflowTask':
    case 'resetStickyTaskQueue':
    case 'startActivityTask':
    case 'withdrawActivityStart':
    case 'pauseActivity':
    case 'unpauseActivity':
    case 'resetActivity':
    case 'updateActivityOptions':
    case 'pauseWorkflow':
    case 'unpauseWorkflow':
    case 'updateWorkflowOptions':
    case 'dropReset':
    case 'createSchedule':
    case 'updateSchedule':
    case 'patchSchedule':
    case 'describeSchedule':
    case 'startBatch':
    case 'describeBatch':
    case 'batchStepped':
    case 'recordActionClosed':
    case 'queryWorkflow':
    case 'describeWorkflow':
    case 'describeMutableState':
    case 'getHistoryPosition':
    case 'putAside':
    case 'executeLetter':
    case 'withdrawLetter':
    case 'addTasks':
    case 'rowRefused':
    case 'completeWorkflowTask':
    case 'failWorkflowTask':
    case 'completeActivityTask':
    case 'failActivityTask':
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat':
    case 'fireTimer':
    case 'archived':
    case 'letterChecked':
    case 'writeRow':
    case 'runCallback':
    case 'callbackAnswered':
    case 'handOverTask':
    case 'removeTask':
    case 'flushFinishedTasks':
    case 'noteAtMatching':
    case 'noteLetters':
    case 'retireRuns':
    case 'confirmLetter':
    case 'listLetterMarks':
    case 'listTasks':
    case 'finishRow': {
      const key = commandKey(command, shard);
      return key === undefined ? undefined : runLacks(shard, key);
    }
    default:
      return unreachable(command);
  }
}

function startLacks(shard: ShardView, key: RunKey): Lacks {
  if (shard.isCurrentCold(key)) return currentOf(key);
  const current = shard.currentRuns.get(executionKey(key.namespaceId, key.workflowId));
  if (current === undefined || current.start.firstRunId === current.key.runId) return undefined;
  return runLacks(shard, { ...current.key, runId: current.start.firstRunId });
}

/** The answer tells the state of the child that there is. */
function childLacks(shard: ShardView, key: RunKey, parent: ParentLink): Lacks {
  const { runId: parentRunId, initiatedEventId } = parent;
  if (shard.isChildStartCold(key, parent)) return [{ kind: 'childStart', parentRunId, initiatedEventId }];
  const runId = shard.childStarts.get(childStartKey(parent));
  return runId === undefined ? startLacks(shard, key) : runLacks(shard, { ...key, runId });
}

/** The base run, the one that went on from it before, the current one, which makes way, and the one that was prepared. */
function resetLacks(shard: ShardView, { key, newRunId }: ResetWorkflow | PrepareReset, isPrepared: boolean): Lacks {
  const lacking = runLacks(shard, key) ?? runLacks(shard, { ...key, runId: '' });
  const resetRunId = shard.runs.get(key.runId)?.resetRunId ?? '';
  return (
    lacking ??
    (resetRunId === '' ? undefined : runLacks(shard, { ...key, runId: resetRunId })) ??
    (isPrepared ? runLacks(shard, { ...key, runId: newRunId }) : undefined)
  );
}

/** The parent, and the current run, which may go on with what the parent began. */
function parentLacks(shard: ShardView, { namespaceId, workflowId, runId }: ParentLink): Lacks {
  return runLacks(shard, { namespaceId, workflowId, runId }) ?? runLacks(shard, { namespaceId, workflowId, runId: '' });
}

function runLacks(shard: ShardView, key: RunKey): Lacks {
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
