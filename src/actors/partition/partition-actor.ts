/**
 * The actor of one partition: what the router asks, and what the composition root starts and drains. Around it stands its kind (a history
 * shard, a matching host, the cluster actor), which brings the core and what happens around it.
 *
 *     router ── submit, cancel ──▶ PartitionActor ─▶ PartitionLoop ─▶ memory: core, shell, subscribers       made anew at each takeover
 *                                                        ▲                │
 *                                                        └──── Tenure ────┘  what the memory submits for itself
 */
import { NOBODY } from '../asks/asks.ts';
import { PartitionLoop } from './partition-loop.ts';
import type { LogFields, Logger } from '../../observability/logger.ts';
import type { AskFailure, NotHere } from '../asks/asks.ts';
import type { ClaimCodec } from '../ownership/claim.ts';
import type { CommandBudget } from './command-budget.ts';
import type { Log } from '../log.ts';
import type { CommandScale, PartitionMemory, RecordCodec } from './partition-core.ts';
import type { MayLack } from '../ownership/journal-fold.ts';
import type { PartitionStatus } from '../ownership/partition-owner.ts';
import type { Clock, Random } from '../ports.ts';
import type { CheckpointSource } from '../ownership/restoration.ts';
import type { LoopTurns } from '../loop-turns.ts';
import type { Endpoint, ReplySink } from '../asks/switchboard.ts';
import type { Tenure } from './tenure.ts';

/** What an actor is given, whatever its kind. */
export type ActorOptions<Reply, Record> = {
  readonly topic: string;
  /** Who we are, for people: host, port, process. */
  readonly owner: string;
  readonly log: Log;
  readonly codec: RecordCodec<Record>;
  readonly claims: ClaimCodec;
  readonly sink: ReplySink<Reply>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onStatus: (status: PartitionStatus) => void;
  /** Of the whole process; absent: one of its own. */
  readonly budget?: CommandBudget;
  readonly turns?: LoopTurns;
};

/** What makes it an actor of its kind. */
export type ActorKind<Command, Memory> = {
  /** From 0. */
  readonly partition: number;
  /** Name it on each line of its log. */
  readonly logFields: LogFields;
  /** `journalStart`: where its journal begins, unless a checkpoint stands for what was in front of it. */
  readonly create: (tenure: Tenure<Command>, journalStart: number) => Memory;
  readonly scale: CommandScale<Command>;
  /** Where takeovers begin; absent: at the start of the journal. */
  readonly checkpoints?: CheckpointSource;
  /** Memories are told of it, and go on (`recordsLost`). */
  readonly mayLack?: MayLack;
  /** Memory has drained: it is complete, and takes nothing more. What is still to be written of it; never rejects. */
  readonly drained?: (memory: Memory) => Promise<void>;
  /** Its own, and the last that is decided: what memory alone knows is journaled before it is dropped. */
  readonly lastCommand?: Command;
};

export class PartitionActor<
  Command,
  Reply,
  Record,
  Effect,
  Memory extends PartitionMemory<Command, Reply, Record, Effect>,
> implements Endpoint<Command> {
  readonly #loop: PartitionLoop<Command, Reply, Record, Effect>;
  readonly #lastCommand: Command | undefined;
  readonly #drained: ((memory: Memory) => Promise<void>) | undefined;
  #memory: Memory | undefined;

  constructor(options: ActorOptions<Reply, Record>, kind: ActorKind<Command, Memory>) {
    this.#lastCommand = kind.lastCommand;
    this.#drained = kind.drained;
    this.#loop = new PartitionLoop({
      ...options,
      partition: { topic: options.topic, partition: kind.partition },
      create: (tenure, journalStart) => (this.#memory = kind.create(tenure, journalStart)),
      asks: options.sink,
      logger: options.logger.with(kind.logFields),
      scale: kind.scale,
      ...(kind.checkpoints === undefined ? {} : { checkpoints: kind.checkpoints }),
      ...(kind.mayLack === undefined ? {} : { mayLack: kind.mayLack }),
    });
  }

  /** The latest, served or not; undefined before the first takeover. */
  get memory(): Memory | undefined {
    return this.#memory;
  }

  /** Takes the partition over. */
  start(): void {
    this.#loop.start();
  }

  /** Commits what was accepted, then lets go. New commands are refused at once. */
  async drain(): Promise<void> {
    await this.#loop.drain(this.#lastCommand);
    if (this.#memory !== undefined) await this.#drained?.(this.#memory);
  }

  status(): PartitionStatus {
    return this.#loop.status();
  }

  submit(askId: number, command: Command): AskFailure | undefined {
    return this.#loop.submit(askId, command);
  }

  /** Nobody waits for its answer. Where nothing is accepted now, it is not needed. */
  submitOwn(command: Command): void {
    this.#loop.submit(NOBODY, command);
  }

  cancel(askId: number): void {
    this.#loop.cancel(askId);
  }

  /** For what the loop never sees. */
  notHere(message: string): NotHere {
    return this.#loop.notHere(message);
  }
}
