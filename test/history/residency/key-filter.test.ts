/** The filter of keys: never a wrong "no", and few wrong "maybe". */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashOfKey, KeyFilter } from '../../../src/history/shard/key-filter.ts';
import { KnownKeys } from '../../../src/history/shard/known-keys.ts';
import { Shard } from '../../../src/history/shard/shard.ts';
import { stateCodec } from '../../../src/codec/state-codec.ts';
import { fingerprint32 } from '../../../src/kernel/fingerprint.ts';

const namespaceId = '6f1c0c52-3b1e-4f1e-9d5a-000000000001';

function falsePositives(filter: KeyFilter, keys: readonly string[]): number {
  return keys.filter((workflowId) => filter.mayHave(hashOfKey(namespaceId, workflowId))).length / keys.length;
}

describe('a filter', () => {
  test('knows every key that was added, whatever it is, also when it is crowded', () => {
    const key = fc.tuple(fc.string(), fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 300 }), fc.integer({ min: 1, max: 100 }), (keys, keysMax) => {
        const filter = new KeyFilter(keysMax);
        for (const [namespace, workflowId] of keys) filter.add(hashOfKey(namespace, workflowId));
        expect(keys.filter(([namespace, workflowId]) => !filter.mayHave(hashOfKey(namespace, workflowId)))).toEqual([]);
      }),
    );
  });

  test('takes about 3 of 1,000 unknown keys for known ones, whatever the keys look like', () => {
    const styles = [
      (n: number) => `order-${n}`,
      (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      (n: number) => `${fingerprint32(`seed ${n}`).toString(36)}/日本`,
      (n: number) => String.fromCodePoint(0x4e00 + (n % 20_000)) + Math.floor(n / 20_000),
    ];
    for (const style of styles) {
      const filter = new KeyFilter(50_000);
      for (let n = 0; n < 50_000; n++) filter.add(hashOfKey(namespaceId, style(n)));
      expect(filter.isCrowded).toBe(false);
      const unknown = Array.from({ length: 20_000 }, (_, n) => style(1_000_000 + n));
      expect(falsePositives(filter, unknown), style(7)).toBeLessThan(0.006);
    }
  });

  test('of one shard’s keys is as good as of any', () => {
    const ofShard = (from: number, count: number): string[] => {
      const keys: string[] = [];
      for (let n = from; keys.length < count; n++) if (fingerprint32(`${namespaceId}_wf-${n}`) % 16 === 3) keys.push(`wf-${n}`);
      return keys;
    };
    const filter = new KeyFilter(10_000);
    for (const workflowId of ofShard(0, 10_000)) filter.add(hashOfKey(namespaceId, workflowId));
    expect(falsePositives(filter, ofShard(1_000_000, 10_000))).toBeLessThan(0.006);
  });

  test('keeps namespaces apart', () => {
    const filter = new KeyFilter(1000);
    for (let n = 0; n < 1000; n++) filter.add(hashOfKey(namespaceId, `wf-${n}`));
    const elsewhere = Array.from({ length: 1000 }, (_, n) => filter.mayHave(hashOfKey('another namespace', `wf-${n}`)));
    expect(elsewhere.filter(Boolean).length).toBeLessThan(20);
  });

  test('says when it has more keys than room; a key that is added twice counts once', () => {
    const filter = new KeyFilter(100);
    for (let round = 0; round < 5; round++) for (let n = 0; n < 100; n++) filter.add(hashOfKey(namespaceId, `wf-${n}`));
    expect([filter.size <= 100, filter.isCrowded]).toEqual([true, false]);
    for (let n = 0; n < 200; n++) filter.add(hashOfKey(namespaceId, `more-${n}`));
    expect(filter.isCrowded).toBe(true);
  });
});

describe('a filter that is rebuilt', () => {
  const id = (workflowId: string) => ({ namespaceId, workflowId });

  test('has what was in memory, what the table has, and what begins meanwhile; until then the one before answers', () => {
    const keys = new KnownKeys();
    keys.add(id('deleted'));
    keys.add(id('in memory'));
    keys.rebuild();
    keys.addKnown([id('in memory')]);
    keys.addKnown([id('written')]);
    keys.add(id('begun'));
    expect([keys.mayHave(id('begun')), keys.mayHave(id('deleted')), keys.mayHave(id('written'))]).toEqual([true, true, false]);
    keys.rebuilt();
    const known = ['in memory', 'written', 'begun', 'deleted', 'never'].filter((name) => keys.mayHave(id(name)));
    expect(known).toEqual(['in memory', 'written', 'begun']);
  });

  test('knows nothing for certain after a restart, until it is built', () => {
    const keys = new KnownKeys();
    keys.unknown();
    expect(keys.mayHave(id('never'))).toBe(true);
    keys.add(id('begun'));
    keys.rebuilt();
    expect([keys.mayHave(id('never')), keys.mayHave(id('begun'))]).toEqual([false, true]);
  });

  test('should be when a third of what it knew is gone', () => {
    const keys = new KnownKeys();
    for (let n = 0; n < 200_000; n++) keys.add(id(`wf-${n}`));
    for (let n = 0; n < 65_000; n++) keys.deleted();
    expect(keys.isStale).toBe(false);
    for (let n = 0; n < 10_000; n++) keys.deleted();
    expect(keys.isStale).toBe(true);
  });

  test('still should be when a build has come to nothing, and no more once one has come to its end', () => {
    const keys = new KnownKeys();
    for (let n = 0; n < 70_000; n++) keys.deleted();
    keys.rebuild();
    expect(keys.isStale).toBe(true);
    keys.rebuild();
    keys.deleted();
    keys.rebuilt();
    expect(keys.isStale).toBe(false);
  });

  test('should be when runs that are not in memory were retired', () => {
    const shard = new Shard(stateCodec);
    const keys = Array.from({ length: 70_000 }, (_, n) => ({ ...id(`wf-${n}`), runId: `run-${n}` }));
    shard.retire(keys);
    expect(shard.residency?.keys.isStale).toBe(true);
  });
});

test('however many keys there are, all are known, and few that never were', () => {
  const keys = new KnownKeys();
  for (let n = 0; n < 300_000; n++) keys.add({ namespaceId, workflowId: `wf-${n}` });
  const known = (from: number): number => {
    let count = 0;
    for (let n = from; n < from + 20_000; n++) if (keys.mayHave({ namespaceId, workflowId: `wf-${n}` })) count++;
    return count;
  };
  expect([known(0), known(280_000)]).toEqual([20_000, 20_000]);
  expect(known(1_000_000) / 20_000).toBeLessThan(0.015);
});
