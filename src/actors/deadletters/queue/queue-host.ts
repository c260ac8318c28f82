/**
 * A dead letter queue: the actor around QueueCore, owner of the one partition of its topic.
 *
 *     router ─▶ PartitionActor ─▶ QueueCore ─▶ records ─▶ committed ─┬─▶ QueueMemory   answers
 *                                                                    └─▶ Checkpointer  rows of the index, from which it is made again
 *
 * It serves no workflow: what befalls it is told, and takes nothing else out of service.
 */
import type { DeadLetterCommand, DeadLetterEffect, DeadLetterReply, DeadLetterRequest } from '../../../deadletters/letter-commands.ts';
import type { DeadLetterQueue, Letter } from '../../../deadletters/letter.ts';
import { QueueCore } from '../../../deadletters/queue-core.ts';
import { QueueState } from '../../../deadletters/queue-state.ts';
import type { DeadLetterRecord, LetterRow } from '../../../deadletters/letter-records.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { drawnIncarnation } from '../../../kernel/queue-incarnation.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { LogFields, Logger } from '../../../observability/logger.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { Endpoint } from '../../asks/switchboard.ts';
import type { Checkpointer } from '../../../projections/checkpoints/checkpointer.ts';
import { checkpointerOf } from '../../../projections/checkpoints/partition-checkpoints.ts';
import type { JournalId, Restored } from '../../../projections/database-port.ts';
import type { Log, OffsetRange } from '../../../ports/log.ts';
import { PartitionActor, type ActorOptions } from '../../partition/partition-actor.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import type { ReadAhead, ShellMemory, Tenure } from '../../partition/partition-core.ts';
import { QueueStory } from '../../../deadletters/audit/queue-story.ts';
import type { AuditAsker } from '../../asks/router.ts';
import { AuditTeller } from '../audit/audit-teller.ts';
import { GAUGES_EVERY_MS, type QueueMetrics } from './queue-metrics.ts';
import { LettersAhead, QueueIndex } from './queue-index.ts';
import { LetterExecution, type LetterExecutionParts } from './letter-execution.ts';
import { LostLetters } from './lost-letters.ts';
import { QueueCompaction, QueueUndo, type CompactionTiming } from './queue-compaction.ts';
import { installQueue, QueueCheckpoints, type QueueCheckpointOptions, recordBytes } from './queue-checkpoints.ts';

export type QueueHostOptions = ActorOptions<DeadLetterReply, DeadLetterRecord> & {
  readonly queue: DeadLetterQueue;
  /** The cluster whose letters the queue takes. Its topic may hold letters of an earlier cluster. */
  readonly clusterId?: string;
  readonly checkpoints: QueueCheckpointOptions;
  /** Letters that a purge may have written again at once, so that the rest can be forgotten. As of now; `perdure.dlq.compactionMaxCarry`. */
  readonly carryAtOnceMax?: () => number;
  readonly compactionTiming?: Partial<CompactionTiming>;
  /** How long a purge can be undone. As of now; `perdure.dlq.undoWindow`. */
  readonly undoWindowMs?: () => number;
  readonly metrics?: QueueMetrics;
  readonly execution: LetterExecutionParts;
  readonly audit?: AuditAsker;
};

const CARRY_AT_ONCE_MAX = 10_000;

/** Bytes of rows that the database lacks. Beyond it the queue accepts no letters, and shards keep them. */
const UNWRITTEN_BYTES_MAX = 64 * 1024 * 1024;

export class QueueHost implements Endpoint<DeadLetterRequest> {
  readonly actor: PartitionActor<DeadLetterCommand, DeadLetterReply, DeadLetterRecord, DeadLetterEffect, QueueMemory>;
  readonly #metrics: QueueMetrics | undefined;

  constructor(options: QueueHostOptions) {
    const { queue, checkpoints } = options;
    this.#metrics = options.metrics;
    this.actor = new PartitionActor(options, {
      partition: 0,
      logFields: logFieldsOf(queue),
      create: (tenure) => new QueueMemory(options, tenure),
      scale: {
        bytesOf: commandBytes,
        namespaceOf: () => '',
        finishesWork: ({ kind }) => kind === 'finishMerge' || kind === 'finishWithdrawal',
      },
      checkpoints: { restore: () => checkpoints.database.restore(journalOf(queue)) },
      drained: async (memory) => await memory.checkpointer.finish(),
      mayLack: 'anything',
    });
  }

  /** Letters in the queue; undefined: it is not served. */
  get letters(): number | undefined {
    const { memory } = this.actor;
    if (memory?.isServed !== true) return undefined;
    const { ids } = memory.core.state;
    return ids.count('open') + ids.count('quarantined');
  }

  /** Where its journal may begin: what stands before that was written again, or its loss was told. Infinity: nobody knows now. */
  get journalStartMax(): number {
    const { memory } = this.actor;
    return memory?.isServed === true ? Math.max(memory.core.state.cut, memory.lost.before) : Infinity;
  }

  submit(askId: number, request: DeadLetterRequest): AskFailure | undefined {
    if (request.kind === 'purgeLetters') {
      const { memory } = this.actor;
      const asksShards = memory?.execution.outstanding.knowsAll === false;
      return memory?.purgeTrouble ?? this.actor.submit(askId, asksShards ? { ...request, asksShards: true } : request);
    }
    if (request.kind !== 'acceptLetters') return this.actor.submit(askId, request);
    const unwritten = this.actor.memory?.checkpointer.unwrittenBytes ?? 0;
    const failure = unwritten < UNWRITTEN_BYTES_MAX ? this.actor.submit(askId, request) : databaseBehind;
    if (failure !== undefined) this.#metrics?.failed('PersistenceEnqueueMessageToDLQ');
    return failure;
  }

  cancel(askId: number): void {
    this.actor.cancel(askId);
  }
}

const databaseBehind: AskFailure = {
  kind: 'busy',
  message: 'the database does not accept the rows of dead letters: queues accept no new ones until it does',
};

function logFieldsOf({ category, sourceCluster }: DeadLetterQueue): LogFields {
  return { 'task-category': category, 'xdc-source-cluster': sourceCluster };
}

function journalOf({ number }: DeadLetterQueue): JournalId {
  return { kind: 'deadLetters', partition: number };
}

/** Bytes of rows that the database lacks during a replay. Beyond it the replay waits for the database. */
const FOLD_UNWRITTEN_BYTES_MAX = 8 * 1024 * 1024;

class QueueMemory implements ShellMemory<DeadLetterCommand, DeadLetterReply, DeadLetterRecord, DeadLetterEffect> {
  readonly core: QueueCore;
  readonly shell = this;
  readonly subscribers: readonly CommitSubscriber<DeadLetterRecord>[];
  readonly readAhead: ReadAhead<DeadLetterRecord>;
  readonly checkpointer: Checkpointer;
  readonly lost: LostLetters;
  readonly execution: LetterExecution;
  readonly #options: QueueHostOptions;
  readonly #tenure: Tenure<DeadLetterCommand>;
  readonly #logger: Logger;
  readonly #unwritten: QueueCheckpoints;
  readonly #index: QueueIndex;
  readonly #teller: AuditTeller<DeadLetterRecord> | undefined;
  readonly #compaction: QueueCompaction;
  readonly #undo: QueueUndo;
  isServed = false;

  constructor(options: QueueHostOptions, tenure: Tenure<DeadLetterCommand>) {
    const { queue, checkpoints, metrics, log, topic, audit, undoWindowMs = () => 0 } = options;
    const logger = options.logger.with(logFieldsOf(queue));
    const journal = journalOf(queue);
    const state = new QueueState(undefined, 0, options.clusterId);
    // tdbg asks for all tasks of another cluster up to an id, and means all of them by 0, so these ids begin at 1.
    const firstId = queue.sourceCluster === queue.targetCluster ? 0 : 1;
    const core = new QueueCore(state, drawnIncarnation(options.random.fraction()), firstId);
    const unwritten = new QueueCheckpoints({ core, stateWire: checkpoints.stateWire, sourceCluster: queue.sourceCluster });
    const checkpointer = checkpointerOf({ ...options, logger, journal, state: unwritten, onFenced: () => tenure.fenced() });
    this.core = core;
    this.checkpointer = checkpointer;
    this.#options = options;
    this.#tenure = tenure;
    this.#logger = logger;
    this.#unwritten = unwritten;
    const { database } = checkpoints;
    const parts = { ...options, logger, partition: { topic, partition: 0 }, core, database, journal, checkpointer, tenure, undoWindowMs };
    const index = new QueueIndex({ ...parts, unwritten });
    const truncate: Log['truncate'] =
      metrics === undefined
        ? (...given) => log.truncate(...given)
        : (...given) => metrics.timed('PersistenceRangeDeleteMessagesFromDLQ', () => log.truncate(...given));
    const teller = audit && new AuditTeller({ ...parts, audit, story: () => new QueueStory(topic) });
    const compaction = new QueueCompaction({
      ...parts,
      ...(teller === undefined ? {} : { audited: (offset) => teller.toldUpTo(offset) }),
      log: { read: (...given) => log.read(...given), bounds: (id) => log.bounds(id), truncate },
      carryAtOnceMax: options.carryAtOnceMax ?? (() => CARRY_AT_ONCE_MAX),
      ...(options.compactionTiming === undefined ? {} : { timing: options.compactionTiming }),
    });
    const ahead = new LettersAhead(index);
    this.execution = new LetterExecution({
      ...parts,
      ...options.execution,
      incarnation: () => core.incarnation,
      read: (messageId) => ahead.read(messageId),
      mayRestore: () => core.state.uncutPurges > 0 && undoWindowMs() > 0,
      ...(metrics === undefined ? {} : { onOutcome: (...given) => metrics.merged(...given) }),
    });
    this.lost = new LostLetters(parts);
    this.#index = index;
    this.#teller = teller;
    this.#compaction = compaction;
    this.#undo = new QueueUndo(parts);
    this.subscribers = [
      this.execution,
      ahead,
      ...(teller === undefined ? [] : [teller]),
      {
        committed: (record, position, replayed) => {
          unwritten.collect(record, position.offset);
          index.committed(record);
          checkpointer.committed(recordBytes(record), position, replayed);
          compaction.committed(record, position.offset);
          metrics?.committed(record, replayed);
        },
      },
    ];
    // A journal of a million letters is folded, and they are never all in memory.
    const tooMany = (): boolean => unwritten.unwrittenBytes >= FOLD_UNWRITTEN_BYTES_MAX;
    this.readAhead = { load: () => (tooMany() ? checkpointer.writtenNow().then(() => undefined) : undefined) };
  }

  /** Which letters may still be executed has to be known before any is purged. */
  get purgeTrouble(): AskFailure | undefined {
    const message = this.isServed ? this.execution.outstanding.trouble : undefined;
    return message === undefined ? undefined : { kind: 'unavailable', message };
  }

  recordsLost(lost: readonly OffsetRange[]): void {
    this.lost.found(lost);
  }

  /** The age of the oldest letter is looked up now and then, as long as this memory is the queue's. */
  #gauged(): void {
    const { metrics } = this.#options;
    if (metrics === undefined) return;
    const rowOf = async (messageId: number): Promise<LetterRow | undefined> =>
      this.#unwritten.pending(messageId) ?? (await this.#index.rowOf(messageId));
    metrics.activated({ state: this.core.state, rowOf });
    const again = (): void => {
      void metrics.refresh();
      this.#tenure.after(GAUGES_EVERY_MS, again);
    };
    this.#tenure.after(GAUGES_EVERY_MS, again);
  }

  async install(restored: Restored): Promise<void> {
    const { queue, checkpoints } = this.#options;
    await installQueue(this.core, checkpoints.stateWire, journalOf(queue), restored);
    this.checkpointer.installed(restored);
  }

  // ── The shell ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  activated(): void {
    this.#compaction.activated();
    this.isServed = true;
    const { ids } = this.core.state;
    this.#index.activated(ids.count('open') + ids.count('quarantined'));
    this.#teller?.activated();
    void this.lost.tell();
    this.execution.activated();
    this.#gauged();
  }

  deactivated(): void {
    this.checkpointer.stop();
    this.#index.close();
    this.isServed = false;
    this.execution.deactivated();
    this.#options.metrics?.deactivated();
  }

  accepted(_command: DeadLetterCommand | undefined, record: DeadLetterRecord | undefined): void {
    if (record !== undefined) this.checkpointer.accepted();
  }

  /** A merge or a purge that is under way must come to an end. */
  undecided(_askId: number, command: DeadLetterCommand, error: unknown): void {
    if (command.kind === 'carryLetters' || command.kind === 'finishCarrying') return this.#compaction.failed(errorText(error));
    const { kind } = command;
    if ((kind !== 'finishMerge' && kind !== 'finishWithdrawal') || command.outcome.kind === 'skipped') return;
    const outcome = { kind: 'skipped', reason: errorText(error), isUnknown: true } as const;
    this.#tenure.submit({ kind, messageId: command.messageId, outcome });
  }

  answer(askId: number, reply: DeadLetterReply): void {
    this.#options.sink.answer(askId, reply);
  }

  act(effect: DeadLetterEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'executeLetter':
        return this.execution.execute(effect);
      case 'withdrawLetter':
        return this.execution.withdraw(effect);
      case 'carried':
        return this.#compaction.carried(effect.cut);
      case 'lettersLost': {
        const { shard, from, to } = effect;
        const lost =
          'dead letters are gone: a shard handed them over, but they are not in this topic. Was the topic deleted, or did it lose records?';
        return this.#logger.error(lost, { 'shard-id': shard, 'first-sequence': from, 'last-sequence': to });
      }
      case 'handOverReused': {
        const { shard, sequence, messageId } = effect;
        const reused =
          'a shard hands over another task under a number that it has used before: its journal has lost records. The task became a separate dead letter';
        return this.#logger.error(reused, { 'shard-id': shard, sequence, 'dlq-message-id': messageId });
      }
      case 'readPurged':
        return this.#undo.read(effect);
      case 'readIndex':
        return this.#index.read(effect.askId, effect.request);
      case 'giveUpIndex':
        return this.#index.giveUp(effect.askId);
      default:
        return unreachable(effect);
    }
  }
}

const COMMAND_BYTES = 256;
const LETTER_BYTES = 4_096;
const CONDITION_BYTES = 8_192;

function commandBytes(command: DeadLetterCommand): number {
  switch (command.kind) {
    case 'acceptLetters':
      return command.letters.reduce((bytes, letter) => bytes + letterBytes(letter), COMMAND_BYTES);
    case 'finishMerge':
    case 'finishWithdrawal':
    case 'settleLetter':
      return command.outcome.kind === 'failed' ? letterBytes(command.outcome.letter) : COMMAND_BYTES;
    case 'claimLetters':
      return COMMAND_BYTES + 16 * command.ranges.length;
    case 'purgeLetters':
      return COMMAND_BYTES + 16 * command.letters.length;
    case 'noteOutstanding':
    case 'restoreLetters':
      return COMMAND_BYTES + 16 * command.messageIds.length;
    case 'findPurged':
    case 'findMerged':
      return COMMAND_BYTES + 16 * command.ids.length;
    case 'listLetters':
    case 'findLetters':
    case 'countMatching':
    case 'groupLetters':
      return COMMAND_BYTES + (command.condition === undefined ? 0 : CONDITION_BYTES);
    case 'putBack':
    case 'carryLetters':
      return command.letters.reduce((bytes, { letter }) => bytes + letterBytes(letter), COMMAND_BYTES);
    case 'beginCarrying':
    case 'finishCarrying':
    case 'releaseClaim':
    case 'mergeLetter':
    case 'countLetters':
    case 'readLetter':
      return COMMAND_BYTES;
    default:
      return unreachable(command);
  }
}

function letterBytes({ task }: Letter): number {
  return LETTER_BYTES + task.value.byteLength;
}
