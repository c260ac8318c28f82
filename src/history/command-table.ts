/** All commands of a history shard, a row for each; a new one is a type and a row; the compiler refuses one that says less. */
import { outcomeBytes } from './run/hand-over-lines.ts';
import { keyToKeep, archived } from './execution/archive.ts';
import { batchStepped, describeBatch, startBatch, stopBatch } from './batch/batch-decisions.ts';
import { callbackAnswered, runCallback } from './execution/callback-attempts.ts';
import { startActivityTask, withdrawActivityStart } from './activity/start-activity-task.ts';
import { cancelActivityTask, completeActivityTask, failActivityTask, recordActivityHeartbeat } from './activity/activity-close.ts';
import { pauseActivity, resetActivity, unpauseActivity, updateActivityOptions } from './activity/operate-activity.ts';
import { findChild, recordChildClosed } from './child/child-outcomes.ts';
import { overheadBytes, anyBytes, completionBytes, definitionBytes, signalBytes, size, sizeOfAll, startBytes } from './command-bytes.ts';
import { updateBytes } from './command-bytes.ts';
import { type AskedCommand, type CommandKind, type CommandRow, little, ofActivityTask, ofRun, ofShard, ofTask } from './command-row.ts';
import { ofWorkflow, ofWorkflowTask, ownOfRun, ownOfShard, ownOfTimer, ownOfTransfer } from './command-row.ts';
import type { BeginsRun, HistoryCommand, HistoryRequest } from './commands/history-commands.ts';
import type { OwnerRequest } from './commands/owner-requests.ts';
import type { Draft } from './draft/draft.ts';
import { requestCancelWorkflow, scheduleFirstWorkflowTask, terminateWorkflow } from './execution/cancel-terminate.ts';
import { deleteWorkflow } from './execution/delete.ts';
import { describeMutableState, describeWorkflow, getHistoryPosition } from './execution/describe.ts';
import { letterChecked } from './steps/end-of-run.ts';
import { childIdReserved, notFound, startIdReserved } from './execution/not-a-workflow.ts';
import { putAside } from './execution/put-aside.ts';
import { finishRow, rowRefused, writeRow } from './execution/refused-row.ts';
import { retireRuns } from './execution/retire.ts';
import { startWorkflow, signalWithStartWorkflow } from './execution/start.ts';
import { doneBefore, endedBefore, outboxTaskEnds, timerEnds } from './too-large.ts';
import { updateWorkflowOptions } from './execution/update-options.ts';
import { handOverTask, noteLetters } from './tasks/hand-over.ts';
import { failureBytes } from './commands/hand-over-commands.ts';
import { finishOutboxTask, runOutboxTask } from './tasks/outbox.ts';
import { pauseWorkflow, unpauseWorkflow } from './execution/pause-workflow.ts';
import { finishQueryDispatch, queryWorkflow } from './query/query.ts';
import { confirmLetter, executeLetter, listLetterMarks } from './steps/redrive.ts';
import { withdrawLetter } from './tasks/withdraw-letter.ts';
import type { HistoryReply } from './run/history-replies.ts';
import { dropReset, prepareReset, resetWorkflow } from './reset/reset-workflow.ts';
import { childLacks, deletionLacks, type Lacks, messageLacks, parentLacks, resetLacks, runLacks, startLacks } from './residency/lacks.ts';
import * as schedules from './schedule/schedule-decisions.ts';
import { addTasks } from './tasks/add-tasks.ts';
import { listTasks } from './tasks/list-tasks.ts';
import { keyToSettle, removeTask } from './tasks/remove-task.ts';
import { signalWorkflow } from './execution/signal.ts';
import type { ShardView } from './run/state.ts';
import { fireTimer } from './tasks/fire-timer.ts';
import { noteAtMatching, takeFinishedAlong } from './tasks/finished-tasks.ts';
import { startAndUpdate } from './start-and-update.ts';
import { pollUpdate, updateWorkflow } from './update/admit-update.ts';
import { completeWorkflowTask } from './complete-workflow-task.ts';
import { endSpeculative, failWorkflowTask, resetStickyTaskQueue } from './workflow-task/workflow-task-ends.ts';
import { startWorkflowTask } from './workflow-task/start-workflow-task.ts';
import type { ReplyTo } from '../kernel/handled.ts';
import type { RunKey } from '../kernel/run-key.ts';

type CommandTable = { readonly [Kind in CommandKind]: CommandRow<Kind> };
type BeginnersSaySo = { readonly [Kind in BeginsRun['kind']]: { readonly beginsRun: true } };

/** Says little, and ends or begins what is under way already. */
const finishes = { bytes: little, finishesWork: true } as const;
const deletes = { ...finishes, lacks: deletionLacks, deletesUnread: true, replies: ['done'] } as const;

const table = {
  // ── Of workflows: what clients and other workflows ask ───────────────────────────────────────────────────────────────────────
  startWorkflow: {
    ...ofWorkflow,
    beginsRun: true,
    // The edge refuses the id; a parent that asks for such a child gets none.
    refused: ({ key }) => childIdReserved(key),
    lacks: ({ key, parent }, shard) => (parent === undefined ? startLacks(shard, key) : childLacks(shard, key, parent)),
    bytes: ({ start, callbacks }) => startBytes(start) + sizeOfAll(callbacks?.callbacks ?? []),
    replies: ['started'],
    decide: startWorkflow,
  },
  signalWithStartWorkflow: {
    ...ofWorkflow,
    beginsRun: true,
    lacks: ({ key }, shard) => startLacks(shard, key),
    bytes: ({ start, signal }) => startBytes(start) + signalBytes(signal),
    replies: ['started'],
    decide: signalWithStartWorkflow,
  },
  startAndUpdate: {
    ...ofWorkflow,
    beginsRun: true,
    refused: ({ start }) => startIdReserved(start.key),
    lacks: ({ key }, shard) => startLacks(shard, key),
    bytes: ({ start, update }) => startBytes(start.start) + sizeOfAll(start.callbacks?.callbacks ?? []) + updateBytes(update),
    replies: ['updateStage', 'startRefused', 'updateRefused'],
    decide: startAndUpdate,
  },
  updateWorkflow: { ...ofWorkflow, bytes: ({ update }) => updateBytes(update), replies: ['updateStage'], decide: updateWorkflow },
  pollUpdate: { ...ofWorkflow, bytes: little, replies: ['updateStage'], decide: pollUpdate },
  signalWorkflow: { ...ofWorkflow, bytes: ({ signal }) => signalBytes(signal), replies: ['signaled'], decide: signalWorkflow },
  requestCancelWorkflow: {
    ...ofWorkflow,
    bytes: ({ cause, links }) => cause.length + sizeOfAll(links),
    replies: ['done'],
    decide: requestCancelWorkflow,
  },
  terminateWorkflow: {
    ...ofWorkflow,
    bytes: ({ reason, details, links }) => reason.length + size(details) + sizeOfAll(links),
    finishesWork: true,
    replies: ['done'],
    decide: terminateWorkflow,
  },
  deleteWorkflow: {
    ...ofWorkflow,
    ...deletes,
    refused: ({ key, isPurge }) => (isPurge === true ? undefined : notFound(key)),
    decide: deleteWorkflow,
  },
  queryWorkflow: { ...ofWorkflow, bytes: ({ query }) => query.length, replies: ['queryAnswered', 'queryRejected'], decide: queryWorkflow },
  describeWorkflow: { ...ofWorkflow, bytes: little, replies: ['description'], decide: describeWorkflow },
  getHistoryPosition: { ...ofWorkflow, bytes: little, replies: ['historyPosition'], decide: getHistoryPosition },
  pauseWorkflow: { ...ofWorkflow, bytes: ({ reason }) => reason.length, replies: ['done'], decide: pauseWorkflow },
  unpauseWorkflow: { ...ofWorkflow, bytes: ({ reason }) => reason.length, replies: ['done'], decide: unpauseWorkflow },
  updateWorkflowOptions: {
    ...ofWorkflow,
    bytes: ({ priority }) => size(priority),
    replies: ['workflowOptionsUpdated'],
    decide: updateWorkflowOptions,
  },
  resetWorkflow: {
    ...ofWorkflow,
    beginsRun: true,
    lacks: (command, shard) =>
      runLacks(shard, { ...command.key, runId: command.readTo.runId }) ?? resetLacks(shard, command, command.isPrepared),
    bytes: ({ reason, keptEvents, laterEvents, priorityChanges }) =>
      reason.length + sizeOfAll(keptEvents) + sizeOfAll(laterEvents) + anyBytes(priorityChanges),
    replies: ['workflowReset'],
    decide: resetWorkflow,
  },
  prepareReset: {
    ...ofWorkflow,
    beginsRun: true,
    lacks: (command, shard) => resetLacks(shard, command, true),
    bytes: ({ events }) => sizeOfAll(events),
    replies: ['workflowReset'],
    decide: prepareReset,
  },
  dropReset: { ...ofWorkflow, ...finishes, replies: ['done'], decide: dropReset },
  pauseActivity: { ...ofWorkflow, bytes: ({ reason }) => reason.length, replies: ['done'], decide: pauseActivity },
  unpauseActivity: { ...ofWorkflow, bytes: little, replies: ['done'], decide: unpauseActivity },
  resetActivity: { ...ofWorkflow, bytes: little, replies: ['done'], decide: resetActivity },
  updateActivityOptions: {
    ...ofWorkflow,
    bytes: ({ change }) => anyBytes(change),
    replies: ['activityOptionsUpdated'],
    decide: updateActivityOptions,
  },
  scheduleFirstWorkflowTask: { ...ofWorkflow, ...finishes, tooLarge: doneBefore, replies: ['done'], decide: scheduleFirstWorkflowTask },
  findChild: {
    ...ofWorkflow,
    lacks: ({ key, parent }, shard) => childLacks(shard, key, parent),
    ...finishes,
    replies: ['childFound'],
    decide: findChild,
  },
  recordChildClosed: {
    ...ofShard,
    // A parent is named with more than its ids.
    key: ({ parent: { namespaceId, workflowId, runId } }) => ({ namespaceId, workflowId, runId }),
    namespaceOf: ({ parent }) => parent.namespaceId,
    lacks: ({ parent }, shard) => parentLacks(shard, parent),
    bytes: ({ close }) => outcomeBytes(close),
    finishesWork: true,
    tooLarge: doneBefore,
    replies: ['done'],
    decide: recordChildClosed,
  },

  // ── Of tasks for workers: what matching and workers ask ──────────────────────────────────────────────────────────────────────
  startWorkflowTask: { ...ofRun, ...finishes, tooLarge: endedBefore, replies: ['workflowTask'], decide: startWorkflowTask },
  completeWorkflowTask: { ...ofWorkflowTask, bytes: completionBytes, replies: ['workflowTaskCompleted'], decide: completeWorkflowTask },
  failWorkflowTask: {
    ...ofWorkflowTask,
    bytes: ({ binaryChecksum, failure }) => binaryChecksum.length + size(failure?.bytes),
    decide: failWorkflowTask,
  },
  resetStickyTaskQueue: { ...ofWorkflow, bytes: little, replies: ['done'], decide: resetStickyTaskQueue },
  startActivityTask: { ...ofRun, ...finishes, tooLarge: endedBefore, replies: ['activityTask'], decide: startActivityTask },
  withdrawActivityStart: { ...ofRun, ...finishes, tooLarge: doneBefore, replies: ['done'], decide: withdrawActivityStart },
  completeActivityTask: { ...ofActivityTask, bytes: ({ result }) => size(result), decide: completeActivityTask },
  failActivityTask: {
    ...ofActivityTask,
    bytes: ({ failure, lastHeartbeatDetails }) => size(failure?.bytes) + size(lastHeartbeatDetails),
    decide: failActivityTask,
  },
  cancelActivityTask: { ...ofActivityTask, bytes: ({ details }) => size(details), decide: cancelActivityTask },
  recordActivityHeartbeat: {
    ...ofActivityTask,
    bytes: ({ details }) => size(details),
    replies: ['heartbeat'],
    decide: recordActivityHeartbeat,
  },
  endSpeculative: { ...ownOfRun, bytes: little, decide: endSpeculative },
  finishQueryDispatch: {
    ...ownOfShard,
    key: ({ query }) => query.key,
    namespaceOf: ({ query }) => query.key.namespaceId,
    // When the sticky queue has not answered, its stickiness is looked at; when nobody could answer, whether it is there at all.
    lacks: ({ query, outcome }, shard) => (outcome.kind === 'answered' && outcome.result.answered ? undefined : runLacks(shard, query.key)),
    bytes: ({ query, outcome }) =>
      query.query.length + (outcome.kind === 'answered' ? size(outcome.result.answer) + size(outcome.result.failure) : 0),
    decide: finishQueryDispatch,
  },
  noteAtMatching: { ...ownOfShard, bytes: ({ taskIds }) => taskIds.length * 8, decide: noteAtMatching },

  // ── Of schedules and batch jobs ──────────────────────────────────────────────────────────────────────────────────────────────
  createSchedule: { ...ofRun, beginsRun: true, bytes: definitionBytes, replies: ['scheduleChanged'], decide: schedules.createSchedule },
  updateSchedule: { ...ofRun, bytes: definitionBytes, replies: ['scheduleChanged'], decide: schedules.updateSchedule },
  patchSchedule: {
    ...ofRun,
    bytes: ({ patch }) => patch.backfills.length * 100,
    replies: ['scheduleChanged'],
    decide: schedules.patchSchedule,
  },
  deleteSchedule: { ...ofRun, ...deletes, decide: schedules.deleteSchedule },
  describeSchedule: { ...ofRun, bytes: little, replies: ['scheduleDescription'], decide: schedules.describeSchedule },
  recordActionClosed: {
    ...ofRun,
    bytes: ({ close }) => outcomeBytes(close),
    finishesWork: true,
    replies: ['done'],
    decide: schedules.recordActionClosed,
  },
  startBatch: { ...ofRun, beginsRun: true, bytes: definitionBytes, replies: ['done'], decide: startBatch },
  stopBatch: { ...ofRun, ...deletes, decide: stopBatch },
  describeBatch: { ...ofRun, bytes: little, replies: ['batchDescription'], decide: describeBatch },
  batchStepped: { ...ownOfRun, ...finishes, decide: batchStepped },

  // ── Of any run: what operators ask ───────────────────────────────────────────────────────────────────────────────────────────
  describeMutableState: { ...ofRun, bytes: little, replies: ['mutableState'], decide: describeMutableState },
  executeLetter: { ...ofRun, bytes: ({ task }) => task.length, replies: ['letterExecuted', 'lettersUnconfirmed'], decide: executeLetter },
  confirmLetter: { ...ofShard, ...finishes, replies: ['done'], decide: confirmLetter },
  withdrawLetter: { ...ofRun, ...finishes, replies: ['letterWithdrawn', 'letterExecuted'], decide: withdrawLetter },
  listLetterMarks: { ...ofShard, bytes: little, replies: ['letterMarks'], decide: listLetterMarks },
  listRunKeys: { ...ofShard, bytes: ({ page }) => page.keys.length * 100, replies: ['runKeys'], decide: (_draft, { page }) => page },
  listTasks: { ...ofShard, bytes: little, replies: ['taskList'], decide: listTasks },
  removeTask: { ...ofTask(({ taskId }, shard) => keyToSettle(shard, taskId)), bytes: little, replies: ['done'], decide: removeTask },
  // Too large, its tasks are refused together.
  addTasks: { ...ofRun, bytes: ({ tasks }) => sizeOfAll(tasks), replies: ['done'], decide: addTasks },

  // ── The shard's own, of its tasks and rows ───────────────────────────────────────────────────────────────────────────────────
  fireTimer: { ...ownOfTimer, bytes: little, tooLarge: timerEnds, decide: fireTimer },
  archived: { ...ownOfTimer, bytes: little, decide: archived },
  letterChecked: {
    ...ownOfTimer,
    bytes: little,
    decide: (draft, command) => schedules.startsChecked(draft, command) ?? letterChecked(draft, command),
  },
  runOutboxTask: { ...ownOfTransfer, lacks: messageLacks, bytes: little, decide: runOutboxTask },
  finishOutboxTask: { ...ownOfTransfer, lacks: messageLacks, bytes: little, tooLarge: outboxTaskEnds, decide: finishOutboxTask },
  runCallback: { ...ownOfTransfer, bytes: little, decide: runCallback },
  callbackAnswered: {
    ...ownOfTransfer,
    bytes: ({ outcome }) => (outcome.kind === 'failed' ? outcome.message.length : 0),
    decide: callbackAnswered,
  },
  handOverTask: {
    ...ofTask(({ taskId }, { transfers, timers }) => {
      // What its task becomes is told by the run of a callback, to a schedule, and to a batch job.
      const task = transfers.get(taskId);
      if (task?.kind === 'invokeCallback' || task?.kind === 'startAction') return task.key;
      const timer = timers.get(taskId);
      return timer?.kind === 'scheduleWake' || timer?.kind === 'batchStep' ? timer.key : keyToKeep(timer);
    }),
    bytes: ({ failure }) => failureBytes(failure),
    decide: handOverTask,
  },
  noteLetters: { ...ownOfShard, bytes: ({ messageIds }) => messageIds.length * 8, decide: noteLetters },
  flushFinishedTasks: {
    ...ownOfShard,
    bytes: little,
    decide: (draft) => {
      // `handle` puts them into every record; here they are the record.
      takeFinishedAlong(draft);
      return { kind: 'done' };
    },
  },
  retireRuns: { ...ownOfShard, bytes: ({ runs }) => runs.length * 200, decide: retireRuns },
  putAside: { ...ownOfRun, bytes: little, decide: putAside },
  rowRefused: { ...ownOfRun, bytes: little, decide: rowRefused },
  writeRow: { ...ownOfTransfer, bytes: little, decide: writeRow },
  finishRow: { ...ownOfShard, bytes: little, decide: finishRow },
} satisfies CommandTable & BeginnersSaySo;

/** What others may ask of a shard, with the replies that each may get. */
export const historyRequests = {
  ...table,
  // OwnerRequest: these never come to the core.
  readHistory: { replies: ['historyPage'] },
  holdRows: { replies: ['rowsHeld'] },
  rebuildList: { replies: ['done'] },
} satisfies { readonly [Kind in HistoryRequest['kind']]: Pick<CommandRow<CommandKind>, 'replies'> };

export type HistoryReplyTo = ReplyTo<typeof historyRequests, HistoryRequest['kind'], HistoryReply>;

const rows: CommandTable = table;

/** A command and its own kind belong to one row: TypeScript does not follow that through a union, and takes the row for one of all kinds. */
function rowOf<Kind extends CommandKind>(kind: Kind): CommandRow<Kind> {
  return rows[kind];
}

export function decide(draft: Draft, command: HistoryCommand): HistoryReply | undefined {
  const row = rowOf(command.kind);
  return row.refused(command) ?? row.decide(draft, command);
}

export function commandKey(command: HistoryCommand, shard: ShardView): RunKey | undefined {
  return rowOf(command.kind).key(command, shard);
}

export function commandLacks(shard: ShardView, command: HistoryCommand): Lacks {
  return rowOf(command.kind).lacks(command, shard);
}

export function deletesUnread(command: HistoryCommand): boolean {
  const row = rowOf(command.kind);
  return row.deletesUnread === true && row.refused(command) === undefined;
}

export function mayBeginRun(request: Exclude<HistoryRequest, OwnerRequest>): request is BeginsRun {
  return rowOf(request.kind).beginsRun === true;
}

export function endTooLarge(draft: Draft, command: HistoryCommand): HistoryReply | undefined {
  const row = rowOf(command.kind);
  return row.tooLarge(draft, row.key(command, draft.shard), command);
}

/** What the queue of a shard wants to know of a command that waits. */
export const commandScale = {
  bytesOf: (command: AskedCommand): number => overheadBytes + rowOf(command.kind).bytes(command),
  namespaceOf: (command: AskedCommand): string => rowOf(command.kind).namespaceOf(command),
  finishesWork: (command: HistoryCommand): boolean => rowOf(command.kind).finishesWork,
};
