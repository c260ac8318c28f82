/**
 * Executes the tasks of letters again: reads each, asks the shard that owns its workflow now, and tells the queue what has come of it.
 *
 *     executeLetter ─▶ read, in turn ─▶ the line of its run ─▶ its namespaces ─▶ shard: executeLetter ─▶ finishMerge ─▶ committed ─▶ shard: confirmLetter
 *                                        by id, one at a time                     ▲        └ not now: a pause, and again
 *                                                                                 └────────┘ until the task's timeout: then it is not known
 *
 * The shard has a mark of it (src/history/redrive), so whoever asks again, here or after a takeover, is told what has come of it, and nothing is
 * executed twice. The mark goes when the queue's own record is committed, never before. A letter that is to be purged while its shard may have a mark of
 * it is withdrawn there first (`withdrawLetter`), and that answer comes back as `finishWithdrawal`.
 *
 * Whoever was taken over asks nobody any more, for its process has lost its shards as well; when several processes serve, asks will have to carry the
 * owner's epoch, or a late one could come behind that.
 */
import { ownWork } from '../../asks/asks.ts';
import { failedAsBefore, failedOnceMore, isSameCause } from '../../../deadletters/failed-merge.ts';
import type { DeadLetterCommand, MergeOutcome, WithdrawalOutcome } from '../../../deadletters/letter-commands.ts';
import type { DeadLetterRejected, ExecuteLetter, LetterRead, ListedLetter, WithdrawLetter } from '../../../deadletters/letter-commands.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import { namespaceDeleted } from '../../../deadletters/attempts.ts';
import type { Letter, LetterFailure } from '../../../deadletters/letter.ts';
import type { DeadLetterRecord, LetterRow } from '../../../deadletters/letter-records.ts';
import { saidError } from '../../../deadletters/task-failure.ts';
import type { LetterOutcome } from '../../../history/run/letter-marks.ts';
import type { TaskCategory } from '../../../history/run/task-types.ts';
import type { ExecuteLetter as RedriveExecuteLetter, LetterName } from '../../../history/commands/redrive-commands.ts';
import type { WithdrawLetter as RedriveWithdrawLetter } from '../../../history/commands/redrive-commands.ts';
import type { PendingTask } from '../../../history/run/tasks.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import { errorMessage } from '../../../kernel/error-text.ts';
import { oneAtATime } from '../../../kernel/one-at-a-time.ts';
import { incarnatedQueue } from '../../../kernel/queue-incarnation.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import { historyShardOf } from '../../../kernel/shard.ts';
import type { HistoryAnswer, Asker } from '../../asks/router.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import type { Clock } from '../../../ports/machine.ts';
import { recordGone } from './letter-contents.ts';
import { OutstandingLetters } from './outstanding-letters.ts';
import { decoded, errorTypes, type LetterTasks, mergedBy, outcomeUnknown, ownFailure, refusedForGood } from './merge-outcomes.ts';
import { LetterNamespaces, type LetterNamespacesOptions } from './letter-namespaces.ts';

export type LetterExecutionParts = Omit<LetterNamespacesOptions, 'clock' | 'asker'> & {
  readonly tasks: LetterTasks;
  readonly router: Pick<Asker, 'askHistory' | 'askCluster' | 'cancel'>;
  readonly historyShards: number;
  /** Merges of one letter that may fail. As of now. */
  readonly maxGeneration: () => number;
  /** How letters name the node and the build that run tasks. */
  readonly node: string;
  readonly build: string;
};

export type LetterExecutionOptions = LetterExecutionParts & {
  readonly queue: { readonly number: number; readonly category: string };
  readonly incarnation?: () => number;
  readonly read: (messageId: number) => Promise<LetterRead | DeadLetterRejected>;
  /** Purges can be undone as things stand: what was purged may be asked for once more. */
  readonly mayRestore: () => boolean;
  readonly core: Pick<QueueCore, 'state' | 'maySettle'>;
  /** Called with the outcome of each letter; `tookMs` counts from the request. */
  readonly onOutcome?: (outcome: MergeOutcome, tookMs: number) => void;
  readonly tenure: Pick<Tenure<DeadLetterCommand>, 'active' | 'after' | 'submit'>;
  readonly clock: Clock;
};

type Execution = {
  readonly messageId: number;
  readonly jobId: string;
  readonly taskTimeoutMs: number;
  readonly letter: Letter;
  readonly task: PendingTask;
};

type Asked = { readonly shard: number; readonly name: LetterName };
type Turn = Execution & { readonly deadlineMs: number; tries: number; askedShard?: number | undefined };

/** What shards of ours make: of another cluster's tasks there is no executor. */
const executable: Readonly<Record<TaskCategory, true>> = { transfer: true, timer: true, visibility: true, archival: true, outbound: true };
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;
const CONFIRM_TIMEOUT_MS = 10_000;
const CONFIRM_TRIES = 10;
/** Less than whoever purges waits. */
const WITHDRAW_TIMEOUT_MS = 10_000;

export class LetterExecution implements CommitSubscriber<DeadLetterRecord> {
  readonly #options: LetterExecutionOptions;
  readonly #namespaces: LetterNamespaces;
  readonly outstanding: OutstandingLetters;
  /** Letters are read one behind the other: so they join the lines in the order in which they were asked for. */
  readonly #inTurn = oneAtATime();
  /** The executions of each run. The first one is under way, the others wait in the order of their ids. */
  readonly #lines = new Map<string, Execution[]>();
  /** When the executions under way were asked for (monotonic). */
  readonly #beganMs = new Map<number, number>();
  /** The outcomes of these are known, and not committed here yet. */
  readonly #unconfirmed = new Map<number, Asked>();
  /** Shards have these executions, and have not answered. */
  readonly #asks = new Set<number>();
  /** All letters below are resolved for good, and that is committed. */
  #resolvedBelow = 0;

  constructor(options: LetterExecutionOptions) {
    this.#options = options;
    this.#namespaces = new LetterNamespaces({ ...options, asker: options.router });
    const settle = (shard: number, name: LetterName): Promise<void> => this.#settle(shard, name);
    const confirm = (shard: number, name: LetterName): void => this.#confirm({ shard, name }, 1);
    this.outstanding = new OutstandingLetters({ ...options, queue: () => this.#queue, settle, confirm });
  }

  /** The next memory asks each shard what it executes: that overtakes a letter which waits there, and would be executed once purged. */
  deactivated(): void {
    for (const askId of this.#asks) this.#options.router.cancel(askId);
    this.#asks.clear();
  }

  activated(): void {
    // No shard executes tasks of other clusters.
    if (Object.hasOwn(executable, this.#options.queue.category)) this.outstanding.activated();
  }

  /** It comes back as `finishMerge`, unless the tenure ends before. */
  execute(effect: ExecuteLetter): void {
    this.#beganMs.set(effect.messageId, this.#options.clock.monoMs());
    void this.#inTurn(() => this.#read(effect));
  }

  committed(record: DeadLetterRecord, _position: unknown, replayed: boolean): void {
    if (record.kind === 'head' && !this.#options.mayRestore()) this.#resolvedBelow = record.lowestOpen;
    if (record.kind === 'resolved') this.outstanding.resolved(record.messageId);
    if (replayed || this.#unconfirmed.size === 0 || (record.kind !== 'resolved' && record.kind !== 'letter')) return;
    const asked = this.#unconfirmed.get(record.messageId);
    if (asked === undefined) return;
    // One that is only written again is what it was.
    if (record.kind === 'letter' && record.letter.generation <= asked.name.generation) return;
    this.#unconfirmed.delete(record.messageId);
    this.#confirm(asked, 1);
  }

  // ── A letter is read, and stands in line ───────────────────────────────────────────────────────────────────────────────────

  async #read(effect: ExecuteLetter): Promise<void> {
    const { messageId } = effect;
    try {
      const read = await this.#options.read(messageId);
      if (read.kind === 'rejected') this.#finish(messageId, { kind: 'skipped', reason: read.rejection.message });
      else this.#decode(effect, read.letter);
    } catch (error) {
      // Nobody was asked: it may be merged again at once.
      this.#finish(messageId, { kind: 'notBegun', message: `message ${messageId} cannot be read now: ${errorMessage(error)}` });
    }
  }

  #decode(effect: ExecuteLetter, { content }: ListedLetter): void {
    const { queue, tasks } = this.#options;
    const { messageId, jobId, taskTimeoutMs } = effect;
    const letter = content?.letter;
    if (letter === undefined) {
      return this.#finish(messageId, { kind: 'skipped', reason: content?.problem === recordGone ? recordGone : 'undecodable' });
    }
    if (!Object.hasOwn(executable, queue.category)) {
      const error = { errorType: 'UnknownCategory', errorMessage: `this server executes no tasks of the category ${queue.category}` };
      return this.#finish(messageId, { kind: 'unsettled', error, letter });
    }
    // Its answer was lost: a job tries a letter once.
    if (letter.jobId === jobId) {
      return this.#finish(messageId, { kind: 'unsettled', error: letter.failure, letter, isSameCause: failedAsBefore(letter) });
    }
    const task = decoded(letter, tasks);
    if (task === undefined) return this.#finish(messageId, { kind: 'skipped', reason: 'undecodable' });
    this.#join({ messageId, jobId, taskTimeoutMs, letter, task });
  }

  #join(execution: Execution): void {
    const { namespaceId, workflowId, runId } = execution.task.key;
    const run = `${namespaceId}/${workflowId}/${runId}`;
    const line = this.#lines.get(run);
    if (line === undefined) {
      this.#lines.set(run, [execution]);
      return void this.#begin(run, execution);
    }
    const [first, ...others] = line;
    const rest = [...others, execution].sort((one, other) => one.messageId - other.messageId);
    this.#lines.set(run, first === undefined ? rest : [first, ...rest]);
  }

  // ── Its turn ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #begin(run: string, execution: Execution): Promise<void> {
    if (!this.#options.tenure.active) return;
    this.#finish(execution.messageId, await this.#ended(execution));
    const line = (this.#lines.get(run) ?? []).slice(1);
    const [next] = line;
    if (next === undefined) return void this.#lines.delete(run);
    this.#lines.set(run, line);
    void this.#begin(run, next);
  }

  /** A bug of ours that meets this letter is its trouble alone: those behind it get their turns. */
  async #ended(execution: Execution): Promise<MergeOutcome> {
    const { letter, taskTimeoutMs } = execution;
    try {
      return await this.#outcomeOf({ ...execution, deadlineMs: this.#options.clock.monoMs() + taskTimeoutMs, tries: 0 });
    } catch (error) {
      return { kind: 'unsettled', error: saidError('Internal', errorMessage(error)), letter, isUnknown: true };
    }
  }

  async #outcomeOf(turn: Turn): Promise<MergeOutcome> {
    for (;;) {
      const resolved = await this.#namespaces.resolve(turn.letter.task, turn.task);
      if (resolved.kind === 'gone') {
        const message = `Namespace ${resolved.namespace} is not found.`;
        return this.#failed(turn, ownFailure(this.#options, turn.letter, namespaceDeleted, 'NamespaceNotFound', message));
      }
      if (resolved.kind === 'over') return this.#told(turn, { kind: 'noop', detail: resolved.detail });
      const outcome = resolved.kind === 'task' ? await this.#asked(turn, resolved.task) : undefined;
      if (outcome !== undefined) return outcome;
      if (await this.#paused(turn)) continue;
      if (turn.askedShard !== undefined) this.outstanding.note(turn.messageId, turn.askedShard);
      return outcomeUnknown(turn);
    }
  }

  async #ask<Request extends RedriveExecuteLetter | RedriveWithdrawLetter>(
    shard: number,
    request: Request,
    deadlineMs: number,
  ): Promise<HistoryAnswer<Request>> {
    return await new Promise((resolve) => {
      const askId = this.#options.router.askHistory(shard, request, ownWork(deadlineMs), (answer) => {
        this.#asks.delete(askId);
        resolve(answer);
      });
      this.#asks.add(askId);
    });
  }

  /** undefined: it cannot be said yet. */
  async #asked(turn: Turn, task: PendingTask): Promise<MergeOutcome | undefined> {
    const { tasks, tenure } = this.#options;
    // The next owner may have merged it since, and its shard has forgotten that.
    if (!tenure.active) return undefined;
    const { key } = task;
    const shard = this.#shardOf(key);
    const name = { queue: this.#queue, messageId: turn.messageId, generation: turn.letter.generation };
    const request = { kind: 'executeLetter', key, letter: name, resolvedBelow: this.#resolvedBelow, task: tasks.encode(task) } as const;
    turn.askedShard = shard;
    const answer = await this.#ask(shard, request, turn.deadlineMs);
    switch (answer.kind) {
      case 'letterExecuted':
        turn.askedShard = undefined;
        this.#unconfirmed.set(turn.messageId, { shard, name });
        return this.#told(turn, answer.outcome);
      case 'lettersUnconfirmed':
        this.outstanding.look(shard);
        return undefined;
      case 'rejected': {
        const { reason, message } = answer.rejection;
        if (reason === 'busy-workflow') return undefined;
        return this.#failed(turn, ownFailure(this.#options, turn.letter, refusedForGood, reason, message));
      }
      case 'internal':
      case 'tooLarge':
      case 'dataLoss':
        return this.#failed(turn, ownFailure(this.#options, turn.letter, refusedForGood, errorTypes[answer.kind], answer.message));
      case 'unavailable':
      case 'notHere':
      case 'busy':
      case 'deadline':
        return undefined;
      default:
        return unreachable(answer);
    }
  }

  #told(turn: Turn, outcome: LetterOutcome): MergeOutcome {
    const { generation } = turn.letter;
    if (outcome.kind !== 'failed') return mergedBy(outcome, generation);
    return this.#failed(turn, outcome.failure);
  }

  #failed({ letter, jobId }: Turn, failure: LetterFailure): MergeOutcome {
    const { clock, maxGeneration } = this.#options;
    const again = failedOnceMore(letter, { failure, jobId, timeMs: clock.wallMs(), maxGeneration: maxGeneration() });
    return { kind: 'failed', letter: again, isSameCause: isSameCause(letter, failure) };
  }

  /** False: its time is over. */
  async #paused(turn: Turn): Promise<boolean> {
    const { tenure, clock } = this.#options;
    const leftMs = turn.deadlineMs - clock.monoMs();
    if (leftMs <= 0) return false;
    turn.tries += 1;
    const pauseMs = Math.min(leftMs, backOffMs(turn.tries, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX));
    // Outside of the tenure nothing comes of it any more.
    await new Promise<void>((resolve) => tenure.after(pauseMs, resolve));
    return clock.monoMs() < turn.deadlineMs;
  }

  // ── Its end ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #finish(messageId: number, outcome: MergeOutcome): void {
    const { tenure, clock, onOutcome } = this.#options;
    const nowMs = clock.monoMs();
    onOutcome?.(outcome, nowMs - (this.#beganMs.get(messageId) ?? nowMs));
    this.#beganMs.delete(messageId);
    tenure.submit({ kind: 'finishMerge', messageId, outcome });
  }

  // ── Nobody waits for it any more ───────────────────────────────────────────────────────────────────────────────────────────

  withdraw({ messageId, jobId }: WithdrawLetter): void {
    void this.#withdrawn(messageId, jobId).then((outcome) => {
      this.#options.tenure.submit({ kind: 'finishWithdrawal', messageId, outcome });
    });
  }

  async #withdrawn(messageId: number, jobId: string): Promise<WithdrawalOutcome> {
    try {
      const read = await this.#inTurn(() => this.#options.read(messageId));
      if (read.kind === 'rejected') return { kind: 'notBegun', message: read.rejection.message };
      const { row, content } = read.letter;
      const letter = content?.letter;
      const task = letter === undefined ? undefined : decoded(letter, this.#options.tasks);
      const withdrawn = { kind: 'withdrawn', generation: row.generation } as const;
      if (content?.problem === recordGone) return await this.#unreadWithdrawn(row);
      // Nobody can have executed what cannot be read.
      if (letter === undefined || task === undefined) return withdrawn;
      if (this.#isKnownToRest(messageId, task.key)) return withdrawn;
      const deadlineMs = this.#options.clock.monoMs() + WITHDRAW_TIMEOUT_MS;
      const turn: Turn = { messageId, jobId, taskTimeoutMs: WITHDRAW_TIMEOUT_MS, letter, task, deadlineMs, tries: 0 };
      // Where its namespace is there still, it was never executed in one that had the name of that: no other shard can have it.
      const isKnown = this.outstanding.knowsAll || this.outstanding.shardOf(messageId) !== undefined;
      if (!isKnown && !this.#namespaces.isThere(task.key.namespaceId)) return outcomeUnknown(turn);
      for (;;) {
        const outcome = await this.#askedToWithdraw(turn);
        if (outcome !== undefined) return outcome;
        if (!(await this.#paused(turn))) return outcomeUnknown(turn);
      }
    } catch (error) {
      return { kind: 'notBegun', message: errorMessage(error) };
    }
  }

  /** Other shards have not said what they execute; its own has, and does not execute it. */
  #isKnownToRest(messageId: number, key: RunKey): boolean {
    const { knowsAll } = this.outstanding;
    if (knowsAll || this.outstanding.shardOf(messageId) !== undefined) return false;
    return this.#namespaces.isThere(key.namespaceId) && this.outstanding.hasSaid(this.#shardOf(key));
  }

  /** Its record is gone from the topic, and its task may have been given to a shard before. */
  async #unreadWithdrawn({ messageId, generation, namespaceId, workflowId, runId }: LetterRow): Promise<WithdrawalOutcome> {
    const key = { namespaceId, workflowId, runId };
    const withdrawn = { kind: 'withdrawn', generation } as const;
    const shard = this.outstanding.shardOf(messageId);
    if (shard === undefined && (this.outstanding.knowsAll || this.#isKnownToRest(messageId, key))) return withdrawn;
    const name = { queue: this.#queue, messageId, generation };
    const deadlineMs = this.#options.clock.monoMs() + WITHDRAW_TIMEOUT_MS;
    const outcome = shard === undefined ? undefined : await this.#outcomeAt(shard, name, key, deadlineMs);
    if (outcome === undefined) return { kind: 'notBegun', message: `message ${messageId} may be executed` };
    if (outcome === 'withdrawn' || outcome.kind === 'failed') return withdrawn;
    return mergedBy(outcome, generation);
  }

  /** undefined: it may be executed, or its shard is away. */
  async #askedToWithdraw(turn: Turn): Promise<WithdrawalOutcome | undefined> {
    if (!this.#options.tenure.active) return undefined;
    const { generation } = turn.letter;
    const { key } = turn.task;
    const shard = this.outstanding.shardOf(turn.messageId) ?? this.#shardOf(key);
    const name = { queue: this.#queue, messageId: turn.messageId, generation };
    const outcome = await this.#outcomeAt(shard, name, key, turn.deadlineMs);
    return outcome === 'withdrawn' ? { kind: 'withdrawn', generation } : outcome === undefined ? undefined : this.#told(turn, outcome);
  }

  /** Asks the shard to withdraw the letter, which it does not execute from now on, and answers what became of it. */
  async #outcomeAt(shard: number, name: LetterName, key: RunKey, deadlineMs: number): Promise<LetterOutcome | 'withdrawn' | undefined> {
    const request = { kind: 'withdrawLetter', key, letter: name } as const;
    const answer = await this.#ask(shard, request, deadlineMs);
    if (answer.kind === 'letterWithdrawn') return 'withdrawn';
    if (answer.kind !== 'letterExecuted') return undefined;
    this.#unconfirmed.set(name.messageId, { shard, name });
    return answer.outcome;
  }

  /** It has ended in its shard, and nobody has asked what has come of it. */
  async #settle(shard: number, name: LetterName): Promise<void> {
    const { messageId } = name;
    try {
      const read = await this.#options.read(messageId);
      const letter = read.kind === 'rejected' ? undefined : read.letter.content?.letter;
      const task = letter === undefined ? undefined : decoded(letter, this.#options.tasks);
      if (letter === undefined || task === undefined) return;
      if (letter.generation > name.generation) return this.#confirm({ shard, name }, 1);
      const nth = this.#options.core.maySettle(messageId);
      if (nth === undefined) return;
      const deadlineMs = this.#options.clock.monoMs() + WITHDRAW_TIMEOUT_MS;
      const turn: Turn = { messageId, jobId: '', taskTimeoutMs: WITHDRAW_TIMEOUT_MS, letter, task, deadlineMs, tries: 0 };
      const outcome = await this.#outcomeAt(shard, name, task.key, deadlineMs);
      if (outcome === undefined || outcome === 'withdrawn') return;
      const told = this.#told(turn, outcome);
      if (told.kind === 'merged' || told.kind === 'failed')
        this.#options.tenure.submit({ kind: 'settleLetter', messageId, nth, outcome: told });
    } catch {
      // It cannot be read now: it is asked for again.
    }
  }

  /** The number of the queue as marks have it. */
  get #queue(): number {
    const { queue, incarnation } = this.#options;
    return incarnatedQueue(queue.number, incarnation?.() ?? 0);
  }

  #shardOf(key: RunKey): number {
    return historyShardOf(key.namespaceId, key.workflowId, this.#options.historyShards);
  }

  /** One that is lost for good is made up for: the next letters tell their shards what is resolved. */
  #confirm({ shard, name }: Asked, tries: number): void {
    const { router, tenure, clock } = this.#options;
    router.askHistory(shard, { kind: 'confirmLetter', letter: name }, ownWork(clock.monoMs() + CONFIRM_TIMEOUT_MS), ({ kind }) => {
      if (kind === 'done' || tries >= CONFIRM_TRIES) return;
      tenure.after(backOffMs(tries, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => this.#confirm({ shard, name }, tries + 1));
    });
  }
}
