/**
 * Writes the checkpoints of one memory of a partition.
 *
 *     record n accepted ─ CUT ─ capture, in slices of the event loop ────────────┐
 *           └─ … ─ committed: its position; what commits bring goes to the cut ──┴─▶ write ─▶ durable ─▶ the next, when there is reason
 *                                                                                     │ ▲
 *                                                                                     └─┘ the same rows, until the database has them
 *
 * Memory may be ahead of the log at a cut, so nothing is written before record n is committed; should it never be, memory is dropped, and the
 * cut with it. One checkpoint is under way at a time. Commands wait for nothing of this, and a database that is away costs them nothing. In replay
 * memory is the folded prefix of the journal: it is written like any other.
 */
import { assert } from '../../kernel/assert.ts';
import { backOffMs } from '../../kernel/back-off.ts';
import { asError, errorMessage } from '../../kernel/error-text.ts';
import { DatabaseError, isOutage } from '../database-port.ts';
import type { Checkpoint, CheckpointPosition, CheckpointRows, Database, Fence, JournalId, Restored } from '../database-port.ts';
import type { RecordPosition } from '../../ports/log.ts';
import type { ClockAndLogger, Timer } from '../../ports/machine.ts';
import type { CheckpointLimits } from './checkpoint-limits.ts';
import { type JournalRetention, nextTrimPoints } from './journal-trim.ts';
import type { CheckpointSchedule, CheckpointTrouble, ScheduledJournal } from './checkpoint-schedule.ts';
import { stateSchema } from './fenced-rows.ts';
import { WaitsForWritten } from './waits-for-written.ts';
import { WriteTrouble } from './write-trouble.ts';
import { Pause } from '../../ports/pause.ts';

/** The memory whose checkpoints are written. */
export interface CheckpointedState {
  /** Cuts at once: as memory is now, so the rows will be. One cut at a time. */
  cut(): void;
  /** The last record of the cut is committed: what was collected from commits up to here is the cut's, what comes is the next one's. */
  cutCommitted(): void;
  /** Encodes some, and more while `goOn` says so. True: all there is; some of it comes with `cutCommitted`. Throws what cannot be encoded. */
  capture(goOn: () => boolean): boolean;
  /** All of the cut, the same whenever it is asked. */
  captured(): CapturedState;
  /** The database has it for good: the next cut may come. */
  durable(): void;
  /** There will be no checkpoint any more: nothing is kept for one. */
  abandon(): void;
  /** What is in memory, roughly, because it is not written. */
  readonly unwrittenBytes: number;
}

/** The rows of a cut, and what its position says of them. */
export type CapturedState = Pick<CheckpointPosition, 'counters' | 'timeMs'> & CheckpointRows;

export type CheckpointerOptions = ClockAndLogger & {
  readonly journal: JournalId;
  readonly database: Pick<Database, 'write' | 'position'>;
  readonly state: CheckpointedState;
  readonly limits: CheckpointLimits;
  /** Shared by all journals of this process. */
  readonly schedule: CheckpointSchedule;
  /** Says which ends of checkpoints each of them remembers. */
  readonly retention: JournalRetention;
  /** The database holds it for good: also what a takeover finds there. */
  readonly onDurable?: (position: CheckpointPosition) => void;
  /** Another has restored since. Once; nothing is written any more. */
  readonly onFenced: () => void;
};

type Cut = {
  /** How many records memory had taken when it was cut. */
  readonly records: number;
  /** Committed since the cut before, roughly. */
  readonly bytes: number;
  isCaptured: boolean;
  /** The position of the last of these records, once it is committed. */
  position: RecordPosition | undefined;
  isBeingWritten: boolean;
};

/** `stopped`: memory is dropped, a last checkpoint may still be asked for. `ended`: there is none any more. */
type Life = 'running' | 'stopped' | 'finishing' | 'ended';

const isOver = 'checkpoints of this memory are written no more';
type Attempt = 'written' | 'fenced' | 'closed' | { readonly again: 'soon' | 'later' };

export class Checkpointer implements ScheduledJournal {
  readonly #options: CheckpointerOptions;
  #life: Life = 'running';
  #fence: Fence = 0;
  #before: CheckpointPosition | undefined;
  /** Records that memory has taken, and those of them that are committed. */
  #accepted = 0;
  #committed = 0;
  readonly #last = { epoch: 0, sequence: 0, offset: -1 };
  /** How many of the accepted records some cut has. */
  #recordsCut = 0;
  /** Bytes of all committed records, and of those that some cut has. */
  #bytes = 0;
  #bytesCut = 0;
  /** Committed since the last cut. */
  readonly #tail = { records: 0, bytes: 0 };
  #cut: Cut | undefined;
  #isCutting = false;
  /** Since when it waits for its turn (monotonic); undefined: it wants none, or has it. */
  #wantsTurnSinceMs: number | undefined;
  /** How many of the committed records the database has. */
  #recordsDurable = 0;
  #tick: Timer | undefined;
  #ticks = 0;
  #committedAtTick = 0;
  #slice: Timer | undefined;
  readonly #pause: Pause;
  readonly #trouble: WriteTrouble;
  readonly #waits = new WaitsForWritten();
  #whenSettled: (() => void)[] = [];

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#pause = new Pause(options.clock);
    const { clock, logger, limits, state } = options;
    this.#trouble = new WriteTrouble({ clock, logger, reportEveryMs: limits.reportEveryMs, unwrittenBytes: () => state.unwrittenBytes });
  }

  /** Memory is what that checkpoint says, or new where there is none. Before the first record. */
  installed({ fence, position }: Restored): void {
    assert(this.#accepted === 0 && this.#fence === 0, 'memory is installed once, before it takes records');
    this.#fence = fence;
    this.#before = position;
    this.#options.schedule.join(this);
    if (position !== undefined) this.#options.onDurable?.(position);
  }

  /** How far what is in the database goes; undefined: nothing is. */
  get written(): CheckpointPosition | undefined {
    return this.#before;
  }

  get fence(): Fence {
    return this.#fence;
  }

  get unwrittenBytes(): number {
    return this.#options.state.unwrittenBytes;
  }

  get tailRecords(): number {
    return this.#tail.records;
  }

  /** Committed records that the database does not have yet, and their bytes, roughly: what a restart folds. */
  get unwritten(): { readonly records: number; readonly bytes: number } {
    const bytes = this.#bytes - this.#bytesCut + (this.#cut?.bytes ?? 0);
    return { records: this.#committed - this.#recordsDurable, bytes };
  }

  /** Rows that must be there are not. True: another restored, or a backup was put there, and it is fenced. Rejects with DatabaseError. */
  async isSuperseded(): Promise<boolean> {
    const { database, journal } = this.#options;
    const before = this.#before?.nextOffset;
    const { fence, position } = await database.position(journal);
    const written = [before, this.#before?.nextOffset, this.#cut?.isBeingWritten === true ? this.#cut.position!.offset + 1 : before];
    if (fence === this.#fence && written.includes(position?.nextOffset)) return false;
    this.#refusedForGood('fenced');
    return true;
  }

  /** Begins a checkpoint; resolves when the database has what is committed now. Rejects with DatabaseError; it is tried on, ask again. */
  async writtenNow(): Promise<void> {
    if (this.#life !== 'running' || this.#fence === 0) throw new DatabaseError('unavailable', isOver);
    if (this.#committed === this.#recordsDurable) return;
    if (this.#pause.isOn) throw new DatabaseError('unavailable', this.#trouble.now?.reason ?? '');
    if (this.#cut === undefined) this.#cutSoon();
    const whyNoTurn = this.#wantsTurnSinceMs === undefined ? undefined : this.#options.schedule.whyNoTurn(0);
    if (whyNoTurn !== undefined) throw new DatabaseError('unavailable', whyNoTurn);
    await this.#waits.until(this.#committed);
  }

  /** Why nothing is written; undefined: all goes well. */
  get trouble(): CheckpointTrouble | undefined {
    const sinceMs = this.#wantsTurnSinceMs;
    if (this.#trouble.now !== undefined || sinceMs === undefined) return this.#trouble.now;
    const reason = this.#options.schedule.whyNoTurn(this.#options.clock.monoMs() - sinceMs);
    return reason === undefined ? undefined : { sinceMs, reason };
  }

  get writeTrouble(): CheckpointTrouble | undefined {
    return this.#trouble.now;
  }

  /** A record has taken effect in memory. */
  accepted(): void {
    this.#accepted += 1;
  }

  /** A record is in the log for good; in replay it has taken effect just now. */
  committed(bytes: number, { epoch, sequence, offset }: RecordPosition, replayed: boolean): void {
    if (this.#life === 'ended') return;
    if (replayed) this.#accepted += 1;
    this.#committed += 1;
    this.#bytes += bytes;
    if (this.#life === 'running') this.#tailGrows(bytes);
    this.#last.epoch = epoch;
    this.#last.sequence = sequence;
    this.#last.offset = offset;
    if (this.#cut?.records === this.#committed) this.#cutCommitted(this.#cut);
    this.#cutInTime();
  }

  /** Memory is dropped. What was begun and is committed may still be written: the fence guards it. */
  stop(): void {
    if (this.#life === 'ended') return;
    this.#life = 'stopped';
    this.#cancelTimers();
    this.#leave();
    this.#waits.failed(isOver);
  }

  /** The last checkpoint, of memory that takes no record any more; none where the end of the journal is in doubt. Never rejects. */
  async finish(): Promise<void> {
    if (this.#life === 'ended' || this.#fence === 0) return;
    this.#life = 'finishing';
    const { clock, limits } = this.#options;
    const deadline = clock.after(limits.finishMsMax, () => this.#end());
    while (this.#goesOn && this.#committed === this.#accepted && (this.#cut !== undefined || this.#hasUnwritten)) {
      const settled = new Promise<void>((resolve) => this.#whenSettled.push(resolve));
      if (this.#cut === undefined) this.#cutNow();
      this.#capture(true);
      await settled;
    }
    deadline.cancel();
    this.#end();
  }

  get #hasUnwritten(): boolean {
    return this.#accepted > this.#recordsCut;
  }

  get #goesOn(): boolean {
    return this.#life === 'running' || this.#life === 'finishing';
  }

  // ── When ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #cutInTime(): void {
    const { recordsMax, recordBytesMax } = this.#options.limits;
    if (this.#committed - this.#recordsCut >= recordsMax || this.#tail.bytes >= recordBytesMax) this.#cutSoon();
    else this.#armTick();
  }

  /** A tick in which nothing was committed, or so many ticks with something unwritten, bring a checkpoint. */
  #armTick(): void {
    if (this.#tick !== undefined || this.#cut !== undefined || this.#isCutting || this.#life !== 'running' || !this.#hasUnwritten) return;
    const { clock, limits } = this.#options;
    this.#committedAtTick = this.#committed;
    this.#tick = clock.after(limits.idleMs, () => this.#ticked());
  }

  #ticked(): void {
    this.#tick = undefined;
    this.#ticks += 1;
    const { idleMs, busyMs } = this.#options.limits;
    if (this.#committed === this.#committedAtTick || this.#ticks * idleMs >= busyMs) this.#cutSoon();
    else this.#armTick();
  }

  #cutSoon(): void {
    if (this.#isCutting || this.#cut !== undefined || this.#life !== 'running') return;
    this.#isCutting = true;
    this.#wantsTurnSinceMs = this.#options.clock.monoMs();
    this.#options.schedule.wants(this);
  }

  /** Begins between commands: a record is applied whole or not at all then. */
  begin(): boolean {
    this.#wantsTurnSinceMs = undefined;
    this.#isCutting = this.#life === 'running' && this.#cut === undefined && this.#hasUnwritten;
    if (!this.#isCutting) return false;
    this.#options.clock.soon(() => {
      this.#isCutting = false;
      if (this.#life !== 'running' || this.#cut !== undefined) return;
      this.#cutNow();
      this.#capture(false);
    });
    return true;
  }

  noTurn(reason: string): void {
    this.#waits.failed(reason);
  }

  #cutNow(): void {
    this.#tick?.cancel();
    this.#tick = undefined;
    this.#ticks = 0;
    this.#tailIsOver();
    this.#recordsCut = this.#accepted;
    const bytes = this.#bytes - this.#bytesCut;
    this.#bytesCut = this.#bytes;
    const cut: Cut = { records: this.#accepted, bytes, isCaptured: false, position: undefined, isBeingWritten: false };
    this.#cut = cut;
    this.#options.state.cut();
    if (this.#committed === cut.records) this.#cutCommitted(cut);
  }

  #tailGrows(bytes: number): void {
    this.#tail.records += 1;
    this.#tail.bytes += bytes;
    this.#options.schedule.committed(bytes);
  }

  #tailIsOver(): void {
    this.#options.schedule.cut(this.#tail.records, this.#tail.bytes);
    this.#tail.records = 0;
    this.#tail.bytes = 0;
  }

  #leave(): void {
    this.#wantsTurnSinceMs = undefined;
    this.#tailIsOver();
    this.#options.schedule.leave(this);
  }

  #cutCommitted(cut: Cut): void {
    cut.position = { ...this.#last };
    this.#options.state.cutCommitted();
    // What commits have brought is still to be captured.
    if (cut.isCaptured) this.#captureSoon(0);
  }

  // ── Capture ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #captureSoon(delayMs: number): void {
    if (this.#slice !== undefined || !this.#goesOn) return;
    this.#slice = this.#options.clock.after(delayMs, () => {
      this.#slice = undefined;
      this.#capture(false);
    });
  }

  #capture(atOnce: boolean): void {
    const cut = this.#cut;
    if (cut === undefined || cut.isBeingWritten || !this.#goesOn) return;
    const { state, clock, limits } = this.#options;
    const endMs = clock.monoMs() + limits.captureSliceMs;
    try {
      cut.isCaptured = state.capture(() => atOnce || clock.monoMs() < endMs);
    } catch (error) {
      return this.#cannotCapture(error);
    }
    if (!cut.isCaptured) this.#captureSoon(3 * limits.captureSliceMs);
    else if (cut.position !== undefined) void this.#write(cut, cut.position);
  }

  /** A bug of ours. The partition serves on, and the journal keeps what is not written. */
  #cannotCapture(error: unknown): void {
    const problem = asError(error);
    this.#trouble.met(`state cannot be encoded: ${problem.message}`);
    this.#options.logger.error('state cannot be written: no more checkpoints until the next takeover', { error: problem });
    this.#end();
  }

  // ── Write ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Never rejects. */
  async #write(cut: Cut, position: RecordPosition): Promise<void> {
    const { limits, schedule } = this.#options;
    cut.isBeingWritten = true;
    const checkpoint = this.#checkpointAt(position, cut.bytes);
    this.#trouble.writing();
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(checkpoint);
      if (outcome === 'written') return this.#durable(checkpoint);
      if (outcome === 'fenced' || outcome === 'closed') return this.#refusedForGood(outcome);
      const reason = this.#trouble.now?.reason ?? '';
      this.#waits.failed(reason);
      schedule.stuck(reason);
      // Whatever is wrong with this one is not wrong with the others.
      if (outcome.again === 'later') schedule.ended(this);
      const delayMs = backOffMs(attempt, limits.retryDelayMs, limits.retryDelayMsMax);
      if (this.#goesOn) await this.#pause.last(outcome.again === 'soon' ? delayMs : limits.refusedRetryDelayMs);
      if (!this.#goesOn) break;
    }
    cut.isBeingWritten = false;
  }

  #checkpointAt({ epoch, sequence, offset }: RecordPosition, bytes: number): Checkpoint {
    const { state, clock, retention } = this.#options;
    const { counters, timeMs, ...rows } = state.captured();
    const trimPoints = nextTrimPoints(this.#before, bytes, clock.wallMs(), retention);
    const position = { epoch, sequence, nextOffset: offset + 1, lastOffset: offset, timeMs, schema: stateSchema, counters, trimPoints };
    return { ...rows, position, base: this.#before?.nextOffset ?? 0 };
  }

  async #attempt(checkpoint: Checkpoint): Promise<Attempt> {
    const { database, journal } = this.#options;
    try {
      const outcome = await database.write(journal, this.#fence, checkpoint);
      if (outcome.kind !== 'unknown') return outcome.kind;
      this.#trouble.met(outcome.reason);
      return await this.#whatBecameOf(checkpoint);
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** The connection was lost in its commit. */
  async #whatBecameOf({ position }: Checkpoint): Promise<Attempt> {
    const { database, journal } = this.#options;
    const now = await database.position(journal);
    if (now.fence !== this.#fence) return 'fenced';
    if (now.position?.nextOffset === position.nextOffset && now.position.epoch === position.epoch) return 'written';
    return now.position?.nextOffset === this.#before?.nextOffset ? { again: 'soon' } : 'fenced';
  }

  #failed(error: unknown): Attempt {
    if (error instanceof DatabaseError && error.code === 'closed') return 'closed';
    if (isOutage(error)) {
      this.#trouble.met(errorMessage(error));
      return { again: 'soon' };
    }
    this.#trouble.refused(asError(error));
    return { again: 'later' };
  }

  #durable(checkpoint: Checkpoint): void {
    if (this.#life === 'ended') return;
    this.#recordsDurable = this.#cut?.records ?? this.#recordsDurable;
    this.#cut = undefined;
    this.#before = checkpoint.position;
    this.#options.state.durable();
    this.#options.onDurable?.(checkpoint.position);
    this.#trouble.over(checkpoint.position.lastOffset);
    this.#settle();
    this.#options.schedule.ended(this);
    this.#waits.written(this.#recordsDurable);
    if (this.#waits.areEmpty) this.#cutInTime();
    else this.#cutSoon();
  }

  #refusedForGood(outcome: 'fenced' | 'closed'): void {
    const wasOver = this.#life === 'ended';
    this.#end();
    if (outcome === 'fenced' && !wasOver) this.#options.onFenced();
  }

  // ── The end ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #end(): void {
    if (this.#life !== 'ended') this.#options.state.abandon();
    this.#life = 'ended';
    this.#cancelTimers();
    this.#leave();
    this.#settle();
    this.#waits.failed(isOver);
  }

  #cancelTimers(): void {
    this.#tick?.cancel();
    this.#tick = undefined;
    this.#slice?.cancel();
    this.#slice = undefined;
    this.#trouble.stop();
    this.#pause.end();
  }

  #settle(): void {
    for (const settled of this.#whenSettled.splice(0)) settled();
  }
}
