import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import type { StartedTask } from '../../../src/actors/asks/router.ts';
import type { AddTask, MatchingRequest } from '../../../src/matching/matching-commands.ts';
import type { MatchingRejection, MatchingReply } from '../../../src/matching/matching-replies.ts';
import type { MatchingTask, QueriedWorkflow } from '../../../src/matching/matching-tasks.ts';
import type { TaskQueuePartition } from '../../../src/kernel/task-queue.ts';
import { matchingAsks } from '../../../src/peers/codec/matching-codec.ts';
import { WireError } from '../../../src/wire/wire-error.ts';
import { askFailures } from './arbitrary-ask-failure.ts';
import { startedActivityTask, startedWorkflowTask } from './arbitrary-started-task.ts';
import { anyNumber, type ByKind, bytes, count, flag, list, moment, orNone, queryResult, record, runKey, text, word } from './arbitrary.ts';
import { describeCodec, numbersOf, sample } from './round-trip.ts';

const queue: fc.Arbitrary<TaskQueuePartition> = record({
  namespaceId: text,
  name: text,
  taskType: word('workflow', 'activity'),
  partition: count,
  kind: word('normal', 'sticky'),
});

const task: fc.Arbitrary<MatchingTask> = record({
  key: runKey,
  historyShard: count,
  scheduledEventId: count,
  stamp: count,
  expiryTimeMs: count,
  taskId: count,
  priority: orNone(record({ priorityKey: count, fairnessKey: text, fairnessWeight: anyNumber })),
});

const workflow: fc.Arbitrary<QueriedWorkflow> = record({
  key: runKey,
  workflowType: text,
  previousStartedEventId: count,
  historyLastEventId: count,
  taskQueueName: text,
});

function poll<Kind extends 'pollWorkflowTask' | 'pollActivityTask'>(kind: Kind) {
  return record({
    kind: fc.constant(kind),
    queue,
    pollRequestId: text,
    identity: text,
    deadlineMs: moment,
    workerInstanceKey: text,
    maxTasksPerSecond: orNone(anyNumber),
    workerVersion: orNone(bytes),
    forwardedFrom: orNone(count),
  });
}

function add<Kind extends 'addWorkflowTask' | 'addActivityTask'>(kind: Kind) {
  return record({ kind: fc.constant(kind), queue, task, forwardedFrom: orNone(count), holdUntilMs: moment });
}

const config = record({
  version: count,
  queueRate: orNone(record({ perSecond: orNone(anyNumber), reason: text, identity: text, timeMs: count })),
  keyRate: orNone(record({ perSecond: orNone(anyNumber), reason: text, identity: text, timeMs: count })),
  weights: list(record({ key: text, weight: anyNumber })),
});

const requests: ByKind<MatchingRequest> = {
  pollWorkflowTask: poll('pollWorkflowTask'),
  pollActivityTask: poll('pollActivityTask'),
  addWorkflowTask: add('addWorkflowTask'),
  addActivityTask: add('addActivityTask'),
  dispatchQuery: record({ kind: fc.constant('dispatchQuery' as const), queue, queryId: text, workflow, query: bytes, deadlineMs: moment }),
  answerQuery: record({ kind: fc.constant('answerQuery' as const), queue, queryId: text, result: queryResult }),
  describeTaskQueue: record({ kind: fc.constant('describeTaskQueue' as const), queue }),
  updateTaskQueueConfig: record({
    kind: fc.constant('updateTaskQueueConfig' as const),
    queue,
    identity: text,
    queueRate: orNone(record({ perSecond: orNone(anyNumber), reason: text })),
    keyRate: orNone(record({ perSecond: orNone(anyNumber), reason: text })),
    setWeights: list(record({ key: text, weight: anyNumber })),
    unsetWeights: list(text),
  }),
  configurePartition: record({ kind: fc.constant('configurePartition' as const), queue, config }),
  forgetNamespace: record({ kind: fc.constant('forgetNamespace' as const), namespaceId: text }),
  listStoredQueues: record({ kind: fc.constant('listStoredQueues' as const), namespaceId: text, only: orNone(queue) }),
  shutdownWorker: record({ kind: fc.constant('shutdownWorker' as const), queue, workerInstanceKey: text }),
};

const reasons: { readonly [Reason in MatchingRejection['reason']]: true } = {
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

type Answer = MatchingReply<StartedTask> | AskFailure;

const answers: ByKind<Answer> = {
  ...askFailures,
  rejected: record({
    kind: fc.constant('rejected' as const),
    rejection: record({ reason: word(...(Object.keys(reasons) as MatchingRejection['reason'][])), message: text }),
  }),
  done: record({ kind: fc.constant('done' as const) }),
  stored: record({ kind: fc.constant('stored' as const) }),
  emptyPoll: record({ kind: fc.constant('emptyPoll' as const) }),
  task: record({
    kind: fc.constant('task' as const),
    task: fc.oneof<fc.Arbitrary<StartedTask>[]>(startedWorkflowTask, startedActivityTask),
    origin: task,
    pollRequestId: text,
    backlogCountHint: count,
  }),
  queryTask: record({
    kind: fc.constant('queryTask' as const),
    queryId: text,
    query: bytes,
    workflow,
    queuePartition: count,
    sticky: flag,
  }),
  stickyUnavailable: record({ kind: fc.constant('stickyUnavailable' as const) }),
  noMatch: record({ kind: fc.constant('noMatch' as const), isRefused: flag }),
  queryAnswer: record({ kind: fc.constant('queryAnswer' as const), result: queryResult }),
  taskQueueDescription: record({
    kind: fc.constant('taskQueueDescription' as const),
    pollers: list(record({ identity: text, lastAccessTimeMs: count, ratePerSecond: orNone(anyNumber) })),
    backlogCountHint: count,
    backlogAgeMs: count,
    ackLevel: count,
    readLevel: count,
    ratePerSecond: orNone(anyNumber),
    isRateLimited: flag,
    levels: list(record({ priorityKey: count, backlogCount: count, backlogAgeMs: count, addRate: anyNumber, dispatchRate: anyNumber })),
    config: orNone(config),
  }),
  storedQueues: record({ kind: fc.constant('storedQueues' as const), queues: list(record({ queue, stored: count })) }),
  taskQueueConfigured: record({ kind: fc.constant('taskQueueConfigured' as const), config }),
};

describeCodec('asks of a matching host', matchingAsks.requests, requests);
describeCodec('answers of a matching host', matchingAsks.answers, answers);

test('golden: the numbers of asks and answers', () => {
  expect(numbersOf(matchingAsks.requests, requests)).toMatchInlineSnapshot(`
    {
      "addActivityTask": 4,
      "addWorkflowTask": 3,
      "answerQuery": 6,
      "configurePartition": 10,
      "describeTaskQueue": 7,
      "dispatchQuery": 5,
      "forgetNamespace": 11,
      "listStoredQueues": 12,
      "pollActivityTask": 2,
      "pollWorkflowTask": 1,
      "shutdownWorker": 8,
      "updateTaskQueueConfig": 9,
    }
  `);
  expect(numbersOf(matchingAsks.answers, answers)).toMatchInlineSnapshot(`
    {
      "busy": 103,
      "dataLoss": 107,
      "deadline": 102,
      "done": 2,
      "emptyPoll": 3,
      "internal": 105,
      "noMatch": 7,
      "notHere": 106,
      "queryAnswer": 8,
      "queryTask": 5,
      "rejected": 1,
      "stickyUnavailable": 6,
      "stored": 10,
      "storedQueues": 12,
      "task": 4,
      "taskQueueConfigured": 11,
      "taskQueueDescription": 9,
      "tooLarge": 104,
      "unavailable": 101,
    }
  `);
});

const sentMs = 1_700_000_000_000;
/** The receiver's clock is three minutes behind. */
const receivedMs = sentMs - 180_000;

test.each(['pollWorkflowTask', 'pollActivityTask', 'dispatchQuery'] as const)(
  'the deadline of %s is as far away by another clock',
  (kind) => {
    const sent = { ...sample<Extract<MatchingRequest, { readonly deadlineMs: number }>>(requests[kind]), deadlineMs: sentMs + 60_000 };
    expect(matchingAsks.requests.decode(matchingAsks.requests.encode(sent, sentMs), receivedMs)).toMatchObject({
      deadlineMs: receivedMs + 60_000,
    });
  },
);

test.each(['addWorkflowTask', 'addActivityTask'] as const)('%s is held as long by another clock, or not at all', (kind) => {
  const held = { ...sample<AddTask>(requests[kind]), holdUntilMs: sentMs + 5_000 };
  const read = (sent: MatchingRequest): MatchingRequest =>
    matchingAsks.requests.decode(matchingAsks.requests.encode(sent, sentMs), receivedMs);
  expect(read(held)).toMatchObject({ holdUntilMs: receivedMs + 5_000 });
  expect(read({ ...held, holdUntilMs: sentMs })).toMatchObject({ holdUntilMs: receivedMs });
  expect(read({ ...held, holdUntilMs: 0 })).toMatchObject({ holdUntilMs: 0 });
});

test('that a task was not refused is said as versions say it that know of no refusals', () => {
  const noMatch = { kind: 'noMatch', isRefused: false } as const;
  expect(matchingAsks.answers.encode(noMatch)).toEqual(Uint8Array.of(0x3a, 0));
  expect(matchingAsks.answers.decode(Uint8Array.of(0x3a, 0))).toEqual(noMatch);
});

test('a started task of no kind is refused', () => {
  // TaskReply { origin { key {} } }
  expect(() => matchingAsks.answers.decode(Uint8Array.of(0x22, 4, 0x1a, 2, 0x0a, 0))).toThrow(
    new WireError('a started task of a kind that this version does not know'),
  );
});
