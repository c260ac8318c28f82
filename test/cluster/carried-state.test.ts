/** A journal of the cluster that begins later: what was written again, in parts between which changes came, is what there was. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClusterCore } from '../../src/cluster/cluster-core.ts';
import { clusterLimits } from '../../src/cluster/command-table.ts';
import { canonicalState } from './canonical-state.ts';
import { ClusterState } from '../../src/cluster/cluster-state.ts';
import type { CarryCluster, ClusterCommand } from '../../src/cluster/cluster-commands.ts';
import type { CarriedPart, ClusterRecord } from '../../src/cluster/cluster-records.ts';
import { clusterCodec } from '../../src/codec/cluster-codec.ts';

const day = 86_400_000;

function fold(records: readonly ClusterRecord[], start = 0): ClusterState {
  const state = new ClusterState(start);
  for (const record of records.slice(start)) {
    const { value, schema } = clusterCodec.encode(record);
    state.evolve(clusterCodec.decode(value, schema));
  }
  return state;
}

const ids = ['a', 'b', 'c', 'd'];
const id = fc.constantFrom(...ids);
const attribute = fc.constantFrom('Color', 'Size', 'Weight', 'Price');
const command: fc.Arbitrary<ClusterCommand> = fc.oneof(
  id.map((name): ClusterCommand => ({
    kind: 'registerNamespace',
    ...{ id: name, name: `of ${name}`, description: '', ownerEmail: '', data: new Map(), retentionMs: day },
  })),
  fc
    .record({ id, description: fc.constantFrom('x', 'y'), state: fc.constantFrom(undefined, 'deprecated' as const) })
    .map((x): ClusterCommand => ({
      kind: 'updateNamespace',
      ...{ ...x, ownerEmail: undefined, data: new Map([['k', x.description]]), retentionMs: undefined },
      archival: { isEnabled: x.description === 'x', uri: '', defaultUri: 'file:///archive' },
    })),
  fc.record({ id, deleteDelayMs: fc.constantFrom(0, 20) }).map((x): ClusterCommand => ({ kind: 'deleteNamespace', graceMs: 0, ...x })),
  id.map((each): ClusterCommand => ({ kind: 'endNamespace', id: each })),
  fc.record({ namespaceId: fc.oneof(id, fc.constant('')), attribute, type: fc.constantFrom(2, 3) }).map((x): ClusterCommand => ({
    kind: 'addSearchAttributes',
    namespaceId: x.namespaceId,
    attributes: new Map([[x.attribute, x.type]]),
  })),
  fc
    .record({ namespaceId: fc.oneof(id, fc.constant('')), attribute })
    .map((x): ClusterCommand => ({ kind: 'removeSearchAttributes', namespaceId: x.namespaceId, names: [x.attribute] })),
  fc
    .record({ namespaceId: fc.oneof(id, fc.constant('')), slot: fc.constantFrom('Keyword01', 'Keyword20', 'Int01', 'Int06') })
    .map((x): ClusterCommand => ({ kind: 'purgeSearchAttributes', namespaceId: x.namespaceId, slots: [x.slot] })),
  fc.constantFrom('transfer', 'timer').map((category): ClusterCommand => ({ kind: 'addDeadLetterQueue', category, sourceCluster: 'one' })),
  fc.constant<ClusterCommand>({
    kind: 'initializeCluster',
    ...{ clusterId: 'id', clusterName: 'one', tokenKey: new Uint8Array(32).fill(7), historyShards: 4 },
  }),
);

test('from the cut on it replays to the same state as the whole journal, whatever changes between the parts, and from nowhere else', () => {
  const steps = fc.array(fc.oneof({ arbitrary: command, weight: 2 }, { arbitrary: fc.constant('part' as const), weight: 1 }), {
    maxLength: 30,
  });
  const commands = fc.array(command, { maxLength: 40 });
  fc.assert(
    fc.property(commands, steps, steps, commands, (before, givenUp, during, after) => {
      const core = new ClusterCore();
      const live = new ClusterState();
      const records: ClusterRecord[] = [];
      let timeMs = 0;
      const write = (record: ClusterRecord): void => {
        records.push(record);
        live.evolve(record);
      };
      const ask = (each: ClusterCommand): void => {
        // Nobody gives an id a second time.
        if (each.kind === 'registerNamespace' && live.registeredNameOf(each.id) !== undefined) return;
        const handled = core.handle(each, (timeMs += 10), 1);
        core.accept(handled);
        if (handled.kind === 'commit') for (const record of [...(handled.before ?? []), handled.record]) write(record);
      };
      const carry = (between: readonly (ClusterCommand | 'part')[]): { readonly cut: number; readonly parts: Iterable<CarriedPart> } => {
        const cut = records.length;
        write({ kind: 'carryingBegun', timeMs, cut });
        const parts = live.parts();
        for (const each of between) {
          if (each !== 'part') ask(each);
          const next = each === 'part' ? parts.next() : undefined;
          if (next !== undefined && next.done !== true) write({ ...next.value, timeMs });
        }
        return { cut, parts };
      };
      ask({ kind: 'addDeadLetterQueue', category: 'visibility', sourceCluster: 'one' });
      for (const each of before) ask(each);
      const first = carry(givenUp);
      const { cut, parts } = carry(during);
      for (const part of parts) write({ ...part, timeMs });
      const unfinished = records.length;
      write({ kind: 'carryingFinished', timeMs, cut });
      for (const each of after) ask(each);

      expect(canonicalState(live)).toBe(canonicalState(core.state));
      // Where the log keeps more than it must, what stands in front of the cut counts for nothing, or is told again.
      for (const start of [0, Math.max(1, first.cut - 3), first.cut, Math.floor((first.cut + cut) / 2), cut]) {
        const state = fold(records, start);
        expect([state.lacking, state.cut, canonicalState(state)]).toEqual([undefined, cut, canonicalState(live)]);
      }
      expect(fold(records, cut + 1).lacking).toContain('the records before it were not written again');
      expect(fold(records.slice(0, unfinished), cut).lacking).toContain('the records before it were not written again');
    }),
    { numRuns: 500 },
  );
});

describe('what is written again', () => {
  const carry = (core: ClusterCore, isFirst: boolean): readonly ClusterRecord[] => {
    const own: CarryCluster = { kind: 'carryCluster', cut: 1, isFirst };
    const handled = core.handle(own, 1, 1);
    core.accept(handled);
    return handled.kind === 'commit' ? [...(handled.before ?? []), handled.record] : [];
  };

  test('of thousands of namespaces goes into many records and many pages, none of which is larger than a log takes', () => {
    const core = new ClusterCore();
    const description = 'd'.repeat(50_000);
    for (let number = 0; number < 2_000; number++) {
      const texts = { description, ownerEmail: '', data: new Map(), retentionMs: day };
      core.accept(core.handle({ kind: 'registerNamespace', id: `id-${number}`, name: `n${number}`, ...texts }, 1, 1));
    }
    const records: ClusterRecord[] = [];
    for (let page = carry(core, true); ; page = carry(core, false)) {
      const bytes = page.map((record) => clusterCodec.encode(record).value.byteLength);
      expect(Math.max(...bytes)).toBeLessThan(70_000);
      expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(clusterLimits.carriedWeightMax + 70_000);
      records.push(...page);
      if (page.at(-1)?.kind === 'carryingFinished') break;
    }
    const state = new ClusterState(1);
    for (const record of records) state.evolve(record);
    expect(state.lacking).toBeUndefined();
    expect(canonicalState(state) === canonicalState(core.state)).toBe(true);
  });

  test('of attributes with long names that were removed goes into pages that are no larger', () => {
    const core = new ClusterCore();
    for (let number = 0; number < 6; number++) {
      const namespaceId = `id-${number}`;
      const texts = { description: '', ownerEmail: '', data: new Map(), retentionMs: day };
      core.accept(core.handle({ kind: 'registerNamespace', id: namespaceId, name: `n${number}`, ...texts }, 1, 1));
      for (let generation = 0; generation < 1_000; generation++) {
        const name = `${generation}`.padEnd(clusterLimits.searchAttributeNameCharsMax, 'x');
        core.accept(core.handle({ kind: 'addSearchAttributes', namespaceId, attributes: new Map([[name, 2]]) }, 1, 1));
        core.accept(core.handle({ kind: 'removeSearchAttributes', namespaceId, names: [name] }, 1, 1));
        core.accept(core.handle({ kind: 'purgeSearchAttributes', namespaceId, slots: ['Keyword01'] }, 1, 1));
      }
    }
    const bytes: number[] = [];
    for (let page = carry(core, true); ; page = carry(core, false)) {
      bytes.push(page.reduce((sum, record) => sum + clusterCodec.encode(record).value.byteLength, 0));
      if (page.at(-1)?.kind === 'carryingFinished') break;
    }
    expect(Math.max(...bytes)).toBeLessThan(clusterLimits.carriedWeightMax + 300_000);
  });

  test('is not taken for an empty one where a copy of the topic numbers the records again from 0', () => {
    const core = new ClusterCore();
    const identity = { clusterId: 'id', clusterName: 'one', tokenKey: new Uint8Array(32).fill(7), historyShards: 4 };
    core.accept(core.handle({ kind: 'initializeCluster', ...identity }, 1, 1));
    const copied = new ClusterState();
    expect(() => carry(core, true).forEach((record) => copied.evolve(record))).toThrow('a copy with other offsets');
  });

  test('names of those that are gone, in the order in which they went', () => {
    const core = new ClusterCore();
    for (let number = 0; number < 1_700; number++) {
      const texts = { description: '', ownerEmail: '', data: new Map(), retentionMs: day };
      const each = `${number}`;
      core.accept(core.handle({ kind: 'registerNamespace', id: each, name: `n${number}`, ...texts }, 1, 1));
      core.accept(core.handle({ kind: 'deleteNamespace', id: each, graceMs: 0, deleteDelayMs: 0 }, 1, 1));
      core.accept(core.handle({ kind: 'endNamespace', id: each }, 1, 1));
    }
    const state = new ClusterState(1);
    const records = carry(core, true);
    for (const record of records) state.evolve(record);
    expect(records.filter(({ kind }) => kind === 'removedNamesCarried')).toHaveLength(4);
    expect(state.registeredNameOf('1699')).toBe('n1699');
    expect(canonicalState(state) === canonicalState(core.state)).toBe(true);
  });
});
