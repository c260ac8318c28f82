/** What matching hosts are asked, and their answers, as bytes. */
import type { AskFailure } from '../../actors/asks/asks.ts';
import type { StartedTask } from '../../actors/asks/router.ts';
import type { AddActivityTask, AddWorkflowTask, MatchingRequest, PollActivityTask, PollWorkflowTask } from '../../matching/commands.ts';
import type { MatchingRejection, MatchingReply } from '../../matching/replies.ts';
import type { TaskQueuePartition } from '../../matching/task-queue.ts';
import * as wire from '../../wire/generated/peer/matching.ts';
import type { Reader } from '../../wire/reader.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Writer } from '../../wire/writer.ts';
import { askFailureCodecs } from './ask-failure-codec.ts';
import { startedTaskFromWire, startedTaskToWire } from './started-task-codec.ts';
import { TaskQueueType } from '../../wire/generated/lean/enums.ts';
import { momentMs, timeLeftMs } from './remaining-time.ts';
import { bare, type KindCodecs, plain, UnionCodec } from './union-codec.ts';
import { type Words, wordOf } from './words.ts';

type Answer = MatchingReply<StartedTask> | AskFailure;

export function encodeMatchingRequest(request: MatchingRequest, nowMs: number): Uint8Array {
  return requests.encode(request, nowMs);
}

export function decodeMatchingRequest(bytes: Uint8Array, nowMs: number): MatchingRequest {
  return requests.decode(bytes, nowMs);
}

export function encodeMatchingAnswer(answer: Answer): Uint8Array {
  return answers.encode(answer, noClock);
}

export function decodeMatchingAnswer(bytes: Uint8Array): Answer {
  return answers.decode(bytes, noClock);
}

// ── Asks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

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
  answerQuery: {
    field: 6,
    write: (w, { queue, queryId, result }) => wire.writeAnswerQuery(w, { queue: queueToWire(queue), queryId, result }),
    read: (r) => {
      const { queue, queryId, result } = wire.readAnswerQuery(r);
      return { kind: 'answerQuery', queue: queueFromWire(queue), queryId, result };
    },
  },
  describeTaskQueue: {
    field: 7,
    write: (w, { queue }) => wire.writeDescribeTaskQueue(w, { queue: queueToWire(queue) }),
    read: (r) => ({ kind: 'describeTaskQueue', queue: queueFromWire(wire.readDescribeTaskQueue(r).queue) }),
  },
  updateTaskQueueConfig: {
    field: 9,
    write: (w, { queue, ...change }) => wire.writeUpdateTaskQueueConfig(w, { ...change, queue: queueToWire(queue) }),
    read: (r) => {
      const { queue, ...change } = wire.readUpdateTaskQueueConfig(r);
      return { kind: 'updateTaskQueueConfig', queue: queueFromWire(queue), ...change };
    },
  },
  configurePartition: {
    field: 10,
    write: (w, { queue, config }) => wire.writeConfigurePartition(w, { queue: queueToWire(queue), config }),
    read: (r) => {
      const { queue, config } = wire.readConfigurePartition(r);
      return { kind: 'configurePartition', queue: queueFromWire(queue), config };
    },
  },
  forgetNamespace: plain(11, 'forgetNamespace', wire.writeForgetNamespace, wire.readForgetNamespace),
  shutdownWorker: {
    field: 8,
    write: (w, { queue, workerInstanceKey }) => wire.writeShutdownWorker(w, { queue: queueToWire(queue), workerInstanceKey }),
    read: (r) => {
      const { queue, workerInstanceKey } = wire.readShutdownWorker(r);
      return { kind: 'shutdownWorker', queue: queueFromWire(queue), workerInstanceKey };
    },
  },
};

function writePoll(w: Writer, poll: PollWorkflowTask | PollActivityTask, nowMs: number): void {
  const { pollRequestId, identity, workerInstanceKey, maxTasksPerSecond, workerVersion, forwardedFrom } = poll;
  wire.writePoll(w, {
    queue: queueToWire(poll.queue),
    pollRequestId,
    identity,
    remainingMs: timeLeftMs(poll.deadlineMs, nowMs),
    workerInstanceKey,
    maxTasksPerSecond,
    workerVersion,
    forwardedFrom,
  });
}

function readPoll(r: Reader, nowMs: number): Omit<PollWorkflowTask, 'kind'> {
  const { pollRequestId, identity, workerInstanceKey, maxTasksPerSecond, workerVersion, forwardedFrom, ...rest } = wire.readPoll(r);
  return {
    queue: queueFromWire(rest.queue),
    pollRequestId,
    identity,
    deadlineMs: momentMs(rest.remainingMs, nowMs),
    workerInstanceKey,
    maxTasksPerSecond,
    workerVersion,
    forwardedFrom,
  };
}

/** `holdUntilMs` of a task that is not held. */
const notHeld = 0;

function writeAdd(w: Writer, { queue, task, forwardedFrom, holdUntilMs }: AddWorkflowTask | AddActivityTask, nowMs: number): void {
  const heldForMs = holdUntilMs === notHeld ? undefined : timeLeftMs(holdUntilMs, nowMs);
  wire.writeAddTask(w, { queue: queueToWire(queue), task, forwardedFrom, heldForMs });
}

function readAdd(r: Reader, nowMs: number): Omit<AddWorkflowTask, 'kind'> {
  const { queue, task, forwardedFrom, heldForMs } = wire.readAddTask(r);
  const holdUntilMs = heldForMs === undefined ? notHeld : momentMs(heldForMs, nowMs);
  return { queue: queueFromWire(queue), task, forwardedFrom, holdUntilMs };
}

function queueToWire({ namespaceId, name, taskType, partition, kind }: TaskQueuePartition): wire.TaskQueuePartition {
  return {
    namespaceId,
    name,
    taskType: taskType === 'workflow' ? TaskQueueType.WORKFLOW : TaskQueueType.ACTIVITY,
    partition,
    sticky: kind === 'sticky',
  };
}

function queueFromWire({ namespaceId, name, taskType, partition, sticky }: wire.TaskQueuePartition): TaskQueuePartition {
  if (taskType !== TaskQueueType.WORKFLOW && taskType !== TaskQueueType.ACTIVITY)
    throw new WireError(`TaskQueuePartition.task_type is ${taskType}`);
  const type = taskType === TaskQueueType.WORKFLOW ? 'workflow' : 'activity';
  return { namespaceId, name, taskType: type, partition, kind: sticky ? 'sticky' : 'normal' };
}

// ── Answers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const rejectionReasons: Words<MatchingRejection['reason']> = {
  'no-poller': true,
  'query-expired': true,
  'query-not-found': true,
  'too-many-polls': true,
  'too-many-queries': true,
  'backlog-full': true,
  'too-many-queues': true,
  'too-many-weights': true,
  'configs-full': true,
  'tasks-left': true,
};

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
  taskQueueConfigured: plain(11, 'taskQueueConfigured', wire.writeTaskQueueConfigured, wire.readTaskQueueConfigured),
};

const requests = new UnionCodec<MatchingRequest>('ask of a matching host', requestCodecs);
const answers = new UnionCodec<Answer>('answer of a matching host', answerCodecs);
/** No answer has a time that travels as what remains of it. */
const noClock = 0;
