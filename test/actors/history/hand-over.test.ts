/** From the line of a shard to its queue of dead letters: each task is one dead letter, whatever answers are lost and however often the shard moves. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TaskHandOver } from '../../../src/actors/history/hand-over/hand-over.ts';
import { Tenure } from '../../../src/actors/partition/partition-core.ts';
import type { AcceptLetters } from '../../../src/deadletters/letter-commands.ts';
import { QueueCore } from '../../../src/deadletters/queue-core.ts';
import { type HandOverLine, lineOf } from '../../../src/history/run/hand-over-lines.ts';
import type { NoteLetters } from '../../../src/history/commands/hand-over-commands.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { taskFailure, taskSubject } from '../../history/hand-over/task-failure.ts';
import { Checkpoints } from '../../history/checkpointed-shard.ts';
import { key, ShardUnderTest } from '../../history/shard-under-test.ts';
import { stateCodec } from '../../../src/codec/state-codec.ts';
import { HandClock } from '../../support/hand-clock.ts';

type Answer = 'heard' | 'lost' | 'away' | 'refused';

class Bench {
  readonly clock = new HandClock('when moved');
  readonly shard = new ShardUnderTest({}, stateCodec);
  readonly #folded = new Checkpoints(this.shard);
  readonly #owner = new QueueCore();
  /** Of the owner: which letter each sequence is. */
  readonly letters = new Map<number, number>();
  readonly warnings: string[] = [];
  readonly reports: string[] = [];
  /** The next; past them all are heard. */
  readonly answers: Answer[] = [];
  asks = 0;
  /** The sequences of each ask. */
  readonly asked: (readonly number[])[] = [];
  #askId = 0;
  #tenure = this.#newTenure();
  #handOver = this.#newHandOver();
  #workflows = 0;

  get line(): HandOverLine {
    return lineOf(this.#folded.folded.handOvers, 'transfer');
  }

  /** Its record is committed a moment later. */
  fail(): void {
    this.shard.start({ key: { ...key, workflowId: `wf-${++this.#workflows}` } });
    const taskId = this.shard.transfers().at(-1)?.taskId ?? 0;
    this.shard.ask({ kind: 'handOverTask', taskId, category: 'transfer', failure: taskFailure, subject: taskSubject });
    this.#committedSoon();
  }

  /** Another owner takes the shard over. */
  move(): void {
    this.#tenure.end();
    this.#tenure = this.#newTenure();
    this.#handOver = this.#newHandOver();
    this.#handOver.activated();
  }

  #newTenure(): Tenure<never> {
    const tenure = new Tenure<never>({ submit: () => undefined }, { nowMs: () => 0, fenced: () => {}, claimAnew: () => {} }, this.clock);
    tenure.begin();
    return tenure;
  }

  #newHandOver(): TaskHandOver {
    return new TaskHandOver({
      shard: 1,
      category: 'transfer',
      line: () => this.line,
      letterOf: ({ sequence }) => letterOf(1, sequence),
      ask: (command, answer) => this.#ask(command, answer),
      submit: (command) => this.#submit(command),
      tenure: this.#tenure,
      reports: {
        marked: ({ sequence }) => void this.reports.push(`marked ${sequence}`),
        refused: (letters) => void this.reports.push(`refused ${letters.length}`),
        enqueued: (_category, letters, ids) =>
          letters.forEach(({ handOver }, nth) => void this.reports.push(`enqueued ${handOver.sequence} as ${ids[nth]}`)),
      },
      monoMs: () => this.clock.monoMs(),
      logger: createLogger({ level: 'warn', format: 'text', write: (line) => void this.warnings.push(line), nowMs: () => 0 }),
    });
  }

  #ask(command: AcceptLetters, answer: Parameters<ConstructorParameters<typeof TaskHandOver>[0]['ask']>[1]): void {
    this.asks += 1;
    this.asked.push(command.letters.map(({ handOver: { sequence } }) => sequence));
    const how = this.answers.shift() ?? 'heard';
    if (how === 'refused')
      return this.clock.soon(() => answer({ kind: 'rejected', rejection: { reason: 'invalid-argument', message: 'no' } }));
    const reply = how === 'away' ? undefined : this.#accept(command);
    this.clock.soon(() => answer(reply !== undefined && how === 'heard' ? reply : { kind: 'unavailable', message: 'nobody answers' }));
  }

  #accept(command: AcceptLetters): { readonly kind: 'accepted'; readonly ids: readonly number[] } {
    const handled = this.#owner.handle(command, 1_000, ++this.#askId);
    this.#owner.accept(handled);
    if (handled.kind === 'wait' || handled.reply?.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(handled)}`);
    const { ids } = handled.reply;
    command.letters.forEach(({ handOver: { sequence } }, index) => {
      const id = ids[index] ?? -1;
      expect(this.letters.get(sequence) ?? id).toBe(id);
      this.letters.set(sequence, id);
    });
    return handled.reply;
  }

  #submit(command: NoteLetters): undefined {
    this.shard.ask(command);
    this.#committedSoon();
  }

  #committedSoon(): void {
    const record = this.shard.records.at(-1);
    const handOver = this.#handOver;
    if (record === undefined) return;
    this.clock.soon(() => handOver.committed(record, { partition: 0, offset: 0 } as never, false));
  }
}

test('each task becomes one dead letter, in order, whatever is lost and however often the shard moves', () => {
  const step = fc.constantFrom('fail', 'fail', 'fail', 'move', 'wait', 'heard', 'lost', 'away', 'refused');
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const bench = new Bench();
      bench.shard.checks = false;
      let failed = 0;
      for (const what of steps) {
        if (what === 'fail') failed += 1;
        if (what === 'fail' || what === 'move') bench[what]();
        else if (what === 'wait') bench.clock.advance(1_000);
        else bench.answers.push(what);
      }
      // The longest pause, as often as there are answers that are lost.
      for (let round = 0; round < 50; round++) bench.clock.advance(60_000);
      expect([...bench.letters]).toEqual(Array.from({ length: failed }, (_, index) => [index + 1, index]));
      expect(bench.line).toEqual({ lastSequence: failed, waiting: [] });
    }),
    { numRuns: 60 },
  );
});

test('nobody hears of a task before its record is committed, though memory has it', () => {
  const bench = new Bench();
  // Both are in the line; the commit of the second comes behind that of the first.
  bench.fail();
  bench.fail();
  expect(bench.line.waiting).toHaveLength(2);
  expect(bench.asks).toBe(0);
  bench.clock.advance(0);
  expect(bench.asked).toEqual([[1], [2]]);
});

test('while nobody answers it is asked again after 1 s, 2 s, … 60 s, and operators are informed', () => {
  const bench = new Bench();
  bench.answers.push(...Array.from({ length: 9 }, () => 'away' as const));
  bench.fail();
  bench.clock.advance(0);
  const asked = [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => {
    bench.clock.advance(seconds * 1_000 - 1);
    const before = bench.asks;
    bench.clock.advance(1);
    return bench.asks - before;
  });
  expect(asked).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  expect(bench.letters.size).toBe(0);
  expect(bench.warnings[0]).toContain('nobody answers');
  bench.clock.advance(60_000);
  expect([...bench.letters]).toEqual([[1, 0]]);
});

test('people hear of each task once when its failure is in the journal, and once when its dead letter is', () => {
  const bench = new Bench();
  bench.answers.push('away');
  bench.fail();
  bench.clock.advance(0);
  expect(bench.reports).toEqual(['marked 1', 'refused 1']);
  bench.clock.advance(2_000);
  expect(bench.reports).toEqual(['marked 1', 'refused 1', 'enqueued 1 as 0']);
});
