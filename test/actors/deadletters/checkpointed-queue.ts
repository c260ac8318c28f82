/** One dead letter queue that is killed and started again, over one log and one database. Shards hand dead letters over, somebody purges them. */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import assert from 'node:assert/strict';
import { partitionName } from '../../../src/ports/log.ts';
import { AUDIT_ACTOR, type DeadLetterAnswer, type Router } from '../../../src/actors/asks/router.ts';
import type { CheckpointLimits } from '../../../src/projections/checkpoints/checkpoint-limits.ts';
import { effective } from '../../../src/actors/ownership/effective.ts';
import type { Database, JournalId } from '../../../src/projections/database-port.ts';
import { AuditHost } from '../../../src/actors/deadletters/audit/audit-host.ts';
import type { LetterExecutionParts } from '../../../src/actors/deadletters/queue/letter-execution.ts';
import { QueueHost } from '../../../src/actors/deadletters/queue/queue-host.ts';
import type { DeadLetterRequest, FindPurged, RestoreLetters } from '../../../src/deadletters/letter-commands.ts';
import type { DeadLetterQueue, Letter } from '../../../src/deadletters/letter.ts';
import { letterRow, type LetterRow } from '../../../src/deadletters/letter-records.ts';
import { QueueState } from '../../../src/deadletters/queue-state.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import type { PendingTask } from '../../../src/history/run/tasks.ts';
import type { AuditEntry } from '../../../src/deadletters/audit/audit-entry.ts';
import { auditCodec } from '../../../src/codec/audit-codec.ts';
import { deadLetterCodec } from '../../../src/codec/dead-letter-codec.ts';
import { deadLetterStateCodec } from '../../../src/codec/dead-letter-state-codec.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { turns } from '../../support/event-loop.ts';
import { CheckpointedPartition } from '../checkpointed-partition.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';

/** No number of a partition of its topic. */
const queue: DeadLetterQueue = { number: 7, category: 'transfer', categoryId: 1, sourceCluster: 'active', targetCluster: 'active' };
const journal: JournalId = { kind: 'deadLetters', partition: queue.number };
const topic = 'dlq.test.transfer.active';

export class CheckpointedQueue extends CheckpointedPartition<QueueHost> {
  readonly #limits: Partial<CheckpointLimits>;
  readonly codec = deadLetterCodec(queue, 'test');
  /** Whose letters it is for. */
  category: DeadLetterQueue['category'] = queue.category;
  /** How long a purge can be undone. */
  undoWindowMs = 0;
  /** It tells an audit, of the same process. */
  isAudited = false;
  /** False: somebody else answers for it. */
  protected readonly hasShard: boolean = true;
  /** No audit is there, from now on. */
  isAuditAway = false;
  /** Of each shard: what it has handed over and knows the ids of. */
  readonly #handedOver = new Map<number, number>();

  constructor(limits: Partial<CheckpointLimits> = {}) {
    super({ topic, journal, partition: 0 });
    this.#limits = limits;
  }

  get rows(): ReadonlyMap<number, LetterRow> {
    return this.tables.journal(journal).letters;
  }

  get unwrittenBytes(): number {
    return this.host.actor.memory?.checkpointer.unwrittenBytes ?? 0;
  }

  async ask<Request extends DeadLetterRequest>(request: Request): Promise<DeadLetterAnswer<Request> | undefined> {
    let answer: DeadLetterAnswer<Request> | undefined;
    this.askWith(request, (given) => (answer = given));
    await turns(8);
    return answer;
  }

  /** The number of the ask. */
  askWith<Request extends DeadLetterRequest>(request: Request, onAnswer: (answer: DeadLetterAnswer<Request>) => void): number {
    return this.router.askDeadLetters(queue.number, request, ownWork(FAR_AWAY_MS), onAnswer);
  }

  /** The next ones of a shard: the same again where nobody told it of them. */
  async handOver(shard: number, count: number): Promise<readonly number[]> {
    const before = this.#handedOver.get(shard) ?? 0;
    const letters = Array.from({ length: count }, (_, index): Letter => letterOf(shard, before + index + 1));
    const answer = await this.ask({ kind: 'acceptLetters', shard, letters });
    if (answer?.kind !== 'accepted') return [];
    this.#handedOver.set(shard, before + count);
    return answer.ids;
  }

  async purge(ids: readonly number[]): Promise<void> {
    const from = Math.min(...ids);
    await this.ask({ kind: 'claimLetters', jobId: 'job', ranges: [{ from, to: Math.max(...ids) }] });
    const letters = ids.map((messageId) => ({ messageId, generation: 0 }));
    await this.ask({ kind: 'purgeLetters', jobId: 'job', who: 'anna', why: '', letters });
  }

  /** Of the audit topic: those that count. */
  audited(): readonly AuditEntry[] {
    const cursor = { epoch: 0, sequence: 0, offset: 0 };
    const all = this.log.records({ topic: 'test.audit', partition: 0 });
    const records = all.filter((record) => effective(cursor, record, jsonClaims) === 'record');
    return records.map((stored) => auditCodec.decode(stored.value, stored.schema, stored).entry);
  }

  async findPurged(purgedBy?: string): Promise<DeadLetterAnswer<FindPurged> | undefined> {
    return await this.ask({ kind: 'findPurged', ids: [{ from: 0, to: 1_000 }], purgedBy });
  }

  async restore(messageIds: readonly number[]): Promise<DeadLetterAnswer<RestoreLetters> | undefined> {
    const ranges = [{ from: Math.min(...messageIds), to: Math.max(...messageIds) }];
    await this.ask({ kind: 'releaseClaim', jobId: 'job' });
    await this.ask({ kind: 'claimLetters', jobId: 'undo', ranges });
    const answer = await this.ask({ kind: 'restoreLetters', jobId: 'undo', who: 'bert', why: 'a mistake', messageIds });
    await turns(8);
    await this.ask({ kind: 'releaseClaim', jobId: 'undo' });
    return answer;
  }

  /** As where there is none, and rows stood in the memory of the process before. */
  loseDatabase(): void {
    const rows = this.tables.journal(journal);
    rows.letters.clear();
    rows.position = undefined;
  }

  /** While nobody serves it, and the next owner makes it anew. */
  async beginAnew(): Promise<void> {
    this.anotherProcess();
    this.log.records({ topic, partition: 0 }).length = 0;
    this.log.starts.delete(partitionName({ topic, partition: 0 }));
    this.loseDatabase();
    await this.takeOver();
  }

  // ── What must be true ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Memory is what the journal says, from its first record on. */
  checkMemory(): void {
    const { memory } = this.host.actor;
    assert.equal(memory?.core.state.canonical(), this.#folded().state.canonical(), 'memory is the journal, folded from 0');
  }

  /** The rows are what the journal says up to their position. */
  checkRows(): void {
    const { position } = this.tables.journal(journal);
    if (position === undefined) return;
    const { state, rows } = this.#folded(position.lastOffset);
    assert.deepEqual(
      new Map([...this.rows].toSorted(byId)),
      new Map([...rows].toSorted(byId)),
      'the index is the journal up to its position',
    );
    const restored = new QueueState(deadLetterStateCodec.decodeCounters(position.counters), position.timeMs);
    assert.equal(restored.canonical(), state.canonical(), 'what is one for all rows is the journal up to their position');
  }

  #folded(lastOffset = Infinity): { readonly state: QueueState; readonly rows: ReadonlyMap<number, LetterRow> } {
    const state = new QueueState();
    const rows = new Map<number, LetterRow>();
    for (const stored of this.records()) {
      if (stored.offset > lastOffset) break;
      const record = this.codec.decode(stored.value, stored.schema, stored);
      state.evolve(record);
      if (record.kind === 'resolved') rows.delete(record.messageId);
      if (record.kind !== 'letter' && record.kind !== 'damaged') continue;
      rows.set(record.messageId, letterRow(record, { sourceCluster: queue.sourceCluster, offset: stored.offset }));
    }
    return { state, rows };
  }

  startAudit(router: Router): void {
    const options = { owner: 'test', log: this.log, claims: jsonClaims, clock: this.clock, random: this.random, logger: this.logger };
    const sink = router.audit.sink(AUDIT_ACTOR);
    const audit = new AuditHost({ ...options, topic: 'test.audit', codec: auditCodec, sink, onStatus: () => {} });
    router.audit.attach(AUDIT_ACTOR, audit.actor);
    audit.actor.start();
  }

  /** Whose task it is, a letter of these tells with its value: the workflow `order-7`. */
  protected execution(router: Router): LetterExecutionParts {
    const sink = router.history.sink(1);
    // The shard of all workflows executes none of them.
    const submit = (askId: number, { kind }: HistoryRequest): undefined => {
      assert.equal(kind, 'listLetterMarks');
      this.clock.soon(() => sink.answer(askId, { kind: 'letterMarks', pending: [], ended: [] }));
    };
    if (this.hasShard) router.history.attach(1, { submit, cancel: () => {} });
    return {
      registry: { view: { namespaceById: () => undefined, namespaceByName: () => undefined } },
      router,
      historyShards: 1,
      tasks: { decode: decodeLetterTask, encode: ({ taskId }) => Uint8Array.of(taskId) },
      maxGeneration: () => 5,
      node: 'host:7233',
      build: '0.1.0',
    };
  }

  protected open(router: Router, database: Database): QueueHost {
    if (this.isAudited && !this.isAuditAway) this.startAudit(router);
    const execution = this.execution(router);
    const host = new QueueHost({
      queue: { ...queue, category: this.category },
      topic,
      owner: 'test',
      log: this.log,
      codec: this.codec,
      claims: jsonClaims,
      sink: router.deadLetters.sink(queue.number),
      clock: this.clock,
      random: this.random,
      logger: this.logger,
      onStatus: () => {},
      execution,
      undoWindowMs: () => this.undoWindowMs,
      ...(this.isAudited ? { audit: router } : {}),
      checkpoints: { database, stateWire: deadLetterStateCodec, schedule: this.schedule, limits: this.#limits },
    });
    router.deadLetters.attach(queue.number, host);
    return host;
  }
}

function decodeLetterTask({ value }: { readonly value: Uint8Array }): PendingTask {
  const taskId = value[1];
  if (taskId === undefined) throw new Error('it is damaged');
  const { namespaceId, runId } = letterOf(1, taskId).task;
  const key = { namespaceId, workflowId: `order-${taskId}`, runId };
  return { kind: 'startChild', taskId, version: 0, key, initiatedEventId: 5, target: { namespaceId, workflowId: 'child', runId: '' } };
}

function byId([one]: readonly [number, unknown], [other]: readonly [number, unknown]): number {
  return one - other;
}
