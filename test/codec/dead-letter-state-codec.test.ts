/** What a checkpoint of a dead letter queue holds beside its rows, as bytes: they outlive versions, and what a disk has changed is seen. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CHUNK_IDS } from '../../src/deadletters/letter-ids.ts';
import { QueueState } from '../../src/deadletters/queue-state.ts';
import { deadLetterStateCodec } from '../../src/codec/dead-letter-state-codec.ts';
import { letterOf } from '../deadletters/letters.ts';

const corrupt = expect.objectContaining({ name: 'DatabaseError', code: 'corrupt' }) as Error;
const codec = deadLetterStateCodec;
const golden = (name: string): Uint8Array =>
  Uint8Array.from(Buffer.from(readFileSync(new URL(`golden/${name}.hex`, import.meta.url), 'utf8').trim(), 'hex'));

/** A chunk that is gone as a whole, and one in which every status stands. */
function full(): QueueState {
  const state = new QueueState();
  const timeMs = 1;
  state.evolve({ kind: 'head', timeMs, nextId: CHUNK_IDS, lowestOpen: CHUNK_IDS, cut: 0, uncutPurges: 0, incarnation: 4_294_967_295 });
  for (let sequence = 1; sequence <= 150; sequence++) {
    const letter = letterOf(sequence % 2 === 0 ? 3 : 512, Math.ceil(sequence / 2), { state: sequence % 7 === 0 ? 'quarantined' : 'open' });
    state.evolve({ kind: 'letter', timeMs, messageId: CHUNK_IDS + sequence - 1, letter });
  }
  for (const [messageId, how] of [
    [CHUNK_IDS + 3, 'merged'],
    [CHUNK_IDS + 4, 'purged'],
  ] as const) {
    state.evolve({ kind: 'resolved', timeMs, messageId, how, who: '', why: '', jobId: '', generation: 0 });
  }
  return state;
}

test('counters come back as they were', () => {
  for (const state of [new QueueState(), full()]) {
    const read = new QueueState(codec.decodeCounters(codec.encodeCounters(state.snapshot())));
    expect(read.canonical()).toBe(state.canonical());
  }
});

describe('bytes that cannot be what was written', () => {
  test('each bit and each byte counts', () => {
    const bytes = codec.encodeCounters(full().snapshot());
    for (let bit = 0; bit < bytes.length * 8; bit += 13) {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => codec.decodeCounters(flipped), `bit ${bit}`).toThrow(corrupt);
    }
    for (let length = 0; length < bytes.length; length += 7) expect(() => codec.decodeCounters(bytes.subarray(0, length))).toThrow(corrupt);
  });
});

/** No file is ever written again: a new form gets files of its own. */
test('golden: counters, with where the journal may begin and the incarnation', () => {
  const state = full();
  const incarnation = 4_294_967_295;
  state.evolve({ kind: 'head', timeMs: 2, nextId: 1, lowestOpen: 0, cut: 2 ** 40, uncutPurges: 0, incarnation });
  state.evolve({ kind: 'resolved', timeMs: 2, messageId: CHUNK_IDS, how: 'purged', who: '', why: '', jobId: '', generation: 0 });
  expect(codec.encodeCounters(state.snapshot())).toEqual(golden('state-v1-dead-letters'));
  const read = new QueueState(codec.decodeCounters(golden('state-v1-dead-letters')));
  expect([read.cut, read.uncutPurges, read.incarnation]).toEqual([2 ** 40, 1, incarnation]);
  expect(read.canonical()).toBe(state.canonical());
});
