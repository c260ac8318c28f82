import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHUNK_IDS, LetterIds, type LetterStatus } from '../../src/deadletters/letter-ids.ts';

const statuses = ['open', 'quarantined', 'merged', 'purged'] as const;

/** Ids where chunks begin and end, and others. */
const someId = fc.oneof(fc.nat(3 * CHUNK_IDS), fc.constantFrom(0, CHUNK_IDS - 1, CHUNK_IDS, 2 * CHUNK_IDS - 1, 2 * CHUNK_IDS));
const change = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('addPurged'), count: fc.constantFrom(1, 7, CHUNK_IDS, 2 * CHUNK_IDS + 3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('add'), count: fc.constantFrom(1, 7, CHUNK_IDS) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('set'), id: someId, status: fc.constantFrom(...statuses) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('range'),
      from: someId,
      length: fc.constantFrom(5, CHUNK_IDS),
      status: fc.constantFrom(...statuses),
    }),
  },
);

describe('ids of dead letters', () => {
  test('property: statuses, counts and the first dead letter are those of a plain list, also after a snapshot', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 20 }), fc.array(someId, { maxLength: 8 }), (changes, looks) => {
        let ids = new LetterIds();
        const model: LetterStatus[] = [];
        const set = (id: number, status: LetterStatus): void => {
          if (id >= model.length) return;
          model[id] = status;
          ids.set(id, status);
        };
        for (const each of changes) {
          if (each.kind === 'add') for (let count = 0; count < each.count; count++) expect(ids.add()).toBe(model.push('open') - 1);
          else if (each.kind === 'addPurged') {
            ids.addPurged(model.length + each.count);
            for (let count = 0; count < each.count; count++) model.push('purged');
          } else if (each.kind === 'set') set(each.id, each.status);
          else for (let id = each.from; id < each.from + each.length; id++) set(id, each.status);
          ids = LetterIds.of(ids.snapshot());
          expect(ids.nextId).toBe(model.length);
          for (const status of statuses) expect(ids.count(status)).toBe(model.filter((one) => one === status).length);
          for (const id of [...looks, model.length - 1, model.length]) {
            expect(ids.statusOf(id)).toBe(model[id]);
            const next = model.findIndex((status, at) => at >= id && (status === 'open' || status === 'quarantined'));
            expect(ids.firstLetter(id)).toBe(next === -1 ? undefined : next);
            expect(ids.firstLetter(id, id + 9)).toBe(next === -1 || next > id + 9 ? undefined : next);
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  test('what was resolved long ago takes no room: a chunk of one status is that status', () => {
    const ids = new LetterIds();
    for (let id = 0; id < 10 * CHUNK_IDS; id++) ids.set(ids.add(), 'purged');
    expect(ids.snapshot().chunks).toEqual(Array.from({ length: 10 }, () => 3));
    ids.set(5, 'open');
    expect(ids.firstLetter()).toBe(5);
    expect(ids.count('purged')).toBe(10 * CHUNK_IDS - 1);
  });

  test('what was merged here and purged there is passed over a chunk at a time; and what a compaction left out is given at once', () => {
    const ids = new LetterIds();
    for (let id = 0; id < 2 * CHUNK_IDS; id++) ids.set(ids.add(), id % 2 === 0 ? 'merged' : 'purged');
    ids.addPurged(2 ** 30 + 5);
    ids.add();
    for (let times = 0; times < 10; times++) expect(ids.firstLetter()).toBe(2 ** 30 + 5);
    expect(ids.count('merged')).toBe(CHUNK_IDS);
    expect(ids.count('purged')).toBe(2 ** 30 + 5 - CHUNK_IDS);
  });

  test.each([
    ['a count that is none', { nextId: -1, chunks: [] }],
    ['a chunk too few', { nextId: 1, chunks: [] }],
    ['a chunk that is cut off', { nextId: 1, chunks: [new Uint8Array(3)] }],
    ['a status that there is not', { nextId: CHUNK_IDS, chunks: [4] }],
    ['one status for a chunk that is not whole', { nextId: 1, chunks: [3] }],
  ])('no snapshot: %s', (_, snapshot) => {
    expect(() => LetterIds.of(snapshot)).toThrow();
  });
});
