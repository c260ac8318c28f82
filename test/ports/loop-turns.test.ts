import { expect, test } from 'vitest';
import { LoopTurns } from '../../src/ports/loop-turns.ts';
import { HandClock } from '../support/hand-clock.ts';
import { WorkingClock } from '../support/working-clock.ts';
import { turns } from '../support/event-loop.ts';

test('the long work of all partitions together has one slice in a turn of the event loop, and each comes to its turn', async () => {
  const clock = new WorkingClock();
  const loopTurns = new LoopTurns(clock);
  const steps = Array.from({ length: 16 }, () => 0);
  function* work(partition: number): Generator<undefined, void> {
    for (let step = 0; step < 20; step++) {
      steps[partition]! += 1;
      yield;
    }
  }
  const ends = Promise.all(steps.map((_, partition) => loopTurns.through(work(partition))));
  const doneBy: number[] = [];
  for (let turn = 0; steps.some((done) => done < 20); turn++) {
    const before = steps.reduce((sum, done) => sum + done, 0);
    await turns();
    doneBy.push(steps.reduce((sum, done) => sum + done, 0) - before);
    if (turn === 15) expect(Math.min(...steps), 'after sixteen turns each has had one').toBeGreaterThan(0);
  }
  await ends;
  expect(Math.max(...doneBy), 'in one turn').toBeLessThanOrEqual(3);
});

/** Sixteen partitions read at once; each answer is decoded in the turn of the event loop in which it comes. */
class Reads {
  readonly clock = new HandClock();
  readonly underWay: PromiseWithResolvers<void>[] = [];
  readonly #turns = new LoopTurns(this.clock);
  begun = 0;
  done = 0;

  constructor() {
    for (let partition = 0; partition < 16; partition++) void this.#turns.reading(() => this.#read()).then(() => (this.done += 1));
  }

  #read(): Promise<void> {
    const read = Promise.withResolvers<void>();
    this.begun += 1;
    this.underWay.push(read);
    return read.promise;
  }

  async answer(): Promise<void> {
    this.underWay.shift()?.resolve();
    await turns();
  }
}

test('no more than two partitions read at the same time, and all come to their turn', async () => {
  const reads = new Reads();
  for (let answered = 0; answered < 16; answered++) {
    expect(reads.underWay).toHaveLength(Math.min(2, 16 - answered));
    await reads.answer();
  }
  expect([reads.begun, reads.done]).toEqual([16, 16]);
});

test('reads that take long hold nobody up', async () => {
  const reads = new Reads();
  reads.clock.advance(500);
  await turns();
  expect(reads.begun).toBe(4);
  // Late answers make no more room than they took.
  await reads.answer();
  await reads.answer();
  expect(reads.begun).toBe(4);
  await reads.answer();
  expect(reads.begun).toBe(5);
});

/** Answers that cost five milliseconds each: not where they leave, but where they are awaited. */
class DearAnswers {
  readonly clock = new HandClock();
  readonly #turns = new LoopTurns(this.clock);
  #waiting: number;
  written = 0;

  constructor(count: number) {
    this.#waiting = count;
    this.#letOut();
  }

  #letOut(): void {
    for (; this.#waiting > 0; this.#waiting--) {
      if (!this.#turns.mayLeave()) return this.#turns.wait(() => this.#letOut());
      void this.#write(Promise.resolve());
    }
  }

  async #write(answered: Promise<void>): Promise<void> {
    await answered;
    await Promise.resolve();
    this.clock.nowMs += 5;
    this.written += 1;
  }
}

test('what follows from answers counts: few that are dear to write leave in one turn, and all of them in the end', async () => {
  const answers = new DearAnswers(200);
  let mostMs = 0;
  for (let beforeMs = 0; answers.written < 200; beforeMs = answers.clock.nowMs) {
    await turns();
    mostMs = Math.max(mostMs, answers.clock.nowMs - beforeMs);
  }
  expect(mostMs).toBeLessThanOrEqual(50);
});

test('commands that are dear to decide leave room for I/O after each of them', async () => {
  const clock = new HandClock();
  const loopTurns = new LoopTurns(clock);
  let decided = 0;
  const decide = (): void => {
    while (decided < 20 && loopTurns.mayDecide()) {
      clock.nowMs += 10;
      decided += 1;
    }
    if (decided < 20) loopTurns.wait(decide);
  };
  decide();
  for (let turn = 0; decided < 20; turn++) {
    expect(decided).toBeLessThanOrEqual(turn + 1);
    await turns();
  }
});

/** A call that would compute for ever, two milliseconds at a time. */
class Computing {
  readonly clock = new HandClock();
  readonly turns = new LoopTurns(this.clock);
  computedMs = 0;

  constructor() {
    void this.#compute();
  }

  /** Nothing but the call, for a tenth of a second, or `served` once in each millisecond that it leaves. By what of the time is computed. */
  async shareBeside(served?: string): Promise<number> {
    const [fromMs, before] = [this.clock.nowMs, this.computedMs];
    while (this.clock.nowMs < fromMs + 100) {
      if (served !== undefined && this.turns.mayDecide()) this.turns.decides(served);
      await turns();
      this.clock.advance(1);
    }
    return (this.computedMs - before) / (this.clock.nowMs - fromMs);
  }

  async #compute(): Promise<void> {
    for (;;) {
      await this.turns.sliceOfCall('orders');
      this.clock.nowMs += 2;
      this.computedMs += 2;
    }
  }
}

test('what computes leaves more than half of the time to another namespace that is served', async () => {
  const computing = new Computing();
  const alone = await computing.shareBeside();
  expect(alone).toBeGreaterThan(0.6);
  expect(await computing.shareBeside('orders'), 'nobody else is there').toBeGreaterThan(0.6);
  expect(await computing.shareBeside('billing')).toBeLessThan(0.4);
  // What has been served for the last time is soon forgotten.
  await computing.shareBeside();
  expect(await computing.shareBeside()).toBe(alone);
});
