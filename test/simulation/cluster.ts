/** Nodes on one simulated log, each running the production loop for every partition; and what was told to whom. */
import { LedgerCore, jsonClaims, ledgerCodec, ledgerMemory, ledgerScale, ledgerSwitchboard } from '../actors/ledger.ts';
import { LedgerCheckpoints, ledgerJournal } from '../actors/ledger-checkpoints.ts';
import { type Database, DatabaseError } from '../../src/projections/database-port.ts';
import { LogError } from '../../src/ports/log.ts';
import { PartitionLoop } from '../../src/actors/partition/partition-loop.ts';
import { LoopTurns } from '../../src/ports/loop-turns.ts';
import { Projection } from './projection.ts';
import { SimCluster } from './sim-cluster.ts';
import { simDatabase, type DatabasePlan } from './sim-database.ts';
import { SimServer } from './sim-server.ts';
import { isAskFailure, ownWork, type AskFailure } from '../../src/actors/asks/asks.ts';
import type { PartitionId } from '../../src/ports/log.ts';
import type { PartitionMemory, Tenure } from '../../src/actors/partition/partition-core.ts';
import type { Prefetch } from '../../src/actors/partition/prefetch.ts';
import type { PartitionLimits } from '../../src/actors/partition/partition-limits.ts';
import { ledgerPrefetch } from '../actors/ledger-prefetch.ts';
import type { LedgerCommand, LedgerEffect, LedgerRecord, LedgerReply, LedgerSwitchboard } from '../actors/ledger.ts';
import type { MemoryLog, Observation, Tries } from './oracle.ts';
import type { SimBroker } from './sim-log.ts';
import type { World } from './world.ts';

type LedgerLoop = PartitionLoop<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect>;

export type Answer = LedgerReply | AskFailure;

export const simLimits: PartitionLimits = {
  mailboxCommandsMax: 50,
  parkedAsksMax: 25,
  turnCommandsMax: 8,
  openBytesMax: 4_000,
  openRecordsMax: 12,
  heldMax: 30,
  recordBytesMax: 3_000,
  logSilenceMsMax: 400,
  watchIntervalMs: 300,
  retryDelayMs: 10,
  retryDelayMsMax: 100,
};

export function partitionId(partition: number): PartitionId {
  return { topic: 'sim.ledger', partition };
}

/** One process with its actors. */
export class Server extends SimServer {
  readonly cluster: Cluster;
  loops: LedgerLoop[] = [];
  cores: LedgerCore[] = [];
  router: LedgerSwitchboard;
  database: Database | undefined;

  constructor(cluster: Cluster, name: string) {
    super(cluster.world, cluster.broker, name);
    this.cluster = cluster;
    this.router = ledgerSwitchboard(this.node.clock);
    this.boot();
  }

  get actors(): readonly LedgerLoop[] {
    return this.loops;
  }

  loop(partition: number): LedgerLoop {
    const loop = this.loops[partition];
    if (loop === undefined) throw new Error(`no partition ${partition}`);
    return loop;
  }

  core(partition: number): LedgerCore {
    const core = this.cores[partition];
    if (core === undefined) throw new Error(`no memory of partition ${partition}`);
    return core;
  }

  protected boot(): void {
    const { cluster } = this;
    const { world, projections, partitions } = cluster;
    this.router = ledgerSwitchboard(this.node.clock);
    const { log } = this;
    this.database = cluster.disk === undefined ? undefined : simDatabase(cluster.disk, this.node);
    const { database } = this;
    const turns = new LoopTurns(this.node.clock, cluster.releasesMax);
    this.loops = [];
    for (let partition = 0; partition < partitions; partition++) {
      const sink = this.router.sink(partition);
      const loop: LedgerLoop = new PartitionLoop({
        partition: partitionId(partition),
        log,
        codec: ledgerCodec,
        claims: jsonClaims,
        owner: this.node.name,
        create: (tenure) => this.#memory(partition, tenure, (askId, reply) => sink.answer(askId, reply)),
        ...(database === undefined ? {} : { checkpoints: { restore: () => database.restore(ledgerJournal(partition)) } }),
        asks: sink,
        scale: ledgerScale,
        clock: this.node.clock,
        random: this.node.random,
        logger: cluster.logger,
        witness: () => projections[partition]?.position,
        onStatus: (status) => {
          world.trace(
            `${this.node.name}/${partition} ${status.state} ${status.epoch}.${status.sequence}@${status.offset} ${status.reason}`,
          );
          cluster.onStatus(this, partition, status);
        },
        limits: simLimits,
        turns,
      });
      this.router.attach(partition, loop);
      this.loops.push(loop);
    }
  }

  /** Some commands find their key cold; loading takes a while. What is loaded may have been evicted again by the time it is needed. */
  #prefetch(): Prefetch<LedgerCommand> {
    const { world, coldShare } = this.cluster;
    const loaded = new Set<string>();
    const keyOf = (command: LedgerCommand): string => (command.kind === 'add' ? `k${command.id.length}` : 'reads');
    return ledgerPrefetch({
      keyOf,
      lacks: (command) => !loaded.delete(keyOf(command)) && world.random.chance(coldShare),
      load: (key, _command, done) => {
        this.cluster.said('a command waited for its state');
        this.node.at(world.random.int(1, 60), () => {
          if (this.cluster.loadsFail && world.random.chance(0.1)) return done({ kind: 'away', message: 'its state cannot be read' });
          loaded.add(key);
          done();
        });
      },
    });
  }

  #memory(
    partition: number,
    tenure: Tenure<LedgerCommand>,
    answer: (askId: number, reply: LedgerReply) => void,
  ): PartitionMemory<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect> {
    const memory: MemoryLog = { name: `${this.node.name}/${partition}`, commits: [], dispatched: [] };
    this.cluster.memories[partition]?.push(memory);
    const core = new LedgerCore();
    this.cores[partition] = core;
    let isDropped = false;
    const base = ledgerMemory(
      answer,
      (event) => {
        if (event.kind === 'committed') memory.commits.push({ id: event.id, offset: event.offset });
        if (event.kind === 'dispatched') memory.dispatched.push(event.id);
        if (event.kind === 'deactivated') isDropped = true;
      },
      core,
    );
    const ledger = this.cluster.coldShare === 0 ? base : { ...base, prefetch: this.#prefetch() };
    if (this.database === undefined) return ledger;
    const checkpoints = new LedgerCheckpoints(this.database, ledgerJournal(partition), core);
    return {
      ...ledger,
      subscribers: [...ledger.subscribers, checkpoints],
      install: async (restored) => {
        await checkpoints.install(restored);
        for (const { id, offset } of checkpoints.rows) memory.commits.push({ id, offset });
        if (restored.position !== undefined) this.cluster.said('a takeover began at a checkpoint');
        this.#keepWriting(partition, checkpoints, tenure, () => isDropped);
      },
    };
  }

  /** A checkpoint now and then, while it is folded and while it serves, for as long as the process believes in its memory. */
  #keepWriting(partition: number, checkpoints: LedgerCheckpoints, tenure: Tenure<LedgerCommand>, isDropped: () => boolean): void {
    const { world, disk } = this.cluster;
    if (disk === undefined) return;
    this.node.at(world.random.int(1, disk.plan.writeMsMax), () => {
      if (isDropped() || disk.calm) return;
      world.promiseSettled();
      void this.#write(partition, checkpoints, tenure).then(() => this.#keepWriting(partition, checkpoints, tenure, isDropped));
    });
  }

  async #write(partition: number, checkpoints: LedgerCheckpoints, tenure: Tenure<LedgerCommand>): Promise<void> {
    const { cluster } = this;
    try {
      const before = checkpoints.durable;
      const outcome = await checkpoints.write();
      if (outcome === 'fenced') {
        cluster.said('a write was fenced');
        tenure.fenced();
      }
      const { durable } = checkpoints;
      if (durable === undefined || durable === before || !cluster.world.random.chance(cluster.disk?.plan.trimShare ?? 0)) return;
      cluster.said('a journal was trimmed');
      await this.log.truncate(partitionId(partition), durable.lastOffset);
    } catch (error) {
      if (!(error instanceof DatabaseError) && !(error instanceof LogError)) throw error;
    }
  }
}

export type ClusterOptions = {
  readonly servers: number;
  readonly partitions: number;
  readonly coldShare?: number;
  readonly releasesMax?: number | undefined;
  /** Absent: there is none. */
  readonly database?: DatabasePlan;
};

export class Cluster extends SimCluster<Server> {
  readonly partitions: number;
  readonly partitionIds: readonly PartitionId[];
  readonly servers: readonly Server[];
  readonly memories: MemoryLog[][];
  readonly observations: Observation[][];
  readonly firstInvoked: Map<string, number>[];
  readonly tries: Map<string, Tries>[];
  readonly projections: Projection[];
  /** Share of commands whose state must be loaded first. */
  readonly coldShare: number;
  readonly releasesMax: number | undefined;
  /** Some loads come to nothing. */
  loadsFail = true;

  constructor(world: World, broker: SimBroker, options: ClusterOptions) {
    super(world, broker, options.database);
    this.partitions = options.partitions;
    this.partitionIds = Array.from({ length: options.partitions }, (_, partition) => partitionId(partition));
    this.coldShare = options.coldShare ?? 0;
    this.releasesMax = options.releasesMax;
    const perPartition = Array.from({ length: options.partitions });
    this.memories = perPartition.map(() => []);
    this.projections = this.partitionIds.map((id) => new Projection(broker, id));
    this.observations = perPartition.map(() => []);
    this.firstInvoked = perPartition.map(() => new Map<string, number>());
    this.tries = perPartition.map(() => new Map<string, Tries>());
    this.servers = Array.from({ length: options.servers }, (_, index) => new Server(this, `node${index}`));
  }

  /** The caller goes away: it hears nothing any more. */
  #cancel(server: Server, router: LedgerSwitchboard, askId: number, connectionLost: () => void): void {
    if (!server.connections.delete(connectionLost)) return;
    this.said('an ask was canceled');
    router.cancel(askId);
    connectionLost();
  }

  #triesOf(partition: number, id: string): Tries {
    const known = this.tries[partition]?.get(id);
    if (known !== undefined) return known;
    const tries = { asked: 0, refused: 0 };
    this.tries[partition]?.set(id, tries);
    return tries;
  }

  server(index: number): Server {
    const server = this.servers[index];
    if (server === undefined) throw new Error(`no server ${index}`);
    return server;
  }

  /** Asks over a network that delays. A reply of the actor is noted, whoever still waits for it. */
  ask(
    server: Server,
    partition: number,
    command: LedgerCommand,
    timeoutMs: number,
    onAnswer: (answer: Answer) => void,
    cancelAfterMs = Infinity,
  ): void {
    const { world } = this;
    const invoked = world.mark();
    const what = `${command.kind}${'id' in command ? ` ${command.id}` : ''} of ${server.node.name}/${partition}`;
    if (command.kind === 'add' && !this.firstInvoked[partition]?.has(command.id)) this.firstInvoked[partition]?.set(command.id, invoked);
    if (!server.node.up) {
      world.at(this.broker.delayMs(), () => onAnswer({ kind: 'unavailable', message: 'connection refused' }));
      return;
    }
    const connectionLost = (): void => onAnswer({ kind: 'unavailable', message: 'connection lost' });
    server.connections.add(connectionLost);
    server.node.at(this.broker.delayMs(), () => {
      const deadlineMs = server.node.clock.monoMs() + timeoutMs;
      const { router } = server;
      const tries = command.kind === 'add' ? this.#triesOf(partition, command.id) : undefined;
      if (tries !== undefined) tries.asked += 1;
      const askId = router.ask(partition, command, ownWork(deadlineMs), (answer) => {
        if (tries !== undefined && certainlyNothing.has(answer.kind)) tries.refused += 1;
        world.trace(`${what}: ${answer.kind}`);
        server.connections.delete(connectionLost);
        if (!isAskFailure(answer)) {
          const id = command.kind === 'add' ? command.id : undefined;
          this.observations[partition]?.push({ what, id, invoked, answered: world.mark(), reply: answer });
        }
        onAnswer(answer);
      });
      if (cancelAfterMs !== Infinity) server.node.at(cancelAfterMs, () => this.#cancel(server, router, askId, connectionLost));
    });
  }
}

const certainlyNothing: ReadonlySet<Answer['kind']> = new Set(['notHere', 'busy', 'tooLarge', 'internal']);
