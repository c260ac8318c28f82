/**
 * The owner of one partition's journal: takes it over, appends what was decided, and judges what became of it (docs/protocol.md). What is
 * decided, and what memory it makes, is the business of the memory above (partition-loop.ts).
 *
 * How an append is judged, by the base offset that the log answered:
 *
 *     = expected   committed
 *     > expected   the stretch between is read: only void records → committed; a rival's claim before the batch → ownership lost;
 *                  cannot be told → doubt
 *     < expected   confirmed records are gone: the partition fails, loudly
 *     refused      it is not in the log and never will be: the same records are sent again, in the same epoch, after a while; those of a
 *                  batch that was too large in two halves
 *     unknown      doubt: claim the next epoch, then read what stands before that claim
 *
 * Once our claim is in the log, doubt is settled. What was sent belongs to an older epoch, so a copy that lands behind the claim is void
 * for ever, and what stands before it no longer changes:
 *
 *     only the batch         confirmed                                                          ┐ memory is what the log says, and what
 *     nothing that counts    the records go again, under the new epoch, before all that is open ┘ is still to be appended: it stays
 *     a rival, or records    memory is dropped and folded again from the log
 *     that are not ours
 *
 * So a record is in the log more than once only if the log took one send twice, and even then it counts once: its copies bear the same
 * epoch and sequence, or the epoch of all but one is over.
 */
import { errorText } from '../kernel/error-text.ts';
import { assert } from '../kernel/assert.ts';
import { AppendRefusals } from './append-refusals.ts';
import { claimRecord } from './claim.ts';
import { EndOfLog } from './end-of-log.ts';
import { JournalFold } from './journal-fold.ts';
import { JournalNotices } from './journal-notices.ts';
import { JournalTail } from './journal-tail.ts';
import { OwnerPosition } from './owner-position.ts';
import { PartitionLife } from './partition-machine.ts';
import { Patience } from './patience.ts';
import { ReadBarrier } from './read-barrier.ts';
import { ReplayProgress, type Replayed } from './replay-progress.ts';
import { ReplayTurns } from './replay-turns.ts';
import type { Logger } from '../observability/logger.ts';
import type { Claim, ClaimCodec } from './claim.ts';
import type { LogPosition } from './effective.ts';
import type { EndAsker } from './end-of-log.ts';
import type { FoldTrouble } from './journal-fold.ts';
import type { AppendOutcome, BatchSource, Log, LogAttachment, LogError, LogRecord, PartitionId, SealedBatch, StoredRecord } from './log.ts';
import type { ClaimInLog } from './log-stretch.ts';
import type { PartitionState } from './partition-machine.ts';
import type { Clock, Random } from './ports.ts';

/** What stands on the journal: state, and what is decided and not committed. Called for one partition, never while it is calling. */
export interface OwnedMemory {
  /** New and empty; then comes every record that counts, in order. */
  create(): void;
  /** Throws what cannot be applied. */
  fold(record: StoredRecord): void;
  /** Complete, and ours: it may act. */
  activated(epoch: number): void;
  /** With all that was not committed, and all who wait for it. */
  drop(message: string): void;
  /** Decided and not sealed. */
  openRecords(): number;
  /** The oldest of them, stamped from `sequence` on; as many as one append takes. */
  seal(epoch: number, sequence: number): readonly LogRecord[];
  /** The oldest `count` records that were sealed are in the log for good. */
  committed(count: number, baseOffset: number): void;
  /** Lets out what may go, until `stopped` says otherwise. */
  release(stopped: () => boolean): void;
  /** What follows every change: releases, goes on deciding, asks to append, asks for proof. */
  settleTurn(): void;
  /** The mark of a read that waits for proof. */
  waitingMark(): number | undefined;
  /** Nothing waits to be decided, committed or let out. */
  drained(): boolean;
}

export type OwnerLimits = {
  /** An idle owner looks at the log's end this often (T10). */
  readonly watchIntervalMs: number;
  readonly retryDelayMs: number;
  readonly retryDelayMsMax: number;
};

export type PartitionOwnerOptions = {
  readonly partition: PartitionId;
  readonly log: Log;
  readonly claims: ClaimCodec;
  /** Who we are, for people: host, port, process. */
  readonly owner: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The highest position of this journal that is known elsewhere (a checkpoint, a projection): the log must still hold it (T5). */
  readonly witness?: () => LogPosition | undefined;
  readonly onStatus?: (status: PartitionStatus) => void;
  readonly limits: OwnerLimits;
  /** Shared by all partitions of a process. */
  readonly turns?: ReplayTurns;
};

export type PartitionStatus = {
  readonly partition: PartitionId;
  readonly state: PartitionState;
  /** Of the last claim that counts, as far as this owner has read. */
  readonly epoch: number;
  readonly sequence: number;
  /** Everything below is confirmed. */
  readonly offset: number;
  /** Why it is unassigned, failed or not active yet, as far as that is known; '' otherwise. */
  readonly reason: string;
  /** Who took the partition from us. */
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

/** An append that was sealed and is not judged yet. */
type Sent = {
  readonly generation: number;
  readonly records: readonly LogRecord[];
  /** Its number as a proof for reads. */
  readonly asked: number;
};

type Refused = AppendOutcome & { readonly kind: 'refused' };
type Settled = Exclude<AppendOutcome, Refused>;

type OwnClaim = { readonly epoch: number; readonly claim: Claim };

/** From the end of a replay, or the beginning of doubt, until it serves: known of our claims in that time. */
type Claiming = {
  /** In doubt: what was sent and not judged; memory rests on it. Undefined: nothing of this memory was sent. */
  readonly doubted: readonly LogRecord[] | undefined;
  /** The claim to append, or whose fate is open. */
  claim: OwnClaim | undefined;
  /** Claims whose fate remained open. */
  unanswered: number;
  /** A late copy of an earlier claim is void, whoever wrote it. */
  readonly ownNonces: Set<string>;
  /** The claim is in the log: what stands before it is being judged. */
  landed: boolean;
};

/** A log that refuses for longer than this does not hold up a shutdown. */
const DRAIN_REFUSED_MS_MAX = 3_000;

export class PartitionOwner implements BatchSource {
  readonly #options: PartitionOwnerOptions;
  readonly #limits: OwnerLimits;
  readonly #logger: Logger;
  readonly #memory: OwnedMemory;
  readonly #life = new PartitionLife();
  readonly #patience: Patience;
  readonly #position = new OwnerPosition();
  readonly #progress: ReplayProgress;
  readonly #notices: JournalNotices;
  readonly #journal: JournalFold;
  readonly #refusals: AppendRefusals;
  readonly #tail: JournalTail;
  readonly #end: EndOfLog;
  readonly barrier: ReadBarrier;
  readonly stopped = (): boolean => !this.#serving;

  #generation = 0;
  #attachment: LogAttachment | undefined;
  /** Commands are decided. Off in doubt, when they wait in the mailbox. */
  #serving = false;
  #sent: Sent | undefined;
  #claiming: Claiming | undefined;
  /** Batches sealed before, and not in the log for certain: they go before everything that is open, the first one first. */
  readonly #again: (readonly LogRecord[])[] = [];
  #refolds = 0;
  /** It has served, in this process. */
  #served = false;
  /** An end that lies behind an append under way: judged after it. */
  #endPending: { readonly asked: number; readonly end: number } | undefined;
  /** This memory was told that it owns. */
  #activated = false;
  #reason = '';
  #trouble = '';
  #rival: ClaimInLog | undefined;
  #onReleased: (() => void)[] = [];

  constructor(options: PartitionOwnerOptions, memory: OwnedMemory) {
    this.#options = options;
    this.#limits = options.limits;
    this.#logger = options.logger;
    this.#memory = memory;
    const { retryDelayMs, retryDelayMsMax } = this.#limits;
    const { clock, random, logger } = options;
    const mayPass = (error: LogError): boolean => this.#mayPass(error);
    this.#patience = new Patience({ clock, random, logger, retryDelayMs, retryDelayMsMax, mayPass });
    this.barrier = new ReadBarrier(options.log.exclusive);
    this.#progress = new ReplayProgress(clock, logger, () => this.#statusChanged());
    this.#notices = new JournalNotices(clock, logger);
    this.#refusals = new AppendRefusals(clock, this.#patience, () => this.append());
    const { partition, log, claims } = options;
    const journal = { partition, log, claims, position: this.#position, notices: this.#notices, patience: this.#patience };
    this.#tail = new JournalTail({ ...journal, logger, retryDelayMs, mayPass });
    const { watchIntervalMs } = this.#limits;
    const { barrier } = this;
    this.#end = new EndOfLog({
      partition,
      log,
      barrier,
      patience: this.#patience,
      asker: this.#endAsker(),
      watchIntervalMs,
      retryDelayMs,
      mayPass,
    });
    this.#journal = new JournalFold({
      ...journal,
      progress: this.#progress,
      turns: options.turns ?? new ReplayTurns(clock),
      apply: (record) => memory.fold(record),
    });
  }

  // ── For the memory above ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes the partition over: the same path after a crash, a restart and a move. */
  start(): void {
    assert(this.#life.send('assign'), `a partition that is ${this.#life.state} is not assigned`);
    this.#reason = '';
    this.#rival = undefined;
    this.#attachment = this.#options.log.attach(this.#options.partition, this);
    this.#background(this.#takeOver());
  }

  /** Commands are decided. */
  get serving(): boolean {
    return this.#serving;
  }

  /** Commands are taken in. In doubt they wait in the mailbox: it is settled in two round trips. */
  get accepting(): boolean {
    return this.#life.state === 'active' || (this.#life.state === 'claiming' && this.#claiming?.doubted !== undefined);
  }

  /** What is wrong with the log, as far as it has said; '' otherwise. */
  get trouble(): string {
    return this.#trouble;
  }

  /** Asks to append, if there is anything. */
  append(): void {
    if (this.#refusals.resting) return;
    if (this.#claim !== undefined || this.#again.length > 0 || this.#memory.openRecords() > 0) this.#attachment?.ready();
  }

  /** The time by which commands are decided: never before the last record. */
  nowMs(): number {
    return this.#position.nowMs(this.#options.clock);
  }

  /** A record of that time was decided. */
  wrote(timeMs: number): void {
    this.#position.wrote(timeMs);
  }

  status(): PartitionStatus {
    const { epoch, sequence, offset } = this.#cursor;
    return {
      partition: this.#options.partition,
      state: this.#life.state,
      epoch,
      sequence,
      offset,
      // What keeps it from being active may be the log.
      reason: this.#reason === '' && this.#life.state !== 'active' ? this.#trouble : this.#reason,
      rival: this.#rival,
      refolds: this.#refolds,
      replayed: this.#progress.replayed,
      foreignRecords: this.#notices.foreignRecords,
      strandedRecords: this.#notices.strandedRecords,
    };
  }

  /** Commits what was decided, then lets go. New commands are refused at once. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#life.send('drain')) this.#life.send('close');
      if (this.#life.state !== 'draining') {
        this.#tearDown('is shut down');
        return resolve();
      }
      this.#onReleased.push(resolve);
      this.#statusChanged();
      this.endIfDrained();
    });
  }

  /** Lets go at once, as a crash would. */
  close(): void {
    if (this.#life.send('close')) this.#tearDown('is shut down');
  }

  /** Why commands are not taken in. */
  unavailable(): string {
    return this.#reason === '' ? `${this.name()} is ${this.#life.state}` : `${this.name()}: ${this.#reason}`;
  }

  name(): string {
    return `${this.#options.partition.topic}/${this.#options.partition.partition}`;
  }

  // ── Appends ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  seal(): SealedBatch | undefined {
    if (this.#sent !== undefined || this.#judging || this.#refusals.resting) return undefined;
    const records = this.#claim === undefined ? this.#nextBatch() : [this.#claimRecord(this.#claim)];
    if (records === undefined) return undefined;
    this.#generation += 1;
    this.#sent = { generation: this.#generation, records, asked: this.barrier.ask() };
    return { generation: this.#generation, records };
  }

  #claimRecord({ claim, epoch }: OwnClaim): LogRecord {
    return claimRecord(this.#options.claims, claim, epoch, this.nowMs());
  }

  #nextBatch(): readonly LogRecord[] | undefined {
    if (!this.#serving) return undefined;
    const { epoch, sequence } = this.#cursor;
    const again = this.#again.shift();
    // In the same epoch the stamps come out as they were: (epoch, sequence) names one content for ever (T2).
    if (again !== undefined) return again.map((record, index) => ({ ...record, epoch, sequence: sequence + 1 + index }));
    return this.#memory.openRecords() === 0 ? undefined : this.#memory.seal(epoch, sequence + 1);
  }

  settle(outcome: AppendOutcome): void {
    const sent = this.#sent;
    const claiming = this.#claiming;
    // The outcome of an append that was given up: what became of it, the log has told or will tell.
    if (sent === undefined || this.#judging || outcome.generation !== sent.generation) return;
    try {
      if (outcome.kind === 'refused') this.#refused(sent, outcome);
      else if (claiming?.claim !== undefined) this.#claimSettled(claiming, claiming.claim, sent, outcome);
      else this.#batchSettled(sent, outcome);
    } catch (error) {
      this.fail(`an append could not be settled: ${errorText(error)}`, error);
    }
  }

  #batchSettled(sent: Sent, outcome: Settled): void {
    if (outcome.kind !== 'appended') return this.#doubt(`an append's outcome is unknown: ${outcome.reason}`);
    const expected = this.#cursor.offset;
    if (outcome.baseOffset < expected) return this.#vanished(`an append landed at ${outcome.baseOffset}`);
    if (outcome.baseOffset > expected || this.#tail.suspect) {
      this.#background(this.#judge(outcome.baseOffset + sent.records.length, sent));
      return;
    }
    this.#confirm(sent, expected);
    this.#appendOver();
  }

  /** All records of the batch count, the first at `baseOffset`. */
  #confirm(sent: Pick<Sent, 'records' | 'asked'>, baseOffset: number): void {
    this.#trouble = '';
    this.#memory.committed(sent.records.length, baseOffset);
    this.#position.confirm(sent.records.length, baseOffset);
    this.barrier.prove(sent.asked);
    this.#accepted();
  }

  /** Nothing under way, nothing in doubt: what came in between is looked at, and things go on. */
  #appendOver(): void {
    this.#sent = undefined;
    if (this.#tail.suspect) this.reconnected();
    const pending = this.#endPending;
    this.#endPending = undefined;
    if (pending !== undefined) this.#endKnown(pending.asked, pending.end);
    this.#memory.settleTurn();
  }

  // ── Refusals ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Nothing of it is in the log or will be, so nothing is in doubt: the same claim, or the same records, once more. What is wrong (too few
   * replicas in sync, a setting, rights) others mend, and until then memory, answers and order stay as they are.
   */
  #refused(sent: Sent, { reason, denied, tooLarge }: Refused): void {
    this.#trouble = reason;
    this.#refusals.add();
    if (denied === true && !this.#served) return this.fail(`the log cannot be written: ${reason}`, undefined);
    // The log itself tells people about its outages, for all partitions together.
    this.#logger.debug('the log refuses an append, it is tried again', { reason, attempts: this.#refusals.count });
    if (this.#life.state === 'draining' && this.#refusals.lastingMs >= DRAIN_REFUSED_MS_MAX) {
      this.#life.send('close');
      return this.#tearDown('was shut down while the log refused its appends');
    }
    if (this.#claim === undefined && tooLarge === true && sent.records.length > 1) {
      this.#again.unshift(...halves(sent.records));
    } else {
      if (this.#claim === undefined) this.#again.unshift(sent.records);
      this.#refusals.rest();
    }
    this.#appendOver();
  }

  #accepted(): void {
    if (this.#refusals.count === 0) return;
    this.#logger.debug('the log takes appends again', { attempts: this.#refusals.count });
    this.#refusals.end();
  }

  // ── Judging ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Others have appended below `until`: void records at best, a successor at worst. `sent` is our batch that should be among them;
   * undefined when only the end of the log was looked at, with the number of that proof.
   */
  async #judge(until: number, sent: Sent | undefined, endAsked = 0): Promise<void> {
    const stretch = await this.#tail.read(until, sent?.records ?? []);
    if (stretch === 'givenUp') return;
    if (stretch === 'unreadable') return this.#doubt('the records before an append cannot be read');
    if (!stretch.intact) return this.#vanished('the last confirmed record was replaced');
    if (sent !== undefined && stretch.found !== undefined) this.#confirm(sent, stretch.found);
    if (stretch.rival !== undefined) {
      // Before the batch, or between its copies: what is confirmed was released in order, the rest is void.
      this.#memory.release(this.stopped);
      return this.#lost(stretch.rival);
    }
    if (stretch.foreign || (sent !== undefined && stretch.found === undefined)) {
      return this.#doubt('the log holds records of this epoch that do not follow each other');
    }
    this.#position.pass(stretch.cursor.offset);
    if (sent === undefined) this.barrier.prove(endAsked);
    this.#appendOver();
  }

  /**
   * The connection to the partition's leader was lost, or the leader changed: what was confirmed must be found unchanged before anything
   * more is (T6). An append that is under way is judged by reading, whatever it returns.
   */
  reconnected(): void {
    if (!this.#serving) return;
    this.#tail.suspectIt();
    if (this.#sent === undefined && !this.#judging) this.#background(this.#judge(this.#cursor.offset, undefined));
  }

  // ── Reads (T7) and the idle watch (T10) ────────────────────────────────────────────────────────────────────────────────────

  /** Asks for the log's end when a read waits that nothing under way will prove. */
  proveReads(): void {
    if (this.#end.asking || this.#endPending !== undefined || this.#judging) return;
    const mark = this.#memory.waitingMark();
    if (mark === undefined) return;
    // An append that is about to go is proof enough; one that rests after a refusal may rest for long.
    if (!this.#refusals.resting && (this.#again.length > 0 || this.#memory.openRecords() > 0)) return;
    if (this.#sent !== undefined && this.#sent.asked > mark) return;
    this.#end.ask();
  }

  #endAsker(): EndAsker {
    return {
      serving: () => this.#serving,
      idle: () => this.#serving && this.#sent === undefined && !this.#judging,
      cursor: () => this.#cursor,
      found: (asked, end, expected) => this.#endFound(asked, end, expected),
      notFound: () => this.proveReads(),
      fail: (reason, error) => this.fail(reason, error),
    };
  }

  #endFound(asked: number, end: number, expected: LogPosition): void {
    try {
      // Asked before a doubt: it proves nothing about the memory that is served now.
      if (expected.epoch !== this.#cursor.epoch) return this.proveReads();
      if (end < expected.offset) return this.#doubt(`the log ends at ${end}, but ${expected.offset} was confirmed`);
      this.#endKnown(asked, end);
      this.#memory.settleTurn();
    } catch (error) {
      this.fail(`a read could not be answered: ${errorText(error)}`, error);
    }
  }

  #endKnown(asked: number, end: number): void {
    if (end <= this.#cursor.offset && !this.#tail.suspect) return this.barrier.prove(asked);
    if (this.#sent !== undefined || this.#judging) this.#endPending = { asked, end };
    else this.#background(this.#judge(end, undefined, asked));
  }

  // ── Doubt ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What was sent may be in the log, or may land later. Only a new epoch settles it: then nothing of the old one can count any more. */
  #doubt(reason: string): void {
    this.#trouble = reason;
    this.#logger.warn('append in doubt', { reason, epoch: this.#cursor.epoch, offset: this.#cursor.offset });
    if (!this.#life.send('doubt')) {
      // Draining: whoever takes over reads what is there.
      this.#life.send('close');
      return this.#tearDown('was shut down while an append was in doubt');
    }
    const doubted = this.#sent?.records ?? [];
    this.#sent = undefined;
    this.#refusals.stopResting();
    this.#stopJudging();
    this.#serving = false;
    this.#claiming = claimingWith(doubted);
    this.#statusChanged();
    this.#wantClaim(this.#claiming, this.#cursor.epoch + 1);
  }

  #wantClaim(claiming: Claiming, epoch: number): void {
    const ownerNonce = this.#options.random.nonce();
    claiming.ownNonces.add(ownerNonce);
    claiming.claim = { epoch, claim: { ownerNonce, owner: this.#options.owner } };
    this.append();
  }

  #claimSettled(claiming: Claiming, claim: OwnClaim, sent: Sent, outcome: Settled): void {
    if (outcome.kind !== 'appended') {
      this.#logger.warn('a claim was not answered', { reason: outcome.reason, epoch: claim.epoch });
      this.#sent = undefined;
      claiming.claim = undefined;
      this.#background(this.#claimAgain(claiming, claim.epoch + 1));
      return;
    }
    if (outcome.baseOffset < this.#cursor.offset) return this.#vanished(`a claim landed at ${outcome.baseOffset}`);
    this.#background(this.#claimLanded(claiming, claim, sent, outcome.baseOffset));
  }

  /** A claim whose fate is unknown is followed by a higher one; unless a rival is at work, who must not be fenced in turn. */
  async #claimAgain(claiming: Claiming, epoch: number): Promise<void> {
    const turn = this.#turn;
    claiming.unanswered += 1;
    await this.#patience.backOff(claiming.unanswered);
    if (turn !== this.#turn) return;
    const stretch = await this.#patience.persist(async () => {
      const { end } = await this.#options.log.bounds(this.#options.partition);
      if (end < this.#cursor.offset) return 'vanished';
      return this.#tail.stretch(end, [], claiming.ownNonces);
    });
    if (turn !== this.#turn || stretch === undefined) return;
    if (stretch === 'vanished') return this.#vanished('the log is shorter');
    if (!stretch.intact) return this.#vanished('the last confirmed record was replaced');
    if (stretch.rival !== undefined) return this.#lost(stretch.rival);
    this.#wantClaim(claiming, epoch);
  }

  /** Our claim is in the log: what stands before it is final. */
  async #claimLanded(claiming: Claiming, claim: OwnClaim, sent: Sent, offset: number): Promise<void> {
    const turn = this.#turn;
    const { doubted } = claiming;
    claiming.landed = true;
    if (doubted === undefined) await this.#fold(offset + 1);
    else await this.#settleDoubt(claiming, doubted, claim, offset);
    if (turn !== this.#turn) return;
    const owner = this.#position.lastClaim;
    assert(owner !== undefined, 'a claim that does not count stands behind one that does');
    if (owner.ownerNonce !== claim.claim.ownerNonce) return this.#lost(owner);
    this.#sent = undefined;
    this.#activate(sent.asked);
  }

  /** Nothing counts but what was sent: memory stays. Otherwise it is dropped and folded again. */
  async #settleDoubt({ ownNonces }: Claiming, doubted: readonly LogRecord[], claim: OwnClaim, offset: number): Promise<void> {
    const turn = this.#turn;
    const stretch = await this.#patience.persist(() => this.#tail.stretch(offset + 1, doubted, ownNonces));
    if (turn !== this.#turn || stretch === undefined) return;
    if (!stretch.intact) return this.#vanished('the last confirmed record was replaced');
    assert(stretch.owner !== undefined, 'our claim, or the one that beat it, stands in the stretch');
    if (stretch.found !== undefined) {
      this.#confirm({ records: doubted, asked: 0 }, stretch.found);
      this.#memory.release(() => turn !== this.#turn);
      if (turn !== this.#turn) return;
    }
    if (stretch.owner.ownerNonce !== claim.claim.ownerNonce) return this.#lost(stretch.owner);
    if (stretch.foreign || stretch.rival !== undefined) return this.#refold(offset + 1);
    if (stretch.found === undefined && doubted.length > 0) this.#again.unshift(doubted);
    this.#position.renew(stretch, stretch.owner);
    this.#logger.info('doubt settled, memory stays', { epoch: claim.epoch, appendedAgain: this.#again.flat().length });
  }

  async #refold(until: number): Promise<void> {
    this.#logger.warn('doubt settled, memory is folded again', { until });
    assert(this.#life.send('refold'), 'memory is dropped in doubt only');
    this.#refolds += 1;
    this.#dropMemory(`${this.name()} lost an append and reads its journal again`);
    await this.#replay(until);
  }

  // ── Taking over ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #takeOver(): Promise<void> {
    const turn = this.#turn;
    this.#statusChanged();
    await this.#replay(undefined);
    if (turn !== this.#turn) return;
    this.#claiming = claimingWith(undefined);
    this.#wantClaim(this.#claiming, this.#cursor.epoch + 1);
  }

  /** restoring → replaying → claiming: new memory, filled from the journal below `until`, or as far as it goes. */
  async #replay(until: number | undefined): Promise<void> {
    const turn = this.#turn;
    const opened = await this.#journal.open(this.#options.witness?.());
    if (turn !== this.#turn || opened === undefined) return;
    if (opened.kind !== 'open') return this.#notFolded(opened);
    this.#memory.create();
    assert(this.#life.send('restored'), 'restoring ends in replaying');
    this.#statusChanged();
    await this.#fold(until ?? opened.end);
    if (turn !== this.#turn) return;
    const trouble = this.#journal.complete();
    if (trouble !== undefined) return this.#notFolded(trouble);
    assert(this.#life.send('replayed'), 'replaying ends in claiming');
    this.#statusChanged();
  }

  async #fold(until: number): Promise<void> {
    const turn = this.#turn;
    const trouble = await this.#journal.to(until);
    if (turn === this.#turn && trouble !== undefined) this.#notFolded(trouble);
  }

  #notFolded(trouble: FoldTrouble): void {
    if (trouble.kind === 'vanished') this.#vanished(trouble.found);
    else this.fail(trouble.reason, trouble.error);
  }

  #activate(asked: number): void {
    this.#trouble = '';
    const { epoch } = this.#cursor;
    assert(this.#life.send('claimed'), 'a claim is followed by service');
    this.#claiming = undefined;
    this.#tail.trust();
    this.#serving = true;
    this.#served = true;
    this.#accepted();
    this.barrier.prove(asked);
    this.#statusChanged();
    if (!this.#activated) {
      this.#logger.debug('ownership taken', { epoch, offset: this.#cursor.offset });
      this.#activated = true;
      this.#memory.activated(epoch);
    }
    this.#end.watch();
    this.#memory.settleTurn();
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A rival's claim counts: nothing of ours will. */
  #lost(rival: ClaimInLog): void {
    this.#rival = rival;
    this.#reason = `ownership lost: ${rival.owner} claimed epoch ${rival.epoch} at offset ${rival.offset}`;
    assert(this.#life.send('lost'), 'only an owner loses ownership');
    this.#logger.warn('ownership lost', { rival: rival.owner, epoch: rival.epoch, offset: rival.offset });
    this.#tearDown(this.#reason);
  }

  /** Acknowledged records are gone, or were written over: the log broke its promise, and no answer may rest on it (I18). */
  #vanished(found: string): void {
    this.fail(`acknowledged records vanished: ${found}; the confirmed end is ${this.#cursor.offset}`, undefined);
  }

  fail(reason: string, error: unknown): void {
    if (!this.#life.send('fail')) return;
    this.#reason = reason;
    const { epoch, offset } = this.#cursor;
    this.#logger.error('partition failed', { reason, epoch, offset, error: error instanceof Error ? error : undefined });
    this.#tearDown(`failed: ${reason}`);
  }

  endIfDrained(): void {
    if (this.#life.state !== 'draining' || !this.#memory.drained()) return;
    assert(this.#life.send('drained'), 'draining ends in released');
    this.#tearDown('is shut down');
  }

  #tearDown(why: string): void {
    this.#patience.endTurn();
    this.#serving = false;
    this.#sent = undefined;
    this.#claiming = undefined;
    this.#refusals.stopResting();
    this.#stopJudging();
    this.#progress.end();
    this.#end.stop();
    this.#attachment?.detach();
    this.#attachment = undefined;
    this.#dropMemory(`${this.name()} ${why}`);
    this.#statusChanged();
    const released = this.#onReleased;
    this.#onReleased = [];
    for (const resolve of released) resolve();
  }

  #dropMemory(message: string): void {
    this.#activated = false;
    this.#again.length = 0;
    this.#memory.drop(message);
  }

  #stopJudging(): void {
    this.#tail.giveUp();
    this.#endPending = undefined;
  }
  // ── Helpers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Who has served had the rights, and somebody may be mending them; at a first start nobody knows that they are missing. */
  #mayPass(error: LogError): boolean {
    return error.recoverable || (error.code === 'denied' && this.#served);
  }

  /** What stands in the log is being looked at: nothing is sealed, and no outcome counts. */
  get #judging(): boolean {
    return this.#tail.reading || this.#claiming?.landed === true;
  }

  get #claim(): OwnClaim | undefined {
    return this.#claiming?.claim;
  }

  get #cursor(): LogPosition {
    return this.#position.cursor;
  }

  /** Continuations of an earlier turn of ownership find it changed and end. */
  get #turn(): number {
    return this.#patience.turn;
  }

  #statusChanged(): void {
    this.#options.onStatus?.(this.status());
  }

  #background(work: Promise<void>): void {
    const turn = this.#turn;
    work.catch((error: unknown) => {
      if (turn === this.#turn) this.fail(`the journal cannot be read: ${errorText(error)}`, error);
    });
  }
}

function claimingWith(doubted: readonly LogRecord[] | undefined): Claiming {
  return { doubted, claim: undefined, unanswered: 0, ownNonces: new Set(), landed: false };
}

function halves(records: readonly LogRecord[]): readonly (readonly LogRecord[])[] {
  const middle = Math.ceil(records.length / 2);
  return [records.slice(0, middle), records.slice(middle)];
}
