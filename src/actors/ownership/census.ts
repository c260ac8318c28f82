/**
 * How all partitions of this process are: one policy for the start and for later.
 *
 *     serve what is healthy, say what is not
 *
 * A partition that failed needs a person; it ends nothing but itself. Without the cluster's partition a start has nothing to serve. A rival that
 * takes the cluster's partition ends the process: until processes form a cluster, claiming it back would make two servers fence each other for
 * ever. Of another partition that a rival took, the cluster's decides whose it is (src/start/taken-back.ts).
 *
 *     state                         not served
 *     failed, unassigned (lost)     at once
 *     restoring, replaying,         once it has lasted for `TOLD_AFTER_MS`: a doubt that is settled in two round trips is nobody's business
 *     claiming, draining, released
 *     active                        once its log has owed it an answer for `TOLD_AFTER_MS`
 */
import { partitionName, type PartitionId } from '../../ports/log.ts';
import type { ClaimInLog } from './effective.ts';
import type { PartitionStatus } from './partition-owner.ts';
import type { PartitionState } from './partition-life.ts';
import type { ClockAndLogger, Timer } from '../../ports/machine.ts';

/** A partition whose calls are answered UNAVAILABLE, or not at all. */
export type UnservedPartition = {
  /** `<topic>/<partition>` */
  readonly partition: string;
  readonly state: PartitionState;
  /** Why it failed, was lost or waits, as far as that is known; '' otherwise. One that is active waits for its log. */
  readonly reason: string;
  /** While its journal is read. */
  readonly replayed?: { readonly records: number; readonly bytes: number };
};

/** What people should repair while everything is served still. */
export type Concern = {
  /** What it is about: a topic, `memory`, or `unwritten state`. */
  readonly subject: string;
  /** `lost`: journals are gone, and a restart would show it. */
  readonly severity: 'warning' | 'lost';
  readonly message: string;
  /** The command that repairs it, if there is one. */
  readonly repair?: string;
};

/** What of the server is not served, or will not be for long, for health. */
export interface ServerCondition {
  /** Of one topic, or of all. */
  unserved(topic?: string): readonly UnservedPartition[];
  concerns(): readonly Concern[];
  /** Workflows that their shards put aside: each wants a person, all others go on. */
  runsPutAside(): number;
  /** Answers how to stop watching. */
  watch(changed: () => void): () => void;
}

export type CensusOptions = ClockAndLogger & {
  /** Topic of the partition without which nothing can be served. */
  readonly clusterTopic: string;
  readonly runsPutAside: () => number;
  /** Concerns of this process, beside those about topics of its log; absent: there are none. */
  readonly ownConcerns?: () => readonly Concern[];
  /** A start goes on without partitions that have not moved for so long. */
  readonly stalledMsMax: number;
  /** A rival took the cluster's partition: what that is called. */
  readonly takenOver: (partition: string, rival: ClaimInLog) => Error;
  readonly onTaken: (partition: PartitionId, rival: ClaimInLog) => void;
  /** A partition is in another state, or has read on in its journal. */
  readonly onMoved?: () => void;
  readonly onFatal: (error: Error) => void;
};

/** A partition that is not active, or whose log does not answer, is told of after this long. */
const TOLD_AFTER_MS = 5_000;
const REMINDER_INTERVAL_MS = 60_000;
/** When more are not served than people were told. They fall silent one by one: one line for each would bury the reason. */
const MORE_INTERVAL_MS = 5_000;
const NAMES_PER_REMINDER_MAX = 10;

type Entry = {
  readonly name: string;
  readonly partition: PartitionId;
  status: PartitionStatus | undefined;
  inactiveSinceMs: number;
  wasActive: boolean;
};

export class Census implements ServerCondition {
  readonly #options: CensusOptions;
  readonly #entries: Entry[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #settled = Promise.withResolvers<void>();
  readonly #clusterHeld = Promise.withResolvers<void>();
  #concerns: readonly Concern[] = [];
  #isServing = false;
  #isStopping = false;
  #unservedBefore = 0;
  #remindedMs = -Infinity;
  #remindedOf = 0;
  #timer: Timer | undefined;

  constructor(options: CensusOptions) {
    this.#options = options;
    // A start that failed for another reason waits for nobody here.
    this.#settled.promise.catch(() => {});
    this.#clusterHeld.promise.catch(() => {});
  }

  /** Has to be called for every partition before any of them starts. */
  register(topic: string, partition: number): (status: PartitionStatus) => void {
    const id = { topic, partition };
    const inactiveSinceMs = this.#options.clock.monoMs();
    const entry: Entry = { name: partitionName(id), partition: id, status: undefined, inactiveSinceMs, wasActive: false };
    this.#entries.push(entry);
    return (status) => this.#changed(entry, status);
  }

  /** All are active or failed, or nothing moved for `stalledMsMax` and the cluster's is active. Rejects if that failed, or was taken. */
  settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Resolves once the cluster's partition is active for the first time. Rejects when it failed, or when a rival took it. */
  clusterHeld(): Promise<void> {
    return this.#clusterHeld.promise;
  }

  get recordsRead(): number {
    return this.#entries.reduce((sum, { status }) => sum + Math.max(0, (status?.replayed.records ?? 0) - 1), 0);
  }

  get bytesRead(): number {
    return this.#entries.reduce((sum, { status }) => sum + (status?.replayed.bytes ?? 0), 0);
  }

  /** The port is open: from now on people are told, once a minute, what is not served. */
  serving(): void {
    this.#isServing = true;
    this.#review();
  }

  stopping(): void {
    this.#isStopping = true;
    this.#timer?.cancel();
  }

  unserved(topic?: string): readonly UnservedPartition[] {
    const nowMs = this.#options.clock.monoMs();
    const entries = this.#entries.filter(({ partition }) => topic === undefined || partition.topic === topic);
    return entries.filter((entry) => nowMs >= unservedFromMs(entry)).map((entry) => described(entry, nowMs));
  }

  /** Partitions that this process has not claimed yet, however short the time that they have had for it. */
  neverActive(): readonly UnservedPartition[] {
    const nowMs = this.#options.clock.monoMs();
    return this.#entries.filter(({ wasActive }) => !wasActive).map((entry) => described(entry, nowMs));
  }

  concerns(): readonly Concern[] {
    return [...(this.#options.ownConcerns?.() ?? []), ...this.#concerns];
  }

  /** What the log's topics give reason to worry about now, in place of what did before. */
  concerned(concerns: readonly Concern[]): void {
    this.#concerns = concerns;
    for (const changed of this.#watchers) changed();
  }

  runsPutAside(): number {
    return this.#options.runsPutAside();
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #changed(entry: Entry, status: PartitionStatus): void {
    const isTaken = status.rival !== undefined && entry.status?.rival === undefined;
    const isStillSilent = status.silentSinceMs !== undefined && status.state === entry.status?.state;
    if (status.state === 'active' || entry.status?.state === 'active') entry.inactiveSinceMs = this.#options.clock.monoMs();
    entry.status = status;
    entry.wasActive ||= status.state === 'active';
    // It said so again: nothing moves, and a start that waits for movement goes on without it.
    if (isStillSilent && !this.#isServing) return;
    if (!isStillSilent) this.#options.onMoved?.();
    if (this.#isStopping) return;
    if (status.rival !== undefined && isTaken) this.#taken(entry, status.rival);
    if (status.state === 'active' && this.#isCluster(entry)) this.#clusterHeld.resolve();
    if (!this.#isServing) this.#settle(entry, status);
    else this.#review();
  }

  #isCluster({ partition }: Entry): boolean {
    return partition.topic === this.#options.clusterTopic;
  }

  #taken(entry: Entry, rival: ClaimInLog): void {
    const { takenOver, onTaken, onFatal } = this.#options;
    if (!this.#isCluster(entry)) return onTaken(entry.partition, rival);
    const error = takenOver(entry.name, rival);
    this.#unsettled(error);
    onFatal(error);
  }

  #unsettled(error: Error): void {
    this.#settled.reject(error);
    this.#clusterHeld.reject(error);
  }

  #settle(entry: Entry, status: PartitionStatus): void {
    const { clock, stalledMsMax } = this.#options;
    this.#timer?.cancel();
    this.#timer = clock.after(stalledMsMax, () => {
      if (this.#entries.some((each) => this.#isCluster(each) && each.status?.state === 'active')) this.#settled.resolve();
    });
    if (status.state === 'failed' && this.#isCluster(entry)) this.#unsettled(withoutCluster(entry.name, new Error(status.reason)));
    if (this.#entries.every((each) => each.status?.state === 'active' || each.status?.state === 'failed')) this.#settled.resolve();
  }

  /** Tells watchers of what changed and people of what lasts; comes back when something may be due. */
  #review(): void {
    const { clock, logger } = this.#options;
    this.#timer?.cancel();
    const nowMs = clock.monoMs();
    const unserved = this.unserved();
    if (unserved.length > 0 && nowMs >= this.#remindMs(unserved.length)) {
      this.#remindedMs = nowMs;
      this.#remindedOf = unserved.length;
      this.#remind(unserved);
    }
    if (unserved.length === 0 && this.#unservedBefore > 0) {
      this.#remindedMs = -Infinity;
      logger.info('all partitions are served again');
    }
    this.#unservedBefore = unserved.length;
    for (const changed of this.#watchers) changed();
    let dueMs = unserved.length > 0 ? this.#remindMs(unserved.length) : Infinity;
    for (const entry of this.#entries) {
      const fromMs = unservedFromMs(entry);
      if (fromMs > nowMs) dueMs = Math.min(dueMs, fromMs);
    }
    if (dueMs !== Infinity) this.#timer = clock.after(dueMs - nowMs, () => this.#review());
  }

  /** When people are told next, while so many are not served. */
  #remindMs(unserved: number): number {
    return this.#remindedMs + (unserved > this.#remindedOf ? MORE_INTERVAL_MS : REMINDER_INTERVAL_MS);
  }

  #remind(unserved: readonly UnservedPartition[]): void {
    const names = unserved.slice(0, NAMES_PER_REMINDER_MAX).map(({ partition }) => partition);
    if (unserved.length > names.length) names.push(`and ${unserved.length - names.length} more`);
    const [first] = unserved.toSorted((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed'));
    const reason = first?.reason === '' ? undefined : first?.reason;
    const told = { partitions: names.join(', '), served: this.#entries.length - unserved.length, state: first?.state, reason };
    this.#options.logger.error('partitions are not served: their calls are answered UNAVAILABLE', told);
  }
}

export function withoutCluster(partition: string, cause: Error): Error {
  return new Error(`nothing can be served without ${partition}, which holds the namespaces and the key of the task tokens`, { cause });
}

/** The moment from which it counts as not served: it may be over, or to come if nothing changes; Infinity while all is well. */
function unservedFromMs({ status, inactiveSinceMs }: Entry): number {
  const silentSinceMs = status?.silentSinceMs ?? Infinity;
  switch (status?.state) {
    case 'active':
      return silentSinceMs + TOLD_AFTER_MS;
    case 'failed':
    case 'unassigned':
      return -Infinity;
    default:
      return Math.min(silentSinceMs, inactiveSinceMs) + TOLD_AFTER_MS;
  }
}

function described({ name: partition, status }: Entry, nowMs: number): UnservedPartition {
  if (status === undefined) return { partition, state: 'unassigned', reason: '' };
  const { state, replayed } = status;
  const reason = state === 'active' ? silenceOf(status, nowMs) : status.reason;
  if (state !== 'replaying') return { partition, state, reason };
  return { partition, state, reason, replayed: { records: replayed.records, bytes: replayed.bytes } };
}

function silenceOf({ reason, silentSinceMs }: PartitionStatus, nowMs: number): string {
  const seconds = Math.round((nowMs - (silentSinceMs ?? nowMs)) / 1000);
  return `no answer from its log for ${seconds} s${reason === '' ? '' : ` (${reason})`}`;
}
