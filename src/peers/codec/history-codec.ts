import { activityOptionFields } from '../../kernel/activity-option-fields.ts';
import type { ResetWorkflow, UpdateActivityOptions } from '../../history/commands/operation-commands.ts';
import type { AskFailure } from '../../actors/asks/asks.ts';
import type * as commands from '../../history/commands/history-commands.ts';
import type { PriorityPath } from '../../history/commands/priority.ts';
import type { HistoryReply, Rejection, StartReply, UpdateReply } from '../../history/run/history-replies.ts';
import type { UpdateWaitStage } from '../../history/commands/pending-update.ts';
import type { UpdateAttributes, UpdateMessage } from '../../history/commands/update-commands.ts';
import { unreachable } from '../../kernel/assert.ts';
import { closeFields, closeOf, type CloseOutcome } from '../../kernel/close-outcome.ts';
import * as wire from '../../wire/generated/peer/history.ts';
import * as wireTask from '../../wire/generated/peer/started_task.ts';
import type { Reader } from '../../wire/reader.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Writer } from '../../wire/writer.ts';
import { asCore, asMessage, type Complete, type CompleteWithin } from '../../wire/as-core.ts';
import { deleteWorkflowCodec } from './delete-workflow-codec.ts';
import { letterOutcomeFromWire, letterOutcomeToWire } from './letter-codec.ts';
import { activityTaskFromWire, workflowTaskFromWire, workflowTaskToWire } from './started-task-codec.ts';
import { askFailureCodecs, bare, converted, momentMs, plain, timeLeftMs, UnionCodec, wordOf, type KindCodecs } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';
import { commandFromWire, commandToWire, failureFromWire } from './workflow-command-codec.ts';

type Answer = HistoryReply | AskFailure;

// ── Asks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const closing = {
  toWire: <Request extends { readonly close: CloseOutcome }>(request: Request) => ({ ...request, close: closeFields(request.close) }),
  fromWire: <Body extends { readonly close: wire.CloseOutcome }>(body: Body) => ({ ...body, close: closeFromWire(body.close) }),
};

const requestCodecs: KindCodecs<commands.HistoryRequest> = {
  startWorkflow: {
    field: 1,
    write: (w, request) => wire.writeStartWorkflow(w, startToWire(request)),
    read: (r) => startFromWire(wire.readStartWorkflow(r)),
  },
  signalWithStartWorkflow: plain(2, 'signalWithStartWorkflow', wire.writeSignalWithStartWorkflow, readSignalWithStart),
  signalWorkflow: plain(3, 'signalWorkflow', wire.writeSignalWorkflow, wire.readSignalWorkflow),
  requestCancelWorkflow: plain(4, 'requestCancelWorkflow', wire.writeRequestCancelWorkflow, wire.readRequestCancelWorkflow),
  terminateWorkflow: plain(5, 'terminateWorkflow', wire.writeTerminateWorkflow, wire.readTerminateWorkflow),
  scheduleFirstWorkflowTask: plain(6, 'scheduleFirstWorkflowTask', wire.writeOfRun, wire.readOfRun),
  findChild: plain(7, 'findChild', wire.writeFindChild, wire.readFindChild),
  startWorkflowTask: plain(8, 'startWorkflowTask', wire.writeStartWorkflowTask, wire.readStartWorkflowTask),
  completeWorkflowTask: { field: 9, write: writeCompleteWorkflowTask, read: readCompleteWorkflowTask },
  failWorkflowTask: plain(10, 'failWorkflowTask', wire.writeFailWorkflowTask, (r) => withFailure(wire.readFailWorkflowTask(r))),
  resetStickyTaskQueue: plain(11, 'resetStickyTaskQueue', wire.writeOfRun, wire.readOfRun),
  startActivityTask: plain(12, 'startActivityTask', wire.writeStartActivityTask, wire.readStartActivityTask),
  withdrawActivityStart: plain(13, 'withdrawActivityStart', wire.writeWithdrawActivityStart, wire.readWithdrawActivityStart),
  completeActivityTask: plain(14, 'completeActivityTask', wire.writeCompleteActivityTask, wire.readCompleteActivityTask),
  failActivityTask: plain(15, 'failActivityTask', wire.writeFailActivityTask, (r) => withFailure(wire.readFailActivityTask(r))),
  cancelActivityTask: plain(16, 'cancelActivityTask', wire.writeCancelActivityTask, wire.readCancelActivityTask),
  recordActivityHeartbeat: plain(17, 'recordActivityHeartbeat', wire.writeRecordActivityHeartbeat, wire.readRecordActivityHeartbeat),
  queryWorkflow: { field: 18, write: writeQueryWorkflow, read: readQueryWorkflow },
  describeWorkflow: plain(19, 'describeWorkflow', wire.writeOfRun, wire.readOfRun),
  getHistoryPosition: plain(20, 'getHistoryPosition', wire.writeGetHistoryPosition, wire.readGetHistoryPosition),
  readHistory: plain(21, 'readHistory', wire.writeReadHistory, wire.readReadHistory),
  recordChildClosed: converted(22, 'recordChildClosed', wire.writeRecordChildClosed, wire.readRecordChildClosed, closing),
  deleteWorkflow: deleteWorkflowCodec,
  describeMutableState: plain(24, 'describeMutableState', wire.writeOfRun, wire.readOfRun),
  executeLetter: plain(25, 'executeLetter', wire.writeExecuteLetter, wire.readExecuteLetter),
  confirmLetter: plain(26, 'confirmLetter', wire.writeConfirmLetter, wire.readConfirmLetter),
  withdrawLetter: plain(52, 'withdrawLetter', wire.writeWithdrawLetter, wire.readWithdrawLetter),
  listLetterMarks: plain(53, 'listLetterMarks', wire.writeListLetterMarks, wire.readListLetterMarks),
  listTasks: plain(27, 'listTasks', wire.writeListTasks, wire.readListTasks),
  removeTask: plain(28, 'removeTask', wire.writeRemoveTask, wire.readRemoveTask),
  addTasks: plain(29, 'addTasks', wire.writeAddTasks, wire.readAddTasks),
  updateWorkflow: plain(30, 'updateWorkflow', wire.writeUpdateWorkflow, (r) => {
    const request = wire.readUpdateWorkflow(r);
    return { ...request, update: updateFromWire(request.update) };
  }),
  pollUpdate: plain(31, 'pollUpdate', wire.writePollUpdate, (r) => {
    const request = wire.readPollUpdate(r);
    return { ...request, waitStage: wordOf(waitStages, request.waitStage, 'PollUpdate.wait_stage') };
  }),
  startAndUpdate: {
    field: 32,
    write: (w, { key, start, update }) => wire.writeStartAndUpdate(w, { key, start: startToWire(start), update: asMessage(update) }),
    read: (r) => {
      const { key, start, update } = wire.readStartAndUpdate(r);
      return { kind: 'startAndUpdate', key, start: startFromWire(start), update: updateFromWire(update) };
    },
  },
  pauseActivity: plain(33, 'pauseActivity', wire.writePauseActivity, wire.readPauseActivity),
  unpauseActivity: plain(34, 'unpauseActivity', wire.writeUnpauseActivity, wire.readUnpauseActivity),
  resetActivity: plain(35, 'resetActivity', wire.writeResetActivity, wire.readResetActivity),
  updateActivityOptions: plain(36, 'updateActivityOptions', wire.writeUpdateActivityOptions, readUpdateActivityOptions),
  resetWorkflow: plain(37, 'resetWorkflow', wire.writeResetWorkflow, readResetWorkflow),
  createSchedule: plain(38, 'createSchedule', wire.writeCreateSchedule, wire.readCreateSchedule),
  updateSchedule: plain(39, 'updateSchedule', wire.writeUpdateSchedule, wire.readUpdateSchedule),
  patchSchedule: plain(40, 'patchSchedule', wire.writePatchSchedule, wire.readPatchSchedule),
  deleteSchedule: plain(41, 'deleteSchedule', wire.writeOfRun, wire.readOfRun),
  describeSchedule: plain(42, 'describeSchedule', wire.writeOfRun, wire.readOfRun),
  recordActionClosed: converted(43, 'recordActionClosed', wire.writeRecordActionClosed, wire.readRecordActionClosed, closing),
  startBatch: plain(44, 'startBatch', wire.writeStartBatch, wire.readStartBatch),
  stopBatch: plain(45, 'stopBatch', wire.writeStopBatch, wire.readStopBatch),
  describeBatch: plain(46, 'describeBatch', wire.writeOfRun, wire.readOfRun),
  pauseWorkflow: plain(47, 'pauseWorkflow', wire.writePauseWorkflow, wire.readPauseWorkflow),
  unpauseWorkflow: plain(48, 'unpauseWorkflow', wire.writePauseWorkflow, wire.readPauseWorkflow),
  updateWorkflowOptions: plain(49, 'updateWorkflowOptions', wire.writeUpdateWorkflowOptions, (r) => {
    const request = wire.readUpdateWorkflowOptions(r);
    return { ...request, fields: priorityFields(request.fields) };
  }),
  prepareReset: plain(50, 'prepareReset', wire.writePrepareReset, wire.readPrepareReset),
  dropReset: plain(51, 'dropReset', wire.writeOfRun, wire.readOfRun),
  listRunKeys: plain(54, 'listRunKeys', wire.writeListRunKeys, wire.readListRunKeys),
  holdRows: plain(55, 'holdRows', wire.writeHoldRows, wire.readHoldRows),
  rebuildList: bare(56, 'rebuildList'),
};

function startToWire(request: commands.StartWorkflow): wire.StartWorkflow {
  const { replacesChildrenOf = [], eager = false } = request;
  return { ...asMessage(request), replacesChildrenOf, eager };
}

/** None and false mean the same as absent. */
function startFromWire(start: wire.StartWorkflow): commands.StartWorkflow {
  const replacesChildrenOf = start.replacesChildrenOf.length === 0 ? undefined : start.replacesChildrenOf;
  const policies = policiesFromWire(start.policies);
  return asCore<commands.StartWorkflow>({ ...start, kind: 'startWorkflow', policies, replacesChildrenOf, eager: start.eager || undefined });
}

function readSignalWithStart(r: Reader): Omit<Complete<commands.SignalWithStartWorkflow>, 'kind'> {
  const request = wire.readSignalWithStartWorkflow(r);
  return { ...request, policies: policiesFromWire(request.policies) };
}

function writeCompleteWorkflowTask(w: Writer, request: commands.CompleteWorkflowTask): void {
  const { commands, messages } = request;
  wire.writeCompleteWorkflowTask(w, {
    ...asMessage(request),
    commands: commands.map(commandToWire),
    messages: messages.map(updateMessageToWire),
  });
}

function readCompleteWorkflowTask(r: Reader): commands.CompleteWorkflowTask {
  const request = wire.readCompleteWorkflowTask(r);
  const { commands, messages } = request;
  return asCore<commands.CompleteWorkflowTask>({
    ...request,
    kind: 'completeWorkflowTask',
    commands: commands.map(commandFromWire),
    messages: messages.map(updateMessageFromWire),
  });
}

function withFailure<Message extends { readonly failure: Parameters<typeof failureFromWire>[0] }>(request: Message) {
  return { ...request, failure: failureFromWire(request.failure) };
}

const waitStages: Words<UpdateWaitStage> = words('none accepted completed');

function updateFromWire(update: wire.UpdateAttributes): CompleteWithin<UpdateAttributes> {
  const waitStage = wordOf(waitStages, update.waitStage, 'UpdateAttributes.wait_stage');
  if (waitStage === 'none') throw new WireError('UpdateAttributes.wait_stage is none');
  return { ...update, waitStage };
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

function policiesFromWire({ reusePolicy, conflictPolicy }: wire.IdPolicies): commands.IdPolicies {
  return { reusePolicy: idPolicy(reusePolicy, 'reuse_policy'), conflictPolicy: idPolicy(conflictPolicy, 'conflict_policy') };
}

function idPolicy(value: number, field: string): 1 | 2 | 3 {
  if (value !== 1 && value !== 2 && value !== 3) throw new WireError(`IdPolicies.${field} is ${value}`);
  return value;
}

function readUpdateActivityOptions(r: Reader): Omit<UpdateActivityOptions, 'kind'> {
  const request = wire.readUpdateActivityOptions(r);
  const { change } = request;
  const fields = change?.fields.map((field) => wordOf(activityOptionFields, field, 'ActivityOptionsChange.fields')) ?? [];
  return { ...request, change: change && { ...change, fields } };
}

const priorityPaths: Words<PriorityPath> = words('priority priority.priorityKey priority.fairnessKey priority.fairnessWeight');

function priorityFields(fields: readonly string[]): readonly PriorityPath[] {
  return fields.map((field) => wordOf(priorityPaths, field, 'fields of a priority'));
}

function readResetWorkflow(r: Reader): Omit<Complete<ResetWorkflow>, 'kind'> {
  const request = wire.readResetWorkflow(r);
  const priorityChanges = request.priorityChanges.map(({ fields, priority }) => ({ fields: priorityFields(fields), priority }));
  return { ...request, priorityChanges };
}

function writeQueryWorkflow(w: Writer, { key, queryId, query, rejectCondition, deadlineMs }: commands.QueryWorkflow, nowMs: number): void {
  wire.writeQueryWorkflow(w, { key, queryId, query, rejectCondition, remainingMs: timeLeftMs(deadlineMs, nowMs) });
}

function readQueryWorkflow(r: Reader, nowMs: number): commands.QueryWorkflow {
  const { key, queryId, query, rejectCondition, remainingMs } = wire.readQueryWorkflow(r);
  return { kind: 'queryWorkflow', key, queryId, query, rejectCondition, deadlineMs: momentMs(remainingMs, nowMs) };
}

const closeKinds: Words<CloseOutcome['kind']> = words('completed failed canceled timedOut terminated');

function closeFromWire({ kind, value, retryState }: wire.CloseOutcome): CloseOutcome {
  return closeOf({ kind: wordOf(closeKinds, kind, 'CloseOutcome.kind'), value, retryState });
}

// ── Answers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const refusal = { toWire: refusalToWire, fromWire: refusalFromWire };

const answerCodecs: KindCodecs<Answer> = {
  ...askFailureCodecs,
  rejected: converted(1, 'rejected', wire.writeHistoryRejection, wire.readHistoryRejection, refusal),
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
    write: (w, completed) =>
      wire.writeCompletedWorkflowTask(w, {
        ...completed,
        workflowTask: completed.workflowTask && workflowTaskToWire(completed.workflowTask),
      }),
    read: (r) => {
      const { workflowTask, activityTasks, ...completed } = wire.readCompletedWorkflowTask(r);
      const tasks = {
        workflowTask: workflowTask && workflowTaskFromWire(workflowTask),
        activityTasks: activityTasks.map(activityTaskFromWire),
      };
      return { ...completed, kind: 'workflowTaskCompleted', ...tasks };
    },
  },
  heartbeat: plain(9, 'heartbeat', wire.writeHeartbeatReply, wire.readHeartbeatReply),
  queryAnswered: plain(10, 'queryAnswered', wire.writeQueryAnswered, wire.readQueryAnswered),
  queryRejected: plain(11, 'queryRejected', wire.writeQueryRejected, wire.readQueryRejected),
  historyPosition: plain(12, 'historyPosition', wire.writeHistoryPosition, wire.readHistoryPosition),
  historyPage: plain(13, 'historyPage', wire.writeHistoryPage, wire.readHistoryPage),
  runKeys: plain(30, 'runKeys', wire.writeRunKeys, wire.readRunKeys),
  rowsHeld: plain(31, 'rowsHeld', wire.writeRowsHeld, wire.readRowsHeld),
  description: plain(14, 'description', wire.writeDescription, wire.readDescription),
  mutableState: plain(15, 'mutableState', wire.writeMutableState, wire.readMutableState),
  letterExecuted: converted(16, 'letterExecuted', wire.writeLetterExecuted, wire.readLetterExecuted, {
    toWire: ({ outcome }) => ({ outcome: letterOutcomeToWire(outcome) }),
    fromWire: ({ outcome }) => ({ outcome: letterOutcomeFromWire(outcome) }),
  }),
  lettersUnconfirmed: plain(17, 'lettersUnconfirmed', wire.writeLettersUnconfirmed, wire.readLettersUnconfirmed),
  letterWithdrawn: bare(28, 'letterWithdrawn'),
  letterMarks: plain(29, 'letterMarks', wire.writeLetterMarks, wire.readLetterMarks),
  taskList: plain(18, 'taskList', wire.writeTaskList, wire.readTaskList),
  updateStage: converted(19, 'updateStage', wire.writeUpdateStage, wire.readUpdateStage, {
    toWire: (reply) => ({ ...reply, started: reply.started && startReplyToWire(reply.started) }),
    fromWire: (reply) => {
      const stage = wordOf(updateStages, reply.stage, 'UpdateStage.stage');
      return { ...reply, stage, started: reply.started && startReplyFromWire(reply.started) };
    },
  }),
  startRefused: converted(20, 'startRefused', wire.writeHistoryRejection, wire.readHistoryRejection, refusal),
  activityOptionsUpdated: plain(21, 'activityOptionsUpdated', wire.writeActivityOptionsUpdated, wire.readActivityOptionsUpdated),
  workflowReset: plain(22, 'workflowReset', wire.writeRunReply, wire.readRunReply),
  scheduleChanged: plain(23, 'scheduleChanged', wire.writeScheduleChanged, wire.readScheduleChanged),
  scheduleDescription: plain(24, 'scheduleDescription', wire.writeScheduleDescription, wire.readScheduleDescription),
  updateRefused: converted(25, 'updateRefused', wire.writeUpdateRefused, wire.readUpdateRefused, {
    toWire: (reply) => ({ ...reply, rejection: refusalToWire(reply) }),
    fromWire: (reply) => ({ ...reply, ...refusalFromWire(reply.rejection) }),
  }),
  batchDescription: plain(26, 'batchDescription', wire.writeBatchDescription, wire.readBatchDescription),
  workflowOptionsUpdated: plain(27, 'workflowOptionsUpdated', wire.writeWorkflowOptionsUpdated, wire.readWorkflowOptionsUpdated),
};

const updateStages: Words<UpdateReply['stage']> = words('admitted accepted completed');

const rejectionReasons: Words<Rejection['reason']> = words(
  'workflow-not-found workflow-closed task-not-found activity-not-found already-started invalid-argument unhandled-command bad-command',
  'failed-precondition workflow-not-ready no-room busy-workflow query-failed query-timed-out too-many-updates update-not-found',
  'schedule-not-found',
);

const noRejection = wire.emptyHistoryRejection();

function refusalToWire({ rejection }: { readonly rejection: Rejection }): wire.HistoryRejection {
  return { ...noRejection, ...rejection };
}

function refusalFromWire(from: wire.HistoryRejection): { readonly rejection: Rejection } {
  const { message, startRequestId, runId, firstExecutionRunId, failure } = from;
  const reason = wordOf(rejectionReasons, from.reason, 'HistoryRejection.reason');
  switch (reason) {
    case 'already-started':
      return { rejection: { reason, message, startRequestId, runId, firstExecutionRunId } };
    case 'query-failed':
      return { rejection: { reason, message, failure } };
    default:
      return { rejection: { reason, message } };
  }
}

export const historyAsks = {
  requests: new UnionCodec<commands.HistoryRequest>('ask of a history shard', requestCodecs),
  answers: new UnionCodec<Answer>('answer of a history shard', answerCodecs),
};

/** The answer to a start: alone, or within that to an update that came with it. */

function startReplyToWire(reply: StartReply): wire.StartReply {
  return { ...reply, workflowTask: reply.workflowTask && workflowTaskToWire(reply.workflowTask) };
}

function startReplyFromWire(reply: wire.StartReply): CompleteWithin<StartReply> {
  return { ...reply, kind: 'started', workflowTask: reply.workflowTask && workflowTaskFromWire(reply.workflowTask) };
}
