import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Pending } from '../../src/history/run/pending.ts';

type Value = { readonly n: number };
const operation = fc.record({ do: fc.constantFrom('set', 'delete'), key: fc.nat(5), n: fc.nat(99) });

function apply(target: Pending<number, Value> | Map<number, Value>, { do: what, key, n }: { do: string; key: number; n: number }): void {
  if (what === 'set') target.set(key, { n });
  else target.delete(key);
}

function contents(set: Pending<number, Value> | Map<number, Value>): object {
  return Object.fromEntries([...set.entries()].toSorted(([a], [b]) => a - b));
}

test('a fork behaves like a copy, and its base does not notice', () => {
  fc.assert(
    fc.property(fc.array(operation), fc.array(operation), (before, after) => {
      const base = new Pending<number, Value>();
      const model = new Map<number, Value>();
      for (const each of before) {
        apply(base, each);
        apply(model, each);
      }
      const baseWas = contents(model);
      const fork = base.fork();
      for (const each of after) {
        apply(fork, each);
        apply(model, each);
        expect(fork.get(each.key)).toEqual(model.get(each.key));
        expect(fork.has(each.key)).toBe(model.has(each.key));
        expect(fork.size).toBe(model.size);
      }
      expect(contents(fork)).toEqual(contents(model));
      expect(contents(base)).toEqual(baseWas);
      expect(base.size).toBe(Object.keys(baseWas).length);
    }),
  );
});
