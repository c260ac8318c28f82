import type { AskFailure } from '../../actors/asks/asks.ts';
import type { StartedTask } from '../../actors/asks/router.ts';
import type { AddTask, MatchingRequest, PollTask } from '../../matching/matching-commands.ts';
import type { MatchingRejection, MatchingReply } from '../../matching/matching-replies.ts';
import { type TaskQueuePartition, taskTypeOfWire, taskTypes } from '../../kernel/task-queue.ts';
import * as wire from '../../wire/generated/peer/matching.ts';
import type { Reader } from '../../wire/reader.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Writer } from '../../wire/writer.ts';
import { startedTaskFromWire, startedTaskToWire } from './started-task-codec.ts';
import { askFailureCodecs } from './union-codec.ts';
import { bare, converted, momentMs, plain, timeLeftMs, UnionCodec, wordOf, type KindCodecs } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';

type Answer = MatchingReply<StartedTask> | AskFailure;

// ── Asks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const ofQueue = {
  toWire: <Message extends { readonly queue: TaskQueuePartition }>(message: Message) => ({ ...message, queue: queueToWire(message.queue) }),
  fromWire: <Body extends { readonly queue: wire.TaskQueuePartition }>(body: Body) => ({ ...body, queue: queueFromWire(body.queue) }),
};

const requestCodecs: KindCodecs<MatchingRequest> = {
  pollWorkflowTask: { field: 1, write: writePoll, read: (r, nowMs) => ({ ...readPoll(r, nowMs), kind: 'pollWorkflowTask' }) },
  pollActivityTask: { field: 2, write: writePoll, read: (r, nowMs) => ({ ...readPoll(r, nowMs), kind: 'pollActivityTask' }) },
  addWorkflowTask: { field: 3, write: writeAdd, read: (r, nowMs) => ({ ...readAdd(r, nowMs), kind: 'addWorkflowTask' }) },
  addActivityTask: { field: 4, write: writeAdd, read: (r, nowMs) => ({ ...readAdd(r, nowMs), kind: 'addActivityTask' }) },
  dispatchQuery: {
    field: 5,
    write: (w, { queue, queryId, workflow, query, deadlineMs }, nowMs) =>
      wire.writeDispatchQuery(w, { queue: queueToWire(queue), queryId, workflow, query, remainingMs: timeLeftMs(deadlineMs, nowMs) }),
    read: (r, nowMs) => {
      const { queue, queryId, workflow, query, remainingMs } = wire.readDispatchQuery(r);
      return { kind: 'dispatchQuery', queue: queueFromWire(queue), queryId, workflow, query, deadlineMs: momentMs(remainingMs, nowMs) };
    },
  },
  answerQuery: converted(6, 'answerQuery', wire.writeAnswerQuery, wire.readAnswerQuery, ofQueue),
  describeTaskQueue: converted(7, 'describeTaskQueue', wire.writeDescribeTaskQueue, wire.readDescribeTaskQueue, ofQueue),
  updateTaskQueueConfig: converted(9, 'updateTaskQueueConfig', wire.writeUpdateTaskQueueConfig, wire.readUpdateTaskQueueConfig, ofQueue),
  configurePartition: converted(10, 'configurePartition', wire.writeConfigurePartition, wire.readConfigurePartition, ofQueue),
  forgetNamespace: plain(11, 'forgetNamespace', wire.writeForgetNamespace, wire.readForgetNamespace),
  listStoredQueues: converted(12, 'listStoredQueues', wire.writeListStoredQueues, wire.readListStoredQueues, {
    toWire: ({ namespaceId, only }) => ({ namespaceId, only: only && queueToWire(only) }),
    fromWire: ({ namespaceId, only }) => ({ namespaceId, only: only && queueFromWire(only) }),
  }),
  shutdownWorker: converted(8, 'shutdownWorker', wire.writeShutdownWorker, wire.readShutdownWorker, ofQueue),
};

function writePoll(w: Writer, { queue, deadlineMs, ...poll }: PollTask, nowMs: number): void {
  wire.writePoll(w, { ...poll, queue: queueToWire(queue), remainingMs: timeLeftMs(deadlineMs, nowMs) });
}

function readPoll(r: Reader, nowMs: number): Omit<PollTask, 'kind'> {
  const { queue, remainingMs, ...poll } = wire.readPoll(r);
  return { ...poll, queue: queueFromWire(queue), deadlineMs: momentMs(remainingMs, nowMs) };
}

/** `holdUntilMs` of a task that is not held. */
const notHeld = 0;

function writeAdd(w: Writer, { queue, task, forwardedFrom, holdUntilMs }: AddTask, nowMs: number): void {
  const heldForMs = holdUntilMs === notHeld ? undefined : timeLeftMs(holdUntilMs, nowMs);
  wire.writeAddTask(w, { queue: queueToWire(queue), task, forwardedFrom, heldForMs });
}

function readAdd(r: Reader, nowMs: number): Omit<AddTask, 'kind'> {
  const { queue, task, forwardedFrom, heldForMs } = wire.readAddTask(r);
  const holdUntilMs = heldForMs === undefined ? notHeld : momentMs(heldForMs, nowMs);
  return { queue: queueFromWire(queue), task, forwardedFrom, holdUntilMs };
}

function queueToWire({ namespaceId, name, taskType, partition, kind }: TaskQueuePartition): wire.TaskQueuePartition {
  return { namespaceId, name, taskType: taskTypes[taskType].wire, partition, sticky: kind === 'sticky' };
}

function queueFromWire({ namespaceId, name, taskType, partition, sticky }: wire.TaskQueuePartition): TaskQueuePartition {
  const type = taskTypeOfWire(taskType);
  if (type === undefined) throw new WireError(`TaskQueuePartition.task_type is ${taskType}`);
  return { namespaceId, name, taskType: type, partition, kind: sticky ? 'sticky' : 'normal' };
}

// ── Answers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const rejectionReasons: Words<MatchingRejection['reason']> = words(
  'no-poller query-expired query-not-found backlog-full configs-full tasks-left',
  'too-many-polls too-many-queries too-many-queues too-many-weights',
);

const answerCodecs: KindCodecs<Answer> = {
  ...askFailureCodecs,
  rejected: {
    field: 1,
    write: (w, { rejection }) => wire.writeMatchingRejection(w, rejection),
    read: (r) => {
      const { reason, message } = wire.readMatchingRejection(r);
      return { kind: 'rejected', rejection: { reason: wordOf(rejectionReasons, reason, 'MatchingRejection.reason'), message } };
    },
  },
  done: bare(2, 'done'),
  emptyPoll: bare(3, 'emptyPoll'),
  task: {
    field: 4,
    write: (w, { task, origin, pollRequestId, backlogCountHint }) =>
      wire.writeTaskReply(w, { ...startedTaskToWire(task), origin, pollRequestId, backlogCountHint }),
    read: (r) => {
      const { workflowTask, activityTask, origin, pollRequestId, backlogCountHint } = wire.readTaskReply(r);
      return { kind: 'task', task: startedTaskFromWire({ workflowTask, activityTask }), origin, pollRequestId, backlogCountHint };
    },
  },
  queryTask: plain(5, 'queryTask', wire.writeQueryTask, wire.readQueryTask),
  stickyUnavailable: bare(6, 'stickyUnavailable'),
  noMatch: plain(7, 'noMatch', wire.writeNoMatch, wire.readNoMatch),
  stored: bare(10, 'stored'),
  queryAnswer: plain(8, 'queryAnswer', wire.writeQueryAnswer, wire.readQueryAnswer),
  taskQueueDescription: plain(9, 'taskQueueDescription', wire.writeTaskQueueDescription, wire.readTaskQueueDescription),
  storedQueues: converted(12, 'storedQueues', wire.writeStoredQueues, wire.readStoredQueues, {
    toWire: ({ queues }) => ({ queues: queues.map(ofQueue.toWire) }),
    fromWire: ({ queues }) => ({ queues: queues.map(ofQueue.fromWire) }),
  }),
  taskQueueConfigured: plain(11, 'taskQueueConfigured', wire.writeTaskQueueConfigured, wire.readTaskQueueConfigured),
};

export const matchingAsks = {
  requests: new UnionCodec<MatchingRequest>('ask of a matching host', requestCodecs),
  answers: new UnionCodec<Answer>('answer of a matching host', answerCodecs),
};
