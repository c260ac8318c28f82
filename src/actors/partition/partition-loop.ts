/**
 * The owner of one partition: decides commands one after another, appends what they wrote in batches, and lets nothing out before the
 * records that it rests on are committed (docs/protocol.md).
 *
 *     submit ─▶ mailbox ─▶ prefetch ─▶ core.handle ─▶ encode ─▶ core.accept ─▶ open batch     (one synchronous turn)
 *                                          │                                        │
 *                                          └ answers, effects: held ◀──┐            ▼ seal
 *                                                   │                  │         append ─▶ base offset
 *                                                   ▼                  │            │ settle
 *                                       shell.answer, shell.act ◀─ released ◀── judged
 *
 * Until `accept` nothing has changed. So what throws up to there (a bug of ours, met by one command) fails that command alone; the actor's
 * own commands are the shell's to try again. `accept` repeats what the decision has done on a fork: should it throw all the same, memory is
 * half changed and the partition fails.
 *
 * The per-command path allocates no promise, closure or map, and does not pass through the life-cycle machine.
 */
import { errorText } from '../../kernel/error-text.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { internalError, NOBODY, type AskFailure, type AskSink, type NotHere } from '../asks/asks.ts';
import { CommitWindow, encodeCommit, largestBytes, type EncodedCommit } from './commit-window.ts';
import { Admission, BudgetShare, CommandBudget } from './command-budget.ts';
import { type CommandMail, type Mail, Mailbox } from './mailbox.ts';
import { defaultPartitionLimits, type PartitionLimits } from './partition-limits.ts';
import { isClaim } from '../ownership/effective.ts';
import { PartitionOwner, type PartitionOwnerOptions, type PartitionStatus } from '../ownership/partition-owner.ts';
import { LoopTurns } from '../../ports/loop-turns.ts';
import { type LoadTrouble, Parking } from './prefetch.ts';
import type { Handled } from '../../kernel/handled.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Restored } from '../../projections/database-port.ts';
import type { StoredRecord } from '../../ports/log.ts';
import { RecordTooLarge, Tenure } from './partition-core.ts';
import type { CommandScale, PartitionMemory, RecordCodec } from './partition-core.ts';
import type { OwnedMemory } from '../ownership/ownership.ts';

export type PartitionLoopOptions<Command, Reply, Record, Effect> = Omit<PartitionOwnerOptions, 'limits'> & {
  readonly codec: RecordCodec<Record>;
  readonly create: (tenure: Tenure<Command>, journalStart: number) => PartitionMemory<Command, Reply, Record, Effect>;
  readonly asks: AskSink;
  readonly limits?: Partial<PartitionLimits>;
  /** Shared by all actors of the process; absent: one of its own. */
  readonly budget?: CommandBudget;
  readonly scale: CommandScale<Command>;
};

const loadFailures = { damaged: 'dataLoss', full: 'busy' } as const;

export class PartitionLoop<Command, Reply, Record, Effect> {
  readonly #options: PartitionLoopOptions<Command, Reply, Record, Effect>;
  readonly #limits: PartitionLimits;
  readonly #logger: Logger;
  readonly #mailbox = new Mailbox<Command>();
  #parking: Parking<Command>;
  readonly #owner: PartitionOwner;
  readonly #runMailbox = (): void => this.#guarded(() => this.#run());
  /** What may go leaves first: whoever asks much must not keep those waiting who were decided before. */
  readonly #letOut = (): void => this.#guarded(() => this.#settleTurn());

  #memory: PartitionMemory<Command, Reply, Record, Effect> | undefined;
  #tenure: Tenure<Command> | undefined;
  #window: CommitWindow<Reply, Record, Effect>;
  readonly #turns: LoopTurns;
  #runScheduled = false;
  readonly #decoded = new Map<StoredRecord, Record>();
  readonly #share: BudgetShare;
  readonly #admission: Admission;

  constructor(options: PartitionLoopOptions<Command, Reply, Record, Effect>) {
    this.#options = options;
    this.#limits = { ...defaultPartitionLimits, ...options.limits };
    this.#logger = options.logger.with({ topic: options.partition.topic, partition: options.partition.partition });
    this.#owner = new PartitionOwner({ ...options, limits: this.#limits, logger: this.#logger }, this.#owned());
    this.#parking = this.#newParking(undefined);
    this.#share = new BudgetShare(options.budget ?? new CommandBudget());
    this.#admission = new Admission(this.#owner.name(), this.#limits.mailboxCommandsMax, this.#share);
    this.#turns = options.turns ?? new LoopTurns(options.clock);
    this.#window = this.#newWindow();
  }

  // ── For the router and the composition root ────────────────────────────────────────────────────────────────────────────────

  /** Takes the partition over: the same path after a crash, a restart and a move. */
  start(): void {
    this.#owner.start();
  }

  /** Undefined: accepted, the answer comes through the shell. `NOBODY` asks when the command is the actor's own. */
  submit(askId: number, command: Command): AskFailure | undefined {
    if (!this.#owner.accepting) return this.notHere(this.#owner.unavailable());
    const { scale } = this.#options;
    const bytes = scale.bytesOf(command);
    const namespaceId = scale.namespaceOf(command);
    // The actor's own is never refused: it must be heard in the end, and there is no more of it than of what the actor has under way.
    if (askId === NOBODY) this.#share.add(bytes);
    else {
      if (this.#owner.silence.message !== '') return this.notHere(this.#owner.silence.message);
      const failure = this.#admission.admit(namespaceId, bytes, scale.finishesWork(command));
      if (failure !== undefined) return failure;
    }
    this.#mailbox.pushCommand(askId, command, namespaceId, bytes);
    if (!this.#owner.serving) this.#owner.silence.begins();
    this.#runSoon();
    return undefined;
  }

  notHere(message: string): NotHere {
    const { rival, epoch } = this.#owner.status();
    return { kind: 'notHere', message, hint: rival?.owner ?? '', epoch: rival?.epoch ?? epoch };
  }

  /** The caller no longer waits. What is not decided leaves at once; else the core hears of it, behind the command. */
  cancel(askId: number): void {
    if (!this.#owner.accepting) return;
    const undecided = this.#mailbox.take(askId) ?? this.#parking.take(askId);
    if (undecided !== undefined) return this.#admission.leave(undecided);
    this.#mailbox.pushCancel(askId);
    this.#runSoon();
  }

  claimAnew(claimed: (offset: number) => void): void {
    this.#owner.claimAnew(claimed);
  }

  status(): PartitionStatus {
    return this.#owner.status();
  }

  /** Decides what was accepted, and `last` behind it, commits it, lets the answers out, then lets go. New commands are refused at once. */
  drain(last?: Command): Promise<void> {
    if (last !== undefined && this.#owner.accepting) this.#mailbox.pushLast(last);
    this.#runSoon();
    return this.#owner.drain();
  }

  close(): void {
    this.#owner.close();
  }

  // ── Commands ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #newParking(memory: PartitionMemory<Command, Reply, Record, Effect> | undefined): Parking<Command> {
    return new Parking({
      prefetch: memory?.prefetch,
      asksMax: this.#limits.parkedAsksMax,
      onLoaded: () => this.#runSoon(),
      onTrouble: (mails, trouble) => this.#notLoaded(mails, trouble),
    });
  }

  #newWindow(): CommitWindow<Reply, Record, Effect> {
    return new CommitWindow({ barrier: this.#owner.barrier, share: this.#share, turns: this.#turns, onTurn: this.#letOut });
  }

  #runSoon(): void {
    if (this.#runScheduled || !this.#owner.serving) return;
    this.#runScheduled = true;
    this.#options.clock.soon(this.#runMailbox);
  }

  /** One turn: decides what waits, then lets out what may go and asks for what is missing. */
  #run(): void {
    this.#runScheduled = false;
    if (!this.#owner.serving) return;
    let left = this.#limits.turnCommandsMax;
    for (; left > 0 && this.#canDecide && this.#turns.mayDecide(); left--) {
      const mail = this.#parking.nextLoaded() ?? this.#mailbox.shift();
      if (mail !== undefined) this.#take(mail);
    }
    if (this.#canDecide && !this.#runScheduled) {
      this.#runScheduled = true;
      if (left === 0) this.#options.clock.after(0, this.#runMailbox);
      else this.#turns.wait(this.#runMailbox);
    }
    this.#settleTurn();
  }

  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#owner.fail(`a command could not be handled: ${errorText(error)}`, error);
    }
  }

  /**
   * What was loaded comes first of all, so that order per key is kept; and through the prefetch again: what was loaded in doubt may be gone by now.
   * Doubt comes from the log, never out of a decision: once this partition no longer serves here, memory was dropped with all who wait.
   */
  get #canDecide(): boolean {
    return this.#owner.serving && (this.#parking.hasLoaded || (this.#mailbox.length > 0 && !this.#backlogged));
  }

  #take(mail: Mail<Command>): void {
    if (mail.kind === 'cancel') {
      const parked = this.#parking.take(mail.askId);
      if (parked === undefined) this.#cancel(mail.askId);
      else this.#admission.leave(parked);
    } else if (!this.#park(mail)) {
      this.#admission.leave(mail);
      this.#turns.decides(mail.namespaceId);
      this.#decide(mail);
    }
  }

  /** True: it waits for its state, or is done with. */
  #park(mail: CommandMail<Command>): boolean {
    try {
      return this.#parking.park(mail);
    } catch (error) {
      this.#admission.leave(mail);
      this.#undecided(mail, error);
      return true;
    }
  }

  #decide(mail: CommandMail<Command>): void {
    const { askId, command } = mail;
    let handled: Handled<Record, Reply, Effect>;
    let encoded: EncodedCommit | undefined;
    try {
      handled = this.#whole.core.handle(command, this.#owner.nowMs(), askId);
      encoded = encodeCommit(this.#options.codec, handled);
      if (this.#isTooLarge(encoded)) {
        const instead = this.#whole.core.tooLarge?.(command, this.#owner.nowMs(), askId);
        const encodedInstead = instead === undefined ? undefined : encodeCommit(this.#options.codec, instead);
        if (instead === undefined || this.#isTooLarge(encodedInstead)) return this.#refuse(mail, encoded);
        const ids = { ...this.#whole.core.idsOf(command), bytes: largestBytes(encoded) };
        this.#logger.warn('a record would be too large: the command was decided differently', ids);
        handled = instead;
        encoded = encodedInstead;
      }
    } catch (error) {
      return this.#undecided(mail, error);
    }
    this.#apply(mail, handled, encoded);
  }

  /** Nothing has happened with these commands. The actor's own are heard in the end. */
  #notLoaded(mails: readonly CommandMail<Command>[], trouble: LoadTrouble): void {
    for (const mail of mails) {
      this.#admission.leave(mail);
      if (mail.askId === NOBODY) this.#memory?.prefetch?.ownNotLoaded(mail.command, trouble.message);
      else this.#options.asks.fail(mail.askId, this.#failureOf(trouble));
    }
    this.#runSoon();
  }

  #failureOf({ kind, message }: LoadTrouble): AskFailure {
    return kind === 'away' ? this.notHere(message) : { kind: loadFailures[kind], message };
  }

  #isTooLarge(encoded: EncodedCommit | undefined): boolean {
    return largestBytes(encoded) > this.#limits.recordBytesMax;
  }

  /** A bug of ours: this command fails, and nobody else. */
  #undecided({ askId, command }: CommandMail<Command>, error: unknown): void {
    const reason = errorText(error);
    const ids = this.#whole.core.idsOf(command);
    this.#logger.error('a command could not be decided', { ...ids, error: error instanceof Error ? error : reason });
    if (askId !== NOBODY) this.#options.asks.fail(askId, internalError(reason));
    this.#whole.shell.undecided?.(askId, command, error);
  }

  #refuse({ askId, command }: CommandMail<Command>, encoded: EncodedCommit | undefined): void {
    const message = `the record of this command would have ${largestBytes(encoded)} bytes, more than ${this.#limits.recordBytesMax}`;
    this.#logger.warn('command refused: too large', { ...this.#whole.core.idsOf(command), bytes: largestBytes(encoded) });
    if (askId !== NOBODY) this.#options.asks.fail(askId, { kind: 'tooLarge', message });
    this.#whole.shell.undecided?.(askId, command, new RecordTooLarge(message));
  }

  #cancel(askId: number): void {
    let handled: Handled<Record, Reply, Effect>;
    let encoded: EncodedCommit | undefined;
    try {
      handled = this.#whole.core.cancel(askId, this.#owner.nowMs());
      encoded = encodeCommit(this.#options.codec, handled);
    } catch (error) {
      // Whoever waited is gone: what is left of the wait ends with its deadline.
      return this.#logger.error('a cancellation could not be decided', { error: error instanceof Error ? error : String(error) });
    }
    this.#apply({ askId, bytes: 0, command: undefined }, handled, encoded);
  }

  /** Applies what was decided: from here on it has happened. */
  #apply(
    { askId, bytes, command }: Pick<CommandMail<Command | undefined>, 'askId' | 'bytes' | 'command'>,
    handled: Handled<Record, Reply, Effect>,
    encoded: EncodedCommit | undefined,
  ): void {
    if (encoded !== undefined) this.#owner.wrote(encoded.last.timeMs);
    this.#whole.core.accept(handled);
    if (handled.kind === 'commit') for (const record of handled.before ?? []) this.#whole.shell.accepted?.(undefined, record);
    this.#whole.shell.accepted?.(command, handled.kind === 'commit' ? handled.record : undefined);
    switch (handled.kind) {
      case 'commit':
        assert(encoded !== undefined, 'a record is encoded before it is accepted');
        this.#window.commit(askId, handled, encoded, bytes);
        return this.#owner.silence.begins();
      case 'answer':
        this.#window.hold(askId, handled.reply, handled.effects, bytes);
        return this.#owner.silence.begins();
      case 'wait':
        if (handled.barrier) {
          this.#window.hold(NOBODY, undefined, handled.effects, bytes);
          return this.#owner.silence.begins();
        }
        for (const effect of handled.effects) this.#whole.shell.act(effect);
        return;
      default:
        return unreachable(handled);
    }
  }

  #settleTurn(): void {
    if (!this.#owner.serving) return;
    this.#owner.append();
    this.#release(this.#owner.stopped, false);
    if (!this.#owner.serving) return;
    this.#owner.proveReads();
    if (this.#canDecide) this.#runSoon();
    this.#owner.endIfDrained();
  }

  // ── A log that does not answer ─────────────────────────────────────────────────────────────────────────────────────────────

  #release(stopped: () => boolean, atOnce: boolean): void {
    const { held } = this.#window;
    this.#window.release(this.#whole, stopped, atOnce);
    if (stopped()) return;
    const { silence, serving, awaitsLog } = this.#owner;
    if (this.#window.held === 0 && serving && !awaitsLog) silence.ends();
    else if (this.#window.held < held) {
      silence.ends();
      silence.begins();
    }
  }

  /** Memory stays, and what is decided is committed once the log answers. What is not is refused, as is what comes now. The actor's own waits. */
  #refuseWhileSilent(message: string, seconds: number): void {
    // The log itself tells people about its outages, for all partitions together.
    this.#logger.debug('the log does not answer: waiting callers get UNAVAILABLE', { seconds });
    this.#options.asks.failAll(this.#window.waitingAsks(), { kind: 'unavailable', message });
    const undecided = this.#takeUndecided();
    for (const mail of undecided) this.#admission.leave(mail);
    this.#refuseAll(undecided, message);
  }

  /** What somebody waits for and nothing has happened of. */
  #takeUndecided(): readonly CommandMail<Command>[] {
    return [...this.#mailbox.takeAsks(), ...this.#parking.takeAsks()];
  }

  #refuseAll(undecided: readonly CommandMail<Command>[], message: string): void {
    if (undecided.length === 0) return;
    const asks = undecided.map(({ askId }) => askId);
    this.#options.asks.failAll(asks, this.notHere(message));
  }

  // ── For the owner of the journal ───────────────────────────────────────────────────────────────────────────────────────────

  #owned(): OwnedMemory {
    return {
      create: (journalStart) => this.#create(journalStart),
      install: (restored) => this.#install(restored),
      decodeAhead: (records) => this.#decodeAhead(records),
      ahead: () => this.#whole.readAhead?.load(this.#decoded.values()),
      fold: (record) => this.#fold(record),
      recordsLost: (lost) => this.#whole.recordsLost?.(lost),
      activated: (epoch) => this.#activated(epoch),
      drop: (message) => this.#drop(message),
      seal: (epoch, sequence) => this.#window.seal(epoch, sequence),
      committed: (count, first) => {
        this.#window.committed(count, first);
        this.#owner.silence.goesOn();
      },
      releaseAll: (stopped) => this.#release(stopped, true),
      logSilent: (message, seconds) => this.#refuseWhileSilent(message, seconds),
      settleTurn: () => this.#settleTurn(),
      openRecords: () => this.#window.openRecords,
      waitingMark: () => this.#window.waitingMark,
      drained: () => this.#window.empty && this.#mailbox.length + this.#parking.count === 0,
    };
  }

  #create(journalStart: number): void {
    this.#tenure = new Tenure(this, this.#owner, this.#options.clock);
    this.#memory = this.#options.create(this.#tenure, journalStart);
    this.#parking = this.#newParking(this.#memory);
  }

  async #install(restored: Restored): Promise<void> {
    const memory = this.#whole;
    assert(memory.install !== undefined, 'an actor that has checkpoints can be made of one');
    await memory.install(restored);
  }

  /** What does not count is among them, and what cannot be read may not count: whoever folds it will tell. */
  *#decodeAhead(records: readonly StoredRecord[]): Generator<undefined, void> {
    this.#decoded.clear();
    if (this.#whole.readAhead === undefined) return;
    for (const record of records) {
      if (isClaim(record)) continue;
      try {
        this.#decoded.set(record, this.#options.codec.decode(record.value, record.schema, record));
      } catch {
        continue;
      }
      yield;
    }
  }

  #fold(record: StoredRecord): void {
    const { core, subscribers } = this.#whole;
    const decoded = this.#decoded.get(record) ?? this.#options.codec.decode(record.value, record.schema, record);
    core.evolve(decoded);
    for (const subscriber of subscribers) subscriber.committed(decoded, record, true);
  }

  #activated(epoch: number): void {
    this.#decoded.clear();
    this.#tenure?.begin();
    this.#whole.shell.activated?.(epoch);
  }

  #drop(message: string): void {
    const memory = this.#memory;
    const undecided = this.#takeUndecided();
    this.#memory = undefined;
    this.#mailbox.clear();
    this.#parking = this.#newParking(undefined);
    this.#window = this.#newWindow();
    this.#admission.clear();
    this.#owner.silence.close();
    this.#tenure?.end();
    memory?.shell.deactivated?.();
    this.#refuseAll(undecided, message);
    this.#options.asks.abandon(message);
  }

  // ── Helpers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  get #whole(): PartitionMemory<Command, Reply, Record, Effect> {
    assert(this.#memory !== undefined, 'there is memory while commands are decided or records replayed');
    return this.#memory;
  }

  get #backlogged(): boolean {
    return (
      this.#window.awaitsTurn ||
      this.#window.openBytes >= this.#limits.openBytesMax ||
      this.#window.openRecords >= this.#limits.openRecordsMax ||
      this.#window.held >= this.#limits.heldMax
    );
  }
}
