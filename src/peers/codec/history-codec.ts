/** What history shards are asked, and their answers, as bytes. */
import { activityOptionFields } from '../../kernel/activity-option-fields.ts';
import type { UpdateActivityOptions } from '../../history/activity/activity-commands.ts';
import type { AskFailure } from '../../actors/asks/asks.ts';
import type {
  CloseOutcome,
  CompleteWorkflowTask,
  HistoryRequest,
  IdPolicies,
  QueryWorkflow,
  SignalWithStartWorkflow,
  StartWorkflow,
} from '../../history/commands.ts';
import type { UpdateWorkflowOptions } from '../../history/execution/options-commands.ts';
import type { PriorityPath } from '../../history/priority.ts';
import type { ResetWorkflow } from '../../history/reset/reset-commands.ts';
import type { CompletedWorkflowTask, HistoryReply, Rejection, UpdateReply } from '../../history/replies.ts';
import type { UpdateWaitStage } from '../../history/update/pending-update.ts';
import type { UpdateAttributes, UpdateMessage } from '../../history/update/update-commands.ts';
import { unreachable } from '../../kernel/assert.ts';
import * as wire from '../../wire/generated/peer/history.ts';
import * as wireTask from '../../wire/generated/peer/started_task.ts';
import type { Reader } from '../../wire/reader.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Writer } from '../../wire/writer.ts';
import { askFailureCodecs } from './ask-failure-codec.ts';
import { deleteWorkflowCodec } from './delete-workflow-codec.ts';
import { letterOutcomeFromWire, letterOutcomeToWire } from './letter-outcome-codec.ts';
import { startReplyFromWire, startReplyToWire } from './start-reply-codec.ts';
import { activityTaskFromWire, workflowTaskFromWire, workflowTaskToWire } from './started-task-codec.ts';
import { momentMs, timeLeftMs } from './remaining-time.ts';
import { bare, type KindCodecs, plain, UnionCodec } from './union-codec.ts';
import { type Words, wordOf } from './words.ts';
import { commandFromWire, commandToWire, failureFromWire } from './workflow-command-codec.ts';

type Answer = HistoryReply | AskFailure;

export function encodeHistoryRequest(request: HistoryRequest, nowMs: number): Uint8Array {
  return requests.encode(request, nowMs);
}

export function decodeHistoryRequest(bytes: Uint8Array, nowMs: number): HistoryRequest {
  return requests.decode(bytes, nowMs);
}

export function encodeHistoryAnswer(answer: Answer): Uint8Array {
  return answers.encode(answer, noClock);
}

export function decodeHistoryAnswer(bytes: Uint8Array): Answer {
  return answers.decode(bytes, noClock);
}

// ── Asks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const requestCodecs: KindCodecs<HistoryRequest> = {
  startWorkflow: { field: 1, write: writeStart, read: readStart },
  signalWithStartWorkflow: { field: 2, write: writeSignalWithStart, read: readSignalWithStart },
  signalWorkflow: plain(3, 'signalWorkflow', wire.writeSignalWorkflow, wire.readSignalWorkflow),
  requestCancelWorkflow: plain(4, 'requestCancelWorkflow', wire.writeRequestCancelWorkflow, wire.readRequestCancelWorkflow),
  terminateWorkflow: plain(5, 'terminateWorkflow', wire.writeTerminateWorkflow, wire.readTerminateWorkflow),
  scheduleFirstWorkflowTask: plain(6, 'scheduleFirstWorkflowTask', wire.writeOfRun, wire.readOfRun),
  findChild: plain(7, 'findChild', wire.writeFindChild, wire.readFindChild),
  startWorkflowTask: plain(8, 'startWorkflowTask', wire.writeStartWorkflowTask, wire.readStartWorkflowTask),
  completeWorkflowTask: { field: 9, write: writeCompleteWorkflowTask, read: readCompleteWorkflowTask },
  failWorkflowTask: {
    field: 10,
    write: wire.writeFailWorkflowTask,
    read: (r) => {
      const request = wire.readFailWorkflowTask(r);
      return { ...request, kind: 'failWorkflowTask', failure: failureFromWire(request.failure) };
    },
  },
  resetStickyTaskQueue: plain(11, 'resetStickyTaskQueue', wire.writeOfRun, wire.readOfRun),
  startActivityTask: plain(12, 'startActivityTask', wire.writeStartActivityTask, wire.readStartActivityTask),
  withdrawActivityStart: plain(13, 'withdrawActivityStart', wire.writeWithdrawActivityStart, wire.readWithdrawActivityStart),
  completeActivityTask: plain(14, 'completeActivityTask', wire.writeCompleteActivityTask, wire.readCompleteActivityTask),
  failActivityTask: {
    field: 15,
    write: wire.writeFailActivityTask,
    read: (r) => {
      const request = wire.readFailActivityTask(r);
      return { ...request, kind: 'failActivityTask', failure: failureFromWire(request.failure) };
    },
  },
  cancelActivityTask: plain(16, 'cancelActivityTask', wire.writeCancelActivityTask, wire.readCancelActivityTask),
  recordActivityHeartbeat: plain(17, 'recordActivityHeartbeat', wire.writeRecordActivityHeartbeat, wire.readRecordActivityHeartbeat),
  queryWorkflow: { field: 18, write: writeQueryWorkflow, read: readQueryWorkflow },
  describeWorkflow: plain(19, 'describeWorkflow', wire.writeOfRun, wire.readOfRun),
  getHistoryPosition: plain(20, 'getHistoryPosition', wire.writeGetHistoryPosition, wire.readGetHistoryPosition),
  readHistory: plain(21, 'readHistory', wire.writeReadHistory, wire.readReadHistory),
  recordChildClosed: {
    field: 22,
    write: (w, request) => wire.writeRecordChildClosed(w, { ...request, close: closeToWire(request.close) }),
    read: (r) => {
      const request = wire.readRecordChildClosed(r);
      return { ...request, kind: 'recordChildClosed', close: closeFromWire(request.close) };
    },
  },
  deleteWorkflow: deleteWorkflowCodec,
  describeMutableState: plain(24, 'describeMutableState', wire.writeOfRun, wire.readOfRun),
  executeLetter: plain(25, 'executeLetter', wire.writeExecuteLetter, wire.readExecuteLetter),
  confirmLetter: plain(26, 'confirmLetter', wire.writeConfirmLetter, wire.readConfirmLetter),
  withdrawLetter: plain(52, 'withdrawLetter', wire.writeWithdrawLetter, wire.readWithdrawLetter),
  listLetterMarks: plain(53, 'listLetterMarks', wire.writeListLetterMarks, wire.readListLetterMarks),
  listTasks: plain(27, 'listTasks', wire.writeListTasks, wire.readListTasks),
  removeTask: plain(28, 'removeTask', wire.writeRemoveTask, wire.readRemoveTask),
  addTasks: plain(29, 'addTasks', wire.writeAddTasks, wire.readAddTasks),
  updateWorkflow: {
    field: 30,
    write: (w, { update, ...request }) => wire.writeUpdateWorkflow(w, { ...request, update: updateToWire(update) }),
    read: (r) => {
      const { update, ...request } = wire.readUpdateWorkflow(r);
      return { ...request, kind: 'updateWorkflow', update: updateFromWire(update) };
    },
  },
  pollUpdate: {
    field: 31,
    write: wire.writePollUpdate,
    read: (r) => {
      const { waitStage, ...request } = wire.readPollUpdate(r);
      return { ...request, kind: 'pollUpdate', waitStage: wordOf(waitStages, waitStage, 'PollUpdate.wait_stage') };
    },
  },
  startAndUpdate: {
    field: 32,
    write: (w, { key, start, update }) => wire.writeStartAndUpdate(w, { key, start: startToWire(start), update: updateToWire(update) }),
    read: (r) => {
      const { key, start, update } = wire.readStartAndUpdate(r);
      return { kind: 'startAndUpdate', key, start: startFromWire(start), update: updateFromWire(update) };
    },
  },
  pauseActivity: plain(33, 'pauseActivity', wire.writePauseActivity, wire.readPauseActivity),
  unpauseActivity: plain(34, 'unpauseActivity', wire.writeUnpauseActivity, wire.readUnpauseActivity),
  resetActivity: plain(35, 'resetActivity', wire.writeResetActivity, wire.readResetActivity),
  updateActivityOptions: { field: 36, write: wire.writeUpdateActivityOptions, read: readUpdateActivityOptions },
  resetWorkflow: {
    field: 37,
    write: (w, request) => wire.writeResetWorkflow(w, { ...request, retentionMs: request.retentionMs }),
    read: readResetWorkflow,
  },
  createSchedule: plain(38, 'createSchedule', wire.writeCreateSchedule, wire.readCreateSchedule),
  updateSchedule: plain(39, 'updateSchedule', wire.writeUpdateSchedule, wire.readUpdateSchedule),
  patchSchedule: plain(40, 'patchSchedule', wire.writePatchSchedule, wire.readPatchSchedule),
  deleteSchedule: plain(41, 'deleteSchedule', wire.writeOfRun, wire.readOfRun),
  describeSchedule: plain(42, 'describeSchedule', wire.writeOfRun, wire.readOfRun),
  recordActionClosed: {
    field: 43,
    write: (w, request) => wire.writeRecordActionClosed(w, { ...request, close: closeToWire(request.close) }),
    read: (r) => {
      const request = wire.readRecordActionClosed(r);
      return { ...request, kind: 'recordActionClosed', close: closeFromWire(request.close) };
    },
  },
  startBatch: plain(44, 'startBatch', wire.writeStartBatch, wire.readStartBatch),
  stopBatch: plain(45, 'stopBatch', wire.writeStopBatch, wire.readStopBatch),
  describeBatch: plain(46, 'describeBatch', wire.writeOfRun, wire.readOfRun),
  pauseWorkflow: plain(47, 'pauseWorkflow', wire.writePauseWorkflow, wire.readPauseWorkflow),
  unpauseWorkflow: plain(48, 'unpauseWorkflow', wire.writePauseWorkflow, wire.readPauseWorkflow),
  updateWorkflowOptions: { field: 49, write: wire.writeUpdateWorkflowOptions, read: readUpdateWorkflowOptions },
  prepareReset: plain(50, 'prepareReset', wire.writePrepareReset, wire.readPrepareReset),
  dropReset: plain(51, 'dropReset', wire.writeOfRun, wire.readOfRun),
};

// Absent and undefined are one on the wire; the commands know absent only.

function writeStart(w: Writer, request: StartWorkflow): void {
  wire.writeStartWorkflow(w, startToWire(request));
}

function startToWire(request: StartWorkflow): wire.StartWorkflow {
  const { retentionMs, callbacks, replacesChildrenOf = [], scheduled, eager = false } = request;
  return { ...request, retentionMs, callbacks, replacesChildrenOf, scheduled, eager };
}

function readStart(r: Reader): StartWorkflow {
  return startFromWire(wire.readStartWorkflow(r));
}

function startFromWire({ retentionMs, policies, ...given }: wire.StartWorkflow): StartWorkflow {
  const { callbacks, replacesChildrenOf, scheduled, eager, ...request } = given;
  const replacing = replacesChildrenOf.length === 0 ? {} : { replacesChildrenOf };
  const scheduling = scheduled === undefined ? {} : { scheduled };
  const optional = { ...retentionFromWire(retentionMs), ...(callbacks === undefined ? {} : { callbacks }), ...replacing, ...scheduling };
  return { ...request, kind: 'startWorkflow', policies: policiesFromWire(policies), ...optional, ...(eager ? { eager } : {}) };
}

function writeSignalWithStart(w: Writer, request: SignalWithStartWorkflow): void {
  wire.writeSignalWithStartWorkflow(w, { ...request, retentionMs: request.retentionMs });
}

function readSignalWithStart(r: Reader): SignalWithStartWorkflow {
  const { retentionMs, policies, ...request } = wire.readSignalWithStartWorkflow(r);
  return { ...request, kind: 'signalWithStartWorkflow', policies: policiesFromWire(policies), ...retentionFromWire(retentionMs) };
}

function writeCompleteWorkflowTask(w: Writer, request: CompleteWorkflowTask): void {
  const { retentionMs } = request;
  const messages = request.messages.map(updateMessageToWire);
  wire.writeCompleteWorkflowTask(w, { ...request, commands: request.commands.map(commandToWire), messages, retentionMs });
}

function readCompleteWorkflowTask(r: Reader): CompleteWorkflowTask {
  const { retentionMs, commands, messages, ...request } = wire.readCompleteWorkflowTask(r);
  const words = { commands: commands.map(commandFromWire), messages: messages.map(updateMessageFromWire) };
  return { ...request, kind: 'completeWorkflowTask', ...words, ...retentionFromWire(retentionMs) };
}

const waitStages: Words<UpdateWaitStage> = { none: true, accepted: true, completed: true };

function updateToWire({ attachment, ...update }: UpdateAttributes): wire.UpdateAttributes {
  return { ...update, attachment };
}

function updateFromWire({ waitStage: word, attachment, ...update }: wire.UpdateAttributes): UpdateAttributes {
  const waitStage = wordOf(waitStages, word, 'UpdateAttributes.wait_stage');
  if (waitStage === 'none') throw new WireError('UpdateAttributes.wait_stage is none');
  return { ...update, waitStage, ...(attachment === undefined ? {} : { attachment }) };
}

function updateMessageToWire({ id, updateId, body }: UpdateMessage): wire.UpdateMessage {
  const message = { id, updateId, acceptance: undefined, rejection: undefined, response: undefined };
  switch (body.kind) {
    case 'acceptance':
      return { ...message, acceptance: body };
    case 'rejection':
      return { ...message, rejection: body };
    case 'response':
      return { ...message, response: body };
    default:
      return unreachable(body);
  }
}

function updateMessageFromWire({ id, updateId, acceptance, rejection, response }: wire.UpdateMessage): UpdateMessage {
  if (acceptance !== undefined) return { id, updateId, body: { kind: 'acceptance', ...acceptance } };
  if (rejection !== undefined) return { id, updateId, body: { kind: 'rejection', ...rejection } };
  if (response !== undefined) return { id, updateId, body: { kind: 'response', ...response } };
  throw new WireError('a message about an update of a kind that this version does not know');
}

function retentionFromWire(retentionMs: number | undefined): { readonly retentionMs?: number } {
  return retentionMs === undefined ? {} : { retentionMs };
}

function policiesFromWire({ reusePolicy, conflictPolicy }: wire.IdPolicies): IdPolicies {
  return { reusePolicy: idPolicy(reusePolicy, 'reuse_policy'), conflictPolicy: idPolicy(conflictPolicy, 'conflict_policy') };
}

function idPolicy(value: number, field: string): 1 | 2 | 3 {
  if (value !== 1 && value !== 2 && value !== 3) throw new WireError(`IdPolicies.${field} is ${value}`);
  return value;
}

function readUpdateActivityOptions(r: Reader): UpdateActivityOptions {
  const { change, ...request } = wire.readUpdateActivityOptions(r);
  const fields = change?.fields.map((field) => wordOf(activityOptionFields, field, 'ActivityOptionsChange.fields')) ?? [];
  return { ...request, kind: 'updateActivityOptions', change: change === undefined ? undefined : { ...change, fields } };
}

const priorityPaths: Words<PriorityPath> = {
  priority: true,
  'priority.priorityKey': true,
  'priority.fairnessKey': true,
  'priority.fairnessWeight': true,
};

function priorityFields(fields: readonly string[]): readonly PriorityPath[] {
  return fields.map((field) => wordOf(priorityPaths, field, 'fields of a priority'));
}

function readResetWorkflow(r: Reader): ResetWorkflow {
  const { priorityChanges, retentionMs, ...request } = wire.readResetWorkflow(r);
  const changes = priorityChanges.map(({ fields, priority }) => ({ fields: priorityFields(fields), priority }));
  return { ...request, kind: 'resetWorkflow', priorityChanges: changes, ...retentionFromWire(retentionMs) };
}

function readUpdateWorkflowOptions(r: Reader): UpdateWorkflowOptions {
  const { fields, ...request } = wire.readUpdateWorkflowOptions(r);
  return { ...request, kind: 'updateWorkflowOptions', fields: priorityFields(fields) };
}

function writeQueryWorkflow(w: Writer, { key, queryId, query, rejectCondition, deadlineMs }: QueryWorkflow, nowMs: number): void {
  wire.writeQueryWorkflow(w, { key, queryId, query, rejectCondition, remainingMs: timeLeftMs(deadlineMs, nowMs) });
}

function readQueryWorkflow(r: Reader, nowMs: number): QueryWorkflow {
  const { key, queryId, query, rejectCondition, remainingMs } = wire.readQueryWorkflow(r);
  return { kind: 'queryWorkflow', key, queryId, query, rejectCondition, deadlineMs: momentMs(remainingMs, nowMs) };
}

function closeToWire(close: CloseOutcome): wire.CloseOutcome {
  const { kind } = close;
  switch (kind) {
    case 'completed':
      return { kind, value: close.result, retryState: 0 };
    case 'failed':
      return { kind, value: close.failure, retryState: close.retryState };
    case 'canceled':
      return { kind, value: close.details, retryState: 0 };
    case 'timedOut':
      return { kind, value: undefined, retryState: close.retryState };
    case 'terminated':
      return { kind, value: undefined, retryState: 0 };
    default:
      return unreachable(kind);
  }
}

const closeKinds: Words<CloseOutcome['kind']> = { completed: true, failed: true, canceled: true, timedOut: true, terminated: true };

function closeFromWire({ kind: word, value, retryState }: wire.CloseOutcome): CloseOutcome {
  const kind = wordOf(closeKinds, word, 'CloseOutcome.kind');
  switch (kind) {
    case 'completed':
      return { kind, result: value };
    case 'failed':
      return { kind, failure: value, retryState };
    case 'canceled':
      return { kind, details: value };
    case 'timedOut':
      return { kind, retryState };
    case 'terminated':
      return { kind };
    default:
      return unreachable(kind);
  }
}

// ── Answers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const answerCodecs: KindCodecs<Answer> = {
  ...askFailureCodecs,
  rejected: {
    field: 1,
    write: (w, { rejection }) => wire.writeHistoryRejection(w, rejectionToWire(rejection)),
    read: (r) => ({ kind: 'rejected', rejection: rejectionFromWire(wire.readHistoryRejection(r)) }),
  },
  done: bare(2, 'done'),
  started: {
    field: 3,
    write: (w, reply) => wire.writeStartReply(w, startReplyToWire(reply)),
    read: (r) => startReplyFromWire(wire.readStartReply(r)),
  },
  signaled: plain(4, 'signaled', wire.writeRunReply, wire.readRunReply),
  childFound: plain(5, 'childFound', wire.writeRunReply, wire.readRunReply),
  workflowTask: {
    field: 6,
    write: (w, task) => wireTask.writeStartedWorkflowTask(w, workflowTaskToWire(task)),
    read: (r) => workflowTaskFromWire(wireTask.readStartedWorkflowTask(r)),
  },
  activityTask: plain(7, 'activityTask', wireTask.writeStartedActivityTask, wireTask.readStartedActivityTask),
  workflowTaskCompleted: {
    field: 8,
    write: (w, completed) => wire.writeCompletedWorkflowTask(w, completedToWire(completed)),
    read: (r) => completedFromWire(wire.readCompletedWorkflowTask(r)),
  },
  heartbeat: plain(9, 'heartbeat', wire.writeHeartbeatReply, wire.readHeartbeatReply),
  queryAnswered: plain(10, 'queryAnswered', wire.writeQueryAnswered, wire.readQueryAnswered),
  queryRejected: plain(11, 'queryRejected', wire.writeQueryRejected, wire.readQueryRejected),
  historyPosition: plain(12, 'historyPosition', wire.writeHistoryPosition, wire.readHistoryPosition),
  historyPage: plain(13, 'historyPage', wire.writeHistoryPage, wire.readHistoryPage),
  description: plain(14, 'description', wire.writeDescription, wire.readDescription),
  mutableState: plain(15, 'mutableState', wire.writeMutableState, wire.readMutableState),
  letterExecuted: {
    field: 16,
    write: (w, { outcome }) => wire.writeLetterExecuted(w, { outcome: letterOutcomeToWire(outcome) }),
    read: (r) => ({ kind: 'letterExecuted', outcome: letterOutcomeFromWire(wire.readLetterExecuted(r).outcome) }),
  },
  lettersUnconfirmed: plain(17, 'lettersUnconfirmed', wire.writeLettersUnconfirmed, wire.readLettersUnconfirmed),
  letterWithdrawn: bare(28, 'letterWithdrawn'),
  letterMarks: plain(29, 'letterMarks', wire.writeLetterMarks, wire.readLetterMarks),
  taskList: plain(18, 'taskList', wire.writeTaskList, wire.readTaskList),
  updateStage: {
    field: 19,
    write: (w, { started, ...reply }) =>
      wire.writeUpdateStage(w, { ...reply, started: started === undefined ? undefined : startReplyToWire(started) }),
    read: (r) => {
      const { stage, started, ...reply } = wire.readUpdateStage(r);
      const start = started === undefined ? undefined : startReplyFromWire(started);
      return { ...reply, kind: 'updateStage', stage: wordOf(updateStages, stage, 'UpdateStage.stage'), started: start };
    },
  },
  startRefused: {
    field: 20,
    write: (w, { rejection }) => wire.writeHistoryRejection(w, rejectionToWire(rejection)),
    read: (r) => ({ kind: 'startRefused', rejection: rejectionFromWire(wire.readHistoryRejection(r)) }),
  },
  activityOptionsUpdated: plain(21, 'activityOptionsUpdated', wire.writeActivityOptionsUpdated, wire.readActivityOptionsUpdated),
  workflowReset: plain(22, 'workflowReset', wire.writeRunReply, wire.readRunReply),
  scheduleChanged: plain(23, 'scheduleChanged', wire.writeScheduleChanged, wire.readScheduleChanged),
  scheduleDescription: plain(24, 'scheduleDescription', wire.writeScheduleDescription, wire.readScheduleDescription),
  updateRefused: {
    field: 25,
    write: (w, { rejection, begun }) => wire.writeUpdateRefused(w, { rejection: rejectionToWire(rejection), begun }),
    read: (r) => {
      const { rejection, begun } = wire.readUpdateRefused(r);
      return { kind: 'updateRefused', rejection: rejectionFromWire(rejection), begun };
    },
  },
  batchDescription: plain(26, 'batchDescription', wire.writeBatchDescription, wire.readBatchDescription),
  workflowOptionsUpdated: plain(27, 'workflowOptionsUpdated', wire.writeWorkflowOptionsUpdated, wire.readWorkflowOptionsUpdated),
};

const updateStages: Words<UpdateReply['stage']> = { admitted: true, accepted: true, completed: true };

function completedToWire({ workflowTask, activityTasks, resetHistoryEventId }: CompletedWorkflowTask): wire.CompletedWorkflowTask {
  return {
    workflowTask: workflowTask === undefined ? undefined : workflowTaskToWire(workflowTask),
    activityTasks,
    resetHistoryEventId,
  };
}

function completedFromWire({ workflowTask, activityTasks, resetHistoryEventId }: wire.CompletedWorkflowTask): CompletedWorkflowTask {
  return {
    kind: 'workflowTaskCompleted',
    workflowTask: workflowTask === undefined ? undefined : workflowTaskFromWire(workflowTask),
    activityTasks: activityTasks.map(activityTaskFromWire),
    resetHistoryEventId,
  };
}

const rejectionReasons: Words<Rejection['reason']> = {
  'workflow-not-found': true,
  'workflow-closed': true,
  'task-not-found': true,
  'activity-not-found': true,
  'already-started': true,
  'invalid-argument': true,
  'unhandled-command': true,
  'bad-command': true,
  'failed-precondition': true,
  'workflow-not-ready': true,
  'no-room': true,
  'busy-workflow': true,
  'query-failed': true,
  'query-timed-out': true,
  'too-many-updates': true,
  'update-not-found': true,
  'schedule-not-found': true,
};

const noRejection = wire.emptyHistoryRejection();

function rejectionToWire(rejection: Rejection): wire.HistoryRejection {
  return { ...noRejection, ...rejection };
}

function rejectionFromWire(from: wire.HistoryRejection): Rejection {
  const { message, startRequestId, runId, firstExecutionRunId, failure } = from;
  const reason = wordOf(rejectionReasons, from.reason, 'HistoryRejection.reason');
  switch (reason) {
    case 'already-started':
      return { reason, message, startRequestId, runId, firstExecutionRunId };
    case 'query-failed':
      return { reason, message, failure };
    default:
      return { reason, message };
  }
}

const requests = new UnionCodec<HistoryRequest>('ask of a history shard', requestCodecs);
const answers = new UnionCodec<Answer>('answer of a history shard', answerCodecs);
/** No answer has a time that travels as what remains of it. */
const noClock = 0;
