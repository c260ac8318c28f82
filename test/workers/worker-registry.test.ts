import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { WorkerRegistry, type RegistryLimits } from '../../src/workers/worker-registry.ts';
import type { Worker } from '../../src/workers/worker.ts';

const roomy: RegistryLimits = { ttlMs: 1_000, workersMax: 1_000, bytesMax: 10 ** 9 };

function worker(instanceKey: string, bytes = 100): Worker {
  const texts = { identity: 'i', hostName: 'h', taskQueue: 'q', deploymentName: '', buildId: '', sdkName: 's', sdkVersion: '1' };
  const fields = { instanceKey, ...texts, status: 'Running', startTimeMs: undefined, heartbeatTimeMs: undefined };
  return { fields, heartbeat: new Uint8Array(bytes) };
}

function all(registry: WorkerRegistry, namespaceId: string, nowMs: number): readonly Worker[] {
  return registry.workersAfter(namespaceId, undefined, Infinity, nowMs);
}

/** Nine texts of a few letters, a character of which is counted as two bytes. */
function bytesOf({ fields, heartbeat }: Worker): number {
  return heartbeat.length + 600 + 2 * (fields.instanceKey.length + 'ihqs1'.length);
}

function keysOf(registry: WorkerRegistry, namespaceId: string, nowMs = 0): readonly string[] {
  return all(registry, namespaceId, nowMs).map(({ fields }) => fields.instanceKey);
}

describe('a worker', () => {
  test('is known by its last heartbeat, in its namespace alone', () => {
    const registry = new WorkerRegistry(() => roomy);
    registry.record('a', worker('w', 10), 0);
    registry.record('a', worker('w', 20), 1);
    expect(registry.find('a', 'w', 1)?.heartbeat).toHaveLength(20);
    expect(registry.find('b', 'w', 1)).toBeUndefined();
    expect(registry.size.workers).toBe(1);
  });

  test('is forgotten when it has said nothing for as long as entries live, and each heartbeat starts that again', () => {
    const registry = new WorkerRegistry(() => roomy);
    registry.record('a', worker('quiet'), 0);
    registry.record('a', worker('lively'), 0);
    registry.record('a', worker('lively'), 500);
    expect(keysOf(registry, 'a', 999)).toEqual(['lively', 'quiet']);
    expect(keysOf(registry, 'a', 1_000)).toEqual(['lively']);
    expect(registry.find('a', 'lively', 1_500)).toBeUndefined();
    expect(registry.size).toEqual({ workers: 0, bytes: 0 });
  });

  test('that shuts down is gone at once', () => {
    const registry = new WorkerRegistry(() => roomy);
    registry.record('a', worker('w'), 0);
    registry.remove('a', 'w');
    registry.remove('a', 'nobody');
    expect(registry.size).toEqual({ workers: 0, bytes: 0 });
  });

  test('of a namespace that nobody asks for leaves as well', () => {
    const registry = new WorkerRegistry(() => roomy);
    registry.record('left', worker('w'), 0);
    registry.record('other', worker('w'), 1_500);
    expect(registry.size.workers).toBe(1);
  });
});

describe('a full registry', () => {
  test('gives up the oldest workers of the namespace that has the most', () => {
    const registry = new WorkerRegistry(() => ({ ...roomy, workersMax: 4 }));
    registry.record('small', worker('s'), 0);
    for (const key of ['1', '2', '3', '4', '5']) registry.record('flood', worker(key), 0);
    expect(keysOf(registry, 'small')).toEqual(['s']);
    expect(keysOf(registry, 'flood')).toEqual(['3', '4', '5']);
  });

  test('counts bytes as well as workers', () => {
    const registry = new WorkerRegistry(() => ({ ...roomy, bytesMax: 20_000 }));
    registry.record('small', worker('s', 1_000), 0);
    for (let key = 0; key < 100; key++) registry.record('flood', worker(String(key), 5_000), 0);
    expect(keysOf(registry, 'small')).toEqual(['s']);
    expect(keysOf(registry, 'flood')).toEqual(['97', '98', '99']);
    expect(registry.size.bytes).toBeLessThanOrEqual(20_000);
  });

  test('counts what is read of a heartbeat as well as the heartbeat', () => {
    const registry = new WorkerRegistry(() => roomy);
    const { fields, heartbeat } = worker('w', 60_100);
    registry.record('a', { fields: { ...fields, taskQueue: 'q'.repeat(60_000) }, heartbeat }, 0);
    expect(registry.size.bytes).toBeGreaterThan(60_100 + 2 * 60_000);
  });

  test('finds whose turn it is to give up a worker, however many namespaces there are', () => {
    const registry = new WorkerRegistry(() => ({ ...roomy, workersMax: 5_000 }));
    for (let nth = 0; nth < 3_000; nth++) registry.record(`small-${nth}`, worker('w'), 0);
    for (let nth = 0; nth < 20_000; nth++) registry.record('flood', worker(String(nth)), 0);
    expect(registry.size.workers).toBe(5_000);
    expect(keysOf(registry, 'small-17')).toEqual(['w']);
    expect(keysOf(registry, 'flood')).toHaveLength(2_000);
  });

  test('a limit that is lowered holds from the next heartbeat on', () => {
    let workersMax = 10;
    const registry = new WorkerRegistry(() => ({ ...roomy, workersMax }));
    for (let key = 0; key < 10; key++) registry.record('a', worker(String(key)), 0);
    workersMax = 2;
    registry.record('a', worker('last'), 0);
    expect(keysOf(registry, 'a')).toEqual(['9', 'last']);
  });

  test('whatever is sent: its limits hold, its sums are right, and nobody loses a worker below his fair part', () => {
    const namespaces = ['a', 'b', 'c'];
    const step = fc.record({
      namespaceId: fc.constantFrom(...namespaces),
      key: fc.constantFrom('1', '2', '3', '4', '5', '6'),
      bytes: fc.integer({ min: 0, max: 3_000 }),
      shutDown: fc.boolean(),
      afterMs: fc.integer({ min: 0, max: 300 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const limits = { ttlMs: 1_000, workersMax: 7, bytesMax: 9_000 };
        const registry = new WorkerRegistry(() => limits);
        let nowMs = 0;
        for (const { namespaceId, key, bytes, shutDown, afterMs } of steps) {
          nowMs += afterMs;
          const before = new Map(namespaces.map((each) => [each, all(registry, each, nowMs)]));
          if (shutDown) registry.remove(namespaceId, key);
          else registry.record(namespaceId, worker(key, bytes), nowMs);
          const known = namespaces.flatMap((each) => all(registry, each, nowMs));
          expect(registry.size).toEqual({
            workers: known.length,
            bytes: known.reduce((sum, one) => sum + bytesOf(one), 0),
          });
          expect(registry.size.workers <= limits.workersMax && registry.size.bytes <= limits.bytesMax).toBe(true);
          for (const each of namespaces.filter((other) => other !== namespaceId)) {
            const had = before.get(each) ?? [];
            const isSmall = had.reduce((sum, one) => sum + bytesOf(one), 0) <= limits.bytesMax / 3 && had.length <= 2;
            if (isSmall) expect(keysOf(registry, each, nowMs)).toEqual(had.map(({ fields }) => fields.instanceKey));
          }
        }
      }),
    );
  });
});
