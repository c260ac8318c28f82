import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import type { DeadLetterRequest, LetterGrouping } from '../../../src/deadletters/letter-commands.ts';
import type { DeadLetterRejection, DeadLetterReply, ListedLetter, MergeEnded } from '../../../src/deadletters/letter-commands.ts';
import type { LetterRow } from '../../../src/deadletters/letter-records.ts';
import type { Letter, LetterTask, Whole } from '../../../src/deadletters/letter.ts';
import { deadLetterAsks } from '../../../src/peers/codec/dead-letters-codec.ts';
import { WireError } from '../../../src/wire/wire-error.ts';
import { askFailures } from './arbitrary-ask-failure.ts';
import { condition } from './arbitrary-condition.ts';
import {
  type ByKind,
  bytes,
  count,
  flag,
  idRange,
  letterCause,
  letterDisposition,
  letterError,
  letterFailure,
  list,
  orNone,
  record,
  text,
  word,
} from './arbitrary.ts';
import { describeCodec, numbersOf } from './round-trip.ts';

/** A bigint only where it is beyond 2^53. */
const whole: fc.Arbitrary<Whole> = fc.oneof(count, fc.bigInt({ min: 2n ** 53n }), fc.bigInt({ max: -(2n ** 53n) }));
const state = word('open', 'quarantined');

const task: fc.Arbitrary<LetterTask> = record({
  taskId: whole,
  taskType: text,
  taskVersion: orNone(whole),
  fireTimeMs: orNone(count),
  createdTimeMs: orNone(count),
  shardId: count,
  sourceShardId: orNone(count),
  namespaceId: text,
  namespace: text,
  targetNamespaceId: text,
  targetNamespace: text,
  workflowId: text,
  runId: text,
  workflowType: text,
  eventId: orNone(whole),
  nextEventId: orNone(whole),
  valueType: text,
  value: bytes,
});
const letter: fc.Arbitrary<Letter> = record({
  handOver: record({ shard: count, sequence: count, clusterId: text }),
  task,
  failure: letterFailure,
  origin: orNone(record({ topic: text, partition: count, offset: count, group: text })),
  traceparent: text,
  deadLetterTimeMs: count,
  generation: count,
  state,
  history: list(record({ timeMs: count, kind: text, errorType: text, jobId: text, fingerprint: text })),
  jobId: text,
});
const row: fc.Arbitrary<LetterRow> = record({
  messageId: count,
  offset: count,
  taskId: orNone(whole),
  taskType: text,
  shardId: orNone(count),
  namespaceId: text,
  namespace: text,
  workflowId: text,
  runId: text,
  workflowType: text,
  cause: fc.oneof(letterCause, word('')),
  disposition: fc.oneof(letterDisposition, word('')),
  errorType: text,
  errorMessage: text,
  fingerprint: text,
  attempts: count,
  generation: count,
  state,
  taskFireTimeMs: orNone(count),
  firstFailureTimeMs: orNone(count),
  lastFailureTimeMs: orNone(count),
  deadLetterTimeMs: count,
  firstEventId: orNone(whole),
  nextEventId: orNone(whole),
  version: orNone(whole),
  sourceCluster: text,
  node: text,
  build: text,
  isDamaged: flag,
});
const listed: fc.Arbitrary<ListedLetter> = record({
  row,
  content: orNone(record({ value: bytes, headers: list(record({ name: text, value: text })), letter: orNone(letter), problem: text })),
});

const authorship = { jobId: text, who: text, why: text };
const incarnation = orNone(count);
const letterId = record({ messageId: count, generation: count });

const requests: ByKind<DeadLetterRequest> = {
  acceptLetters: record({
    kind: fc.constant('acceptLetters' as const),
    shard: count,
    letters: list(letter),
    missingMax: orNone(count),
  }),
  claimLetters: record({ kind: fc.constant('claimLetters' as const), jobId: text, ranges: list(idRange), incarnation }),
  releaseClaim: record({ kind: fc.constant('releaseClaim' as const), jobId: text }),
  purgeLetters: record({ ...authorship, kind: fc.constant('purgeLetters' as const), letters: list(letterId) }),
  mergeLetter: record({
    ...authorship,
    kind: fc.constant('mergeLetter' as const),
    messageId: count,
    overridesLoopGuard: flag,
    taskTimeoutMs: orNone(count),
  }),
  findPurged: record({ kind: fc.constant('findPurged' as const), ids: list(idRange), purgedBy: orNone(text), incarnation }),
  findMerged: record({ kind: fc.constant('findMerged' as const), ids: list(idRange), incarnation }),
  restoreLetters: record({
    ...authorship,
    kind: fc.constant('restoreLetters' as const),
    messageIds: list(count),
    purgedBy: orNone(text),
  }),
  countLetters: record({ kind: fc.constant('countLetters' as const) }),
  listLetters: record({
    kind: fc.constant('listLetters' as const),
    condition: orNone(condition),
    afterMessageId: count,
    max: count,
    bytesMax: count,
    withContent: flag,
    incarnation,
  }),
  readLetter: record({ kind: fc.constant('readLetter' as const), messageId: count }),
  findLetters: record({
    kind: fc.constant('findLetters' as const),
    condition: orNone(condition),
    afterMessageId: count,
    max: count,
    incarnation,
  }),
  countMatching: record({ kind: fc.constant('countMatching' as const), condition: orNone(condition) }),
  groupLetters: record({
    kind: fc.constant('groupLetters' as const),
    condition: orNone(condition),
    by: word<LetterGrouping>(
      ...(['fingerprint', 'cause', 'disposition', 'errorType', 'taskType'] as const),
      ...(['namespace', 'workflowType', 'node', 'build', 'sourceCluster'] as const),
    ),
    max: count,
  }),
};

const kind = fc.constant('mergeEnded' as const);
const mergeEnded: fc.Arbitrary<MergeEnded> = fc.oneof(
  record({ kind, outcome: fc.constant('merged' as const) }),
  record({ kind, outcome: fc.constant('merged-noop' as const), detail: text }),
  record({
    kind,
    outcome: fc.constant('failed' as const),
    error: letterError,
    isQuarantined: flag,
    taskId: whole,
    taskType: text,
    sameCause: flag,
  }),
  record({ kind, outcome: fc.constant('skipped' as const), reason: text }),
);

const answers: ByKind<DeadLetterReply | AskFailure> = {
  ...askFailures,
  rejected: record({
    kind: fc.constant('rejected' as const),
    rejection: record({
      reason: word<DeadLetterRejection['reason']>(
        ...(['invalid-argument', 'overlap', 'too-many-jobs', 'not-claimed'] as const),
        ...(['not-in-queue', 'being-merged', 'began-anew', 'not-now'] as const),
      ),
      message: text,
      holders: orNone(list(text)),
    }),
  }),
  done: record({ kind: fc.constant('done' as const) }),
  accepted: record({ kind: fc.constant('accepted' as const), ids: list(count) }),
  purged: record({
    kind: fc.constant('purged' as const),
    ids: list(count),
    gone: list(count),
    merged: list(count),
    executing: list(count),
  }),
  purgedFound: record({ kind: fc.constant('purgedFound' as const), ids: list(count), lost: list(count) }),
  mergedFound: record({ kind: fc.constant('mergedFound' as const), ids: list(count) }),
  restored: record({ kind: fc.constant('restored' as const), ids: list(count), lost: list(count) }),
  counted: record({
    kind: fc.constant('counted' as const),
    nextId: count,
    lowestOpen: orNone(count),
    open: count,
    quarantined: count,
    merged: count,
    purged: count,
    uncutPurges: count,
    comebacks: text,
    incarnation: count,
  }),
  mergeEnded,
  letters: record({ kind: fc.constant('letters' as const), letters: list(listed), isLast: flag }),
  letter: record({ kind: fc.constant('letter' as const), letter: listed }),
  letterIds: record({ kind: fc.constant('letterIds' as const), ids: list(letterId), isLast: flag }),
  matched: record({ kind: fc.constant('matched' as const), count }),
  groups: record({
    kind: fc.constant('groups' as const),
    groups: list(
      record({
        key: text,
        count,
        lowestId: count,
        oldestMs: count,
        newestMs: count,
        errorType: text,
        errorMessage: text,
        taskType: text,
      }),
    ),
  }),
};

describeCodec('asks of a dead letter queue', deadLetterAsks.requests, requests);
describeCodec('answers of a dead letter queue', deadLetterAsks.answers, answers);

test('golden: the numbers of asks and answers', () => {
  expect(numbersOf(deadLetterAsks.requests, requests)).toMatchInlineSnapshot(`
    {
      "acceptLetters": 1,
      "claimLetters": 2,
      "countLetters": 9,
      "countMatching": 13,
      "findLetters": 12,
      "findMerged": 7,
      "findPurged": 6,
      "groupLetters": 14,
      "listLetters": 10,
      "mergeLetter": 5,
      "purgeLetters": 4,
      "readLetter": 11,
      "releaseClaim": 3,
      "restoreLetters": 8,
    }
  `);
  expect(numbersOf(deadLetterAsks.answers, answers)).toMatchInlineSnapshot(`
    {
      "accepted": 3,
      "busy": 103,
      "counted": 8,
      "dataLoss": 107,
      "deadline": 102,
      "done": 2,
      "groups": 14,
      "internal": 105,
      "letter": 11,
      "letterIds": 12,
      "letters": 10,
      "matched": 13,
      "mergeEnded": 9,
      "mergedFound": 6,
      "notHere": 106,
      "purged": 4,
      "purgedFound": 5,
      "rejected": 1,
      "restored": 7,
      "tooLarge": 104,
      "unavailable": 101,
    }
  `);
});

describe('what is no answer', () => {
  test('a failed merge that says nothing of its failure', () => {
    const ended = deadLetterAsks.answers.encode({ kind: 'mergeEnded', outcome: 'merged' });
    const at = Buffer.from(ended).indexOf('merged');
    const other = Uint8Array.from(Buffer.from(ended).fill('failed', at));
    expect(() => deadLetterAsks.answers.decode(other)).toThrow(new WireError('MergeEnded.failure is missing'));
  });
});
