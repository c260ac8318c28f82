import type { AskFailure } from '../../actors/asks/asks.ts';
import type { DeadLetterRequest, LetterGrouping } from '../../deadletters/letter-commands.ts';
import type { DeadLetterRejection, DeadLetterReply, MergeEnded } from '../../deadletters/letter-commands.ts';
import type { Condition } from '../../filter/condition.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { CompleteWithin } from '../../wire/as-core.ts';
import type { Condition as WireCondition } from '../../wire/generated/peer/condition.ts';
import * as wire from '../../wire/generated/peer/dead_letters.ts';
import { WireError } from '../../wire/wire-error.ts';
import { conditionFromWire, conditionToWire } from './condition-codec.ts';
import { letterFromWire, letterToWire, listedFromWire, listedToWire } from './letter-codec.ts';
import { askFailureCodecs, bare, plain, UnionCodec, wholeOf, wordOf, type KindCodecs } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';

const requestCodecs: KindCodecs<DeadLetterRequest> = {
  acceptLetters: plain(
    1,
    'acceptLetters',
    (w, request) => wire.writeAcceptLetters(w, { ...request, letters: request.letters.map(letterToWire) }),
    (r) => {
      const request = wire.readAcceptLetters(r);
      return { ...request, letters: request.letters.map(letterFromWire) };
    },
  ),
  claimLetters: plain(2, 'claimLetters', wire.writeClaimLetters, wire.readClaimLetters),
  releaseClaim: plain(3, 'releaseClaim', wire.writeReleaseClaim, wire.readReleaseClaim),
  purgeLetters: plain(4, 'purgeLetters', wire.writePurgeLetters, wire.readPurgeLetters),
  mergeLetter: plain(5, 'mergeLetter', wire.writeMergeLetter, wire.readMergeLetter),
  findPurged: plain(6, 'findPurged', wire.writeFindPurged, wire.readFindPurged),
  findMerged: plain(7, 'findMerged', wire.writeFindMerged, wire.readFindMerged),
  restoreLetters: plain(8, 'restoreLetters', wire.writeRestoreLetters, wire.readRestoreLetters),
  countLetters: bare(9, 'countLetters'),
  listLetters: plain(
    10,
    'listLetters',
    (w, request) => wire.writeListLetters(w, toWire(request)),
    (r) => fromWire(wire.readListLetters(r)),
  ),
  readLetter: plain(11, 'readLetter', wire.writeReadLetter, wire.readReadLetter),
  findLetters: plain(
    12,
    'findLetters',
    (w, request) => wire.writeFindLetters(w, toWire(request)),
    (r) => fromWire(wire.readFindLetters(r)),
  ),
  countMatching: plain(
    13,
    'countMatching',
    (w, request) => wire.writeCountMatching(w, toWire(request)),
    (r) => fromWire(wire.readCountMatching(r)),
  ),
  groupLetters: plain(
    14,
    'groupLetters',
    (w, request) => wire.writeGroupLetters(w, toWire(request)),
    (r) => {
      const request = fromWire(wire.readGroupLetters(r));
      return { ...request, by: wordOf(groupings, request.by, 'GroupLetters.by') };
    },
  ),
};

function toWire<Request extends { readonly condition: Condition | undefined }>(request: Request) {
  return { ...request, condition: request.condition && conditionToWire(request.condition) };
}

function fromWire<Request extends { readonly condition: WireCondition | undefined }>(request: Request) {
  return { ...request, condition: request.condition && conditionFromWire(request.condition) };
}

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
  letters: plain(
    10,
    'letters',
    (w, { letters, isLast }) => wire.writeLettersListed(w, { letters: letters.map(listedToWire), isLast }),
    (r) => {
      const { letters, isLast } = wire.readLettersListed(r);
      return { letters: letters.map(listedFromWire), isLast };
    },
  ),
  letter: plain(
    11,
    'letter',
    (w, { letter }) => wire.writeLetterRead(w, { letter: listedToWire(letter) }),
    (r) => ({ letter: listedFromWire(wire.readLetterRead(r).letter) }),
  ),
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
