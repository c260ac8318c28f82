/** What the partition loop needs of the core whose journal it keeps, of the shell around that core, and of what is built beside it. */
import type { CommandIds, Handled } from '../../kernel/handled.ts';
import type { Restored } from '../database.ts';
import type { LogRecord, OffsetRange, RecordPosition, StoredRecord } from '../log.ts';
import type { Prefetch } from './prefetch.ts';

/** The owner of the partition stamps it. */
export type EncodedRecord = Omit<LogRecord, 'epoch' | 'sequence'>;

export interface RecordCodec<Record> {
  encode(record: Record): EncodedRecord;
  /**
   * Throws on what it cannot read: such a record stops the partition (it is never skipped). `stored`: where more than the value says what
   * the record is.
   */
  decode(value: Uint8Array, schema: number, stored: StoredRecord): Record;
}

export interface PartitionCore<Command, Reply, Record, Effect> {
  /**
   * Decides one command, synchronously. `nowMs` never goes back, not even across takeovers. Nothing durable changes: when this throws, or
   * when the record is refused, the command has not happened.
   */
  handle(command: Command, nowMs: number, askId: number): Handled<Record, Reply, Effect>;
  /** The record of this command would be too large: what becomes of it instead. undefined: it is refused, and nothing happens. */
  tooLarge(command: Command, nowMs: number, askId: number): Handled<Record, Reply, Effect> | undefined;
  /** What the command is about, for people. */
  idsOf(command: Command): CommandIds;
  /** What `handle` or `cancel` answered takes effect in memory: its record is evolved, what it staged for those who wait is done. */
  accept(handled: Handled<Record, Reply, Effect>): void;
  /** The only code that changes durable state: by way of `accept`, and in replay. */
  evolve(record: Record): void;
  /** The caller no longer waits. */
  cancel(askId: number, nowMs: number): Handled<Record, Reply, Effect>;
}

/** What leaves the actor: called after the records that it rests on are committed. */
export interface EffectSink<Reply, Effect> {
  answer(askId: number, reply: Reply): void;
  act(effect: Effect): void;
}

/**
 * What is built beside the core out of committed records. Called in log order, only for effective records, and before anything leaves that
 * rests on them.
 */
export interface CommitSubscriber<Record> {
  /**
   * The record is in the log for good: live after its commit, and in replay. `position` is good during the call alone: one object serves
   * many records.
   */
  committed(record: Record, position: RecordPosition, replayed: boolean): void;
}

/** The shell around a core, as the loop drives it. */
export interface PartitionShell<Command, Reply, Record, Effect> extends EffectSink<Reply, Effect> {
  /** Memory is complete and the partition is ours: offer what is pending, arm timers. */
  activated(epoch: number): void;
  /**
   * A command, or a cancellation (undefined), has taken effect in memory, or a further record of one. Its record, if it wrote one, need not be committed: this is the
   * place for what follows memory and stays inside, such as timers. Subscribers are given the same record when it is committed. Called for
   * each command: cheap.
   */
  accepted(command: Command | undefined, record: Record | undefined): void;
  /**
   * A command could not be decided (`error` is what was thrown), or its record not be written (RecordTooLarge): nothing happened. It has been
   * logged, and who asked has been told.
   */
  undecided(askId: number, command: Command, error: unknown): void;
  /** This memory is dropped (ownership lost, doubt, shutdown): stop its timers. Nothing else is called afterwards. */
  deactivated(): void;
}

/** One memory of a partition: made anew at each takeover. */
export type PartitionMemory<Command, Reply, Record, Effect> = {
  readonly core: PartitionCore<Command, Reply, Record, Effect>;
  readonly shell: PartitionShell<Command, Reply, Record, Effect>;
  readonly subscribers: readonly CommitSubscriber<Record>[];
  /**
   * Once, while it is still empty, before the records behind that position come: fills it from the rows of the checkpoint, and takes the fence
   * under which it writes its own. Without a position there are no rows, and the journal is folded from its start. Rejects with DatabaseError
   * when the rows cannot be read, `unavailable` also when they were read under another fence; then this memory is dropped, and another one is
   * restored after a while. For an actor that has checkpoints.
   */
  install?(restored: Restored): Promise<void>;
  /** As in ownership/ownership.ts; of an actor whose journal may have lost records. */
  recordsLost?(lost: readonly OffsetRange[]): void;
  /** What commands need may not be in memory; absent: all state is. */
  readonly prefetch?: Prefetch<Command> | undefined;
  /** Likewise what records change, in a fold. */
  readonly readAhead?: ReadAhead<Record> | undefined;
};

/** Folding never waits: what records change is brought in before. */
export interface ReadAhead<Record> {
  /**
   * These come next, or some of them. undefined: nothing is lacking. `fenced`: another has restored since, and what it has written is not what
   * these records go on from. Rejects with DatabaseError; what is asked again then begins anew.
   */
  load(records: Iterable<Record>): Promise<'fenced' | undefined> | undefined;
}

/** How many bytes a command counts for, and which commands are refused last. */
export type CommandScale<Command> = {
  /** Of what waits in memory, roughly. Called for each command: cheap. */
  readonly bytesOf: (command: Command) => number;
  /** Whose it is, '' = nobody's: namespaces have shares of what waits, and take turns. Cheap. */
  readonly namespaceOf: (command: Command) => string;
  /** It ends or begins what is under way already: refused last. */
  readonly finishesWork: (command: Command) => boolean;
};
