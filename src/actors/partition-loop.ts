/**
 * The owner of one partition: decides commands one after another, appends what they wrote in batches, and lets nothing out before the
 * records that it rests on are committed (design.md 4, rules R1–R9 and T1–T11).
 *
 *     submit ─▶ mailbox ─▶ prefetch ─▶ core.handle ─▶ encode ─▶ core.evolve ─▶ open batch     (one synchronous turn)
 *                                          │                                        │
 *                                          └ answers, effects: held ◀──┐            ▼ seal
 *                                                   │                  │         append ─▶ base offset
 *                                                   ▼                  │            │ settle
 *                                        host.answer, host.act ◀── released ◀── judged
 *
 * How an append is judged, by the base offset that the log answered:
 *
 *     = expected   committed
 *     > expected   the stretch between is read: only void records → committed; a rival's claim before the batch → ownership lost;
 *                  cannot be told → doubt
 *     < expected   confirmed records are gone: the partition fails, loudly
 *     unknown      doubt: claim the next epoch, read what stands before that claim, then decide: all that was sent is there →
 *                  confirmed, memory stays; otherwise memory is dropped and folded again from the log. Nothing is ever sent twice.
 *
 * The per-command path allocates no promise, closure or map, and does not pass through the life-cycle machine.
 */
import { assert, unreachable } from '../kernel/assert.ts';
import { NOBODY } from './asks.ts';
import { claimRecord } from './claim.ts';
import { CommitWindow, RECORD_BYTES_MAX } from './commit-window.ts';
import { Fifo } from './fifo.ts';
import { LogError } from './log.ts';
import { readStretch } from './log-stretch.ts';
import { OwnerPosition } from './owner-position.ts';
import { PartitionLife } from './partition-machine.ts';
import { Patience } from './patience.ts';
import { Parking } from './prefetch.ts';
import { ReadBarrier } from './read-barrier.ts';
import type { Handled } from '../kernel/handled.ts';
import type { Logger } from '../observability/logger.ts';
import type { AskFailure, AskSink } from './asks.ts';
import type { Claim, ClaimCodec } from './claim.ts';
import type { LogPosition } from './effective.ts';
import type { AppendOutcome, BatchSource, Log, LogAttachment, LogRecord, PartitionId, SealedBatch, StoredRecord } from './log.ts';
import type { ClaimInLog, Stretch } from './log-stretch.ts';
import type { PartitionCore, PartitionHost, RecordCodec } from './partition-core.ts';
import type { PartitionState } from './partition-machine.ts';
import type { Clock, Random } from './ports.ts';
import type { CommandMail, Mail, Prefetch } from './prefetch.ts';

/** The shell around a core, as the loop drives it. */
export interface PartitionShell<Reply, Record, Effect> extends PartitionHost<Reply, Record, Effect> {
  /** Memory is complete and the partition is ours: offer what is pending, arm timers. */
  activated(epoch: number): void;
  /** This memory is dropped (ownership lost, doubt, shutdown): stop its timers. Nothing else is called afterwards. */
  deactivated(): void;
}

/** One memory of a partition: made anew at each takeover. */
export type PartitionMemory<Command, Reply, Record, Effect> = {
  readonly core: PartitionCore<Command, Reply, Record, Effect>;
  readonly host: PartitionShell<Reply, Record, Effect>;
};

export type PartitionLoopOptions<Command, Reply, Record, Effect> = {
  readonly partition: PartitionId;
  readonly log: Log;
  readonly codec: RecordCodec<Record>;
  readonly claims: ClaimCodec;
  /** Who we are, for people: host, port, process. */
  readonly owner: string;
  readonly create: () => PartitionMemory<Command, Reply, Record, Effect>;
  readonly asks: AskSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly prefetch?: Prefetch<Command>;
  /** The highest position of this journal that is known elsewhere (a checkpoint, a projection): the log must still hold it (T5). */
  readonly witness?: () => LogPosition | undefined;
  readonly onStatus?: (status: PartitionStatus) => void;
  readonly limits?: Partial<PartitionLimits>;
};

export type PartitionLimits = {
  /** Commands that wait to be decided; more are refused as busy. */
  readonly mailboxCommandsMax: number;
  /** Commands decided in one go before I/O gets a turn. */
  readonly turnCommandsMax: number;
  /** Decided but not sent; past it commands stay in the mailbox. */
  readonly openBytesMax: number;
  readonly openRecordsMax: number;
  /** Answers that wait for commits or proof; past it likewise. */
  readonly heldMax: number;
  /** An idle owner looks at the log's end this often (T10). */
  readonly watchIntervalMs: number;
  readonly retryDelayMs: number;
  readonly retryDelayMsMax: number;
};

export const defaultPartitionLimits: PartitionLimits = {
  mailboxCommandsMax: 10_000,
  turnCommandsMax: 256,
  openBytesMax: 24 * 1024 * 1024,
  openRecordsMax: 20_000,
  heldMax: 50_000,
  watchIntervalMs: 1_000,
  retryDelayMs: 50,
  retryDelayMsMax: 2_000,
};

export type PartitionStatus = {
  readonly partition: PartitionId;
  readonly state: PartitionState;
  /** Of the last claim that counts, as far as this owner has read. */
  readonly epoch: number;
  readonly sequence: number;
  /** Everything below is confirmed. */
  readonly offset: number;
  /** Why it is unassigned or failed; '' otherwise. */
  readonly reason: string;
  /** Who took the partition from us. */
  readonly rival: ClaimInLog | undefined;
};

/** An append that was sealed and is not judged yet. */
type Sent = {
  readonly generation: number;
  readonly records: readonly LogRecord[];
  /** Its number as a proof for reads. */
  readonly asked: number;
};

type OwnClaim = { readonly epoch: number; readonly claim: Claim };

const READ_BYTES = 1024 * 1024;

export class PartitionLoop<Command, Reply, Record, Effect> implements BatchSource {
  readonly #options: PartitionLoopOptions<Command, Reply, Record, Effect>;
  readonly #limits: PartitionLimits;
  readonly #logger: Logger;
  readonly #life = new PartitionLife();
  readonly #mailbox = new Fifo<Mail<Command>>();
  readonly #parking: Parking<Command>;
  /** Their state was loaded while nothing could be decided: before the mailbox, so that order per key is kept. */
  #unparked: CommandMail<Command>[] = [];
  readonly #patience: Patience;
  readonly #position = new OwnerPosition();
  readonly #runMailbox = (): void => this.#run();
  readonly #wasStopped = (): boolean => !this.#serving;

  #generation = 0;
  #attachment: LogAttachment | undefined;
  #memory: PartitionMemory<Command, Reply, Record, Effect> | undefined;
  readonly #barrier: ReadBarrier;
  #window: CommitWindow<Reply, Record, Effect>;
  /** Commands are decided. Off in doubt, when they wait in the mailbox. */
  #serving = false;
  #runScheduled = false;
  #sent: Sent | undefined;
  /** The claim to append, or whose fate is open. */
  #claim: OwnClaim | undefined;
  #claimAttempts = 0;
  readonly #ownNonces = new Set<string>();
  /** In doubt: what was sent and not judged; memory rests on it. */
  #doubted: readonly LogRecord[] | undefined;
  /** A stretch is being read back: nothing is sealed meanwhile. */
  #judging = false;
  #judgement = 0;
  /** The leader changed since the tail was looked at. */
  #tailSuspect = false;
  /** The number of the `log.end()` under way; 0 = none. */
  #endAsked = 0;
  /** An end that lies behind an append under way: judged after it. */
  #endPending: { readonly asked: number; readonly end: number } | undefined;
  /** The host of this memory was told that it owns. */
  #activated = false;
  #watching = false;
  #reason = '';
  #rival: ClaimInLog | undefined;
  #onReleased: (() => void)[] = [];

  constructor(options: PartitionLoopOptions<Command, Reply, Record, Effect>) {
    this.#options = options;
    this.#limits = { ...defaultPartitionLimits, ...options.limits };
    this.#logger = options.logger.with({ topic: options.partition.topic, partition: options.partition.partition });
    const { retryDelayMs, retryDelayMsMax } = this.#limits;
    const { clock, random } = options;
    this.#patience = new Patience({ clock, random, logger: this.#logger, retryDelayMs, retryDelayMsMax });
    this.#parking = new Parking(options.prefetch);
    this.#barrier = new ReadBarrier(options.log.exclusive);
    this.#window = new CommitWindow(this.#barrier);
  }

  // ── For the router and the composition root ────────────────────────────────────────────────────────────────────────────────

  /** Takes the partition over: the same path after a crash, a restart and a move. */
  start(): void {
    assert(this.#life.send('assign'), `a partition that is ${this.#life.state} is not assigned`);
    this.#reason = '';
    this.#rival = undefined;
    this.#attachment = this.#options.log.attach(this.#options.partition, this);
    this.#background(this.#takeOver());
  }

  /** Undefined: accepted, the answer comes through the host. `NOBODY` asks when the command is the actor's own. */
  submit(askId: number, command: Command): AskFailure | undefined {
    if (!this.#accepting) return { kind: 'unavailable', message: this.#unavailable() };
    if (this.#waiting >= this.#limits.mailboxCommandsMax) {
      return { kind: 'busy', message: `${this.#name()} has ${this.#limits.mailboxCommandsMax} commands waiting` };
    }
    this.#mailbox.push({ kind: 'command', askId, command });
    this.#wake();
    return undefined;
  }

  /** The caller no longer waits. Keeps its place behind the command. */
  cancel(askId: number): void {
    if (!this.#accepting) return;
    this.#mailbox.push({ kind: 'cancel', askId });
    this.#wake();
  }

  /** The time by which commands are decided; timers of this partition go by it. */
  nowMs(): number {
    return this.#nowMs();
  }

  status(): PartitionStatus {
    const { epoch, sequence, offset } = this.#cursor;
    return {
      partition: this.#options.partition,
      state: this.#life.state,
      epoch,
      sequence,
      offset,
      reason: this.#reason,
      rival: this.#rival,
    };
  }

  /** Decides what was accepted, commits it, lets the answers out, then lets go. New commands are refused at once. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#life.send('drain')) this.#life.send('close');
      if (this.#life.state !== 'draining') {
        this.#tearDown('is shut down');
        return resolve();
      }
      this.#onReleased.push(resolve);
      this.#statusChanged();
      this.#endIfDrained();
    });
  }

  /** Lets go at once, as a crash would. */
  close(): void {
    if (this.#life.send('close')) this.#tearDown('is shut down');
  }

  // ── Commands ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #wake(): void {
    if (this.#runScheduled || !this.#serving) return;
    this.#runScheduled = true;
    this.#options.clock.soon(this.#runMailbox);
  }

  /** One turn: decides what waits, then lets out what may go and asks for what is missing. */
  #run(): void {
    this.#runScheduled = false;
    if (!this.#serving) return;
    try {
      this.#takeUnparked();
      let decided = 0;
      while (this.#serving && this.#mailbox.length > 0 && !this.#backlogged && decided < this.#limits.turnCommandsMax) {
        this.#take(this.#mailbox.shift());
        decided += 1;
      }
      if (this.#mailbox.length > 0 && !this.#backlogged && !this.#runScheduled) {
        this.#runScheduled = true;
        this.#options.clock.after(0, this.#runMailbox);
      }
      this.#settleTurn();
    } catch (error) {
      this.#fail(`a command could not be handled: ${describe(error)}`, error);
    }
  }

  #take(mail: Mail<Command>): void {
    if (mail.kind === 'cancel') {
      if (!this.#parking.cancel(mail.askId)) this.#apply(mail.askId, this.#core.cancel(mail.askId, this.#nowMs()));
      return;
    }
    if (this.#parking.park(mail, this.#unpark)) return;
    this.#decide(mail);
  }

  /** The state that these commands waited for is in memory. */
  readonly #unpark = (mails: readonly CommandMail<Command>[]): void => {
    this.#unparked.push(...mails);
    if (this.#serving) this.#run();
  };

  /** First of all, and through the prefetch again: what was loaded in doubt may be gone by now. */
  #takeUnparked(): void {
    const mails = this.#unparked;
    this.#unparked = [];
    for (const mail of mails) if (this.#serving) this.#take(mail);
  }

  #decide(mail: CommandMail<Command>): void {
    this.#apply(mail.askId, this.#core.handle(mail.command, this.#nowMs(), mail.askId));
  }

  #apply(askId: number, handled: Handled<Record, Reply, Effect>): void {
    switch (handled.kind) {
      case 'commit':
        return this.#commit(askId, handled.record, handled.reply, handled.effects);
      case 'answer':
        return this.#window.hold(askId, handled.reply, handled.effects);
      case 'wait':
        if (handled.barrier) return this.#window.hold(NOBODY, undefined, handled.effects);
        for (const effect of handled.effects) this.#host.act(effect);
        return;
      default:
        return unreachable(handled);
    }
  }

  #commit(askId: number, record: Record, reply: Reply | undefined, effects: readonly Effect[]): void {
    const encoded = this.#options.codec.encode(record);
    if (encoded.value.byteLength > RECORD_BYTES_MAX) {
      const message = `the record of this command would have ${encoded.value.byteLength} bytes, more than ${RECORD_BYTES_MAX}`;
      this.#logger.warn('command refused: too large', { bytes: encoded.value.byteLength });
      if (askId !== NOBODY) this.#options.asks.fail(askId, { kind: 'tooLarge', message });
      return;
    }
    this.#position.wrote(encoded.timeMs);
    this.#core.evolve(record);
    this.#window.commit(askId, record, encoded, reply, effects);
  }

  #nowMs(): number {
    return this.#position.nowMs(this.#options.clock);
  }

  /** What follows every change: releases, asks to append, asks for proof. */
  #settleTurn(): void {
    if (!this.#serving) return;
    if (this.#window.openRecords > 0) this.#attachment?.ready();
    this.#window.release(this.#host, this.#wasStopped);
    if (!this.#serving) return;
    this.#proveReads();
    if (this.#unparked.length > 0 || (this.#mailbox.length > 0 && !this.#backlogged)) this.#wake();
    this.#endIfDrained();
  }

  // ── Appends ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  seal(): SealedBatch | undefined {
    if (this.#sent !== undefined || this.#judging) return undefined;
    let records: readonly LogRecord[];
    if (this.#claim !== undefined) {
      records = [claimRecord(this.#options.claims, this.#claim.claim, this.#claim.epoch, this.#nowMs())];
    } else {
      if (!this.#serving || this.#window.openRecords === 0) return undefined;
      records = this.#window.seal(this.#cursor.epoch, this.#cursor.sequence + 1);
    }
    this.#generation += 1;
    this.#sent = { generation: this.#generation, records, asked: this.#barrier.ask() };
    return { generation: this.#generation, records };
  }

  settle(outcome: AppendOutcome): void {
    const sent = this.#sent;
    // The outcome of an append that was given up: what became of it, the log has told or will tell.
    if (sent === undefined || this.#judging || outcome.generation !== sent.generation) return;
    try {
      if (this.#claim !== undefined) this.#claimSettled(this.#claim, sent, outcome);
      else this.#batchSettled(sent, outcome);
    } catch (error) {
      this.#fail(`an append could not be settled: ${describe(error)}`, error);
    }
  }

  #batchSettled(sent: Sent, outcome: AppendOutcome): void {
    if (outcome.kind !== 'appended') return this.#doubt(`an append's outcome is ${outcome.kind}: ${outcome.reason}`);
    const expected = this.#cursor.offset;
    if (outcome.baseOffset < expected) return this.#vanished(`an append landed at ${outcome.baseOffset}`);
    if (outcome.baseOffset > expected || this.#tailSuspect) {
      this.#background(this.#judge(outcome.baseOffset + sent.records.length, sent));
      return;
    }
    this.#confirm(sent, expected);
    this.#afterConfirm();
  }

  /** All records of the batch count, the first at `baseOffset`. */
  #confirm(sent: Pick<Sent, 'records' | 'asked'>, baseOffset: number): void {
    this.#window.committed(sent.records.length, baseOffset);
    this.#position.confirm(sent.records.length, baseOffset);
    this.#barrier.prove(sent.asked);
  }

  #afterConfirm(): void {
    this.#sent = undefined;
    if (this.#tailSuspect) this.reconnected();
    const pending = this.#endPending;
    this.#endPending = undefined;
    if (pending !== undefined) this.#endKnown(pending.asked, pending.end);
    this.#settleTurn();
  }

  /**
   * Others have appended below `until`: void records at best, a successor at worst. `sent` is our batch that should be among them;
   * undefined when only the end of the log was looked at, with the number of that proof.
   */
  async #judge(until: number, sent: Sent | undefined, endAsked = 0): Promise<void> {
    this.#judging = true;
    this.#tailSuspect = false;
    this.#judgement += 1;
    const judgement = this.#judgement;
    const stretch = await this.#tryStretch(until, sent?.records ?? []);
    if (judgement !== this.#judgement) return;
    this.#judging = false;
    if (stretch === undefined) return this.#doubt('the records before an append cannot be read');
    if (!stretch.intact) return this.#vanished('the last confirmed record was replaced');
    if (sent !== undefined && stretch.found !== undefined) this.#confirm(sent, stretch.found);
    if (stretch.rival !== undefined) {
      // Before the batch, or between its copies: what is confirmed was released in order, the rest is void.
      this.#window.release(this.#host, this.#wasStopped);
      return this.#lost(stretch.rival);
    }
    if (stretch.foreign || (sent !== undefined && stretch.found === undefined)) {
      return this.#doubt('the log holds records of this epoch that do not follow each other');
    }
    this.#position.pass(stretch.cursor.offset);
    if (sent === undefined) this.#barrier.prove(endAsked);
    this.#afterConfirm();
  }

  /** Undefined when the log cannot be read now. */
  async #tryStretch(until: number, batch: readonly LogRecord[]): Promise<Stretch | undefined> {
    try {
      return await this.#readStretch(until, batch);
    } catch (error) {
      if (error instanceof LogError && (error.recoverable || error.code === 'out-of-range')) {
        this.#logger.warn('the log cannot be read back', { error });
        return undefined;
      }
      throw error;
    }
  }

  #readStretch(until: number, batch: readonly LogRecord[]): Promise<Stretch | undefined> {
    const { log, partition, claims } = this.#options;
    const turn = this.#turn;
    return readStretch({
      log,
      partition,
      claims,
      cursor: this.#position.cursor,
      last: this.#position.last,
      until,
      batch,
      ownNonces: this.#ownNonces,
      pause: async () => {
        await this.#patience.sleep(this.#limits.retryDelayMs);
        return turn === this.#turn;
      },
    });
  }

  /**
   * The connection to the partition's leader was lost, or the leader changed: what was confirmed must be found unchanged before anything
   * more is (T6). An append that is under way is judged by reading, whatever it returns.
   */
  reconnected(): void {
    if (!this.#serving) return;
    this.#tailSuspect = true;
    if (this.#sent === undefined && !this.#judging) this.#background(this.#judge(this.#cursor.offset, undefined));
  }

  // ── Reads (T7) and the idle watch (T10) ────────────────────────────────────────────────────────────────────────────────────

  /** Asks for the log's end when a read waits that nothing under way will prove. */
  #proveReads(): void {
    if (this.#endAsked !== 0 || this.#endPending !== undefined || this.#judging) return;
    const mark = this.#window.waitingMark;
    if (mark === undefined || this.#window.openRecords > 0) return;
    if (this.#sent !== undefined && this.#sent.asked > mark) return;
    this.#askEnd();
  }

  #askEnd(): void {
    const turn = this.#turn;
    const epoch = this.#cursor.epoch;
    const expected = this.#cursor.offset;
    const asked = this.#barrier.ask();
    this.#endAsked = asked;
    this.#options.log.end(this.#options.partition).then(
      (end) => {
        if (turn !== this.#turn) return;
        this.#endAsked = 0;
        if (!this.#serving) return;
        try {
          // Asked before a doubt: it proves nothing about the memory that is served now.
          if (epoch !== this.#cursor.epoch) return this.#proveReads();
          if (end < expected) return this.#doubt(`the log ends at ${end}, but ${expected} was confirmed`);
          this.#endKnown(asked, end);
          this.#settleTurn();
        } catch (error) {
          this.#fail(`a read could not be answered: ${describe(error)}`, error);
        }
      },
      (error: unknown) => {
        if (turn !== this.#turn) return;
        if (error instanceof LogError && !error.recoverable) return this.#fail(`the log cannot be asked: ${describe(error)}`, error);
        this.#patience.after(this.#limits.retryDelayMs, () => {
          this.#endAsked = 0;
          if (this.#serving) this.#proveReads();
        });
      },
    );
  }

  #endKnown(asked: number, end: number): void {
    if (end <= this.#cursor.offset && !this.#tailSuspect) return this.#barrier.prove(asked);
    if (this.#sent !== undefined || this.#judging) this.#endPending = { asked, end };
    else this.#background(this.#judge(end, undefined, asked));
  }

  /** An owner that appends nothing learns of its successor here, so that long polls fail instead of hanging. */
  #watch(askedBefore: number): void {
    this.#watching = true;
    this.#patience.after(this.#limits.watchIntervalMs, () => {
      const idle = this.#barrier.mark() === askedBefore;
      if (this.#serving && idle && this.#sent === undefined && !this.#judging && this.#endAsked === 0) this.#askEnd();
      this.#watch(this.#barrier.mark());
    });
  }

  // ── Doubt ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What was sent may be in the log, or may land later. Only a new epoch settles it: then nothing of the old one can count any more. */
  #doubt(reason: string): void {
    this.#logger.warn('append in doubt', { reason, epoch: this.#cursor.epoch, offset: this.#cursor.offset });
    if (!this.#life.send('doubt')) {
      // Draining: whoever takes over reads what is there.
      this.#life.send('close');
      return this.#tearDown('was shut down while an append was in doubt');
    }
    this.#doubted = this.#sent?.records ?? [];
    this.#sent = undefined;
    this.#stopJudging();
    this.#serving = false;
    this.#claimAttempts = 0;
    this.#statusChanged();
    this.#wantClaim(this.#cursor.epoch + 1);
  }

  #wantClaim(epoch: number): void {
    const ownerNonce = this.#options.random.nonce();
    this.#ownNonces.add(ownerNonce);
    this.#claim = { epoch, claim: { ownerNonce, owner: this.#options.owner } };
    this.#attachment?.ready();
  }

  #claimSettled(claim: OwnClaim, sent: Sent, outcome: AppendOutcome): void {
    if (outcome.kind !== 'appended') {
      this.#logger.warn('a claim was not answered', { reason: outcome.reason, epoch: claim.epoch });
      this.#sent = undefined;
      this.#claim = undefined;
      this.#background(this.#claimAgain(claim.epoch + 1));
      return;
    }
    if (outcome.baseOffset < this.#cursor.offset) return this.#vanished(`a claim landed at ${outcome.baseOffset}`);
    this.#background(this.#claimLanded(claim, sent, outcome.baseOffset));
  }

  /** A claim whose fate is unknown is followed by a higher one; unless a rival is at work, who must not be fenced in turn. */
  async #claimAgain(epoch: number): Promise<void> {
    const turn = this.#turn;
    this.#claimAttempts += 1;
    await this.#patience.backOff(this.#claimAttempts);
    if (turn !== this.#turn) return;
    const stretch = await this.#patience.persist(async () => {
      const { end } = await this.#options.log.bounds(this.#options.partition);
      if (end < this.#cursor.offset) return 'vanished';
      return this.#readStretch(end, []);
    });
    if (turn !== this.#turn || stretch === undefined) return;
    if (stretch === 'vanished') return this.#vanished('the log is shorter');
    if (!stretch.intact) return this.#vanished('the last confirmed record was replaced');
    if (stretch.rival !== undefined) return this.#lost(stretch.rival);
    this.#wantClaim(epoch);
  }

  /** Our claim is in the log: what stands before it is final. */
  async #claimLanded(claim: OwnClaim, sent: Sent, offset: number): Promise<void> {
    const turn = this.#turn;
    this.#judging = true;
    if (this.#doubted === undefined) await this.#fold(offset + 1);
    else await this.#settleDoubt(this.#doubted, claim, offset);
    if (turn !== this.#turn) return;
    this.#judging = false;
    const owner = this.#position.lastClaim;
    assert(owner !== undefined, 'a claim that does not count stands behind one that does');
    if (owner.ownerNonce !== claim.claim.ownerNonce) return this.#lost(owner);
    this.#claim = undefined;
    this.#sent = undefined;
    this.#activate(sent.asked);
  }

  /** All that was sent is there and nothing else counts: memory stays. Otherwise it is dropped and folded again. */
  async #settleDoubt(doubted: readonly LogRecord[], claim: OwnClaim, offset: number): Promise<void> {
    const turn = this.#turn;
    const stretch = await this.#patience.persist(() => this.#readStretch(offset + 1, doubted));
    if (turn !== this.#turn || stretch === undefined) return;
    if (!stretch.intact) return this.#vanished('the last confirmed record was replaced');
    assert(stretch.owner !== undefined, 'our claim, or the one that beat it, stands in the stretch');
    const complete = doubted.length === 0 || stretch.found !== undefined;
    if (stretch.found !== undefined) {
      this.#confirm({ records: doubted, asked: 0 }, stretch.found);
      this.#window.release(this.#host, () => turn !== this.#turn);
      if (turn !== this.#turn) return;
    }
    if (stretch.owner.ownerNonce !== claim.claim.ownerNonce) return this.#lost(stretch.owner);
    if (!complete || stretch.foreign || stretch.rival !== undefined) return this.#refold(offset + 1);
    this.#position.renew(stretch, stretch.owner);
    this.#logger.info('doubt settled, memory stays', { epoch: claim.epoch });
  }

  async #refold(until: number): Promise<void> {
    this.#logger.warn('doubt settled, memory is folded again', { until });
    assert(this.#life.send('refold'), 'memory is dropped in doubt only');
    this.#dropMemory(`${this.#name()} lost an append and reads its journal again`);
    await this.#replay(until);
  }

  // ── Taking over ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #takeOver(): Promise<void> {
    const turn = this.#turn;
    this.#statusChanged();
    await this.#replay(undefined);
    if (turn !== this.#turn) return;
    this.#claimAttempts = 0;
    this.#wantClaim(this.#cursor.epoch + 1);
  }

  /** restoring → replaying → claiming: new memory, filled from the journal below `until`, or as far as it goes. */
  async #replay(until: number | undefined): Promise<void> {
    const turn = this.#turn;
    this.#position.restart(this.#options.witness?.());
    const { partition, log } = this.#options;
    const bounds = await this.#patience.persist(() => log.bounds(partition));
    if (turn !== this.#turn || bounds === undefined) return;
    const missing = this.#position.missing(bounds.end);
    if (missing !== undefined) return this.#vanished(missing);
    if (bounds.start > 0) return this.#vanished(`the journal starts at ${bounds.start} and there is no checkpoint`);
    this.#memory = this.#options.create();
    assert(this.#life.send('restored'), 'restoring ends in replaying');
    this.#statusChanged();
    await this.#fold(until ?? bounds.end);
    if (turn !== this.#turn) return;
    const contradiction = this.#position.contradiction(this.#cursor.offset);
    if (contradiction !== undefined) return this.#vanished(contradiction);
    assert(this.#life.send('replayed'), 'replaying ends in claiming');
    this.#statusChanged();
  }

  /** Reads on to `until` and applies what counts. */
  async #fold(until: number): Promise<void> {
    const turn = this.#turn;
    const { log, partition } = this.#options;
    for (let attempt = 0; this.#cursor.offset < until;) {
      const records = await this.#patience.persist(() => log.read(partition, this.#cursor.offset, READ_BYTES));
      if (turn !== this.#turn || records === undefined) return;
      attempt = records.length === 0 ? attempt + 1 : 0;
      if (attempt > 0) await this.#patience.backOff(attempt);
      for (const record of records) {
        if (turn !== this.#turn || record.offset >= until) break;
        const contradiction = this.#position.contradiction(record.offset);
        if (contradiction !== undefined) return this.#vanished(contradiction);
        this.#foldOne(record);
      }
      if (turn !== this.#turn) return;
    }
  }

  #foldOne(record: StoredRecord): void {
    try {
      if (this.#position.step(record, this.#options.claims) !== 'record') return;
      const decoded = this.#options.codec.decode(record.value, record.schema);
      this.#core.evolve(decoded);
      this.#host.committed(decoded, record.offset, true);
    } catch (error) {
      this.#fail(`the record at offset ${record.offset} cannot be applied: ${describe(error)}`, error);
    }
  }

  #activate(asked: number): void {
    const { epoch } = this.#cursor;
    assert(this.#life.send('claimed'), 'a claim is followed by service');
    this.#doubted = undefined;
    this.#tailSuspect = false;
    this.#serving = true;
    this.#barrier.prove(asked);
    this.#statusChanged();
    if (!this.#activated) {
      this.#logger.info('ownership taken', { epoch, offset: this.#cursor.offset });
      this.#activated = true;
      this.#host.activated(epoch);
    }
    if (!this.#watching && !this.#options.log.exclusive) this.#watch(this.#barrier.mark());
    this.#settleTurn();
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
    this.#fail(`acknowledged records vanished: ${found}; the confirmed end is ${this.#cursor.offset}`, undefined);
  }

  #fail(reason: string, error: unknown): void {
    if (!this.#life.send('fail')) return;
    this.#reason = reason;
    const { epoch, offset } = this.#cursor;
    this.#logger.error('partition failed', { reason, epoch, offset, error: error instanceof Error ? error : undefined });
    this.#tearDown(`failed: ${reason}`);
  }

  #endIfDrained(): void {
    if (this.#life.state !== 'draining' || !this.#window.empty || this.#waiting > 0) return;
    assert(this.#life.send('drained'), 'draining ends in released');
    this.#tearDown('is shut down');
  }

  #tearDown(why: string): void {
    this.#patience.endTurn();
    this.#serving = false;
    this.#sent = undefined;
    this.#claim = undefined;
    this.#doubted = undefined;
    this.#ownNonces.clear();
    this.#stopJudging();
    this.#endAsked = 0;
    this.#watching = false;
    this.#attachment?.detach();
    this.#attachment = undefined;
    this.#dropMemory(`${this.#name()} ${why}`);
    this.#statusChanged();
    const released = this.#onReleased;
    this.#onReleased = [];
    for (const resolve of released) resolve();
  }

  #dropMemory(message: string): void {
    const memory = this.#memory;
    this.#memory = undefined;
    this.#activated = false;
    this.#mailbox.clear();
    this.#parking.clear();
    this.#unparked = [];
    this.#window = new CommitWindow(this.#barrier);
    memory?.host.deactivated();
    this.#options.asks.abandon(message);
  }

  #stopJudging(): void {
    this.#judging = false;
    this.#judgement += 1;
    this.#endPending = undefined;
  }

  // ── Helpers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  get #core(): PartitionCore<Command, Reply, Record, Effect> {
    assert(this.#memory !== undefined, 'there is memory while commands are decided or records folded');
    return this.#memory.core;
  }

  get #host(): PartitionShell<Reply, Record, Effect> {
    assert(this.#memory !== undefined, 'there is memory while commands are decided or records folded');
    return this.#memory.host;
  }

  get #cursor(): LogPosition {
    return this.#position.cursor;
  }

  /** Continuations of an earlier turn of ownership find it changed and end. */
  get #turn(): number {
    return this.#patience.turn;
  }

  /** In doubt commands wait in the mailbox: it is settled in two round trips. */
  get #accepting(): boolean {
    return this.#life.state === 'active' || (this.#life.state === 'claiming' && this.#doubted !== undefined);
  }

  get #backlogged(): boolean {
    return (
      this.#window.openBytes >= this.#limits.openBytesMax ||
      this.#window.openRecords >= this.#limits.openRecordsMax ||
      this.#window.held >= this.#limits.heldMax
    );
  }

  /** Commands that are accepted and not decided. */
  get #waiting(): number {
    return this.#mailbox.length + this.#parking.count + this.#unparked.length;
  }

  #name(): string {
    return `${this.#options.partition.topic}/${this.#options.partition.partition}`;
  }

  #unavailable(): string {
    return this.#reason === '' ? `${this.#name()} is ${this.#life.state}` : `${this.#name()}: ${this.#reason}`;
  }

  #statusChanged(): void {
    this.#options.onStatus?.(this.status());
  }

  #background(work: Promise<void>): void {
    const turn = this.#turn;
    work.catch((error: unknown) => {
      if (turn === this.#turn) this.#fail(`the journal cannot be read: ${describe(error)}`, error);
    });
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
