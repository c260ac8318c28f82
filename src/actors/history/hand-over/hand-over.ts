/**
 * Hands the tasks of one line to the owner of its dead letter queue, in their order, and has the shard note the ids of the letters.
 *
 *     committed ─▶ acceptLetters ─▶ owner ─┬─ ids ─▶ noteLetters ─ committed ─▶ the next of the line
 *         ▲                               └─ no answer, or a refusal
 *         └───────── a pause, 1 s to 1 min ◀──┘
 *
 * One hand-over is under way at a time. One that is repeated, here or by the next owner of the shard, gets the same ids: so no answer needs to
 * arrive, and nothing is dropped while the queue is away.
 */
import type { AcceptLetters } from '../../../deadletters/commands.ts';
import type { DeadLetterRejected, LettersAccepted } from '../../../deadletters/replies.ts';
import type { Letter } from '../../../deadletters/letter.ts';
import type { NoteLetters } from '../../../history/hand-over/hand-over-commands.ts';
import type { HandedOverTask, HandOverLine } from '../../../history/hand-over/hand-over-lines.ts';
import type { HistoryRecord } from '../../../history/record.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { RecordPosition } from '../../log.ts';
import type { HandOverReports } from './hand-over-reports.ts';
import type { CommitSubscriber } from '../../partition/partition-core.ts';
import type { Tenure } from '../../partition/tenure.ts';

export type TaskHandOverOptions = {
  readonly shard: number;
  readonly category: string;
  /** As memory has it, ahead of the log. */
  readonly line: () => HandOverLine;
  readonly letterOf: (task: HandedOverTask) => Letter;
  readonly ask: (command: AcceptLetters, answer: (reply: LettersAccepted | DeadLetterRejected | AskFailure) => void) => void;
  /** Undefined: it will be decided. */
  readonly submit: (command: NoteLetters) => AskFailure | undefined;
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly reports: Pick<HandOverReports, 'marked' | 'refused' | 'enqueued'>;
  readonly monoMs: () => number;
  readonly logger: Logger;
};

/** Of one hand-over; an owner takes no more (src/deadletters/hand-overs.ts). */
const LETTERS_MAX = 100;
/** Of their values; one letter always goes. */
const BYTES_MAX = 4 * 1024 * 1024;
const RETRY_DELAY_MS = 1_000;
const RETRY_DELAY_MS_MAX = 60_000;

export class TaskHandOver implements CommitSubscriber<HistoryRecord> {
  readonly #options: TaskHandOverOptions;
  /** Up to there the journal has them: nobody hears of others. */
  #committedSequence = 0;
  /** Asked, or answered and not noted yet, or in a pause. */
  #isUnderWay = false;
  #failures = 0;
  /** They are letters, which is to be noted. */
  #taken: { readonly letters: readonly Letter[]; readonly ids: readonly number[]; readonly latencyMs: number } | undefined;

  constructor(options: TaskHandOverOptions) {
    this.#options = options;
  }

  /** The shard serves: all that was folded is committed. */
  activated(): void {
    this.#committedSequence = this.#options.line().lastSequence;
    this.#next();
  }

  committed(record: HistoryRecord, _position: RecordPosition, replayed: boolean): void {
    if (replayed) return;
    const { tasksHandedOver, lettersAccepted } = record;
    if (tasksHandedOver === undefined && lettersAccepted === undefined) return;
    const { category, reports } = this.#options;
    for (const task of tasksHandedOver ?? []) {
      if (task.category !== category) continue;
      this.#committedSequence = task.sequence;
      reports.marked(task);
    }
    if (lettersAccepted?.some((accepted) => accepted.category === category) === true) this.#noted();
    this.#next();
  }

  #noted(): void {
    const { category, reports } = this.#options;
    this.#isUnderWay = false;
    if (this.#taken !== undefined) reports.enqueued(category, this.#taken.letters, this.#taken.ids, this.#taken.latencyMs);
    this.#taken = undefined;
  }

  #next(): void {
    const { shard, ask, line, tenure, monoMs } = this.#options;
    if (this.#isUnderWay || !tenure.active) return;
    const letters = this.#firstLetters(line().waiting);
    if (letters.length === 0) return;
    this.#isUnderWay = true;
    const askedMs = monoMs();
    ask({ kind: 'acceptLetters', shard, letters }, (reply) => this.#answered(letters, reply, askedMs));
  }

  #firstLetters(waiting: readonly HandedOverTask[]): readonly Letter[] {
    const letters: Letter[] = [];
    let bytes = 0;
    for (const task of waiting) {
      if (task.sequence > this.#committedSequence || letters.length === LETTERS_MAX) break;
      const letter = this.#options.letterOf(task);
      bytes += letter.task.value.byteLength;
      if (letters.length > 0 && bytes > BYTES_MAX) break;
      letters.push(letter);
    }
    return letters;
  }

  #answered(letters: readonly Letter[], reply: LettersAccepted | DeadLetterRejected | AskFailure, askedMs: number): void {
    const { category, submit, tenure, reports, monoMs } = this.#options;
    if (!tenure.active) return;
    if (reply.kind !== 'accepted') {
      reports.refused(letters);
      return this.#again(reply.kind === 'rejected' ? reply.rejection.message : reply.message);
    }
    this.#taken = { letters, ids: reply.ids, latencyMs: monoMs() - askedMs };
    const sequence = letters.at(-1)?.handOver.sequence ?? 0;
    const failure = submit({ kind: 'noteLetters', category, sequence, messageIds: reply.ids });
    if (failure === undefined) this.#failures = 0;
    else this.#again(failure.message);
  }

  #again(reason: string): void {
    const { category, logger, tenure } = this.#options;
    this.#failures += 1;
    const pauseMs = backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX);
    // One speaks for all that are asked again within the longest pause.
    if (this.#failures === 1 || pauseMs === RETRY_DELAY_MS_MAX)
      logger.warn('tasks cannot be handed to their queue of dead letters yet', { 'task-category': category, reason });
    tenure.after(pauseMs, () => {
      this.#isUnderWay = false;
      this.#next();
    });
  }
}
