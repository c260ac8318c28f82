/** Which letters a plan is about: what fits by now, frozen into ids, with the causes of them. */
import { deadLetterLimits } from '../../../deadletters/commands.ts';
import type { IdRange, DeadLetterRequest } from '../../../deadletters/commands.ts';
import { addRising, countIds, hasId, nextId } from '../../../deadletters/id-ranges.ts';
import type { LetterSelection, PlanLetters } from '../../../deadletters/jobs/commands.ts';
import type { CauseCount } from '../../../deadletters/jobs/job.ts';
import { jobLimits } from '../../../deadletters/jobs/job-limits.ts';
import { hashedText, requestText, selectedLetters, withCause } from '../../../deadletters/jobs/planned-letters.ts';
import type { StorePlan } from '../../../deadletters/jobs/own-commands.ts';
import type { DeadLetterRejected } from '../../../deadletters/replies.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { DeadLetterAnswer } from '../../asks/router.ts';

export type AskQueue = <Request extends DeadLetterRequest>(request: Request) => Promise<DeadLetterAnswer<Request>>;

/** What stood in the way. */
export class SelectionFailure<Answer extends { readonly kind: string }> extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`letters cannot be selected: ${answer.kind}`);
    this.answer = answer;
  }
}

/** FAILED_PRECONDITION, and why. */
export class SelectionRefused extends Error {}

const notRestorable = 'what was purged cannot be restored any more: the time in which that can be undone (perdure.dlq.undoWindow) is over';

export type Selecting = {
  readonly planId: string;
  /** In hex. */
  readonly sha256: (text: string) => string;
  readonly ask: AskQueue;
};

/** Beyond the limits it is not looked further: the plan is refused. Throws SelectionFailure. */
export async function selectLetters(request: PlanLetters, { planId, sha256, ask }: Selecting): Promise<StorePlan['plan']> {
  const { kind: _, selection, ...plan } = request;
  const incarnation = request.queue.incarnation ?? (await incarnationOf(ask));
  const { number, category, sourceCluster } = request.queue;
  const queue = { number, category, sourceCluster, ...(incarnation === 0 ? {} : { incarnation }) };
  const ids = await (request.operation === 'restore' ? purgedIds : selectedIds)(selection, incarnation, ask);
  const causes = ids.length === 0 || request.operation === 'restore' ? [] : await causesOf(selection, ids, ask);
  const hashes = { hash: sha256(hashedText({ ...request, queue }, ids)), requestHash: sha256(requestText(request)) };
  return { ...plan, queue, planId, ...hashes, ids, selected: countIds(ids), causes };
}

function notSelected(answer: AskFailure | DeadLetterRejected): Error {
  const isAnew = answer.kind === 'rejected' && answer.rejection.reason === 'began-anew';
  return isAnew ? new SelectionRefused(answer.rejection.message) : new SelectionFailure(answer);
}

/** The ids of a plan are of one, from its first to its last page. */
async function incarnationOf(ask: AskQueue): Promise<number> {
  const answer = await ask({ kind: 'countLetters' });
  if (answer.kind !== 'counted') throw new SelectionFailure(answer);
  return answer.incarnation;
}

/** Those that are too old are among them, and told of by the job; unless nothing else is left. */
async function purgedIds({ ids = [], purgedBy }: LetterSelection, incarnation: number, ask: AskQueue): Promise<readonly IdRange[]> {
  const answer = await ask({ kind: 'findPurged', ids, purgedBy, incarnation });
  if (answer.kind !== 'purgedFound') throw notSelected(answer);
  if (answer.ids.length === 0 && answer.lost.length > 0) throw new SelectionRefused(notRestorable);
  const selected: { from: number; to: number }[] = [];
  for (const id of [...answer.ids, ...answer.lost].toSorted((one, other) => one - other)) addRising(selected, id);
  return selected;
}

async function selectedIds({ ids, condition }: LetterSelection, incarnation: number, ask: AskQueue): Promise<readonly IdRange[]> {
  const selected: { from: number; to: number }[] = [];
  let count = 0;
  let from = ids === undefined ? 0 : nextId(ids, 0);
  while (from !== undefined && count <= jobLimits.idsMax && selected.length <= jobLimits.rangesMax) {
    const answer = await ask({
      ...{ kind: 'findLetters', condition, afterMessageId: from - 1, max: deadLetterLimits.foundMax, incarnation },
    });
    if (answer.kind !== 'letterIds') throw notSelected(answer);
    for (const { messageId } of answer.ids) {
      if (ids !== undefined && !hasId(ids, messageId)) continue;
      addRising(selected, messageId);
      count += 1;
    }
    const last = answer.ids.at(-1)?.messageId;
    if (answer.isLast || last === undefined) return selected;
    from = ids === undefined ? last + 1 : nextId(ids, last + 1);
  }
  return selected;
}

/** With more ranges than that they are not told: a filter has 200 terms at most. */
const CAUSE_RANGES_MAX = 50;

async function causesOf(selection: LetterSelection, ids: readonly IdRange[], ask: AskQueue): Promise<readonly CauseCount[]> {
  if (ids.length > CAUSE_RANGES_MAX) return [];
  const letters = selectedLetters(selection, ids);
  const counts: CauseCount[] = [];
  for (const { key: cause } of await groupsOf(letters, 'cause', ask)) {
    for (const { key, count } of await groupsOf(withCause(letters, cause), 'errorType', ask)) counts.push({ cause, errorType: key, count });
  }
  return counts;
}

async function groupsOf(condition: LetterSelection['condition'], by: 'cause' | 'errorType', ask: AskQueue) {
  const answer = await ask({ kind: 'groupLetters', condition, by, max: jobLimits.causesTold });
  if (answer.kind !== 'groups') throw new SelectionFailure(answer);
  return answer.groups;
}
