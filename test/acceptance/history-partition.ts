/**
 * One history partition as a server runs it, without the shell's own doings: the production loop, core and codec on a real log. Timers,
 * tasks and outbox come from the script, so that nothing happens which was not asked for.
 */
import { assert } from '../../src/kernel/assert.ts';
import { effective } from '../../src/actors/ownership/effective.ts';
import type { LogCursor } from '../../src/actors/ownership/effective.ts';
import { missingOffsets } from '../../src/ports/log.ts';
import type { Log, PartitionId, StoredRecord } from '../../src/ports/log.ts';
import { PartitionLoop } from '../../src/actors/partition/partition-loop.ts';
import type { PartitionStatus } from '../../src/actors/ownership/partition-owner.ts';
import { systemClock, systemRandom } from '../../src/ports/system-ports.ts';
import type { HistoryCommand } from '../../src/history/commands/history-commands.ts';
import type { HistoryEffect } from '../../src/history/run/effects.ts';
import { commandScale } from '../../src/history/command-table.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryRecord } from '../../src/history/run/record.ts';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { claimsOf } from '../../src/start/server-contact.ts';
import { decodeClaim } from '../../src/wire/generated/journal/claim.ts';
import { scriptLimits } from './history-script.ts';
import type { ScriptEntry } from './history-script.ts';

/** Asks of ours beside those of the script. */
const FIRST_OWN_ASK = 1_000_000;
const probe = { kind: 'describeWorkflow', key: { namespaceId: 'ns-id', workflowId: 'no-such-workflow', runId: '' } } as const;

export class LivePartition {
  core: HistoryCore | undefined;
  readonly #loop: PartitionLoop<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect>;
  readonly #answered = new Map<number, () => void>();
  readonly #active = Promise.withResolvers<void>();
  readonly #broken = Promise.withResolvers<never>();
  #nowMs: number;
  #nextAsk = FIRST_OWN_ASK;

  private constructor(log: Log, partition: PartitionId, nowMs: number) {
    this.#nowMs = nowMs;
    this.#loop = new PartitionLoop({
      partition,
      log,
      codec: historyCodec,
      claims: claimsOf({ instance: '', addresses: [] }),
      owner: 'replay property',
      create: () => this.#create(),
      asks: {
        fail: (askId, failure) => this.#failed(new Error(`ask ${askId}: ${failure.message}`)),
        failAll: (_, failure) => this.#failed(new Error(failure.message)),
        abandon: (message) => this.#failed(new Error(message)),
      },
      clock: { ...systemClock, wallMs: () => this.#nowMs },
      random: systemRandom,
      scale: { ...commandScale, namespaceOf: () => '' },
      logger: silentLogger,
      onStatus: (status) => this.#statusChanged(status),
    });
  }

  static async open(log: Log, partition: PartitionId, nowMs: number): Promise<LivePartition> {
    const live = new LivePartition(log, partition, nowMs);
    live.#loop.start();
    await Promise.race([live.#active.promise, live.#broken.promise]);
    return live;
  }

  get status(): PartitionStatus {
    return this.#loop.status();
  }

  get state(): string {
    assert(this.core !== undefined, 'an active partition has a core');
    return this.core.canonicalState();
  }

  /** Decides these in one turn, so that their records share batches; returns when all are committed. */
  async play(entries: readonly ScriptEntry[]): Promise<void> {
    for (const { nowMs, askId, command } of entries) {
      this.#nowMs = nowMs;
      this.#submit(askId, command);
    }
    await Promise.race([this.#settled(), this.#broken.promise]);
  }

  drain(): Promise<void> {
    return this.#loop.drain();
  }

  /** As a crash would end it. */
  close(): void {
    this.#loop.close();
  }

  #submit(askId: number, command: HistoryCommand): void {
    const refused = this.#loop.submit(askId, command);
    if (refused !== undefined) throw new Error(refused.message);
  }

  /** A read is answered after everything that was decided before it. */
  #settled(): Promise<void> {
    const askId = this.#nextAsk++;
    return new Promise((resolve) => {
      this.#answered.set(askId, resolve);
      this.#submit(askId, probe);
    });
  }

  #create() {
    const core = new HistoryCore({ wire: historyWire, limits: scriptLimits });
    this.core = core;
    return {
      core,
      shell: {
        answer: (askId: number) => {
          this.#answered.get(askId)?.();
          this.#answered.delete(askId);
        },
        act: () => {},
        activated: () => {},
        deactivated: () => {},
        accepted: () => {},
        undecided: () => {},
      },
      subscribers: [],
    };
  }

  #statusChanged({ state, reason }: PartitionStatus): void {
    if (state === 'active') this.#active.resolve();
    if (state === 'failed') this.#failed(new Error(reason));
  }

  /** Whoever waits for it hears of it. */
  #failed(error: Error): void {
    this.#broken.promise.catch(() => {});
    this.#broken.reject(error);
  }
}

/** Another reader of the same journal: it knows what the log shows, and nothing else. */
export class JournalReader {
  readonly #log: Log;
  readonly #partition: PartitionId;
  readonly #core = new HistoryCore({ wire: historyWire, limits: scriptLimits });
  readonly #cursor: LogCursor = { epoch: 0, sequence: 0, offset: 0 };
  counted = 0;
  void = 0;
  /** Of the events in its journal. */
  readonly types = new Set<string>();
  lastCounted: StoredRecord | undefined;

  constructor(log: Log, partition: PartitionId) {
    this.#log = log;
    this.#partition = partition;
  }

  get state(): string {
    return this.#core.canonicalState();
  }

  get position(): Readonly<LogCursor> {
    return this.#cursor;
  }

  async readTo(end: number): Promise<void> {
    while (this.#cursor.offset < end) {
      for (const record of await this.#log.read(this.#partition, this.#cursor.offset, 64 * 1024)) {
        const verdict = effective(this.#cursor, record, { decode: decodeClaim });
        if (verdict === 'hole') throw missingOffsets(this.#partition, this.#cursor.offset, record.offset - 1);
        if (verdict === 'void' || verdict === 'foreign') this.void += 1;
        if (verdict !== 'record') continue;
        const decoded = historyCodec.decode(record.value, record.schema);
        this.#core.evolve(decoded);
        this.counted += 1;
        for (const { events } of decoded.runs) for (const { event } of events) this.types.add(event.type);
        this.lastCounted = record;
      }
    }
  }
}
