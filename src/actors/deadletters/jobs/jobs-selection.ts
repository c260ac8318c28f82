/** Freezes the letters of a plan into ids, with the causes of their failures. */
import { deadLetterLimits, type DeadLetterRequest, type IdRange } from '../../../deadletters/letter-commands.ts';
import type { DeadLetterRejected, LettersCounted } from '../../../deadletters/letter-commands.ts';
import { addRising, nextId, rangeWith } from '../../../deadletters/bounds/id-ranges.ts';
import type { CauseCount, LetterSelection, PlanLetters, StorePlan } from '../../../deadletters/jobs/job.ts';
import { jobLimits } from '../../../deadletters/bounds/job-limits.ts';
import { hashedText, requestText, selectedLetters, withCause } from '../../../deadletters/jobs/planned-letters.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { DeadLetterAnswer } from '../../asks/router.ts';

export type AskQueue = <Request extends DeadLetterRequest>(request: Request) => Promise<DeadLetterAnswer<Request>>;

export class SelectionFailure<Answer extends { readonly kind: string }> extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`dead letters cannot be selected: ${answer.kind}`);
    this.answer = answer;
  }
}

/** FAILED_PRECONDITION, and why. */
export class SelectionRefused extends Error {}

const notRestorable = 'purged dead letters can no longer be restored: the undo window (perdure.dlq.undoWindow) is over';

export type Selecting = {
  readonly planId: string;
  readonly sha256: (text: string) => string;
  readonly ask: AskQueue;
  /** The ids of a restore have ids of other purges between them. */
  readonly isAmongOthers: boolean;
};

/** Beyond what a plan may have it is not looked further: the plan is refused. Throws SelectionFailure. */
export async function selectLetters(request: PlanLetters, { planId, sha256, ask, isAmongOthers }: Selecting): Promise<StorePlan['plan']> {
  const { kind: _, selection, ...plan } = request;
  const { comebacks, ...queueNow } = await countedBy(ask);
  const incarnation = request.queue.incarnation ?? queueNow.incarnation;
  const { number, category, sourceCluster } = request.queue;
  const queue = { number, category, sourceCluster, incarnation };
  const walk = new Walk(selection, sha256);
  if (request.operation === 'restore') await findPurged(walk, incarnation, isAmongOthers, ask);
  else await findLetters(walk, incarnation, ask);
  const { ids, selected, digest } = walk;
  const { purgedBy } = selection;
  const between = digest === undefined ? {} : { purgedBy, comebacks: purgedBy === undefined ? comebacks : undefined };
  const causes = ids.length === 0 || request.operation === 'restore' ? [] : await causesOf(selection, ids, ask);
  const hashes = { hash: sha256(hashedText({ ...request, queue }, ids, digest)), requestHash: sha256(requestText(request)) };
  return { ...plan, queue, planId, ...hashes, ids, selected, ...between, causes };
}

function notSelected(answer: AskFailure | DeadLetterRejected): Error {
  const isAnew = answer.kind === 'rejected' && answer.rejection.reason === 'began-anew';
  return isAnew ? new SelectionRefused(answer.rejection.message) : new SelectionFailure(answer);
}

/** The ids of a plan are of one, from its first to its last page. */
async function countedBy(ask: AskQueue): Promise<LettersCounted> {
  const answer = await ask({ kind: 'countLetters' });
  if (answer.kind !== 'counted') throw new SelectionFailure(answer);
  return answer;
}

/** The letters found, as stretches of ids. Where none is filtered out and those are too many: one stretch for each that was asked for. */
class Walk {
  readonly selection: LetterSelection;
  readonly #sha256: (text: string) => string;
  readonly #whole: readonly IdRange[];
  readonly #exact: { from: number; to: number }[] = [];
  readonly #spans: { from: number; to: number }[] = [];
  #asked: IdRange | undefined;
  #digest = '';
  selected = 0;

  constructor(selection: LetterSelection, sha256: (text: string) => string) {
    this.selection = selection;
    this.#sha256 = sha256;
    this.#whole = selection.ids ?? [{ from: 0, to: Number.MAX_SAFE_INTEGER }];
  }

  get ids(): readonly IdRange[] {
    return this.digest === undefined ? this.#exact : this.#spans;
  }

  /** Over each letter; undefined: `ids` has no others. */
  get digest(): string | undefined {
    return this.#mayHaveHoles && this.#isBroken ? this.#digest : undefined;
  }

  /** No more is looked for: the plan is refused. */
  get isTooMuch(): boolean {
    return this.#isBroken && !this.#mayHaveHoles;
  }

  next(from: number): number | undefined {
    return nextId(this.#whole, from);
  }

  /** They rise, and come in the same parts whenever they are the same. */
  add(ids: readonly number[]): void {
    const found = ids.filter((id) => this.#addOne(id));
    this.#digest = this.#sha256(`${this.#digest} ${found.join(' ')}`);
  }

  #addOne(id: number): boolean {
    const asked = rangeWith(this.#whole, id);
    if (asked === undefined) return false;
    this.selected += 1;
    if (!this.#isBroken) addRising(this.#exact, id);
    const span = this.#spans.at(-1);
    if (span !== undefined && asked === this.#asked) span.to = id;
    else this.#spans.push({ from: id, to: id });
    this.#asked = asked;
    return true;
  }

  get #isBroken(): boolean {
    return this.#exact.length > jobLimits.rangesMax;
  }

  get #mayHaveHoles(): boolean {
    return this.selection.condition === undefined && this.#spans.length <= jobLimits.rangesMax;
  }
}

/** Letters that are too old go along, for the job to report, unless nothing else is left, or ids of other purges lie between them. */
async function findPurged(walk: Walk, incarnation: number, isAmongOthers: boolean, ask: AskQueue): Promise<void> {
  const { ids = [], purgedBy } = walk.selection;
  const answer = await ask({ kind: 'findPurged', ids, purgedBy, incarnation });
  if (answer.kind !== 'purgedFound') throw notSelected(answer);
  if (answer.ids.length === 0 && answer.lost.length > 0) throw new SelectionRefused(notRestorable);
  walk.add([...answer.ids, ...(isAmongOthers ? [] : answer.lost)].toSorted((one, other) => one - other));
}

async function findLetters(walk: Walk, incarnation: number, ask: AskQueue): Promise<void> {
  const { condition } = walk.selection;
  for (let from = walk.next(0); from !== undefined && !walk.isTooMuch;) {
    const page = { condition, afterMessageId: from - 1, max: deadLetterLimits.foundMax, incarnation };
    const answer = await ask({ kind: 'findLetters', ...page });
    if (answer.kind !== 'letterIds') throw notSelected(answer);
    walk.add(answer.ids.map(({ messageId }) => messageId));
    const last = answer.ids.at(-1)?.messageId;
    if (answer.isLast || last === undefined) return;
    from = walk.next(last + 1);
  }
}

/** Causes are not told for more ranges than these: a filter has at most 200 terms. */
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
