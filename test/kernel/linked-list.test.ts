import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LinkedList, type Linked } from '../../src/kernel/linked-list.ts';

/** Counts how often its links are read or written. */
class Item implements Linked<Item> {
  static touches = 0;
  readonly id: number;
  linked = false;
  #prev: Item | undefined;
  #next: Item | undefined;

  constructor(id: number) {
    this.id = id;
  }

  get prev(): Item | undefined {
    Item.touches++;
    return this.#prev;
  }
  set prev(item: Item | undefined) {
    Item.touches++;
    this.#prev = item;
  }
  get next(): Item | undefined {
    Item.touches++;
    return this.#next;
  }
  set next(item: Item | undefined) {
    Item.touches++;
    this.#next = item;
  }
}

function idsOf(list: LinkedList<Item>): number[] {
  const ids: number[] = [];
  for (let item = list.first; item !== undefined; item = item.next) ids.push(item.id);
  return ids;
}

describe('linked list', () => {
  test('keeps the order of an array through any pushes, unshifts, shifts, inserts and removals', () => {
    const step = fc.record({ what: fc.constantFrom('push', 'unshift', 'shift', 'insert', 'remove'), at: fc.nat(1_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const list = new LinkedList<Item>();
        let model: Item[] = [];
        for (const [id, { what, at }] of steps.entries()) {
          const item = new Item(id);
          if (what === 'push') {
            list.push(item);
            model.push(item);
          } else if (what === 'unshift') {
            list.unshift(item);
            model.unshift(item);
          } else if (what === 'shift') {
            expect(list.shift()).toBe(model.shift());
          } else if (what === 'insert') {
            const before = model.findIndex((other) => other.id % 7 > at % 7);
            list.insert(item, (other) => other.id % 7 > at % 7);
            const last = model.at(-1);
            // Only what belongs before the last one is looked for.
            if (last === undefined || last.id % 7 <= at % 7) model.push(item);
            else model.splice(before, 0, item);
          } else if (model.length > 0) {
            const gone = model[at % model.length]!;
            list.remove(gone);
            model = model.filter((each) => each !== gone);
          }
          expect(idsOf(list)).toEqual(model.map((each) => each.id));
          expect(list.size).toBe(model.length);
          expect(list.last).toBe(model.at(-1));
        }
      }),
    );
  });

  test('taking the first costs the same after a hundred thousand as after one', () => {
    const list = new LinkedList<Item>();
    for (let id = 0; id < 1_000; id++) list.push(new Item(id));
    const costs = new Set<number>();
    for (let id = 1_000; id < 100_000; id++) {
      list.push(new Item(id));
      const before = Item.touches;
      list.shift();
      costs.add(Item.touches - before);
    }
    expect([...costs]).toHaveLength(1);
    expect(Math.max(...costs)).toBeLessThan(10);
  });

  test('an item is in one list at most, and is removed once', () => {
    const [one, other] = [new LinkedList<Item>(), new LinkedList<Item>()];
    const item = new Item(1);
    one.push(item);
    expect(() => other.push(item)).toThrow(/one list/);
    one.remove(item);
    expect(() => one.remove(item)).toThrow(/removed from the list/);
  });
});
