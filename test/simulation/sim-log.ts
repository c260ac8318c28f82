/**
 * A partitioned log that misbehaves as Kafka may, seen by each node through a port of its own.
 *
 *     fate of an append      broker                    the node hears
 *     ok                     appends                   base offset
 *     replyLost              appends                   unknown, after a timeout
 *     dropped                –                         unknown, after a timeout
 *     refused                –                         refused; now and then: because it is too large
 *     tooLarge               –                         refused, because it is too large; in scenarios
 *     refusedYetThere        appends, now or later     refused, against the rules, as if we had misread an error of the broker
 *     late                   appends, much later       unknown, after a timeout, long before
 *     slow                   appends, late             unknown; then, against the rules, the base offset after all
 *     twice                  appends now and later     base offset of the first copy
 *     twiceAtOnce            appends two copies, soon  base offset of the second
 *
 * A batch is in the log whole or not at all. Reads may lag, come in small pieces, or fail. The tail is lost only when a scenario says so.
 */
import { LogError, partitionName } from '../../src/ports/log.ts';
import type {
  AppendOutcome,
  BatchSource,
  Log,
  LogAttachment,
  LogBounds,
  LogRecord,
  PartitionId,
  SealedBatch,
  StoredRecord,
} from '../../src/ports/log.ts';
import type { SimNode } from './sim-node.ts';
import type { World } from './world.ts';

export const appendFates = ['replyLost', 'dropped', 'refused', 'late', 'slow', 'twice', 'twiceAtOnce', 'refusedYetThere'] as const;
export type AppendFate = 'ok' | 'tooLarge' | (typeof appendFates)[number];
export const readFaults = ['readFails', 'readLags', 'endFails'] as const;
export type LogFault = (typeof appendFates)[number] | (typeof readFaults)[number];

export type LogFaults = {
  /** Probability by kind. */
  rates: Partial<Record<LogFault, number>>;
  readonly timeoutMs: number;
  readonly delayMsMax: number;
  readonly lateMsMax: number;
};

/** The broker: all partitions, and how often each fault was injected. */
export class SimBroker {
  readonly world: World;
  readonly faults: LogFaults;
  readonly injected = new Map<string, number>();
  readonly exclusive: boolean;
  /** Nothing is answered until then. */
  downUntilMs = 0;
  /** The fates of the next appends, for scenarios; then the rates decide. */
  readonly script: AppendFate[] = [];
  readonly #partitions = new Map<string, StoredRecord[]>();
  readonly #removed = new Set<string>();
  readonly #starts = new Map<string, number>();

  constructor(world: World, faults: LogFaults, exclusive: boolean) {
    this.world = world;
    this.faults = faults;
    this.exclusive = exclusive;
  }

  get down(): boolean {
    return this.world.nowMs < this.downUntilMs;
  }

  records(id: PartitionId): StoredRecord[] {
    const name = partitionName(id);
    let records = this.#partitions.get(name);
    if (records === undefined) this.#partitions.set(name, (records = []));
    return records;
  }

  append(id: PartitionId, batch: readonly LogRecord[], who: string): number {
    const records = this.records(id);
    const baseOffset = records.length;
    for (const record of batch) records.push({ ...record, offset: records.length });
    const { epoch, sequence, type } = batch[0] as LogRecord;
    this.world.trace(`log ${id.partition}@${baseOffset} +${batch.length} ${type} ${epoch}.${sequence} of ${who}`);
    return baseOffset;
  }

  /** A leader change without the last records (T5, T6 only). */
  loseTail(id: PartitionId, count: number): void {
    this.records(id).splice(-count);
    this.world.trace(`log ${id.partition} loses ${count}`);
  }

  start(id: PartitionId): number {
    return this.#starts.get(partitionName(id)) ?? 0;
  }

  /** Where the log starts from now on: further, or back after a crash of the broker. */
  startAt(id: PartitionId, start: number): void {
    if (start === this.start(id)) return;
    this.#starts.set(partitionName(id), start);
    this.world.trace(`log ${id.partition} starts at ${start}`);
  }

  /** What compaction does to a journal. */
  remove(id: PartitionId, from: number, to: number): void {
    for (let offset = from; offset <= to; offset++) this.#removed.add(`${partitionName(id)}/${offset}`);
    this.world.trace(`log ${id.partition} loses ${from} to ${to} from its middle`);
  }

  /** What is left of the records from `from` to below `to`. */
  left(id: PartitionId, from: number, to: number): StoredRecord[] {
    const records = this.records(id).slice(from, to);
    return this.#removed.size === 0 ? records : records.filter(({ offset }) => !this.#removed.has(`${partitionName(id)}/${offset}`));
  }

  fate(): AppendFate {
    const scripted = this.script.shift();
    if (scripted !== undefined) return this.#count(scripted);
    if (this.down) return this.#count(this.world.random.chance(0.5) ? 'dropped' : 'refused');
    for (const fate of appendFates) if (this.world.random.chance(this.faults.rates[fate] ?? 0)) return this.#count(fate);
    return 'ok';
  }

  hits(fault: LogFault): boolean {
    const hit = this.world.random.chance(this.faults.rates[fault] ?? 0);
    if (hit) this.#count(fault);
    return hit;
  }

  delayMs(): number {
    return this.world.random.int(1, this.faults.delayMsMax);
  }

  #count<Kind extends string>(kind: Kind): Kind {
    if (kind !== 'ok') this.injected.set(kind, (this.injected.get(kind) ?? 0) + 1);
    return kind;
  }
}

type Slot = { readonly id: PartitionId; readonly source: BatchSource; attached: boolean; ready: boolean; busy: boolean };

/** The log port of one node. */
export class SimLog implements Log {
  readonly exclusive: boolean;
  readonly #broker: SimBroker;
  readonly #node: SimNode;
  readonly #slots = new Set<Slot>();

  constructor(broker: SimBroker, node: SimNode) {
    this.#broker = broker;
    this.#node = node;
    this.exclusive = broker.exclusive;
  }

  attach(id: PartitionId, source: BatchSource): LogAttachment {
    const slot: Slot = { id, source, attached: true, ready: false, busy: false };
    this.#slots.add(slot);
    return {
      ready: () => {
        if (slot.ready || !slot.attached) return;
        slot.ready = true;
        if (!slot.busy) this.#node.at(0, () => this.#flush(slot));
      },
      detach: () => {
        slot.attached = false;
        this.#slots.delete(slot);
      },
    };
  }

  /** The connections to the brokers were lost, or the leaders changed. */
  reconnect(): void {
    for (const { source } of this.#slots) source.reconnected?.();
  }

  read(id: PartitionId, fromOffset: number): Promise<readonly StoredRecord[]> {
    return this.#request('read', () => {
      if (this.#broker.hits('readFails')) throw new LogError('unavailable', 'simulated: the read failed');
      const records = this.#broker.records(id);
      if (fromOffset > records.length)
        throw new LogError('out-of-range', `simulated: no offset ${fromOffset}, the end is ${records.length}`);
      const start = this.#broker.start(id);
      if (fromOffset < start) throw new LogError('out-of-range', `simulated: no offset ${fromOffset}, the start is ${start}`);
      const lag = this.#broker.hits('readLags') ? this.#node.world.random.int(1, 4) : 0;
      const visible = Math.max(fromOffset, records.length - lag);
      return this.#broker.left(id, fromOffset, visible).slice(0, this.#node.world.random.int(1, 8));
    });
  }

  bounds(id: PartitionId): Promise<LogBounds> {
    return this.#request('bounds', () => {
      if (this.#broker.hits('readFails')) throw new LogError('unavailable', 'simulated: no metadata');
      return { start: this.#broker.start(id), end: this.#broker.records(id).length };
    });
  }

  end(id: PartitionId): Promise<number> {
    return this.#request('end', () => {
      if (this.#broker.hits('endFails')) throw new LogError('unavailable', 'simulated: no answer');
      return this.#broker.records(id).length;
    });
  }

  truncate(id: PartitionId, beforeOffset: number): Promise<void> {
    return this.#request('truncate', () => {
      if (this.#broker.hits('readFails')) throw new LogError('unavailable', 'simulated: not trimmed');
      this.#broker.startAt(id, Math.max(this.#broker.start(id), beforeOffset));
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #flush(slot: Slot): void {
    if (!slot.attached || slot.busy || !slot.ready) return;
    slot.ready = false;
    const batch = slot.source.seal();
    if (batch === undefined) return;
    slot.busy = true;
    this.#send(slot, batch);
  }

  #send(slot: Slot, batch: SealedBatch): void {
    const broker = this.#broker;
    const world = this.#node.world;
    const fate = broker.fate();
    const { timeoutMs, lateMsMax } = broker.faults;
    const { generation } = batch;
    const thereMs = broker.delayMs();
    const backMs = broker.delayMs();
    if (fate !== 'ok') world.trace(`append of ${this.#node.name} will be ${fate}`);
    if (this.#node.diesAt('append asked')) return;
    const reply = this.#node.replyTo();
    const append = (): number => {
      const baseOffset = broker.append(slot.id, batch.records, this.#node.name);
      this.#node.diesAt('append done');
      return baseOffset;
    };
    const appendedAfter = (delayMs: number): void => {
      world.at(delayMs, () => {
        const baseOffset = append();
        reply(backMs, () => this.#settle(slot, { kind: 'appended', generation, baseOffset }));
      });
    };
    const unknown = (): void => {
      reply(timeoutMs, () => this.#settle(slot, { kind: 'unknown', generation, reason: `simulated ${fate}` }));
    };
    const refused = (tooLarge: boolean): void => {
      reply(thereMs, () => this.#settle(slot, { kind: 'refused', generation, reason: 'simulated', tooLarge }));
    };
    switch (fate) {
      case 'ok':
        return appendedAfter(thereMs);
      case 'replyLost':
        world.at(thereMs, append);
        return unknown();
      case 'dropped':
        return unknown();
      case 'refusedYetThere':
        world.at(world.random.chance(0.5) ? 0 : thereMs + world.random.int(0, lateMsMax), append);
        return refused(world.random.chance(0.3));
      case 'refused':
        return refused(world.random.chance(0.3));
      case 'tooLarge':
        return refused(true);
      case 'late':
        world.at(timeoutMs + world.random.int(0, lateMsMax), append);
        return unknown();
      case 'slow':
        appendedAfter(timeoutMs - backMs + world.random.int(0, timeoutMs));
        return unknown();
      case 'twice':
        world.at(thereMs + world.random.int(0, lateMsMax), append);
        return appendedAfter(thereMs);
      case 'twiceAtOnce':
        world.at(thereMs, append, 0);
        return appendedAfter(thereMs + (world.random.chance(0.5) ? 0 : world.random.int(1, timeoutMs / 2)));
    }
  }

  #settle(slot: Slot, outcome: AppendOutcome): void {
    slot.busy = false;
    if (!slot.attached) return;
    slot.source.settle(outcome);
    if (slot.ready) this.#node.at(0, () => this.#flush(slot));
  }

  /** There, look, and back: what is answered was true when the broker looked. */
  #request<T>(what: string, look: () => T): Promise<T> {
    const { world } = this.#node;
    if (this.#node.diesAt(`${what} asked`)) return new Promise(() => {});
    const reply = this.#node.replyTo();
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void): void => {
        reply(this.#broker.delayMs(), () => {
          world.promiseSettled();
          settle();
        });
      };
      world.at(this.#broker.delayMs(), () => {
        try {
          if (this.#broker.down) throw new LogError('unavailable', 'simulated: the broker is down');
          const value = look();
          this.#node.diesAt(`${what} done`);
          answer(() => resolve(value));
        } catch (error) {
          answer(() => reject(error instanceof Error ? error : new Error(String(error))));
        }
      });
    });
  }
}
