/**
 * What must be true of dead letters, judged from the whole journals of their queues, trimmed or not, and of the shards.
 *
 *     shard     handed over ────────────────────────▶ noted: ids        begun, ended: once for each generation
 *                    │ the same task, one letter         ▲                    │
 *     queue          └──────────────▶ letter: the next id┘── next generation ─┴─ merged, or purged: for ever
 */
import type { MemoryTables } from '../../support/memory-database.ts';
import type { StoredRecord } from '../../../src/ports/log.ts';
import type { QueueHost } from '../../../src/actors/deadletters/queue/queue-host.ts';
import type { DeadLetterQueue } from '../../../src/deadletters/letter.ts';
import { QueueState } from '../../../src/deadletters/queue-state.ts';
import { letterRow, type LetterRow } from '../../../src/deadletters/letter-records.ts';
import type { DeadLetterRecord, LetterRecord, ResolvedRecord } from '../../../src/deadletters/letter-records.ts';
import type { HandedOverTask } from '../../../src/history/run/hand-over-lines.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';
import { deadLetterStateCodec } from '../../../src/codec/dead-letter-state-codec.ts';
import { deadLetterCodec } from '../../../src/codec/dead-letter-codec.ts';
import { queueNumberOf } from '../../../src/kernel/queue-incarnation.ts';
import { difference, FoldedJournal } from '../folded-journal.ts';
import { check } from '../oracle.ts';

type Fate = { readonly how: 'open' | ResolvedRecord['how']; readonly generation: number; readonly letter: LetterRecord };

type Folded = { readonly state: QueueState; readonly rows: Map<number, LetterRow> };

type At = { readonly offset: number; readonly record: DeadLetterRecord };

/** The journal of a queue. */
export class LetterJournal extends FoldedJournal<Folded, At> {
  readonly queue: DeadLetterQueue;

  constructor(queue: DeadLetterQueue, records: readonly StoredRecord[]) {
    super(records);
    this.queue = queue;
  }

  protected empty(): Folded {
    return { state: new QueueState(), rows: new Map() };
  }

  protected decode(stored: StoredRecord): At {
    const record = deadLetterCodec(this.queue, 'sim').decode(stored.value, stored.schema, stored);
    return { offset: stored.offset, record };
  }

  protected apply({ state, rows }: Folded, { offset, record }: At): void {
    state.evolve(record);
    if (record.kind === 'resolved') rows.delete(record.messageId);
    if (record.kind !== 'letter' && record.kind !== 'damaged') return;
    rows.set(record.messageId, letterRow(record, { sourceCluster: this.queue.sourceCluster, offset }));
  }

  /** So many times a letter came back. */
  get restored(): number {
    let count = 0;
    let unheaded = 0;
    for (const {
      record: { record },
    } of this.effective()) {
      if (record.kind === 'letter') unheaded += 1;
      if (record.kind !== 'head') continue;
      if (record.act?.kind === 'restored') count += unheaded;
      unheaded = 0;
    }
    return count;
  }

  get letters(): number {
    const { ids } = this.folded().state;
    return ids.count('open') + ids.count('quarantined');
  }

  /**
   * At every offset: ids are dense, each is one letter for ever, a generation rises by one with each failed merge and only then, and what was purged
   * comes back as it was, if at all.
   */
  fates(): ReadonlyMap<number, Fate> {
    const fates = new Map<number, Fate>();
    let unheaded: LetterRecord[] = [];
    for (const {
      offset,
      record: { record },
    } of this.effective()) {
      const where = `at offset ${offset} of ${this.queue.category}`;
      check(record.kind !== 'damaged', 'I18 damaged letter', () => where);
      if (record.kind === 'letter') unheaded.push(record);
      if (record.kind === 'head') {
        const isRestored = record.act?.kind === 'restored';
        for (const letter of unheaded) this.#letter(fates, letter, isRestored, where);
        unheaded = [];
      }
      if (record.kind !== 'resolved') continue;
      const { messageId, how, generation } = record;
      const before = fates.get(messageId);
      check(before?.how === 'open', 'I20 resolved twice', () => `message ${messageId} is ${before?.how} and ${how}, ${where}`);
      check(before?.generation === generation, 'I20 generation', () => `message ${messageId} is ${how} as ${generation}, ${where}`);
      if (before !== undefined) fates.set(messageId, { ...before, how });
    }
    // The head of the last ones was not written.
    for (const letter of unheaded) this.#letter(fates, letter, fates.get(letter.messageId)?.how === 'purged', 'at the end');
    return fates;
  }

  #letter(fates: Map<number, Fate>, record: LetterRecord, isRestored: boolean, where: string): void {
    const { messageId, letter } = record;
    const { generation } = letter;
    const before = fates.get(messageId);
    if (before === undefined) {
      check(messageId === fates.size, 'I20 a gap in the ids', () => `${messageId} where ${fates.size} is next, ${where}`);
      check(generation === 0, 'I20 generation', () => `message ${messageId} begins with ${generation}, ${where}`);
    } else {
      check(before.how === (isRestored ? 'purged' : 'open'), 'I20 resurrected', () => `message ${messageId} was ${before.how}, ${where}`);
      const isNext = generation === before.generation || (!isRestored && generation === before.generation + 1);
      check(isNext, 'I20 generation', () => `message ${messageId} goes from ${before.generation} to ${generation}, ${where}`);
    }
    fates.set(messageId, { how: 'open', generation, letter: record });
  }
}

/** Of a shard, in the order of its journal. */
export type ShardRecords = { readonly shard: number; readonly records: readonly HistoryRecord[] };

/** Each task that was handed over is one letter, under the id that its shard has noted. With `isOver` none is on its way. */
export function checkHandOvers(journals: readonly LetterJournal[], shards: readonly ShardRecords[], isOver: boolean): void {
  for (const journal of journals) {
    const { category } = journal.queue;
    const letters = lettersByHandOver(journal);
    for (const { shard, records } of shards) {
      const handedOver = records.flatMap(({ tasksHandedOver = [] }) => tasksHandedOver.filter((task) => task.category === category));
      const accepted = records.flatMap(({ lettersAccepted = [] }) => lettersAccepted.filter((each) => each.category === category));
      const ids = accepted.flatMap(({ messageIds }) => messageIds);
      for (const [nth, task] of handedOver.entries()) checkHandOver(shard, task, nth, ids[nth], letters);
      check(ids.length <= handedOver.length, 'I20 noted too much', () => `shard ${shard} has noted ${ids.length} of ${handedOver.length}`);
      check(
        !isOver || ids.length === handedOver.length,
        'I7 not handed over',
        () => `shard ${shard}: ${ids.length} of ${handedOver.length}`,
      );
    }
    const known = shards.reduce((sum, { records }) => sum + countHandedOver(records, category), 0);
    check(letters.size <= known, 'I20 a letter of nobody', () => `${letters.size} letters of ${category}, ${known} tasks`);
  }
}

function checkHandOver(
  shard: number,
  { sequence, task, category }: HandedOverTask,
  nth: number,
  id: number | undefined,
  letters: ReadonlyMap<string, readonly number[]>,
): void {
  check(sequence === nth + 1, 'I20 sequence', () => `shard ${shard} gives ${sequence} to its task ${nth + 1} of ${category}`);
  const made = letters.get(`${shard}/${sequence}/${task.taskId}`) ?? [];
  check(made.length <= 1, 'I20 two letters of one task', () => `task ${task.taskId} of shard ${shard} is ${made.join(' and ')}`);
  if (id !== undefined)
    check(made[0] === id, 'I20 lost letter', () => `task ${task.taskId} of shard ${shard} is ${made[0]}, noted as ${id}`);
}

function countHandedOver(records: readonly HistoryRecord[], category: string): number {
  return records.reduce((sum, { tasksHandedOver = [] }) => sum + tasksHandedOver.filter((task) => task.category === category).length, 0);
}

/** Ids, by whose task each is. */
function lettersByHandOver(journal: LetterJournal): ReadonlyMap<string, readonly number[]> {
  const letters = new Map<string, number[]>();
  for (const [messageId, fate] of journal.fates()) {
    const { handOver, task } = fate.letter.letter;
    const name = `${handOver.shard}/${handOver.sequence}/${task.taskId}`;
    letters.set(name, [...(letters.get(name) ?? []), messageId]);
  }
  return letters;
}

/** Each generation is executed once, unless it was withdrawn; what is merged was executed with success, and what is purged was not and will not be. */
export function checkMerges(journals: readonly LetterJournal[], shards: readonly ShardRecords[]): void {
  const begun = new Map<string, number>();
  const ended = new Map<string, string>();
  for (const { records } of shards) {
    for (const { lettersBegun = [], lettersEnded = [], lettersConfirmed = [] } of records) {
      for (const { letter } of lettersBegun) begun.set(nameOf(letter), (begun.get(nameOf(letter)) ?? 0) + 1);
      const withdrawn = new Set(lettersConfirmed.map(nameOf));
      for (const { letter, outcome } of lettersEnded) {
        if (withdrawn.has(nameOf(letter))) begun.delete(nameOf(letter));
        else ended.set(nameOf(letter), outcome.kind);
      }
    }
  }
  for (const [name, times] of begun) check(times === 1, 'I20 executed twice', () => `${name} was begun ${times} times`);
  for (const journal of journals) {
    for (const [messageId, { how, generation }] of journal.fates()) {
      const name = nameOf({ queue: journal.queue.number, messageId, generation });
      const outcome = ended.get(name);
      if (how === 'purged') {
        const isExecuted = begun.has(name) && outcome !== 'failed';
        check(!isExecuted, 'I20 purged and executed', () => `message ${messageId} is purged, and its shard says ${outcome ?? 'pending'}`);
      }
      if (how !== 'merged' && how !== 'merged-noop') continue;
      const isRight = outcome === (how === 'merged' ? 'applied' : 'noop');
      check(isRight, 'I20 merged without effect', () => `message ${messageId} is ${how}, and its shard says ${outcome}`);
    }
  }
}

function nameOf({ queue, messageId, generation }: { readonly queue: number; readonly messageId: number; readonly generation: number }) {
  // Topics are not deleted here: each queue has one incarnation.
  return `message ${messageId} of queue ${queueNumberOf(queue)}, generation ${generation}`;
}

/** Memory is the journal. */
export function checkQueueMemory(name: string, host: QueueHost | undefined, journal: LetterJournal): void {
  const state = host?.actor.memory?.core.state.canonical();
  if (state === undefined) return;
  const folded = journal.folded().state.canonical();
  check(state === folded, 'I3 replay differs from live', () => `${name}: ${difference(state, folded)}`);
}

/** The index is the journal, up to where it goes. */
export function checkIndex(tables: MemoryTables, journal: LetterJournal): void {
  const { position, letters } = tables.journal({ kind: 'deadLetters', partition: journal.queue.number });
  if (position === undefined) return;
  const { state, rows } = journal.folded(position.lastOffset);
  const [are, shouldBe] = [letters, rows].map((some) => JSON.stringify([...some].toSorted(([one], [other]) => one - other)));
  check(are === shouldBe, 'T12 rows differ', () => difference(are ?? '', shouldBe ?? ''));
  const counters = new QueueState(deadLetterStateCodec.decodeCounters(position.counters), position.timeMs).canonical();
  check(counters === state.canonical(), 'T12 rows differ', () => difference(counters, state.canonical()));
}
