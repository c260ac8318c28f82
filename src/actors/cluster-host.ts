/**
 * The cluster actor: namespaces, search attributes and the token key, in the one partition of `<prefix>.cluster`.
 *
 * Two folds of one journal: the core's, which decides and may be ahead of the log, and `view`, which the rest of the process reads and
 * which holds committed records only. An answer leaves after both have them, so whoever registered a namespace can use it at once.
 */
import { ClusterCore } from '../cluster/cluster-core.ts';
import { ClusterState, type ClusterSnapshot } from '../cluster/cluster-state.ts';
import type { ClusterCommand } from '../cluster/commands.ts';
import type { ClusterRecord } from '../cluster/records.ts';
import type { ClusterReply } from '../cluster/replies.ts';
import type { Logger } from '../observability/logger.ts';
import type { CommandBudget } from './command-budget.ts';
import type { ClaimCodec } from './claim.ts';
import type { Log } from './log.ts';
import type { RecordCodec } from './partition-core.ts';
import { PartitionLoop, type PartitionShell } from './partition-loop.ts';
import type { PartitionStatus } from './partition-owner.ts';
import type { ReplayTurns } from './replay-turns.ts';
import type { Clock, Random } from './ports.ts';
import type { Endpoint, ReplySink } from './router.ts';

export type ClusterHostOptions = {
  readonly topic: string;
  readonly owner: string;
  readonly log: Log;
  readonly codec: RecordCodec<ClusterRecord>;
  readonly claims: ClaimCodec;
  readonly sink: ReplySink<ClusterReply>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onStatus: (status: PartitionStatus) => void;
  /** Of the whole process; absent: one of its own. */
  readonly budget?: CommandBudget;
  readonly turns?: ReplayTurns;
};

/** Rare, and small. */
const COMMAND_BYTES = 4096;

export class ClusterHost implements Endpoint<ClusterCommand> {
  readonly #loop: PartitionLoop<ClusterCommand, ClusterReply, ClusterRecord, never>;
  #view = new ClusterState();

  constructor(options: ClusterHostOptions) {
    this.#loop = new PartitionLoop({
      partition: { topic: options.topic, partition: 0 },
      log: options.log,
      codec: options.codec,
      claims: options.claims,
      owner: options.owner,
      create: () => this.#create(options.sink),
      asks: options.sink,
      clock: options.clock,
      random: options.random,
      logger: options.logger,
      onStatus: options.onStatus,
      scale: { bytesOf: () => COMMAND_BYTES, finishesWork: () => false },
      ...(options.budget === undefined ? {} : { budget: options.budget }),
      ...(options.turns === undefined ? {} : { turns: options.turns }),
    });
  }

  /** What is committed. Another object after a takeover: ask anew, do not keep it. */
  get view(): ClusterSnapshot {
    return this.#view;
  }

  start(): void {
    this.#loop.start();
  }

  drain(): Promise<void> {
    return this.#loop.drain();
  }

  status(): PartitionStatus {
    return this.#loop.status();
  }

  submit(askId: number, command: ClusterCommand): ReturnType<Endpoint<ClusterCommand>['submit']> {
    return this.#loop.submit(askId, command);
  }

  cancel(askId: number): void {
    this.#loop.cancel(askId);
  }

  #create(sink: ReplySink<ClusterReply>): {
    readonly core: ClusterCore;
    readonly host: PartitionShell<ClusterCommand, ClusterReply, ClusterRecord, never>;
  } {
    const filling = new ClusterState();
    const host: PartitionShell<ClusterCommand, ClusterReply, ClusterRecord, never> = {
      // Until the journal is folded whole, the earlier view is the better one.
      activated: () => void (this.#view = filling),
      deactivated: () => {},
      // It has no commands of its own.
      undecided: () => {},
      committed: (record) => filling.evolve(record),
      answer: (askId, reply) => sink.answer(askId, reply),
      act: (effect: never) => effect,
    };
    return { core: new ClusterCore(), host };
  }
}
