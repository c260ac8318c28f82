/** What the partition loop needs of the core whose journal it keeps, of the shell around that core, and of what is built beside it. */
import type { CommandIds, Handled } from '../../kernel/handled.ts';
import type { Restored } from '../../projections/database-port.ts';
import type { CommitSubscriber } from '../../ports/commit-subscriber.ts';
import type { LogRecord, OffsetRange, StoredRecord } from '../../ports/log.ts';
import type { Prefetch } from './prefetch.ts';
import { NOBODY, type AskFailure } from '../asks/asks.ts';
import type { Clock, Timer } from '../../ports/machine.ts';

export type EncodedRecord = Omit<LogRecord, 'epoch' | 'sequence'>;

export interface RecordCodec<Record> {
  encode(record: Record): EncodedRecord;
  /** Throws on what it cannot read, which stops the partition. `stored`: where more than the value says what the record is. */
  decode(value: Uint8Array, schema: number, stored: StoredRecord): Record;
}

export interface PartitionCore<Command, Reply, Record, Effect> {
  /** `nowMs` never goes back, not even across takeovers. If this throws, or its record is refused, the command has not happened. */
  handle(command: Command, nowMs: number, askId: number): Handled<Record, Reply, Effect>;
  /** Decides it otherwise, as its record would be too large; undefined: it is refused. Absent: nothing can be left out of any record. */
  tooLarge?(command: Command, nowMs: number, askId: number): Handled<Record, Reply, Effect> | undefined;
  idsOf(command: Command): CommandIds;
  /** What `handle` or `cancel` answered takes effect in memory: its record is evolved, what it staged for those who wait is done. */
  accept(handled: Handled<Record, Reply, Effect>): void;
  /** The only code that changes durable state: by way of `accept`, and in replay. */
  evolve(record: Record): void;
  cancel(askId: number, nowMs: number): Handled<Record, Reply, Effect>;
}

/** What leaves the actor: called after the records that it rests on are committed. */
export interface EffectSink<Reply, Effect> {
  answer(askId: number, reply: Reply): void;
  act(effect: Effect): void;
}

export interface PartitionShell<Command, Reply, Record, Effect> extends EffectSink<Reply, Effect> {
  /** Memory is complete and the partition is ours: offer what is pending, arm timers. */
  activated?(epoch: number): void;
  /** A command or cancellation (undefined) took effect in memory; its record may not be committed. For timers and the like. Cheap. */
  accepted?(command: Command | undefined, record: Record | undefined): void;
  /** `error` was thrown by its decision, or its record is too large (RecordTooLarge): nothing happened; it was logged, its caller told. */
  undecided?(askId: number, command: Command, error: unknown): void;
  /** This memory is dropped (ownership lost, doubt, shutdown): stop its timers. Nothing else is called afterwards. */
  deactivated?(): void;
}

/** One memory of a partition: made anew at each takeover. */
export type PartitionMemory<Command, Reply, Record, Effect> = {
  readonly core: PartitionCore<Command, Reply, Record, Effect>;
  readonly shell: PartitionShell<Command, Reply, Record, Effect>;
  readonly subscribers: readonly CommitSubscriber<Record>[];
  /**
   * For an actor that has checkpoints: fills it, while it is empty, from the rows of the checkpoint (none without a position), and takes the fence
   * under which it writes its own. Rejects with DatabaseError when they cannot be read, `unavailable` also when they were read under another fence;
   * then another memory is restored after a while.
   */
  install?(restored: Restored): Promise<void>;
  /** As in ownership/ownership.ts, for an actor whose journal may have lost records. */
  recordsLost?(lost: readonly OffsetRange[]): void;
  /** What commands need may not be in memory; absent: all state is. */
  readonly prefetch?: Prefetch<Command> | undefined;
  /** What records change may not be in memory during a replay; absent: all state is. */
  readonly readAhead?: ReadAhead<Record> | undefined;
};

/** A memory that is its own shell: a hook that is misspelt or forgotten does not compile. */
export type ShellMemory<Command, Reply, Record, Effect> = PartitionMemory<Command, Reply, Record, Effect> &
  Required<PartitionShell<Command, Reply, Record, Effect>>;

/** Folding never waits: what records change is brought in before. */
export interface ReadAhead<Record> {
  /** These come next; undefined: nothing is lacking. `fenced`: another has restored since. Rejects with DatabaseError; then asked anew. */
  load(records: Iterable<Record>): Promise<'fenced' | undefined> | undefined;
}

/** How many bytes a command counts for, and which commands are refused last. */
export type CommandScale<Command> = {
  /** Roughly the bytes of a command that waits in memory. Called for each command: cheap. */
  readonly bytesOf: (command: Command) => number;
  /** The namespace of a command, '' = none: namespaces have shares of what waits, and take turns. Cheap. */
  readonly namespaceOf: (command: Command) => string;
  /** It ends or begins what is under way already: refused last. */
  readonly finishesWork: (command: Command) => boolean;
};

export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge';
}

type TenureActor<Command> = { submit(askId: number, command: Command): AskFailure | undefined };
type TenureOwner = { nowMs(): number; fenced(): void; claimAnew(claimed: (offset: number) => void): void };

/**
 * The time in which one memory of a partition owns it, from the end of its takeover to its loss. What the memory submits for itself and
 * its timers end with it: whoever takes over finds in the journal what is pending.
 */
export class Tenure<Command> {
  readonly #actor: TenureActor<Command>;
  readonly #owner: TenureOwner;
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  #active = false;
  #ended = false;

  constructor(actor: TenureActor<Command>, owner: TenureOwner, clock: Clock) {
    this.#actor = actor;
    this.#owner = owner;
    this.#clock = clock;
  }

  get active(): boolean {
    return this.#active;
  }

  /** The time by which commands are decided; timers of the partition go by it. */
  nowMs(): number {
    return this.#owner.nowMs();
  }

  /** A command of the actor's own: nobody waits for its answer, and it is never refused as busy. Undefined: accepted. */
  submit(command: Command): AskFailure | undefined {
    return this.#active ? this.#actor.submit(NOBODY, command) : noLongerOwned;
  }

  /** Outside of the tenure: not at all. */
  after(delayMs: number, run: () => void): void {
    if (!this.#active) return;
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }

  /** Another has restored since: the partition is lost, or is restored here with a new memory. Also before the tenure begins. */
  fenced(): void {
    if (!this.#ended) this.#owner.fenced();
  }

  /** `claimed`: all that is committed by now stands in front of this claim of ours, and the tenure goes on. Outside of it: never. */
  claimAnew(claimed: (offset: number) => void): void {
    if (this.#active) this.#owner.claimAnew((offset) => void (this.#active && claimed(offset)));
  }

  begin(): void {
    this.#active = true;
  }

  end(): void {
    this.#active = false;
    this.#ended = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}

const noLongerOwned: AskFailure = { kind: 'notHere', message: 'the partition is no longer owned here', hint: '', epoch: 0 };
