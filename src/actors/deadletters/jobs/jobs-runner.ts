/**
 * Carries out one job: claims its letters, looks which of them are there, and has them merged or purged by the queue's owner.
 *
 *     claim ─▶ look at a page ─▶ note the window ─▶ committed ─▶ merge, or purge, at its pace ─▶ … ─▶ once more, whose ─▶ release ─▶ end
 *       ▲                                                            │                                outcome is unknown
 *       └─────────────── look at the window again ◀──── an answer is lost, or the owner is another
 *
 * The queue's topic is the truth, and nobody else resolves letters of a job that is active. So what was seen and is not there any more when it is
 * looked at again (after a lost answer, or a takeover on either side) was resolved by this job, and what bears this job's id has failed under it:
 * nothing is counted twice, and nothing is forgotten. Only the window, which is journaled before any of its letters is asked for, is in doubt.
 */
import { backOffMs } from '../../../kernel/back-off.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { deadLetterLimits } from '../../../deadletters/letter-commands.ts';
import { nextId } from '../../../deadletters/bounds/id-ranges.ts';
import { canaryLimit, jobLimits } from '../../../deadletters/bounds/job-limits.ts';
import type { EndJob, HaltJob, JobEntry, JobProgress, NoteProgress } from '../../../deadletters/jobs/job.ts';
import { isOverBudget } from '../../../deadletters/jobs/jobs-state.ts';
import { isAskFailure, ownWork, type AskFailure } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';
import type { Clock, Timer } from '../../../ports/machine.ts';
import { askPage, claimLetters, purged, releaseLetters, wasTriedBy } from './jobs-letters.ts';
import type { LetterPage, PageRequest, SeenLetter } from './jobs-letters.ts';
import { Pace } from './jobs-pace.ts';
import { failedOutcome, mergeResult, outcomesOf, stepOf, type MergeAnswer } from './jobs-merge-answers.ts';
import { JobTally } from './jobs-tally.ts';

export type JobRunnerOptions = {
  readonly asker: Pick<Asker, 'askDeadLetters'>;
  readonly clock: Clock;
  readonly lettersPerStepMax: () => number;
  readonly isActive: (jobId: string) => boolean;
  readonly tell: (command: NoteProgress | HaltJob | EndJob) => void;
};

const ASK_TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS = 200;
const RETRY_DELAY_MS_MAX = 10_000;
/** A letter that an earlier job has under way. */
const BEING_MERGED_DELAY_MS = 500;
const UNREACHABLE_MS_MAX = 300_000;
const NOTE_INTERVAL_MS = 1_000;
/** An owner that does not answer has been taken over, or will be: that forgets claims. And whoever they hinder releases those of jobs that have ended. */
const RELEASES_MAX = 3;
/** The owner says by itself that the time of a task is over. */
const ANSWER_GRACE_MS = 5_000;

export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #tally: JobTally;
  readonly #pace: Pace;
  readonly #timers = new Set<Timer>();
  #entry: JobEntry;
  #isClaimed = false;
  /** A claim, a page or a release is on its way. */
  #isAsking = false;
  #isEnding = false;
  /** Nothing of it is under way, and nobody else has its letters until its end is committed: what they are now is final. */
  #isReleased = false;
  #isStopped = false;
  #cursor: number;
  /** What is there up to here may have been asked for before. */
  #doubtEnd: number;
  /** Letters with an unknown outcome are asked for once more from this id on. */
  #unknownCursor = 0;
  #unknownSinceMs: number | undefined;
  #outlivingSinceMs: number | undefined;
  /** Seen, in the order of their ids: they wait for their window to be committed, then for their turn. */
  #seen: SeenLetter[] = [];
  #pending: SeenLetter[] = [];
  readonly #runsUnderWay = new Set<string>();
  #underWay = 0;
  /** What became of some is not known, or the claim is lost. */
  #isInDoubt = false;
  #failures = 0;
  #unreachableSinceMs: number | undefined;
  #isPausing = false;
  #hasTurn = false;
  #isNoteDue = false;
  #failedBecause: string | undefined;

  constructor(entry: JobEntry, options: JobRunnerOptions) {
    const { job } = entry;
    this.#options = options;
    this.#entry = entry;
    this.#tally = new JobTally(entry);
    this.#pace = new Pace(job.options.rps, options.clock.monoMs());
    this.#cursor = job.lastProcessedMessageId + 1;
    this.#doubtEnd = entry.window.end;
    this.#soon();
  }

  changed(entry: JobEntry): void {
    this.#entry = entry;
    this.#pace.change(entry.job.options.rps, this.#options.clock.monoMs());
    if (entry.window.end >= this.#tally.windowEnd) this.#pending.push(...this.#seen.splice(0));
    this.#soon();
  }

  /** What is under way comes to its end at the queue, and is looked at by whoever takes the jobs over. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) timer.cancel();
  }

  // ── What comes next ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #soon(): void {
    if (this.#hasTurn || this.#isStopped) return;
    this.#hasTurn = true;
    this.#options.clock.soon(() => {
      this.#hasTurn = false;
      if (!this.#isStopped) this.#next();
    });
  }

  #next(): void {
    if (this.#isEnding || this.#isPausing) return;
    if (this.#isInDoubt) {
      if (this.#underWay > 0 || this.#isAsking) return;
      this.#lookAgain();
    }
    if (this.#isDoubtful()) return this.#look();
    const { state, counts } = this.#entry.job;
    const isHandled = this.#tally.handled === counts.selected;
    if (this.#isReleased) return this.#nextUnknown() === undefined ? this.#end() : this.#lookAtUnknown();
    const stops = state === 'cancelling' || this.#failedBecause !== undefined;
    // All have been tried, and none is still to be asked for once more, or is.
    const isOver = isHandled && this.#pending.length + this.#underWay === 0 && this.#nextUnknown() === undefined;
    if (stops || isOver) return this.#underWay === 0 ? this.#finish() : undefined;
    if (state !== 'running') return this.#underWay === 0 ? this.#note() : undefined;
    if (!this.#isClaimed) return this.#getClaim();
    const isTooMuch = isOverBudget(this.#entry.job, this.#tally.failed, this.#entry.forgivenFailures);
    if (isTooMuch) return this.#underWay === 0 ? this.#tell(this.#tally.newFailures()) : undefined;
    this.#go();
    if (!isHandled) this.#lookAhead();
    else if (this.#pending.length === 0 && this.#underWay === 0) this.#lookAtUnknown();
  }

  #lookAgain(): void {
    this.#isInDoubt = false;
    this.#isClaimed = false;
    this.#seen = [];
    this.#pending = [];
    this.#cursor = this.#tally.lastProcessed + 1;
    this.#unknownCursor = 0;
    this.#doubtEnd = this.#tally.windowEnd;
  }

  /** Letters are left in the window that may have been asked for before. */
  #isDoubtful(): boolean {
    const next = nextId(this.#entry.job.ids, this.#cursor);
    return next !== undefined && next <= this.#doubtEnd;
  }

  // ── Which letters there are ────────────────────────────────────────────────────────────────────────────────────────────────

  #lookAhead(): void {
    const waiting = this.#pending.length + this.#seen.length + this.#underWay + this.#tally.settledAhead;
    if (this.#seen.length === 0 && waiting < jobLimits.windowIdsMax / 2) this.#look();
  }

  #look(): void {
    const { job } = this.#entry;
    const from = nextId(job.ids, this.#cursor);
    if (from === undefined || this.#isAsking) return;
    const isDoubtful = from <= this.#doubtEnd;
    const to = isDoubtful ? this.#doubtEnd : (job.ids.at(-1)?.to ?? from);
    this.#ask({ from, to, isDoubtful }, (page) => this.#looked(from, page, isDoubtful));
  }

  #ask(request: PageRequest, looked: (page: LetterPage) => void): void {
    this.#isAsking = true;
    askPage(this.#options.asker, this.#entry.job, request, this.#deadlineMs(), (page) => {
      this.#isAsking = false;
      if (this.#isStopped) return;
      if (page.kind === 'beganAnew') return this.#beganAnew(page.message);
      if (isAskFailure(page)) return this.#unreachable(page);
      this.#reached();
      // Whatever has become doubtful meanwhile is looked at then.
      if (!this.#isInDoubt) looked(page);
      this.#soon();
    });
  }

  #looked(from: number, { letters, merged, end }: LetterPage, isDoubtful: boolean): void {
    const { ids } = this.#entry.job;
    for (let id: number | undefined = from; id !== undefined && id <= end; id = nextId(ids, id + 1)) {
      if (this.#tally.isSettled(id)) continue;
      const letter = letters.get(id);
      if (this.#entry.job.operation === 'restore') this.#lookedForPurged(id, letter, isDoubtful);
      else if (isDoubtful) this.#seenAgain(id, letter, merged);
      else if (letter === undefined) this.#tally.settle(id, { kind: 'gone' });
      else this.#seen.push(letter);
    }
    this.#cursor = end + 1;
    if (isDoubtful) return this.#noteSoon();
    this.#tally.extendWindow(end);
    this.#note();
  }

  #seenAgain(id: number, letter: SeenLetter | undefined, merged: LetterPage['merged']): void {
    const { job } = this.#entry;
    // The letter is gone: this job resolved it, or an earlier merge had executed what was to be purged.
    if (letter === undefined) this.#tally.settle(id, { kind: job.operation === 'purge' && !merged.has(id) ? 'purged' : 'merged' });
    else if (wasTriedBy(letter, job)) this.#tally.settle(id, failedOutcome(letter, letter, letter.sameCause));
    else this.#pending.push(letter);
  }

  /** What is in the queue came back by this job, or by another one before. */
  #lookedForPurged(id: number, letter: SeenLetter | undefined, isDoubtful: boolean): void {
    if (letter !== undefined) this.#tally.settle(id, { kind: letter.jobId === this.#entry.job.jobId ? 'restored' : 'gone' });
    else (isDoubtful ? this.#pending : this.#seen).push(purged(id));
  }

  #nextUnknown(): number | undefined {
    return this.#tally.unknownFrom(this.#unknownCursor)[0];
  }

  /** What has come of them since is counted; the others wait for their turn once more. */
  #lookAtUnknown(): void {
    const unknown = this.#tally.unknownFrom(this.#unknownCursor);
    const [from] = unknown;
    if (from === undefined || this.#isAsking) return;
    this.#ask({ from, to: unknown.at(-1) ?? from, isDoubtful: true }, ({ letters, merged, end }) => {
      for (const id of unknown) if (id <= end) this.#seenAgain(id, letters.get(id), merged);
      this.#unknownCursor = end + 1;
    });
  }

  // ── Merging and purging ────────────────────────────────────────────────────────────────────────────────────────────────────

  #go(): void {
    const { operation } = this.#entry.job;
    switch (operation) {
      case 'merge':
        return this.#goMerge();
      case 'purge':
      case 'restore':
        return this.#goInSteps();
      default:
        return unreachable(operation);
    }
  }

  #goMerge(): void {
    const { canary, concurrency } = this.#entry.job.options;
    const blocked = new Set<string>();
    for (let index = 0; index < this.#pending.length && this.#underWay < concurrency;) {
      if (canary && this.#tally.tried + this.#underWay >= canaryLimit(this.#tally.tried)) return;
      const letter = this.#pending[index];
      if (letter === undefined) return;
      if (this.#runsUnderWay.has(letter.run) || blocked.has(letter.run)) {
        blocked.add(letter.run);
        index += 1;
        continue;
      }
      if (this.#pace.take(1, this.#options.clock.monoMs()) === 0) return this.#after(this.#pace.waitMs(), () => this.#soon());
      this.#pending.splice(index, 1);
      this.#underWay += 1;
      this.#runsUnderWay.add(letter.run);
      this.#merge(letter, this.#options.clock.monoMs() + this.#entry.job.options.taskTimeoutMs + ANSWER_GRACE_MS);
    }
  }

  #merge(letter: SeenLetter, deadlineMs: number): void {
    const { job } = this.#entry;
    const { messageId } = letter;
    const { overridesLoopGuard, taskTimeoutMs } = job.options;
    const by = { jobId: this.#entry.job.jobId, who: job.actor, why: job.reason };
    const request = { kind: 'mergeLetter', ...by, messageId, overridesLoopGuard, taskTimeoutMs } as const;
    this.#options.asker.askDeadLetters(job.queue.number, request, ownWork(deadlineMs), (answer) => {
      if (this.#isStopped) return;
      if (answer.kind === 'rejected' && answer.rejection.reason === 'being-merged' && this.#options.clock.monoMs() < deadlineMs) {
        return this.#after(BEING_MERGED_DELAY_MS, () => this.#merge(letter, deadlineMs));
      }
      this.#underWay -= 1;
      this.#runsUnderWay.delete(letter.run);
      this.#merged(letter, answer);
      this.#noteSoon();
      this.#soon();
    });
  }

  #merged(letter: SeenLetter, answer: MergeAnswer): void {
    const result = mergeResult(letter, answer);
    switch (result.kind) {
      case 'settled':
        if (answer.kind === 'mergeEnded') this.#reached();
        this.#tally.settle(letter.messageId, result.outcome);
        return this.#watchUnknown(result.outcome.kind === 'unknown');
      case 'inDoubt':
        this.#isInDoubt = true;
        return result.failure === undefined ? undefined : this.#unreachable(result.failure);
      default:
        return unreachable(result);
    }
  }

  /** While no shard reports the outcome of any letter, a shard is away. */
  #watchUnknown(isUnknown: boolean): void {
    const nowMs = this.#options.clock.monoMs();
    this.#unknownSinceMs = isUnknown ? (this.#unknownSinceMs ?? nowMs) : undefined;
    if (nowMs - (this.#unknownSinceMs ?? nowMs) < UNREACHABLE_MS_MAX) return;
    this.#unknownSinceMs = undefined;
    this.#halt('no shard reports what became of its dead letters');
  }

  /** Many letters in one request, one request at a time. */
  #goInSteps(): void {
    if (this.#underWay > 0 || this.#pending.length === 0) return;
    const most = Math.min(this.#pending.length, this.#options.lettersPerStepMax(), deadLetterLimits.idsPerCommandMax);
    const count = this.#pace.take(most, this.#options.clock.monoMs());
    if (count === 0) return this.#after(this.#pace.waitMs(), () => this.#soon());
    const batch = this.#pending.splice(0, count);
    const { job } = this.#entry;
    this.#underWay = count;
    this.#options.asker.askDeadLetters(job.queue.number, stepOf(job, batch), ownWork(this.#deadlineMs()), (answer) => {
      if (this.#isStopped) return;
      this.#underWay = 0;
      if (answer.kind === 'purged' || answer.kind === 'restored') {
        this.#reached();
        const { settled, rest } = outcomesOf(batch, answer);
        if (settled.size === 0) return this.#lookWhoRestored(batch);
        for (const [id, outcome] of settled) this.#tally.settle(id, outcome);
        this.#pending.unshift(...rest);
      } else {
        this.#isInDoubt = true;
        if (isAskFailure(answer)) this.#unreachable(answer);
        else if (answer.rejection.reason !== 'not-claimed') this.#failedBecause = answer.rejection.message;
      }
      this.#noteSoon();
      this.#soon();
    });
  }

  /** None of them is to be restored any more: an answer that was lost may have been that of this job. */
  #lookWhoRestored(batch: readonly SeenLetter[]): void {
    const [from = 0, to = from] = [batch[0]?.messageId, batch.at(-1)?.messageId];
    this.#underWay = batch.length;
    askPage(this.#options.asker, this.#entry.job, { from, to, isDoubtful: true }, this.#deadlineMs(), (page) => {
      if (this.#isStopped) return;
      this.#underWay = 0;
      if (page.kind !== 'page') {
        this.#isInDoubt = true;
        if (isAskFailure(page)) this.#unreachable(page);
      } else {
        for (const { messageId } of batch) {
          if (messageId > page.end) continue;
          const isOurs = page.letters.get(messageId)?.jobId === this.#entry.job.jobId;
          this.#tally.settle(messageId, { kind: isOurs ? 'restored' : 'gone' });
        }
        this.#pending.unshift(...batch.filter(({ messageId }) => messageId > page.end));
      }
      this.#noteSoon();
      this.#soon();
    });
  }

  // ── The claim ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #getClaim(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    claimLetters(this.#entry.job, this.#options, this.#deadlineMs(), (claimed) => {
      this.#isAsking = false;
      if (this.#isStopped) return;
      if (claimed.kind === 'notNow') return this.#unreachable(claimed.failure);
      if (claimed.kind === 'never') this.#failedBecause = claimed.reason;
      else this.#reached();
      this.#isClaimed = claimed.kind === 'claimed';
      this.#soon();
    });
  }

  #finish(attempt = 1): void {
    this.#isEnding = true;
    const { queue } = this.#entry.job;
    releaseLetters(queue.number, this.#entry.job.jobId, this.#options.asker, this.#deadlineMs(), (released) => {
      if (this.#isStopped) return;
      if (released === 'under-way' && this.#canOutlive()) {
        // Letters of it are under way, for an answer was lost: what comes of them is looked at then.
        return this.#after(BEING_MERGED_DELAY_MS, () => {
          this.#isEnding = false;
          this.#isInDoubt = true;
          this.#soon();
        });
      }
      if (released === 'unreachable' && attempt < RELEASES_MAX) {
        return this.#after(backOffMs(attempt, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => this.#finish(attempt + 1));
      }
      this.#isReleased = true;
      if (released !== 'released') return this.#end();
      this.#isEnding = false;
      this.#lookAgain();
      this.#soon();
    });
  }

  #canOutlive(): boolean {
    const nowMs = this.#options.clock.monoMs();
    this.#outlivingSinceMs ??= nowMs;
    return nowMs - this.#outlivingSinceMs < UNREACHABLE_MS_MAX;
  }

  /** The queue began anew: the outcome of letters that may have been asked for stays unknown, and the others were not tried. */
  #beganAnew(message: string): void {
    this.#tally.loseWindow(message);
    this.#failedBecause = message;
    this.#end();
  }

  #end(): void {
    this.#isEnding = true;
    const progress = this.#tally.progress();
    this.#options.tell({ kind: 'endJob', jobId: this.#entry.job.jobId, progress, failedBecause: this.#failedBecause });
  }

  // ── Trouble ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #halt(reason: string): void {
    this.#options.tell({ kind: 'haltJob', jobId: this.#entry.job.jobId, reason });
  }

  #reached(): void {
    this.#failures = 0;
    this.#unreachableSinceMs = undefined;
  }

  /** Tries again after a pause, with a look at the window. After five minutes the job halts until somebody resumes it. */
  #unreachable({ message }: AskFailure): void {
    const nowMs = this.#options.clock.monoMs();
    this.#unreachableSinceMs ??= nowMs;
    if (nowMs - this.#unreachableSinceMs >= UNREACHABLE_MS_MAX && this.#entry.job.state === 'running') {
      this.#unreachableSinceMs = undefined;
      this.#halt(`the queue cannot be reached: ${message}`);
    }
    if (this.#isPausing) return;
    this.#isPausing = true;
    this.#failures += 1;
    this.#after(backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => {
      this.#isPausing = false;
      this.#soon();
    });
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #note(): void {
    this.#tell(this.#tally.news(this.#entry.window.end));
  }

  #tell(progress: JobProgress | undefined): void {
    if (progress !== undefined) this.#options.tell({ kind: 'noteProgress', jobId: this.#entry.job.jobId, progress });
  }

  #noteSoon(): void {
    if (this.#tally.hasMuchNew) return this.#note();
    if (this.#isNoteDue) return;
    this.#isNoteDue = true;
    this.#after(NOTE_INTERVAL_MS, () => {
      this.#isNoteDue = false;
      if (!this.#isEnding) this.#note();
    });
  }

  #deadlineMs(): number {
    return this.#options.clock.monoMs() + ASK_TIMEOUT_MS;
  }

  #after(delayMs: number, run: () => void): void {
    const timer = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#isStopped) run();
    });
    this.#timers.add(timer);
  }
}
