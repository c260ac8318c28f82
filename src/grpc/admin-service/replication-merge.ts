/**
 * Purge and merge of replication's letters, which wait for what comes of them.
 *
 *     the first call freezes the last id ─▶ a job for each page ─▶ its outcomes ─▶ the token of the next page, with what has failed so far
 *                                                                               └▶ the last page: FAILED_PRECONDITION, if anything has
 *
 * A job goes on when its call ends before it.
 */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { Job } from '../../deadletters/jobs/job.ts';
import type { Condition } from '../../filter/condition.ts';
import type { ServiceMessages } from '../../wire/services.ts';
import { hasEnded, LOOK_AGAIN_MS } from '../deadletter-service/jobs.ts';
import { askJobs, askLetters } from '../deadletter-service/letter-asks.ts';
import { letterLimits } from '../deadletter-service/letter-limits.ts';
import { lastPage, LetterPages } from '../deadletter-service/letter-pages.ts';
import { allOf, letterColumn, rangesOf } from '../deadletter-service/selection.ts';
import { unavailable } from '../errors/details.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import type { AdminContext } from './admin-context.ts';
import { plannedAndApplied } from './dead-letter-jobs.ts';

type V1 = ServiceMessages['adminservice']['v1'];
type MergeRequest = InstanceType<V1['MergeDLQMessagesRequest']>;

export async function purgedAll(
  { context }: AdminContext,
  call: Call,
  queue: KnownDeadLetterQueue,
  end: MergeRequest['inclusiveEndMessageId'],
  condition: Condition | undefined,
): Promise<void> {
  const to = await lastId(context, call, queue, end.toNumber());
  if (to < 0) return;
  await outcomeOf(context, call, await plannedAndApplied(context, call, 'purge', queue, { ids: [{ from: 0, to }], condition }));
}

/** The token of the next page. */
export async function mergedByPages(
  { context }: AdminContext,
  call: Call,
  queue: KnownDeadLetterQueue | undefined,
  condition: Condition | undefined,
  { type, shardId, sourceCluster, inclusiveEndMessageId, maximumPageSize, nextPageToken }: MergeRequest,
): Promise<Uint8Array> {
  const end = inclusiveEndMessageId.toNumber();
  const pages = new LetterPages(context, 'MergeDLQMessages', { type, shardId, sourceCluster, end });
  let place = pages.placeOf(nextPageToken);
  if (queue === undefined) return lastPage;
  if (nextPageToken.length === 0) place = { ...place, toMessageId: await lastId(context, call, queue, end) };
  // Neither size nor token: all of it, in this call.
  const isWhole = maximumPageSize <= 0 && nextPageToken.length === 0;
  const { pageLettersMax } = letterLimits;
  const max = maximumPageSize <= 0 ? pageLettersMax : Math.min(maximumPageSize, pageLettersMax);
  const upTo: Condition = { kind: 'compare', column: letterColumn('MessageId'), operator: '<=', operand: place.toMessageId };
  const chosen = allOf([upTo, ...(condition === undefined ? [] : [condition])]);
  for (;;) {
    const question = { kind: 'findLetters', condition: chosen, afterMessageId: place.afterMessageId, max } as const;
    const { ids, isLast } = await askLetters(context, call, queue.number, question);
    const last = ids.at(-1);
    if (last !== undefined) {
      const selection = { ids: rangesOf(ids.map(({ messageId }) => messageId)), condition: undefined };
      const job = await outcomeOf(context, call, await plannedAndApplied(context, call, 'merge', queue, selection));
      place = { ...place, ...failedSoFar(place, job), afterMessageId: last.messageId };
    }
    if (isLast || last === undefined || last.messageId >= place.toMessageId) break;
    if (!isWhole) return pages.token(place);
  }
  const { failed, tried, firstFailure } = place;
  if (failed > 0) throw new StatusError(statusCode.failedPrecondition, `${failed} of ${tried} tasks failed again: ${firstFailure}`);
  return lastPage;
}

type SoFar = { readonly tried: number; readonly failed: number; readonly firstFailure: string };

/** Also what was skipped is in the queue still. */
function failedSoFar(before: SoFar, { counts, failures, skips }: Job): SoFar {
  const [failure] = failures;
  const [skip] = skips;
  const text =
    failure !== undefined
      ? `message ${failure.messageId}: ${failure.errorMessage}`
      : skip !== undefined
        ? `message ${skip.messageId}: ${skip.reason}`
        : '';
  return {
    tried: before.tried + counts.selected - counts.gone,
    failed: before.failed + counts.failed + counts.skipped + counts.notTried,
    firstFailure: before.firstFailure === '' ? text : before.firstFailure,
  };
}

/** 0 is all, as tdbg says it: ids of these queues begin at 1. One that an older version has begun may have a message 0, and then it could mean either. */
async function lastId(context: HandlerContext, call: Call, { number }: KnownDeadLetterQueue, end: number): Promise<number> {
  if (end < 0) throw invalidArgument(`Invalid message id: ${end}`);
  const { nextId, lowestOpen } = await askLetters(context, call, number, { kind: 'countLetters' });
  if (end === 0 && lowestOpen === 0) {
    throw new StatusError(
      statusCode.failedPrecondition,
      `inclusive_end_message_id is 0, which means all, and this queue has a message 0: name the last id of those that are meant, ${nextId - 1} for all, or ` +
        'purge message 0 by its id (perdure admin queue dlq purge --message-id 0)',
    );
  }
  return end === 0 ? nextId - 1 : Math.min(end, nextId - 1);
}

async function outcomeOf(context: HandlerContext, call: Call, started: Job): Promise<Job> {
  let job = started;
  while (!hasEnded(job)) {
    if (!(await context.pause(call, LOOK_AGAIN_MS))) throw unavailable(`job ${job.jobId} goes on while this call ends`);
    ({ job } = await askJobs(context, call, { kind: 'describeJob', jobId: job.jobId }));
  }
  return job;
}
