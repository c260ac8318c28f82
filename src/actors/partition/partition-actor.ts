/**
 * The actor of one partition: the loop as its kind (a history shard, a matching host, the cluster actor) has it, which brings the core and what
 * happens around it.
 *
 *     router ── submit, cancel ──▶ PartitionActor ─▶ memory: core, shell, subscribers       made anew at each takeover
 *                                       ▲                │
 *                                       └──── Tenure ────┘  what the memory submits for itself
 */
import { PartitionLoop } from './partition-loop.ts';
import type { LogFields } from '../../observability/logger.ts';
import type { ClaimCodec } from '../ownership/effective.ts';
import type { CommandBudget } from './command-budget.ts';
import type { Log } from '../../ports/log.ts';
import type { CommandScale, PartitionMemory, RecordCodec, Tenure } from './partition-core.ts';
import type { MayLack } from '../ownership/journal-fold.ts';
import type { PartitionStatus } from '../ownership/partition-owner.ts';
import type { ClockAndLogger, Random } from '../../ports/machine.ts';
import type { CheckpointSource } from '../ownership/restoration.ts';
import type { LoopTurns } from '../../ports/loop-turns.ts';
import type { Endpoint, ReplySink } from '../asks/switchboard.ts';

export type ActorOptions<Reply, Record> = ClockAndLogger & {
  readonly topic: string;
  readonly owner: string;
  readonly log: Log;
  readonly codec: RecordCodec<Record>;
  readonly claims: ClaimCodec;
  readonly sink: ReplySink<Reply>;
  readonly random: Random;
  readonly onStatus: (status: PartitionStatus) => void;
  readonly budget?: CommandBudget;
  readonly turns?: LoopTurns;
};

export type ActorKind<Command, Memory> = {
  readonly partition: number;
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

export class PartitionActor<Command, Reply, Record, Effect, Memory extends PartitionMemory<Command, Reply, Record, Effect>>
  extends PartitionLoop<Command, Reply, Record, Effect>
  implements Endpoint<Command>
{
  readonly #kind: ActorKind<Command, Memory>;
  /** The latest, served or not; undefined before the first takeover. */
  memory: Memory | undefined;

  constructor(options: ActorOptions<Reply, Record>, kind: ActorKind<Command, Memory>) {
    super({
      ...options,
      ...kind,
      partition: { topic: options.topic, partition: kind.partition },
      create: (tenure, journalStart) => (this.memory = kind.create(tenure, journalStart)),
      asks: options.sink,
      logger: options.logger.with(kind.logFields),
    });
    this.#kind = kind;
  }

  /** Commits what was accepted, then lets go. New commands are refused at once. */
  override async drain(): Promise<void> {
    await super.drain(this.#kind.lastCommand);
    if (this.memory !== undefined) await this.#kind.drained?.(this.memory);
  }
}
