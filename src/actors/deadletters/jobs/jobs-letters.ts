/** The letters of a job as its queue shows them: a page of what is selected, from one id on. */
import { nextId, rangesOfIds } from '../../../deadletters/bounds/id-ranges.ts';
import { deadLetterLimits, type DeadLetterRejected, type ListedLetter } from '../../../deadletters/letter-commands.ts';
import type { Job } from '../../../deadletters/jobs/job.ts';
import { jobLimits } from '../../../deadletters/bounds/job-limits.ts';
import { failedAsBefore } from '../../../deadletters/failed-merge.ts';
import { isAskFailure, ownWork, type AskFailure } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';

export type SeenLetter = {
  readonly messageId: number;
  readonly generation: number;
  /** Letters of one run are merged one at a time, in order. */
  readonly run: string;
  readonly taskId: string;
  readonly taskType: string;
  readonly errorType: string;
  readonly errorMessage: string;
  /** The job that tried it last; '' = none, or nobody looked. */
  readonly jobId: string;
  /** When its last merge failed, if nobody knows whose merge that was: the queue changed its owner before it wrote the failure. Absent otherwise. */
  readonly failedTimeMs?: number;
  /** By then the letter had failed for the same cause as before. */
  readonly sameCause: boolean;
  /** It may have been asked for before. */
  readonly isDoubtful: boolean;
};

export type LetterPage = {
  readonly kind: 'page';
  readonly letters: ReadonlyMap<number, SeenLetter>;
  /** For a purge that may have asked for these letters before: those that are gone because a merge executed them. */
  readonly merged: ReadonlySet<number>;
  /** It tells of all ids of the selection up to that one. */
  readonly end: number;
};

/** Its letters are gone with its topic. */
export type QueueBeganAnew = { readonly kind: 'beganAnew'; readonly message: string };

export type PageRequest = { readonly from: number; readonly to: number; readonly isDoubtful: boolean };

export function askPage(
  asker: Pick<Asker, 'askDeadLetters'>,
  job: Job,
  { from, to, isDoubtful }: PageRequest,
  deadlineMs: number,
  onPage: (page: LetterPage | QueueBeganAnew | AskFailure) => void,
): void {
  const { number, incarnation } = job.queue;
  const page = { condition: undefined, afterMessageId: from - 1, max: jobLimits.windowIdsMax / 2, incarnation };
  const pageOf = (letters: readonly SeenLetter[], isLast: boolean): LetterPage => {
    const byId = new Map(letters.map((letter) => [letter.messageId, letter]));
    const end = endOf(job, from, isLast ? to : Math.min(to, letters.at(-1)?.messageId ?? from - 1));
    return { kind: 'page', letters: byId, merged: noneMerged, end };
  };
  if (job.operation === 'purge') {
    asker.askDeadLetters(number, { kind: 'findLetters', ...page }, ownWork(deadlineMs), (answer) => {
      if (answer.kind !== 'letterIds') return onPage(failureOf(answer));
      const found = pageOf(answer.ids.map(seen), answer.isLast);
      const gone = isDoubtful ? goneOf(job, from, found) : [];
      if (gone.length === 0) return onPage(found);
      asker.askDeadLetters(number, { kind: 'findMerged', ids: rangesOfIds(gone), incarnation }, ownWork(deadlineMs), (told) => {
        onPage(told.kind === 'mergedFound' ? { ...found, merged: new Set(told.ids) } : failureOf(told));
      });
    });
    return;
  }
  const withContent = isDoubtful || job.operation === 'restore';
  const request = { kind: 'listLetters', ...page, bytesMax: deadLetterLimits.listedBytesMax, withContent } as const;
  asker.askDeadLetters(number, request, ownWork(deadlineMs), (answer) => {
    if (answer.kind !== 'letters') return onPage(failureOf(answer));
    const letters = answer.letters.map((letter) => listed(letter, isDoubtful));
    onPage(pageOf(letters, answer.isLast));
  });
}

const noneMerged: ReadonlySet<number> = new Set();

function goneOf({ ids }: Job, from: number, { letters, end }: LetterPage): readonly number[] {
  const gone: number[] = [];
  for (let id = nextId(ids, from); id !== undefined && id <= end; id = nextId(ids, id + 1)) if (!letters.has(id)) gone.push(id);
  return gone;
}

/** The end of a page whose ids are all told: at most a window of ids, because a selection may hold a million that are gone. */
function endOf({ ids }: Job, from: number, end: number): number {
  let last = from - 1;
  let next = nextId(ids, from);
  for (let count = 0; next !== undefined && next <= end; count++) {
    if (count === jobLimits.windowIdsMax) return last;
    last = next;
    next = nextId(ids, next + 1);
  }
  return end;
}

function failureOf(answer: AskFailure | DeadLetterRejected): AskFailure | QueueBeganAnew {
  if (isAskFailure(answer)) return answer;
  const { reason, message } = answer.rejection;
  return { kind: reason === 'began-anew' ? 'beganAnew' : 'internal', message };
}

export function purged(messageId: number): SeenLetter {
  return seen({ messageId, generation: 0 });
}

function seen(letter: { readonly messageId: number; readonly generation: number }): SeenLetter {
  return { ...letter, run: '', taskId: '', taskType: '', errorType: '', errorMessage: '', jobId: '', sameCause: false, isDoubtful: false };
}

function listed({ row, content }: ListedLetter, isDoubtful: boolean): SeenLetter {
  const { messageId, generation, namespaceId, workflowId, runId, taskId, taskType, errorType, errorMessage } = row;
  const run = workflowId === '' ? `message ${messageId}` : JSON.stringify([namespaceId, workflowId, runId]);
  const letter = content?.letter;
  const sameCause = letter !== undefined && failedAsBefore(letter);
  const jobId = letter?.jobId ?? '';
  const failedTimeMs = generation > 0 && jobId === '' ? letter?.failure.lastFailureTimeMs : undefined;
  const failed = failedTimeMs === undefined ? {} : { failedTimeMs };
  const task = { taskId: taskId === undefined ? '' : String(taskId), taskType };
  return { messageId, generation, run, ...task, errorType, errorMessage, jobId, ...failed, sameCause, isDoubtful };
}

/**
 * Whether a merge of this job has failed. A failure that nobody asked for was written after the queue had changed its owner, and does not say
 * whose merge it was. It counts as this job's if it came after the job was made: even that of an earlier merge is what the shard answers whoever
 * asks for the next one.
 */
export function wasTriedBy({ jobId, failedTimeMs }: SeenLetter, job: Pick<Job, 'jobId' | 'createdTimeMs'>): boolean {
  return jobId === job.jobId || (failedTimeMs !== undefined && failedTimeMs >= job.createdTimeMs);
}

// ── The claim: the letters of a job are nobody else's until it is released. The queue's owner forgets claims when it is another. ──

type ClaimOptions = { readonly asker: Pick<Asker, 'askDeadLetters'>; readonly isActive: (jobId: string) => boolean };

type Claimed =
  | { readonly kind: 'claimed' }
  /** It is tried again. */
  | { readonly kind: 'notNow'; readonly failure: AskFailure }
  | { readonly kind: 'never'; readonly reason: string };

export function claimLetters(
  { jobId, ids, queue }: Job,
  { asker, isActive }: ClaimOptions,
  deadlineMs: number,
  then: (claimed: Claimed) => void,
): void {
  const request = { kind: 'claimLetters', jobId, ranges: ids, incarnation: queue.incarnation } as const;
  asker.askDeadLetters(queue.number, request, ownWork(deadlineMs), (answer) => {
    if (answer.kind === 'done') return then({ kind: 'claimed' });
    if (isAskFailure(answer)) return then({ kind: 'notNow', failure: answer });
    const { reason, message, holders = [] } = answer.rejection;
    if (reason === 'invalid-argument' || reason === 'began-anew') return then({ kind: 'never', reason: message });
    // The claims of jobs that have ended, whose releases were lost.
    for (const holder of holders) if (!isActive(holder)) releaseLetters(queue.number, holder, asker, deadlineMs, () => {});
    then({ kind: 'notNow', failure: { kind: 'busy', message } });
  });
}

/** `under-way`: some of the letters are being merged still. */
export function releaseLetters(
  queue: number,
  jobId: string,
  asker: ClaimOptions['asker'],
  deadlineMs: number,
  then: (released: 'released' | 'under-way' | 'unreachable') => void,
): void {
  asker.askDeadLetters(queue, { kind: 'releaseClaim', jobId }, ownWork(deadlineMs), (answer) => {
    if (isAskFailure(answer)) return then('unreachable');
    then(answer.kind === 'done' ? 'released' : 'under-way');
  });
}
