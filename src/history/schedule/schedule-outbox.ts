/** What a schedule asks of the workflows that it starts, and what they tell it. */
import { actionTimeText } from '../../schedules/action-time.ts';
import { scheduleIdOf } from '../../schedules/schedule-id.ts';
import type { DecidedRequest, OutboxMessage } from '../commands/history-commands.ts';
import { idConflictPolicy, idReusePolicy } from '../generated/enums.ts';
import { anyAnswer, type OutboxKind, type OutboxTaskOf, to, told } from '../steps/outbox-kind.ts';
import type { HistoryWire } from '../run/history-replies.ts';
import type { RunView } from '../run/state.ts';
import type { Sender } from '../run/tasks.ts';
import { finishLookAtAction, finishStartAction } from './schedule-decisions.ts';
import { planOf } from '../run/schedule-plan.ts';

export const startActionOutbox: OutboxKind<'startAction'> = {
  message: startAction,
  // It is deleted: what it has not started yet it never will.
  lastMessage: undefined,
  outcome(reply) {
    if (reply.kind === 'started') return { kind: 'actionStarted', runId: reply.firstExecutionRunId };
    if (reply.kind !== 'rejected') return undefined;
    switch (reply.rejection.reason) {
      case 'already-started':
      case 'invalid-argument':
      case 'failed-precondition':
        return { kind: 'actionFailed' };
      default:
        return undefined;
    }
  },
  tooLarge: { kind: 'actionFailed' },
  finish: finishStartAction,
};

export const endActionOutbox: OutboxKind<'endAction'> = {
  message: endAction,
  lastMessage: undefined,
  outcome: anyAnswer,
  tooLarge: undefined,
  finish: undefined,
};

export const lookAtActionOutbox: OutboxKind<'lookAtAction'> = {
  message: lookAtAction,
  lastMessage: undefined,
  outcome(reply) {
    if (reply.kind === 'description') {
      const { firstRunId, status, cancelRequested } = reply;
      return { kind: 'actionSeen', firstRunId, status, cancelRequested };
    }
    return reply.kind === 'rejected' && reply.rejection.reason === 'workflow-not-found' ? { kind: 'done' } : undefined;
  },
  tooLarge: undefined,
  finish: finishLookAtAction,
};

export const notifyScheduleOutbox = told<'notifySchedule'>(notifySchedule);

function startAction(run: RunView, task: OutboxTaskOf<'startAction'>, newRunId: string, wire: HistoryWire): OutboxMessage | undefined {
  const { own, key, namespace } = run;
  const { startId, target } = task;
  if (own.archetype !== 'schedule') return undefined;
  const action = own.progress.starting.find((one) => one.startId === startId);
  if (action === undefined) return undefined;
  const scheduleId = scheduleIdOf(key);
  const { workflow, keepsWorkflowId } = planOf(wire, key, own.definition);
  const { workflowId: _, searchAttributes, ...start } = workflow;
  const { allowDuplicate, rejectDuplicate } = idReusePolicy;
  const { tracked } = action;
  const command: DecidedRequest = {
    kind: 'startWorkflow',
    key: target,
    namespace,
    newRunId,
    requestId: `sched-${key.runId}-${startId}`,
    start: {
      ...start,
      searchAttributes: wire.schedules.workflowAttributes(searchAttributes, scheduleId, actionTimeText(action.nominalTimeMs)),
      startDelayMs: 0,
      identity: identityOf(run),
      links: [],
      cronSchedule: '',
    },
    // Without a time in its id each one has that of the one before.
    policies: { reusePolicy: action.manual || keepsWorkflowId ? allowDuplicate : rejectDuplicate, conflictPolicy: idConflictPolicy.fail },
    parent: undefined,
    onConflict: undefined,
    retentionMs: run.retentionMs,
    scheduled: {
      schedule: key,
      startId,
      lastCompletionResult: tracked ? own.lastCompletionResult : undefined,
      continuedFailure: tracked ? own.continuedFailure : undefined,
    },
  };
  return to(target, command);
}

/** The name that Temporal's scheduler gives itself. */
function identityOf({ namespace, key }: Sender | RunView): string {
  return `temporal-scheduler-${namespace}-${scheduleIdOf(key)}`;
}

/** Ends the chain that the workflow has become. */
function endAction(run: RunView, { taskId, target, terminates }: OutboxTaskOf<'endAction'>): OutboxMessage {
  const common = {
    key: { ...target, runId: '' },
    firstExecutionRunId: target.runId,
    identity: identityOf(run),
    links: [],
    childOf: undefined,
  };
  if (terminates) {
    return to(target, { ...common, kind: 'terminateWorkflow', reason: 'terminated by schedule overlap policy', details: undefined });
  }
  return to(target, {
    ...common,
    kind: 'requestCancelWorkflow',
    cause: 'cancelled by schedule overlap policy',
    requestId: `sched-${run.key.runId}-cancel-${taskId}`,
    external: undefined,
  });
}

function lookAtAction(_run: RunView, { target }: OutboxTaskOf<'lookAtAction'>): OutboxMessage {
  return to(target, { kind: 'describeWorkflow', key: { ...target, runId: '' } });
}

function notifySchedule({ key, start }: Sender, { schedule, startId, outcome }: OutboxTaskOf<'notifySchedule'>): OutboxMessage {
  const workflow = { workflowId: key.workflowId, runId: start.firstRunId };
  return to(schedule, { kind: 'recordActionClosed', key: schedule, startId, workflow, close: outcome });
}
