/** Why an ask got no answer of its actor, as bytes: kinds of every answer, beside the actor's own. */
import type { AskFailure } from '../../actors/asks/asks.ts';
import { readAskFailure, readNotHere, writeAskFailure, writeNotHere } from '../../wire/generated/peer/ask_failure.ts';
import { type KindCodecs, plain } from './union-codec.ts';

/** Above the numbers of replies. */
export const askFailureCodecs: KindCodecs<AskFailure> = {
  unavailable: plain(101, 'unavailable', writeAskFailure, readAskFailure),
  deadline: plain(102, 'deadline', writeAskFailure, readAskFailure),
  busy: plain(103, 'busy', writeAskFailure, readAskFailure),
  tooLarge: plain(104, 'tooLarge', writeAskFailure, readAskFailure),
  internal: plain(105, 'internal', writeAskFailure, readAskFailure),
  notHere: plain(106, 'notHere', writeNotHere, readNotHere),
  dataLoss: plain(107, 'dataLoss', writeAskFailure, readAskFailure),
};
