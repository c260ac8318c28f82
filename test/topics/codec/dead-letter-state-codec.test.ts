/** What a checkpoint of a dead letter queue holds beside its rows, as bytes: they outlive versions, and what a disk has changed is seen. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CHUNK_IDS } from '../../../src/deadletters/letter-ids.ts';
import { type QueueSnapshot, QueueState } from '../../../src/deadletters/queue-state.ts';
import { queueSchemaOf } from '../../../src/deadletters/queue-state-wire.ts';
import { deadLetterStateCodec } from '../../../src/topics/codec/dead-letter-state-codec.ts';
import { letterOf } from '../../deadletters/letters.ts';

const corrupt = expect.objectContaining({ name: 'DatabaseError', code: 'corrupt' }) as Error;
const codec = deadLetterStateCodec;
const golden = (name: string): Uint8Array =>
  Uint8Array.from(Buffer.from(readFileSync(new URL(`golden/${name}.hex`, import.meta.url), 'utf8').trim(), 'hex'));

/** A chunk that is gone as a whole, and one in which every status stands. */
function full(): QueueState {
  const state = new QueueState();
  const timeMs = 1;
  state.evolve({ kind: 'head', timeMs, nextId: CHUNK_IDS, lowestOpen: CHUNK_IDS, cut: 0 });
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

test('where the journal may begin, and the incarnation, come back too', () => {
  const state = full();
  state.evolve({ kind: 'head', timeMs: 2, nextId: 1, lowestOpen: 0, cut: 0, incarnation: 4_294_967_295 });
  state.evolve({ kind: 'head', timeMs: 2, nextId: 1, lowestOpen: 0, cut: 2 ** 40 });
  state.evolve({ kind: 'resolved', timeMs: 2, messageId: CHUNK_IDS, how: 'purged', who: '', why: '', jobId: '', generation: 0 });
  const read = new QueueState(codec.decodeCounters(codec.encodeCounters(state.snapshot())));
  expect([read.cut, read.uncutPurges, read.incarnation]).toEqual([2 ** 40, 1, 4_294_967_295]);
  expect([queueSchemaOf(full().snapshot()), queueSchemaOf(read.snapshot())]).toEqual([1, 2]);
  expect(codec.encodeCounters(read.snapshot())).toEqual(golden('state-v2-dead-letters-incarnation'));
});

/** No file is ever written again: a new form gets files of its own. */
test('counters of format 1 are still read, and mean what they meant', () => {
  const withoutTasks = (counters: QueueSnapshot): QueueSnapshot => {
    const handOvers = [...counters.handOvers].map(
      ([shard, recent]) => [shard, recent.map(({ sequence, messageId }) => ({ sequence, messageId }))] as const,
    );
    return { ...counters, handOvers: new Map(handOvers) };
  };
  const then = new QueueState(withoutTasks(full().snapshot())).canonical();
  for (const name of ['state-v1-dead-letters', 'state-v1-dead-letters-uncut']) {
    expect(new QueueState(codec.decodeCounters(golden(name))).canonical(), name).toBe(then);
  }
  expect(codec.decodeCounters(golden('state-v1-dead-letters')).uncutPurges).toBe(0);
  expect(codec.encodeCounters(full().snapshot())).toEqual(golden('state-v1-dead-letters-tasks'));
  expect(new QueueState(codec.decodeCounters(golden('state-v1-dead-letters-tasks'))).canonical()).toBe(full().canonical());
});
