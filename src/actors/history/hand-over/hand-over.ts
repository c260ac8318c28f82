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
import type { AcceptLetters, DeadLetterRejected, LettersAccepted } from '../../../deadletters/letter-commands.ts';
import type { Letter } from '../../../deadletters/letter.ts';
import type { NoteLetters } from '../../../history/commands/hand-over-commands.ts';
import type { HandedOverTask, HandOverLine } from '../../../history/run/hand-over-lines.ts';
import type { HistoryRecord } from '../../../history/run/record.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import type { Logger } from '../../../observability/logger.ts';
import { refusalMessage, type AskFailure } from '../../asks/asks.ts';
import type { RecordPosition } from '../../../ports/log.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import { taskTypeOf } from '../../../history/run/task-types.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';

export type TaskHandOverOptions = {
  readonly shard: number;
  readonly category: string;
  /** The line as memory has it, ahead of the log. */
  readonly line: () => HandOverLine;
  readonly letterOf: (task: HandedOverTask) => Letter;
  readonly ask: (command: AcceptLetters, answer: (reply: LettersAccepted | DeadLetterRejected | AskFailure) => void) => void;
  readonly submit: (command: NoteLetters) => AskFailure | undefined;
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly reports: Pick<HandOverReports, 'marked' | 'refused' | 'enqueued'>;
  readonly monoMs: () => number;
  readonly logger: Logger;
};

/** Letters in one hand-over; an owner accepts no more (src/deadletters/hand-overs.ts). */
const LETTERS_MAX = 100;
/** Bytes of the values in one hand-over. One letter always goes. */
const BYTES_MAX = 4 * 1024 * 1024;
const RETRY_DELAY_MS = 1_000;
const RETRY_DELAY_MS_MAX = 60_000;

export class TaskHandOver implements CommitSubscriber<HistoryRecord> {
  readonly #options: TaskHandOverOptions;
  /** The last sequence that is committed: later letters are not handed over yet. */
  #committedSequence = 0;
  /** Asked, or answered and not noted yet, or in a pause. */
  #isUnderWay = false;
  #failures = 0;
  /** These tasks have become letters, which is to be noted. */
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
      return this.#again(refusalMessage(reply));
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
      logger.warn('tasks cannot be handed to their dead letter queue yet', { 'task-category': category, reason });
    tenure.after(pauseMs, () => {
      this.#isUnderWay = false;
      this.#next();
    });
  }
}

type HandOverReportsOptions = {
  /** The source of such letters, and their target. */
  readonly cluster: () => string;
  readonly registry: { readonly view: Pick<ClusterSnapshot, 'namespaceById'> };
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
};

export class HandOverReports {
  readonly #options: HandOverReportsOptions;

  constructor(options: HandOverReportsOptions) {
    this.#options = options;
  }

  marked({ category, task, failure, subject: { namespace } }: HandedOverTask): void {
    const { logger, metrics } = this.#options;
    const taskType = taskTypeOf(task);
    metrics?.counter('task_terminal_failures', tagsOf(taskType, namespace)).add();
    const { workflowId: workflowID, runId: runID } = task.key;
    const ids = { 'task-category': category, 'queue-task-type': taskType, 'task-id': task.taskId, namespace, workflowID, runID };
    const { attempts: attempt, cause, errorType, errorMessage } = failure;
    const error = `${errorType}: ${errorMessage}`;
    logger.warn('Marking task as terminally failed, will send to DLQ', { ...ids, attempt, cause, error });
  }

  refused(letters: readonly Letter[]): void {
    const { metrics } = this.#options;
    if (metrics === undefined) return;
    for (const { task } of letters) metrics.counter('task_dlq_failures', tagsOf(task.taskType, task.namespace)).add();
  }

  enqueued(category: string, letters: readonly Letter[], messageIds: readonly number[], latencyMs: number): void {
    for (const [nth, letter] of letters.entries()) this.#enqueued(category, letter, messageIds[nth], latencyMs);
  }

  #enqueued(category: string, { task, failure }: Letter, messageId: number | undefined, latencyMs: number): void {
    const { logger, metrics, registry, cluster } = this.#options;
    const { namespace, taskType, workflowId, runId } = task;
    const { cause } = failure;
    const ids = { 'dlq-message-id': messageId, 'task-category': category, 'queue-task-type': taskType };
    const clusters = { 'xdc-source-cluster': cluster(), 'xdc-target-cluster': cluster() };
    logger.warn('Task enqueued to DLQ', { ...ids, ...clusters, namespace, workflowID: workflowId, runID: runId, cause });
    if (metrics === undefined) return;
    const state = registry.view.namespaceById(task.namespaceId)?.state ?? 'unknown';
    const tags = { task_category: category, namespace_state: state, operation: taskType, task_type: taskType, namespace };
    metrics.counter('dlq_writes', { ...tags, cause }).add();
    metrics.timer('task_dlq_latency', tagsOf(taskType, namespace)).record(latencyMs);
  }
}

function tagsOf(taskType: string, namespace: string) {
  return { operation: taskType, task_type: taskType, namespace };
}
