/** A journal that begins later: what was carried and what stands behind the cut is the queue, whatever happened meanwhile. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CarryLetters, DeadLetterCommand } from '../../src/deadletters/letter-commands.ts';
import { QueueCore } from '../../src/deadletters/queue-core.ts';
import type { DeadLetterRecord } from '../../src/deadletters/letter-records.ts';
import { letterOf } from './letters.ts';

const SHARDS = 3;

class Queue {
  readonly core = new QueueCore();
  readonly journal: DeadLetterRecord[] = [];
  readonly #sequences = new Map<number, number>();
  #generation = 0;

  constructor() {
    this.do({ kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 1_000_000 }] });
  }

  do(command: DeadLetterCommand): void {
    const handled = this.core.handle(command, 1_000, 1);
    this.core.accept(handled);
    if (handled.kind === 'commit') this.journal.push(...(handled.before ?? []), handled.record);
  }

  handOver(shard: number, count: number): void {
    const first = this.#sequences.get(shard) ?? 1;
    this.#sequences.set(shard, first + count);
    this.do({ kind: 'acceptLetters', shard, letters: Array.from({ length: count }, (_, index) => letterOf(shard, first + index)) });
  }

  purge(messageId: number): void {
    this.do({ kind: 'purgeLetters', jobId: 'job', who: '', why: '', letters: [{ messageId, generation: 0 }] });
  }

  fail(messageId: number): void {
    if (!this.core.state.ids.isLetter(messageId)) return;
    this.do({ kind: 'mergeLetter', jobId: 'job', who: '', why: '', messageId, overridesLoopGuard: true });
    this.#generation += 1;
    const letter = { ...this.letters(this.journal.length).get(messageId), generation: this.#generation } as ReturnType<typeof letterOf>;
    this.do({ kind: 'finishMerge', messageId, outcome: { kind: 'failed', isSameCause: true, letter } });
  }

  /** As a reader of the journal up to there has them. */
  letters(until: number): Map<number, ReturnType<typeof letterOf>> {
    return lettersIn(this.journal.slice(0, until));
  }
}

function lettersIn(journal: readonly DeadLetterRecord[]): Map<number, ReturnType<typeof letterOf>> {
  const letters = new Map<number, ReturnType<typeof letterOf>>();
  for (const record of journal) {
    if (record.kind === 'letter') letters.set(record.messageId, record.letter);
    else if (record.kind === 'resolved') letters.delete(record.messageId);
  }
  return letters;
}

function folded(journal: readonly DeadLetterRecord[]): QueueCore {
  const core = new QueueCore();
  for (const record of journal) core.evolve(record);
  return core;
}

/** What came of each id, as far as a journal that begins later can tell: merged or purged is one. */
function whatIs(core: QueueCore): object {
  const { ids, handOvers } = core.state.snapshot();
  const inQueue = Array.from({ length: ids.nextId }, (_, id) => core.state.ids.statusOf(id)).map((status) =>
    status === 'open' || status === 'quarantined' ? status : 'gone',
  );
  return { inQueue, handOvers: [...handOvers].toSorted(([one], [other]) => one - other) };
}

const change = fc.oneof(
  fc.record({ kind: fc.constant('handOver'), shard: fc.integer({ min: 1, max: SHARDS }), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('purge'), id: fc.nat(30) }),
  fc.record({ kind: fc.constant('fail'), id: fc.nat(30) }),
);
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

function make(queue: Queue, each: Change): void {
  if ('shard' in each) queue.handOver(each.shard, each.count);
  else if (each.kind === 'purge') queue.purge(each.id);
  else queue.fail(each.id);
}

/** In pages of three, each read before the changes that come between reading and writing it. */
function carry(queue: Queue, between: readonly (readonly Change[])[]): number {
  const cut = queue.journal.length;
  queue.do({ kind: 'beginCarrying' });
  const read = [...queue.letters(cut)];
  for (let at = 0, page = 0; at < read.length; at += 3, page++) {
    const letters: CarryLetters['letters'] = read.slice(at, at + 3).map(([messageId, letter]) => ({ messageId, letter }));
    for (const each of between[page] ?? []) make(queue, each);
    queue.do({ kind: 'carryLetters', letters });
  }
  queue.do({ kind: 'finishCarrying', cut });
  return cut;
}

describe('a journal that begins later', () => {
  test('holds the dead letters that are in the queue, what came from each shard, and where it may begin; nothing of what is gone', () => {
    const queue = new Queue();
    queue.handOver(1, 3);
    queue.handOver(2, 1);
    queue.purge(1);
    const cut = carry(queue, []);
    expect(queue.core.state.cut).toBe(cut);
    const rest = queue.journal.slice(cut);
    expect(rest.map(({ kind }) => kind)).toEqual(['letter', 'letter', 'letter', 'head', 'handedOver', 'handedOver', 'head']);
    expect([...lettersIn(rest).keys()]).toEqual([0, 2, 3]);
    expect(folded(rest).state.cut).toBe(cut);
  });

  test('a dead letter that a merge has changed while it was read is not set back', () => {
    const queue = new Queue();
    queue.handOver(1, 1);
    const cut = carry(queue, [[{ kind: 'fail', id: 0 }]]);
    expect(lettersIn(queue.journal.slice(cut)).get(0)?.generation).toBe(1);
  });

  test('property: it is the queue, with the same dead letters, whatever happens while dead letters are carried, and once more', () => {
    const changes = fc.array(change, { maxLength: 25 });
    const between = fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 12 });
    fc.assert(
      fc.property(changes, between, changes, between, changes, (...[before, first, middle, second, after]) => {
        const queue = new Queue();
        for (const each of before) make(queue, each);
        const cuts = [carry(queue, first)];
        for (const each of middle) make(queue, each);
        cuts.push(carry(queue, second));
        for (const each of after) make(queue, each);
        for (const cut of cuts) {
          const rest = queue.journal.slice(cut);
          expect(whatIs(folded(rest))).toEqual(whatIs(queue.core));
          expect(new Map([...lettersIn(rest)].toSorted(([one], [other]) => one - other))).toEqual(
            new Map([...queue.letters(queue.journal.length)].toSorted(([one], [other]) => one - other)),
          );
        }
      }),
    );
  });
});
