/**
 * The owner of one partition's journal: takes it over, appends what was decided, and judges what became of it (docs/protocol.md). What is
 * decided, and what memory it makes, is the business of the memory above (partition-loop.ts).
 *
 *     partition-loop ─▶ PartitionOwner ─▶ PartitionLife       the state that it is in, with what is known there: the one truth
 *                            │
 *                            ├─▶ Takeover      restoring ─▶ replaying ─▶ claiming ─▶ active, and out of doubt
 *                            ├─▶ Appends       what is sealed, and what became of it
 *                            └─▶ ReadProofs    where the log ends
 *
 * Here its parts are put together, what comes in goes to the part whose state it is, and ownership ends.
 */
import { errorText } from '../../kernel/error-text.ts';
import { AppendTrouble } from './append-trouble.ts';
import { Appends } from './appends.ts';
import { JournalFold, ReplayProgress, type MayLack, type Replayed } from './journal-fold.ts';
import { JournalNotices } from './journal-notices.ts';
import { JournalTail } from './log-stretch.ts';
import { LogSilence } from './log-silence.ts';
import { OwnerPosition } from './owner-position.ts';
import { claimingWith, PartitionLife, type Next, type PartitionState, type Service } from './partition-life.ts';
import { Retries } from './retries.ts';
import { ReadBarrier } from './read-barrier.ts';
import { ReadProofs } from './read-proofs.ts';
import { type CheckpointSource, Restoration } from './restoration.ts';
import { LoopTurns } from '../../ports/loop-turns.ts';
import { Takeover } from './takeover.ts';
import type { Logger } from '../../observability/logger.ts';
import { partitionName } from '../../ports/log.ts';
import type { AppendOutcome, BatchSource, Log, LogAttachment, LogError, PartitionId, SealedBatch } from '../../ports/log.ts';
import type { ClaimInLog } from './effective.ts';
import type { ClaimantOptions, OwnedMemory, OwnerFindings, Ownership } from './ownership.ts';

export type OwnerLimits = {
  /** An idle owner looks at the log's end this often (T10). */
  readonly watchIntervalMs: number;
  readonly retryDelayMs: number;
  readonly retryDelayMsMax: number;
  /** When the log has answered nothing for so long, whoever waits hears so, and so does whoever asks. */
  readonly logSilenceMsMax: number;
};

export type PartitionOwnerOptions = ClaimantOptions & {
  readonly partition: PartitionId;
  readonly log: Log;
  readonly logger: Logger;
  readonly onStatus?: (status: PartitionStatus) => void;
  readonly limits: OwnerLimits;
  readonly turns?: LoopTurns;
  /** Where takeovers begin; absent: there is no database, and they begin at the start of the journal. */
  readonly checkpoints?: CheckpointSource;
  /** Memory is told of it, and goes on. Absent: such a journal is refused. */
  readonly mayLack?: MayLack;
};

export type PartitionStatus = {
  readonly partition: PartitionId;
  readonly state: PartitionState;
  /** The epoch of the last claim that counts, as far as this owner has read. */
  readonly epoch: number;
  readonly sequence: number;
  /** Everything below is confirmed. */
  readonly offset: number;
  /** Why it is unassigned, failed or not active yet, or its log silent, as far as that is known; '' otherwise. */
  readonly reason: string;
  /** Since when (monotonic) the log has answered nothing although something waits, once that is too long; undefined otherwise. */
  readonly silentSinceMs: number | undefined;
  readonly rival: ClaimInLog | undefined;
  /** How often memory was dropped and folded again, because others had written what counts. */
  readonly refolds: number;
  /** What was read of the journal in this process, in all replays together. */
  readonly replayed: Replayed;
  /** Records in the journal that Perdure did not write: ignored. */
  readonly foreignRecords: number;
  /** Records of ours that cannot count, because others before them have vanished. */
  readonly strandedRecords: number;
};

export class PartitionOwner implements BatchSource, OwnerFindings {
  readonly #options: PartitionOwnerOptions;
  readonly #parts: Ownership;
  readonly #life = new PartitionLife();
  readonly #position = new OwnerPosition();
  readonly #progress: ReplayProgress;
  readonly #restoration: Restoration;
  readonly #takeover: Takeover;
  readonly #appends: Appends;
  readonly #proofs: ReadProofs;
  readonly barrier: ReadBarrier;
  readonly silence: LogSilence;
  readonly stopped = (): boolean => !this.serving;

  #attachment: LogAttachment | undefined;

  constructor(options: PartitionOwnerOptions, memory: OwnedMemory) {
    const { partition, log, claims, clock, random, logger, limits } = options;
    const { retryDelayMs, retryDelayMsMax, logSilenceMsMax } = limits;
    this.#options = options;
    const life = this.#life;
    const onReasonChanged = (): void => this.statusChanged();
    // Who has served had the rights, and somebody may be mending them; at a first start nobody knows that they are missing.
    const mayPass = (error: LogError): boolean => error.recoverable || (error.code === 'denied' && life.hasServed);
    const retries = new Retries({ clock, random, logger, retryDelayMs, retryDelayMsMax, mayPass });
    const trouble = new AppendTrouble({ clock, logger, retries, onRested: () => this.append() });
    const restoration = new Restoration({ checkpoints: options.checkpoints, retries, onReasonChanged });
    this.#progress = new ReplayProgress({ clock, logger, onMoved: () => this.statusChanged() });
    this.#restoration = restoration;
    this.barrier = new ReadBarrier(log.exclusive);
    this.silence = new LogSilence({
      clock,
      silenceMsMax: logSilenceMsMax,
      describe: (seconds) => `${this.name()} has had no answer from its log for ${seconds} s${this.#inBrackets}`,
      onSilent: (message, seconds) => {
        this.statusChanged();
        memory.logSilent(message, seconds);
      },
      onAnswered: () => this.statusChanged(),
    });
    const { barrier, silence } = this;
    const ownership: Ownership = {
      ...{ partition, name: this.name(), log, logger, claims, life, position: this.#position, memory },
      ...{ barrier, retries, trouble, notices: new JournalNotices(clock, logger), silence, findings: this },
    };
    this.#parts = ownership;
    const tail = new JournalTail({ ...ownership, retryDelayMs });
    const { turns = new LoopTurns(clock), mayLack } = options;
    const journal = new JournalFold({ ...ownership, progress: this.#progress, turns, restoration, mayLack });
    this.#appends = new Appends({ ...ownership, tail });
    this.#proofs = new ReadProofs({ ...ownership, ...limits, appends: this.#appends });
    this.#takeover = new Takeover({
      ...options,
      ...ownership,
      journal,
      tail,
      restoration,
      appends: this.#appends,
      append: () => this.append(),
      onActive: () => this.#activated(),
    });
  }

  // ── For the memory above ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes the partition over: the same path after a crash, a restart and a move. */
  start(): void {
    this.#life.enter('assign', { state: 'restoring' });
    this.#attachment = this.#options.log.attach(this.#options.partition, this);
    this.background(this.#takeover.begin());
  }

  get serving(): boolean {
    return this.#life.service !== undefined;
  }

  /** Commands are taken in. In doubt they wait in the mailbox: it is settled in two round trips. */
  get accepting(): boolean {
    const { now } = this.#life;
    return now.state === 'active' || (now.state === 'claiming' && now.doubt !== undefined);
  }

  /** The log owes an answer on which service rests. */
  get awaitsLog(): boolean {
    return this.#proofs.unanswered || this.#life.service?.underWay !== undefined;
  }

  append(): void {
    if (this.#parts.trouble.resting) return;
    const { now, service } = this.#life;
    const wanted = now.state === 'claiming' ? now.claim.kind === 'wanted' : service !== undefined && this.#appends.wanted(service);
    if (wanted) this.#attachment?.ready();
  }

  proveReads(): void {
    this.#proofs.prove();
  }

  /** The time by which commands are decided: never before the last record. */
  nowMs(): number {
    return this.#position.nowMs(this.#options.clock);
  }

  wrote(timeMs: number): void {
    this.#position.wrote(timeMs);
  }

  /** Another has restored since, and the database takes nothing more from this memory. Unless it claims, we restore once more (T12). */
  fenced(): void {
    const { now } = this.#life;
    // A takeover goes on: it is for whoever serves to restore once more.
    this.#restoration.isFenced = true;
    if (now.state === 'active') this.doubt('another process has restored the checkpoint of this partition', true);
    else if (now.state === 'claiming' && now.doubt !== undefined) now.doubt.dropsMemory = true;
  }

  /** A claim of the next epoch, by way of doubt. `claimed` gets its offset once it counts: what was decided is before it, or goes again. */
  claimAnew(claimed: (offset: number) => void): void {
    this.#takeover.whenClaimed(claimed);
    const { now } = this.#life;
    if (now.state === 'active') this.#claimOver(now.service, false);
  }

  status(): PartitionStatus {
    const { state } = this.#life;
    const { epoch, sequence, offset } = this.#position.cursor;
    const { sinceMs: silentSinceMs } = this.silence;
    const { foreignRecords, strandedRecords } = this.#parts.notices;
    // What keeps it from being active may be the log.
    const mayBeLog = this.#reason === '' && (state !== 'active' || silentSinceMs !== undefined);
    const reason = mayBeLog ? this.#whyLogWaits : this.#reason;
    const read = { refolds: this.#takeover.refolds, replayed: this.#progress.replayed, foreignRecords, strandedRecords };
    return { partition: this.#options.partition, state, epoch, sequence, offset, reason, silentSinceMs, rival: this.#rival, ...read };
  }

  /** Commits what was decided, then lets go. New commands are refused at once. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      const { now } = this.#life;
      if (now.state !== 'active') {
        this.close();
        return resolve();
      }
      this.#life.enter('drain', { state: 'draining', service: now.service, onReleased: resolve });
      this.statusChanged();
      this.endIfDrained();
    });
  }

  /** Why commands are not taken in. */
  unavailable(): string {
    return this.#reason === '' ? `${this.name()} is ${this.#life.state}${this.#inBrackets}` : `${this.name()}: ${this.#reason}`;
  }

  name(): string {
    return partitionName(this.#options.partition);
  }

  // ── For the log ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  seal(): SealedBatch | undefined {
    if (this.#parts.trouble.resting) return undefined;
    const { now, service } = this.#life;
    try {
      if (now.state === 'claiming') return this.#takeover.seal(now);
      return service === undefined ? undefined : this.#appends.seal(service);
    } catch (error) {
      this.fail(`an append could not be sealed: ${errorText(error)}`, error);
      return undefined;
    }
  }

  settle(outcome: AppendOutcome): void {
    const { now, service } = this.#life;
    try {
      if (now.state === 'claiming') this.#takeover.settle(now, outcome);
      else if (service !== undefined) this.#appends.settle(service, outcome);
    } catch (error) {
      this.fail(`an append could not be settled: ${errorText(error)}`, error);
    }
  }

  reconnected(): void {
    const { service } = this.#life;
    if (service !== undefined) this.#appends.reconnected(service);
  }

  // ── What its parts find out ────────────────────────────────────────────────────────────────────────────────────────────────

  #activated(): void {
    this.#proofs.watch();
    if (this.#restoration.isFenced) return this.fenced();
    this.#parts.memory.settleTurn();
  }

  /** What was sent may be in the log, or may land later; or memory and its rows no longer belong together. Only a new epoch settles it: then nothing of the old one can count any more. */
  doubt(reason: string, dropsMemory = false): void {
    const { now } = this.#life;
    const { epoch, offset } = this.#position.cursor;
    this.#parts.trouble.reason = reason;
    const what = dropsMemory ? 'another server has claimed the checkpoints of this partition' : 'the outcome of an append is unknown';
    this.#parts.logger.warn(what, { reason, epoch, offset });
    // Draining: whoever takes over reads what is there.
    if (now.state !== 'active') return this.close('was shut down while the outcome of an append was unknown');
    this.#claimOver(now.service, dropsMemory);
  }

  #claimOver({ underWay, again }: Service, dropsMemory: boolean): void {
    const append = underWay?.kind === 'lookBack' ? underWay.batch : underWay;
    const claiming = claimingWith({ sent: append?.records ?? [], again, dropsMemory }, { kind: 'none' });
    this.#life.enter('doubt', claiming);
    this.#parts.trouble.stopResting();
    this.statusChanged();
    this.#takeover.claim(claiming);
  }

  background(work: Promise<void>): void {
    const { term } = this.#parts.retries;
    work.catch((error: unknown) => {
      if (term === this.#parts.retries.term) this.fail(`the journal cannot be read: ${errorText(error)}`, error);
    });
  }

  statusChanged(): void {
    this.#options.onStatus?.(this.status());
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  lost(rival: ClaimInLog): void {
    const reason = `ownership lost: ${rival.owner} claimed epoch ${rival.epoch} at offset ${rival.offset}`;
    this.#parts.logger.warn('ownership lost', { rival: rival.owner, epoch: rival.epoch, offset: rival.offset });
    this.#letGo('lost', { state: 'unassigned', reason, rival }, reason);
  }

  vanished(found: string): void {
    this.fail(`acknowledged records vanished: ${found}; the confirmed end is ${this.#position.cursor.offset}`, undefined);
  }

  fail(reason: string, error: unknown): void {
    if (!this.#life.can('fail')) return;
    const { epoch, offset } = this.#position.cursor;
    this.#parts.logger.error('partition failed', { reason, epoch, offset, error: error instanceof Error ? error : undefined });
    this.#letGo('fail', { state: 'failed', reason }, `failed: ${reason}`);
  }

  endIfDrained(): void {
    if (this.#life.state !== 'draining' || !this.#parts.memory.drained()) return;
    this.#letGo('drained', { state: 'released', reason: '', rival: undefined }, 'is shut down');
  }

  /** Lets go at once, as a crash would. */
  close(why = 'is shut down'): void {
    if (!this.#life.can('close')) return;
    this.#letGo('close', { state: 'released', reason: this.#reason, rival: this.#rival }, why);
  }

  #letGo<Event extends 'lost' | 'fail' | 'drained' | 'close'>(event: Event, next: Next<Event>, why: string): void {
    const { now } = this.#life;
    this.#life.enter(event, next);
    this.#parts.retries.endTerm();
    this.#parts.trouble.stopResting();
    this.#progress.end();
    this.#proofs.stop();
    this.#attachment?.detach();
    this.#attachment = undefined;
    this.#parts.memory.drop(`${this.name()} ${why}`);
    this.statusChanged();
    if (now.state === 'draining') now.onReleased();
  }

  /** What is wrong with the log, or with the database that a takeover waits for, as far as they have said; '' otherwise. */
  get #whyLogWaits(): string {
    const { log, partition } = this.#options;
    const { state } = this.#life;
    const isTakingOver = state === 'restoring' || state === 'replaying' || state === 'claiming';
    if (isTakingOver && this.#restoration.reason !== '') return this.#restoration.reason;
    return this.#parts.trouble.reason === '' ? (log.trouble?.(partition) ?? '') : this.#parts.trouble.reason;
  }

  get #inBrackets(): string {
    return this.#whyLogWaits === '' ? '' : ` (${this.#whyLogWaits})`;
  }

  get #reason(): string {
    const { now } = this.#life;
    return 'reason' in now ? now.reason : '';
  }

  get #rival(): ClaimInLog | undefined {
    const { now } = this.#life;
    return 'rival' in now ? now.rival : undefined;
  }
}
