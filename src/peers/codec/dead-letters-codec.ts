import type { AskFailure } from '../../actors/asks/asks.ts';
import type { AcceptLetters, DeadLetterRequest, LetterGrouping } from '../../deadletters/letter-commands.ts';
import type { DeadLetterRejection, DeadLetterReply, MergeEnded } from '../../deadletters/letter-commands.ts';
import type { Condition } from '../../filter/condition.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { CompleteWithin } from '../../wire/as-core.ts';
import type { Condition as WireCondition } from '../../wire/generated/peer/condition.ts';
import * as wire from '../../wire/generated/peer/dead_letters.ts';
import { WireError } from '../../wire/wire-error.ts';
import { conditionFromWire, conditionToWire } from './condition-codec.ts';
import { letterFromWire, letterToWire, listedFromWire, listedToWire } from './letter-codec.ts';
import { askFailureCodecs, bare, converted, plain, UnionCodec, wholeOf, wordOf, type KindCodecs } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';

const withLetters = {
  toWire: (request: CompleteWithin<AcceptLetters>) => ({ ...request, letters: request.letters.map(letterToWire) }),
  fromWire: (request: wire.AcceptLetters) => ({ ...request, letters: request.letters.map(letterFromWire) }),
};

const withCondition = {
  toWire: <Request extends { readonly condition: Condition | undefined }>(request: Request) => {
    return { ...request, condition: request.condition && conditionToWire(request.condition) };
  },
  fromWire: <Body extends { readonly condition: WireCondition | undefined }>(body: Body) => {
    return { ...body, condition: body.condition && conditionFromWire(body.condition) };
  },
};

const requestCodecs: KindCodecs<DeadLetterRequest> = {
  acceptLetters: converted(1, 'acceptLetters', wire.writeAcceptLetters, wire.readAcceptLetters, withLetters),
  claimLetters: plain(2, 'claimLetters', wire.writeClaimLetters, wire.readClaimLetters),
  releaseClaim: plain(3, 'releaseClaim', wire.writeReleaseClaim, wire.readReleaseClaim),
  purgeLetters: plain(4, 'purgeLetters', wire.writePurgeLetters, wire.readPurgeLetters),
  mergeLetter: plain(5, 'mergeLetter', wire.writeMergeLetter, wire.readMergeLetter),
  findPurged: plain(6, 'findPurged', wire.writeFindPurged, wire.readFindPurged),
  findMerged: plain(7, 'findMerged', wire.writeFindMerged, wire.readFindMerged),
  restoreLetters: plain(8, 'restoreLetters', wire.writeRestoreLetters, wire.readRestoreLetters),
  countLetters: bare(9, 'countLetters'),
  listLetters: converted(10, 'listLetters', wire.writeListLetters, wire.readListLetters, withCondition),
  readLetter: plain(11, 'readLetter', wire.writeReadLetter, wire.readReadLetter),
  findLetters: converted(12, 'findLetters', wire.writeFindLetters, wire.readFindLetters, withCondition),
  countMatching: converted(13, 'countMatching', wire.writeCountMatching, wire.readCountMatching, withCondition),
  groupLetters: converted(14, 'groupLetters', wire.writeGroupLetters, wire.readGroupLetters, {
    toWire: withCondition.toWire,
    fromWire: (body) => ({ ...withCondition.fromWire(body), by: wordOf(groupings, body.by, 'GroupLetters.by') }),
  }),
};

const groupings: Words<LetterGrouping> = words(
  'fingerprint cause disposition errorType taskType namespace workflowType node build sourceCluster',
);

const rejectionReasons: Words<DeadLetterRejection['reason']> = words(
  'invalid-argument overlap too-many-jobs not-claimed not-in-queue being-merged began-anew not-now',
);

const answerCodecs: KindCodecs<DeadLetterReply | AskFailure> = {
  ...askFailureCodecs,
  rejected: plain(
    1,
    'rejected',
    (w, { rejection: { holders, ...rejection } }) =>
      wire.writeQueueRejected(w, { rejection: { ...rejection, holders: holders && { items: holders } } }),
    (r) => {
      const { reason, message, holders } = wire.readQueueRejected(r).rejection;
      return { rejection: { reason: wordOf(rejectionReasons, reason, 'QueueRejection.reason'), message, holders: holders?.items } };
    },
  ),
  done: bare(2, 'done'),
  accepted: plain(3, 'accepted', wire.writeLetterIds, wire.readLetterIds),
  purged: plain(4, 'purged', wire.writeLettersPurged, wire.readLettersPurged),
  purgedFound: plain(5, 'purgedFound', wire.writePurgedFound, wire.readPurgedFound),
  mergedFound: plain(6, 'mergedFound', wire.writeLetterIds, wire.readLetterIds),
  restored: plain(7, 'restored', wire.writePurgedFound, wire.readPurgedFound),
  counted: plain(8, 'counted', wire.writeLettersCounted, wire.readLettersCounted),
  mergeEnded: {
    field: 9,
    write: (w, ended) => wire.writeMergeEnded(w, mergeEndedToWire(ended)),
    read: (r) => mergeEndedFromWire(wire.readMergeEnded(r)),
  },
  letters: converted(10, 'letters', wire.writeLettersListed, wire.readLettersListed, {
    toWire: ({ letters, isLast }) => ({ letters: letters.map(listedToWire), isLast }),
    fromWire: ({ letters, isLast }) => ({ letters: letters.map(listedFromWire), isLast }),
  }),
  letter: converted(11, 'letter', wire.writeLetterRead, wire.readLetterRead, {
    toWire: ({ letter }) => ({ letter: listedToWire(letter) }),
    fromWire: ({ letter }) => ({ letter: listedFromWire(letter) }),
  }),
  letterIds: plain(12, 'letterIds', wire.writeLettersFound, wire.readLettersFound),
  matched: plain(13, 'matched', wire.writeLettersMatched, wire.readLettersMatched),
  groups: plain(14, 'groups', wire.writeLettersGrouped, wire.readLettersGrouped),
};

const noMergeEnded = wire.emptyMergeEnded();

function mergeEndedToWire(ended: MergeEnded): wire.MergeEnded {
  if (ended.outcome !== 'failed') return { ...noMergeEnded, ...ended };
  return { ...noMergeEnded, outcome: ended.outcome, failure: { ...ended, taskId: String(ended.taskId) } };
}

const mergeOutcomes: Words<MergeEnded['outcome']> = words('merged merged-noop failed skipped');

function mergeEndedFromWire({ outcome: word, detail, failure, reason }: wire.MergeEnded): CompleteWithin<MergeEnded> {
  const kind = 'mergeEnded';
  const outcome = wordOf(mergeOutcomes, word, 'MergeEnded.outcome');
  switch (outcome) {
    case 'merged':
      return { kind, outcome };
    case 'merged-noop':
      return { kind, outcome, detail };
    case 'failed':
      if (failure === undefined) throw new WireError('MergeEnded.failure is missing');
      return { kind, outcome, ...failure, taskId: wholeOf(failure.taskId) };
    case 'skipped':
      return { kind, outcome, reason };
    default:
      return unreachable(outcome);
  }
}

export const deadLetterAsks = {
  requests: new UnionCodec<DeadLetterRequest>('ask of a dead letter queue', requestCodecs),
  answers: new UnionCodec<DeadLetterReply | AskFailure>('answer of a dead letter queue', answerCodecs),
};
