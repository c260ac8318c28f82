import { expect, test } from 'vitest';
import { ReplayTurns } from '../../../src/actors/ownership/replay-turns.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { turns } from '../../support/event-loop.ts';

/** Sixteen partitions read at once; each answer is decoded in the turn of the event loop in which it comes. */
class Reads {
  readonly clock = new HandClock();
  readonly underWay: PromiseWithResolvers<void>[] = [];
  readonly #turns = new ReplayTurns(this.clock);
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
