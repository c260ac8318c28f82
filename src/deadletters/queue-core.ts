/**
 * The pure core of a dead letter queue: which ids are given, what became of each, who works on them. Of a letter's content nothing is in
 * memory, so a queue may be as long as an incident makes it.
 *
 *     acceptLetters ─▶ open ◀── finishMerge: failed ───────▶ quarantined        the same letter, written again
 *                       │  ╲                                  │
 *                       │   mergeLetter ─▶ executeLetter ─▶ finishMerge: merged
 *                       │ purgeLetters                        │ purgeLetters
 *                       ▼                                     ▼
 *                    resolved: a tombstone; its id is never given again
 *
 * Each record is whole by itself (letter-records.ts), and a command's answer leaves with its last one. What is claimed and what is being merged is
 * volatile: a takeover drops it, and whoever pursues a job claims again.
 *
 * Long because all that changes what a letter is stands in one place, where each change is seen beside the others.
 */
import { assert, unreachable } from '../kernel/assert.ts';
import { answer, type CommandIds, type Handled, invalid, later, nothing, type OfKind, recordsOf, rejected } from '../kernel/handled.ts';
import { Carrying } from './carrying.ts';
import { Claims, overlapMessage } from './claims.ts';
import { beganAnew, deadLetterLimits } from './letter-commands.ts';
import type { DeadLetterCommand, IdRange, IndexRequest, PurgeLettersHere } from './letter-commands.ts';
import type { DeadLetterEffect, DeadLetterRejection, DeadLetterReply, MergeEnded } from './letter-commands.ts';
import { countIds, idRangesProblem, idsOf } from './bounds/id-ranges.ts';
import { HAND_OVER_LETTERS_MAX, type HandOverVerdict, taskFingerprint } from './hand-overs.ts';
import type { Letter, LetterError } from './letter.ts';
import { type PurgeUnderWay, resolvedByMerge, resolvedByPurge } from './purge-under-way.ts';
import { authorshipProblem, forgotten, isId, timeoutProblem } from './queue-checks.ts';
import { type QueueSnapshot, QueueState } from './queue-state.ts';
import type { Authorship, DeadLetterRecord, HandedOverRecord, LetterRecord, LettersAct, ResolvedRecord } from './letter-records.ts';

type Command = OfKind<DeadLetterCommand>;

export type QueueHandled = Handled<DeadLetterRecord, DeadLetterReply, DeadLetterEffect>;

type BeingMerged = { readonly askId: number; readonly authorship: Authorship; readonly purge?: PurgeUnderWay };

/** `nth`: another number each time that a letter becomes outstanding. */
type Outstanding = { readonly nth: number; readonly authorship: Authorship };

const done: DeadLetterReply = { kind: 'done' };

export class QueueCore {
  #state: QueueState;
  readonly #claims = new Claims();
  readonly #merging = new Map<number, BeingMerged>();
  /** Shards may execute them, or have, and what has come of that is not written here. */
  readonly #outstanding = new Map<number, Outstanding>();
  #lastOutstanding = 0;
  readonly #carrying = new Carrying();
  /** Letters that came back under this owner: nobody counts those of owners before. */
  #comebacks = 0;
  /** What the command that was decided last changes beside its records. */
  #staged: (() => void) | undefined;

  /** Drawn by each owner: what the queue is called from its first letter on, where it has none yet. */
  readonly #newIncarnation: number;
  /** The first id of a queue that has given none yet. */
  readonly #firstId: number;

  constructor(state = new QueueState(), newIncarnation = 1, firstId = 0) {
    this.#state = state;
    this.#firstId = firstId;
    this.#newIncarnation = newIncarnation;
  }

  /** The incarnation that the ids belong to: they are given again once the topic was deleted. */
  get incarnation(): number {
    return this.#state.incarnation === 0 ? this.#newIncarnation : this.#state.incarnation;
  }

  get state(): Readonly<Pick<QueueState, 'ids' | 'canonical' | 'snapshot' | 'lastTimeMs' | 'cut' | 'uncutPurges' | 'missingIds'>> {
    return this.#state;
  }

  /** What a checkpoint says, before the first record. Throws what no snapshot can be. */
  install(snapshot: QueueSnapshot, lastTimeMs: number): void {
    this.#state = new QueueState(snapshot, lastTimeMs, this.#state.clusterId);
  }

  handle(command: DeadLetterCommand, nowMs: number, askId: number): QueueHandled {
    this.#staged = undefined;
    const { incarnation = this.incarnation } = 'incarnation' in command ? command : this;
    if (incarnation !== this.incarnation) return rejected({ reason: 'began-anew', message: beganAnew });
    switch (command.kind) {
      case 'acceptLetters':
        return this.#accept(command, nowMs);
      case 'claimLetters':
        return this.#claim(command);
      case 'releaseClaim':
        return this.#release(command.jobId);
      case 'purgeLetters':
        return this.#purge(command, nowMs, askId);
      case 'findPurged':
        return later([{ kind: 'readPurged', askId, request: command }]);
      case 'findMerged':
        return this.#findMerged(command.ids);
      case 'restoreLetters':
        return this.#restore(command, askId);
      case 'putBack':
        return this.#putBack(command, nowMs);
      case 'mergeLetter':
        return this.#merge(command, askId);
      case 'finishMerge':
        return this.#finishMerge(command, nowMs);
      case 'finishWithdrawal':
        return this.#finishWithdrawal(command, nowMs);
      case 'noteOutstanding':
        return this.#noteOutstanding(command);
      case 'settleLetter':
        return this.#settle(command, nowMs);
      case 'countLetters':
        return this.#count();
      case 'listLetters':
      case 'findLetters':
        return command.max >= 1 && isId(command.afterMessageId + 1) ? readIndex(askId, command) : invalid('a page has one letter at least');
      case 'readLetter':
        return this.#read(command, askId);
      case 'countMatching':
        return command.condition === undefined ? this.#countAll() : readIndex(askId, command);
      case 'groupLetters':
        return readIndex(askId, command);
      case 'beginCarrying':
        this.#staged = () => this.#carrying.begin(this.#state.uncutPurges);
        return later([{ kind: 'carried', cut: undefined }]);
      case 'carryLetters':
        return this.#carry(command, nowMs);
      case 'finishCarrying':
        return this.#finishCarrying(command, nowMs);
      default:
        return unreachable(command);
    }
  }

  idsOf(command: DeadLetterCommand): CommandIds {
    const job = 'jobId' in command ? { jobId: command.jobId } : {};
    return { command: command.kind, ...job, ...('messageId' in command ? { messageId: command.messageId } : {}) };
  }

  accept(handled: QueueHandled): void {
    this.#staged?.();
    this.#staged = undefined;
    for (const record of recordsOf(handled)) this.evolve(record);
  }

  evolve(record: DeadLetterRecord): void {
    if (record.kind === 'resolved') this.#outstanding.delete(record.messageId);
    this.#state.evolve(record);
  }

  /** Whoever asked for a merge no longer waits. What is under way goes on: its outcome is written as ever. */
  cancel(askId: number): QueueHandled {
    this.#staged = () => {
      for (const [messageId, merging] of this.#merging) {
        if (merging.askId === askId) this.#merging.set(messageId, { ...merging, askId: NOBODY });
        if (merging.purge?.askId === askId) merging.purge.askId = NOBODY;
      }
    };
    return { kind: 'wait', barrier: false, effects: [{ kind: 'giveUpIndex', askId }] };
  }

  // ── Letters come ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  #accept({ shard, letters, missingMax = Infinity }: Command['acceptLetters'], timeMs: number): QueueHandled {
    const { handOvers, ids: given, clusterId } = this.#state;
    if (!Number.isSafeInteger(shard) || shard < 1) return invalid(`Invalid ShardID: ${shard}`);
    if (letters.length === 0 || letters.length > HAND_OVER_LETTERS_MAX) {
      return invalid(`a hand-over has 1 to ${HAND_OVER_LETTERS_MAX} letters, this one ${letters.length}`);
    }
    const first = letters[0]?.handOver.sequence ?? 0;
    if (!isId(first) || first === 0) return invalid(`hand-overs are numbered from 1, this one is ${first}`);
    if (letters.length - 1 > Number.MAX_SAFE_INTEGER - first)
      return invalid(`hand-overs are numbered up to ${Number.MAX_SAFE_INTEGER}, this one from ${first}`);
    const ids: number[] = [];
    const records: LetterRecord[] = [];
    const told: DeadLetterEffect[] = [];
    const nextId = Math.max(given.nextId, this.#firstId);
    for (const [index, letter] of letters.entries()) {
      const { handOver } = letter;
      if (handOver.shard !== shard || handOver.sequence !== first + index) {
        return invalid('the letters of a hand-over are of one shard, and numbered one behind the other');
      }
      // Its record has one shard, by which the hand-over is known after a takeover.
      if (letter.task.shardId !== shard) return invalid(`shard ${shard} hands over a task of shard ${letter.task.shardId}`);
      const verdict: HandOverVerdict = handOvers.judge(shard, handOver.sequence, taskFingerprint(letter.task));
      if (verdict.kind === 'forgotten') return invalid(forgotten(shard, handOver.sequence, handOvers.last(shard)));
      const messageId = verdict.kind === 'known' ? verdict.messageId : nextId + records.length;
      ids.push(messageId);
      if (verdict.kind === 'known') continue;
      records.push({ kind: 'letter', timeMs, messageId, letter: { ...letter, handOver: { ...handOver, clusterId } } });
      if (verdict.kind === 'reused')
        told.push({ kind: 'handOverReused', shard, sequence: handOver.sequence, messageId: verdict.messageId });
    }
    const reply: DeadLetterReply = { kind: 'accepted', ids };
    if (records.length === 0) return answer(reply);
    // The shard hands over what stands first in its line: those before it were taken once, and are not here. To refuse it would bring none of them
    // back, and its line would stand for ever.
    const last = handOvers.last(shard);
    const missing = first - last - 1;
    if (missing > missingMax) return invalid(tooFar(shard, first, last));
    if (missing > 0) told.push({ kind: 'lettersLost', shard, from: last + 1, to: first - 1 });
    return this.#commit(records, timeMs, reply, told);
  }

  /** The `nth` for `settleLetter`, if the outcome may be written though nobody waits for it. Undefined: a job has the letter, or it is not outstanding. */
  maySettle(messageId: number): number | undefined {
    const isTaken = this.#merging.has(messageId) || this.#claims.isClaimed(messageId);
    return isTaken ? undefined : this.#outstanding.get(messageId)?.nth;
  }

  // ── Who works on them ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #claim({ jobId, ranges }: Command['claimLetters']): QueueHandled {
    const { rangesMax, activeJobsMax } = deadLetterLimits;
    if (ranges.length === 0 || ranges.length > rangesMax) {
      return invalid(`a claim has 1 to ${rangesMax} ranges of ids, this one ${ranges.length}`);
    }
    const problem = idRangesProblem(ranges);
    if (problem !== undefined) return invalid(problem);
    const other = this.#claims.overlapping(jobId, ranges);
    if (other !== undefined) return rejected({ reason: 'overlap', message: overlapMessage(other), holders: [other] });
    if (!this.#claims.has(jobId) && this.#claims.jobs >= activeJobsMax) {
      const holders = this.#claims.holders();
      return rejected({ reason: 'too-many-jobs', message: `${activeJobsMax} jobs work on this queue, its limit`, holders });
    }
    this.#staged = () => this.#claims.grant(jobId, ranges);
    return answer(done);
  }

  /** Refused while a merge of the job is under way: nobody else gets such a letter. */
  #release(jobId: string): QueueHandled {
    for (const [messageId, { authorship }] of this.#merging) {
      if (authorship.jobId === jobId) return rejected({ reason: 'being-merged', message: `message ${messageId} is being merged` });
    }
    this.#staged = () => this.#claims.release(jobId);
    return answer(done);
  }

  // ── Letters go ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #purge({ jobId, who, why, letters, asksShards }: PurgeLettersHere, timeMs: number, askId: number): QueueHandled {
    const { idsPerCommandMax } = deadLetterLimits;
    if (letters.length === 0 || letters.length > idsPerCommandMax) {
      return invalid(`1 to ${idsPerCommandMax} dead letters are purged at once, not ${letters.length}`);
    }
    const problem = authorshipProblem({ jobId, who, why });
    if (problem !== undefined) return invalid(problem);
    const purged = new Map<number, ResolvedRecord>();
    const gone = new Set<number>();
    const outstanding = new Set<number>();
    const withdrawn = new Set<number>();
    for (const { messageId, generation } of letters) {
      if (!isId(messageId)) return invalid(`no message id: ${messageId}`);
      if (!isId(generation)) return invalid(`message ${messageId} has no generation ${generation}`);
      if (!this.#claims.covers(jobId, messageId)) return notClaimed(jobId, messageId);
      const merging = this.#merging.get(messageId);
      // This job has asked for it before, and the answer took too long.
      if (merging?.purge !== undefined && merging.authorship.jobId === jobId) withdrawn.add(messageId);
      else if (!this.#state.ids.isLetter(messageId) || merging !== undefined) gone.add(messageId);
      else if (asksShards === true || this.#outstanding.has(messageId)) outstanding.add(messageId);
      else purged.set(messageId, { kind: 'resolved', timeMs, messageId, how: 'purged', who, why, jobId, generation });
    }
    const told = { ids: [...purged.keys()], gone: [...gone] };
    if (outstanding.size + withdrawn.size > 0) {
      return this.#withdraw({ outstanding, withdrawn }, [...purged.values()], timeMs, { askId, jobId, who, why, ...told });
    }
    const reply: DeadLetterReply = { kind: 'purged', ...told, merged: [], executing: [] };
    return purged.size === 0 ? answer(reply) : this.#commit([...purged.values()], timeMs, reply);
  }

  /** Letters that shards may execute go when those say that they will not, the others at once. `withdrawn`: shards are asked already. */
  #withdraw(
    { outstanding, withdrawn }: Readonly<Record<'outstanding' | 'withdrawn', ReadonlySet<number>>>,
    records: readonly ResolvedRecord[],
    timeMs: number,
    { askId, jobId, who, why, ids, gone }: Authorship & Pick<PurgeUnderWay, 'askId' | 'ids' | 'gone'>,
  ): QueueHandled {
    const purge: PurgeUnderWay = { askId, ids, gone, merged: [], executing: [], waiting: new Set([...outstanding, ...withdrawn]) };
    this.#staged = () => {
      for (const messageId of purge.waiting) this.#merging.set(messageId, { askId: NOBODY, authorship: { jobId, who, why }, purge });
    };
    const effects = [...outstanding].map((messageId): DeadLetterEffect => ({ kind: 'withdrawLetter', messageId, jobId }));
    return records.length === 0 ? later(effects) : this.#commit(records, timeMs, undefined, effects);
  }

  /** What its shard has said of a letter that is to be purged. */
  #finishWithdrawal({ messageId, outcome }: Command['finishWithdrawal'], timeMs: number): QueueHandled {
    const { authorship, purge } = this.#merging.get(messageId) ?? {};
    assert(authorship !== undefined && purge !== undefined, 'a letter is withdrawn for a purge');
    const { kind } = outcome;
    const record = resolvedByPurge(messageId, outcome, authorship, timeMs);
    const list = record === undefined ? purge.executing : kind === 'merged' ? purge.merged : purge.ids;
    this.#staged = () => {
      this.#merging.delete(messageId);
      purge.waiting.delete(messageId);
      list.push(messageId);
    };
    const isLast = purge.waiting.size === 1;
    const { ids, gone, merged, executing } = purge;
    const reply = (): DeadLetterReply => {
      const of = (each: readonly number[]): readonly number[] => (each === list ? [...each, messageId] : [...each]);
      return { kind: 'purged', ids: of(ids), gone: [...gone], merged: of(merged), executing: of(executing) };
    };
    const effects = isLast ? replyTo(purge.askId, reply()) : [];
    return record === undefined ? later(effects) : this.#commit([record], timeMs, undefined, effects);
  }

  #noteOutstanding({ messageIds }: Command['noteOutstanding']): QueueHandled {
    const { ids } = this.#state;
    this.#staged = () => {
      for (const id of messageIds) if (ids.isLetter(id) && !this.#outstanding.has(id)) this.#setOutstanding(id, settledLater);
    };
    return nothing;
  }

  #setOutstanding(messageId: number, authorship: Authorship): void {
    this.#outstanding.set(messageId, { nth: (this.#lastOutstanding += 1), authorship });
  }

  #settle({ messageId, nth, outcome }: Command['settleLetter'], timeMs: number): QueueHandled {
    const { authorship } = this.#outstanding.get(messageId) ?? {};
    if (authorship === undefined || this.maySettle(messageId) !== nth) return nothing;
    if (outcome.kind === 'merged') {
      return this.#commit([{ kind: 'resolved', timeMs, messageId, ...resolvedByMerge(outcome), ...authorship }], timeMs, undefined);
    }
    this.#staged = () => {
      this.#outstanding.delete(messageId);
      this.#carrying.wrote(messageId);
    };
    const letter: Letter = { ...outcome.letter, jobId: authorship.jobId };
    return this.#commit([{ kind: 'letter', timeMs, messageId, letter }], timeMs, undefined, [], { kind: 'mergeFailed', ...authorship });
  }

  // ── Letters come back ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #restore(command: Command['restoreLetters'], askId: number): QueueHandled {
    const { jobId, messageIds } = command;
    const { idsPerCommandMax } = deadLetterLimits;
    if (messageIds.length === 0 || messageIds.length > idsPerCommandMax) {
      return invalid(`1 to ${idsPerCommandMax} dead letters are restored at once, not ${messageIds.length}`);
    }
    const problem = authorshipProblem(command);
    if (problem !== undefined) return invalid(problem);
    for (const messageId of messageIds) {
      if (!isId(messageId)) return invalid(`no message id: ${messageId}`);
      if (!this.#claims.covers(jobId, messageId)) return notClaimed(jobId, messageId);
    }
    return later([{ kind: 'readPurged', askId, request: command }]);
  }

  /** Letters come back with the same ids and generation. If the claim was released while the journal was read, they belong to the next job. */
  #putBack({ askId, authorship, letters, lost }: Command['putBack'], timeMs: number): QueueHandled {
    const { jobId } = authorship;
    const released = letters.find(({ messageId }) => !this.#claims.covers(jobId, messageId));
    if (released !== undefined) return later(replyTo(askId, { kind: 'rejected', rejection: noClaim(jobId, released.messageId) }));
    const purged = letters.filter(({ messageId }) => this.#state.ids.statusOf(messageId) === 'purged');
    const ended = replyTo(askId, { kind: 'restored', ids: purged.map(({ messageId }) => messageId), lost });
    if (purged.length === 0) return later(ended);
    this.#staged = () => {
      for (const { messageId } of purged) this.#carrying.wrote(messageId);
      this.#comebacks += purged.length;
    };
    const records = purged.map(({ messageId, letter }): LetterRecord => ({ kind: 'letter', timeMs, messageId, letter }));
    return this.#commit(records, timeMs, undefined, ended, { kind: 'restored', ...authorship });
  }

  #merge(command: Command['mergeLetter'], askId: number): QueueHandled {
    const { jobId, who, why, messageId, overridesLoopGuard, taskTimeoutMs = deadLetterLimits.taskTimeoutMsDefault } = command;
    const ofRequest = authorshipProblem({ jobId, who, why }) ?? timeoutProblem(taskTimeoutMs);
    const problem = isId(messageId) ? ofRequest : `no message id: ${messageId}`;
    if (problem !== undefined) return invalid(problem);
    if (!this.#claims.covers(jobId, messageId)) return notClaimed(jobId, messageId);
    const status = this.#state.ids.statusOf(messageId);
    if (!this.#state.ids.isLetter(messageId)) return this.#notInQueue(messageId);
    if (this.#merging.has(messageId)) return rejected({ reason: 'being-merged', message: `message ${messageId} is being merged` });
    if (status === 'quarantined' && !overridesLoopGuard) return answer({ kind: 'mergeEnded', outcome: 'skipped', reason: 'loop-guard' });
    this.#staged = () => void this.#merging.set(messageId, { askId, authorship: { jobId, who, why } });
    return later([{ kind: 'executeLetter', messageId, jobId, overridesLoopGuard, taskTimeoutMs }]);
  }

  #finishMerge({ messageId, outcome }: Command['finishMerge'], timeMs: number): QueueHandled {
    const merging = this.#merging.get(messageId);
    assert(merging !== undefined && merging.purge === undefined, 'a merge that ends has begun');
    const isUnknown = 'isUnknown' in outcome && outcome.isUnknown === true;
    this.#staged = () => {
      this.#merging.delete(messageId);
      if (isUnknown) this.#setOutstanding(messageId, merging.authorship);
    };
    const { askId, authorship } = merging;
    switch (outcome.kind) {
      case 'merged': {
        const { how } = outcome;
        const ended: MergeEnded =
          how === 'merged' ? { kind: 'mergeEnded', outcome: how } : { kind: 'mergeEnded', outcome: how, detail: outcome.detail };
        const record: ResolvedRecord = { kind: 'resolved', timeMs, messageId, ...resolvedByMerge(outcome), ...authorship };
        return this.#commit([record], timeMs, undefined, replyTo(askId, ended));
      }
      case 'failed': {
        const ended = failedMerge(outcome.letter, outcome.letter.failure, outcome.isSameCause);
        this.#staged = () => {
          this.#merging.delete(messageId);
          this.#outstanding.delete(messageId);
          this.#carrying.wrote(messageId);
        };
        const act = { kind: 'mergeFailed', ...authorship } as const;
        return this.#commit([{ kind: 'letter', timeMs, messageId, letter: outcome.letter }], timeMs, undefined, replyTo(askId, ended), act);
      }
      case 'notBegun':
        return later(replyTo(askId, { kind: 'rejected', rejection: { reason: 'not-now', message: outcome.message } }));
      case 'unsettled':
        return later(replyTo(askId, failedMerge(outcome.letter, outcome.error, outcome.isSameCause ?? false)));
      case 'skipped':
        return later(replyTo(askId, { kind: 'mergeEnded', outcome: 'skipped', reason: outcome.reason }));
      default:
        return unreachable(outcome);
    }
  }

  // ── The journal begins later ───────────────────────────────────────────────────────────────────────────────────────────────

  #carry({ letters }: Command['carryLetters'], timeMs: number): QueueHandled {
    assert(this.#carrying.isUnderWay, 'letters are carried once that has begun');
    const carried: DeadLetterEffect = { kind: 'carried', cut: undefined };
    const staying = letters.filter(({ messageId }) => this.#state.ids.isLetter(messageId) && this.#carrying.isAsRead(messageId));
    if (staying.length === 0) return later([carried]);
    const records = staying.map(({ messageId, letter }): LetterRecord => ({ kind: 'letter', timeMs, messageId, letter }));
    return this.#commit(records, timeMs, undefined, [carried], { kind: 'carried' });
  }

  /** Writes all that letters do not tell: what came from each shard, and which ids were given. */
  #finishCarrying({ cut }: Command['finishCarrying'], timeMs: number): QueueHandled {
    assert(this.#carrying.isUnderWay, 'what ends has begun');
    this.#staged = () => this.#carrying.finish();
    const { clusterId, handOvers } = this.#state;
    const handedOver = { kind: 'handedOver', timeMs, clusterId } as const;
    const before = [...handOvers.all].map(([shard, recent]): HandedOverRecord => ({ ...handedOver, shard, recent: [...recent] }));
    const uncutPurges = this.#carrying.purgesSince(this.#state.uncutPurges);
    const head = { ...this.#state.headAfter([], timeMs), cut, uncutPurges };
    return { kind: 'commit', before, record: head, reply: undefined, effects: [{ kind: 'carried', cut }] };
  }

  #count(): QueueHandled {
    const { ids } = this.#state;
    return answer({
      kind: 'counted',
      nextId: ids.nextId,
      lowestOpen: ids.firstLetter(),
      open: ids.count('open'),
      quarantined: ids.count('quarantined'),
      merged: ids.count('merged'),
      purged: ids.count('purged'),
      uncutPurges: this.#state.uncutPurges,
      comebacks: `${this.#newIncarnation}/${this.#comebacks}`,
      incarnation: this.incarnation,
    });
  }

  #findMerged(ranges: readonly IdRange[]): QueueHandled {
    const { ids } = this.#state;
    const problem = idRangesProblem(ranges);
    if (problem !== undefined) return invalid(problem);
    if (countIds(ranges) > deadLetterLimits.foundMax)
      return invalid(`no more than ${deadLetterLimits.foundMax} letters are looked up at once`);
    const merged: number[] = [];
    for (const id of idsOf(ranges)) if (ids.statusOf(id) === 'merged') merged.push(id);
    return answer({ kind: 'mergedFound', ids: merged });
  }

  #countAll(): QueueHandled {
    const { ids } = this.#state;
    return answer({ kind: 'matched', count: ids.count('open') + ids.count('quarantined') });
  }

  #read(command: Command['readLetter'], askId: number): QueueHandled {
    const { messageId } = command;
    if (!isId(messageId)) return invalid(`no message id: ${messageId}`);
    return this.#state.ids.isLetter(messageId) ? readIndex(askId, command) : this.#notInQueue(messageId);
  }

  #notInQueue(messageId: number): QueueHandled {
    const status = this.#state.ids.statusOf(messageId);
    const message = status === undefined ? `there is no message ${messageId}` : `message ${messageId} is already ${status}`;
    return rejected({ reason: 'not-in-queue', message });
  }

  /** Commits the records, and behind them the head that holds afterwards. */
  #commit(
    records: readonly (LetterRecord | ResolvedRecord)[],
    timeMs: number,
    reply: DeadLetterReply | undefined,
    effects: readonly DeadLetterEffect[] = [],
    act?: LettersAct,
  ): QueueHandled {
    const head = this.#state.headAfter(records, timeMs, this.incarnation);
    // In front of the first letter, for a crash may leave that without the head behind it.
    const before = this.#state.incarnation === 0 ? [this.#state.headAfter([], timeMs, this.incarnation), ...records] : records;
    return { kind: 'commit', before, record: act === undefined ? head : { ...head, act }, reply, effects };
  }
}

/** The authorship of a merge that an earlier owner of the queue began. */
const settledLater: Authorship = { jobId: '', who: 'system:dead-letters', why: 'its shard reported the outcome of an earlier merge later' };

/** As in actors/asks: nobody waits. */
const NOBODY = 0;

function readIndex(askId: number, request: IndexRequest): QueueHandled {
  return later([{ kind: 'readIndex', askId, request }]);
}

function replyTo(askId: number, reply: DeadLetterReply): readonly DeadLetterEffect[] {
  return askId === NOBODY ? [] : [{ kind: 'reply', askId, reply }];
}

function tooFar(shard: number, sequence: number, last: number): string {
  return `shard ${shard} hands over its dead letter ${sequence}, and the last one was ${last}: those between them are not here. Number them one behind the other`;
}

/** The reply that tells of a failed merge. */
function failedMerge({ state, task }: Letter, { errorType, errorMessage }: LetterError, sameCause: boolean): MergeEnded {
  const { taskId, taskType } = task;
  const error = { errorType, errorMessage };
  return { kind: 'mergeEnded', outcome: 'failed', error, isQuarantined: state === 'quarantined', taskId, taskType, sameCause };
}

function notClaimed(jobId: string, messageId: number): QueueHandled {
  return rejected(noClaim(jobId, messageId));
}

function noClaim(jobId: string, messageId: number): DeadLetterRejection {
  return { reason: 'not-claimed', message: `job ${jobId} has not claimed message ${messageId}` };
}
