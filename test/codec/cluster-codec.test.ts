import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClusterRecord } from '../../src/cluster/cluster-records.ts';
import { clusterCodec } from '../../src/codec/cluster-codec.ts';

const timeMs = fc.nat();
const text = fc.string({ unit: 'binary', maxLength: 12 });
const data = fc.array(fc.tuple(text, text), { maxLength: 3 }).map((entries) => new Map(entries));
const types = fc.array(fc.tuple(text, fc.integer({ min: 1, max: 7 })), { maxLength: 3 }).map((entries) => new Map(entries));

const records: fc.Arbitrary<ClusterRecord> = fc.oneof(
  fc.record({
    kind: fc.constant('clusterInitialized' as const),
    timeMs,
    clusterId: text,
    clusterName: text,
    tokenKey: fc.uint8Array({ maxLength: 40 }),
    historyShards: fc.nat(10_000),
  }),
  fc.record({
    kind: fc.constant('namespaceRegistered' as const),
    timeMs,
    id: text,
    name: text,
    description: text,
    ownerEmail: text,
    data,
    retentionMs: timeMs,
  }),
  fc.record({
    kind: fc.constant('namespaceUpdated' as const),
    timeMs,
    id: text,
    description: text,
    ownerEmail: text,
    data,
    retentionMs: timeMs,
  }),
  fc.record({
    kind: fc.constant('searchAttributesAdded' as const),
    timeMs,
    namespaceId: text,
    attributes: types,
    slots: data,
    generations: types,
  }),
  fc.record({ kind: fc.constant('namespaceDeprecated' as const), timeMs, id: text }),
  fc.record({ kind: fc.constant('namespaceDeleted' as const), timeMs, id: text, name: text, purgeAtMs: timeMs, deleteDelayMs: timeMs }),
  fc.record({ kind: fc.constant('namespacePurged' as const), timeMs, id: text }),
  fc.record({ kind: fc.constant('namespaceRemoved' as const), timeMs, id: text }),
  fc.record({ kind: fc.constant('searchAttributesRemoved' as const), timeMs, namespaceId: text, names: fc.array(text, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('searchAttributesPurged' as const), timeMs, namespaceId: text, slots: fc.array(text, { maxLength: 3 }) }),
  fc.record({
    kind: fc.constant('deadLetterQueueAdded' as const),
    timeMs,
    number: fc.integer({ min: 1, max: 1000 }),
    category: text,
    sourceCluster: text,
  }),
  fc.record({ kind: fc.constant('carryingBegun' as const), timeMs, cut: timeMs }),
  fc.record({
    kind: fc.constant('clusterCarried' as const),
    timeMs,
    identity: fc.option(
      fc.record({ clusterId: text, clusterName: text, tokenKey: fc.uint8Array({ maxLength: 40 }), historyShards: timeMs }),
      {
        nil: undefined,
      },
    ),
    deadLetterQueues: fc.array(fc.record({ number: fc.integer({ min: 1, max: 1000 }), category: text, sourceCluster: text }), {
      maxLength: 3,
    }),
  }),
  fc.record({
    kind: fc.constant('namespaceCarried' as const),
    timeMs,
    id: text,
    name: text,
    registeredName: text,
    description: text,
    ownerEmail: text,
    data,
    retentionMs: timeMs,
    createdTimeMs: timeMs,
    isDeprecated: fc.boolean(),
    isArchived: fc.boolean(),
    archivalUri: text,
    deletion: fc.option(fc.record({ purgeAtMs: timeMs, deleteDelayMs: timeMs, purgedAtMs: fc.option(timeMs, { nil: undefined }) }), {
      nil: undefined,
    }),
  }),
  fc.record({
    kind: fc.constant('attributesCarried' as const),
    timeMs,
    namespaceId: text,
    attributes: types,
    columns: fc.array(fc.record({ slot: text, name: text, isRemoved: fc.boolean() }), { maxLength: 3 }),
    generations: types,
  }),
  fc.record({ kind: fc.constant('removedNamesCarried' as const), timeMs, names: data }),
  fc.record({ kind: fc.constant('carryingFinished' as const), timeMs, cut: timeMs }),
);

test('a record comes back as it was', () => {
  fc.assert(
    fc.property(records, (record) => {
      const encoded = clusterCodec.encode(record);
      expect(clusterCodec.decode(encoded.value, encoded.schema)).toEqual(record);
      expect(encoded.timeMs).toBe(record.timeMs);
    }),
  );
});

const golden: readonly (readonly [type: string, key: string, record: ClusterRecord, hex: string])[] = [
  [
    'NamespaceRegistered',
    'orders',
    {
      kind: 'namespaceRegistered',
      timeMs: 5,
      id: 'id-1',
      name: 'orders',
      description: 'd',
      ownerEmail: 'o',
      data: new Map([['k', 'v']]),
      retentionMs: 86_400_000,
    },
    '08051a210a0469642d3112066f72646572731a016422016f2a060a016b1201763080b89929',
  ],
  ['NamespaceDeprecated', 'id-1', { kind: 'namespaceDeprecated', timeMs: 5, id: 'id-1' }, '0805' + '5206' + '0a0469642d31'],
  [
    'NamespaceDeleted',
    'id-1',
    { kind: 'namespaceDeleted', timeMs: 5, id: 'id-1', name: 'orders-deleted-id-1', purgeAtMs: 0, deleteDelayMs: 0 },
    '0805' + '4a1b' + '0a0469642d31' + '12136f72646572732d64656c657465642d69642d31',
  ],
  [
    'ClusterInitialized',
    '@cluster',
    { kind: 'clusterInitialized', timeMs: 5, clusterId: 'c', clusterName: 'n', tokenKey: new Uint8Array([1, 2]), historyShards: 4 },
    '0805120c0a016312016e1a0201022004',
  ],
  [
    'SearchAttributesAdded',
    '@cluster',
    {
      kind: 'searchAttributesAdded',
      timeMs: 5,
      namespaceId: '',
      attributes: new Map([['Color', 2]]),
      slots: new Map([['Color', 'Keyword20']]),
      generations: new Map(),
    },
    '08052a1f12090a05436f6c6f7210021a120a05436f6c6f7212094b6579776f72643230',
  ],
  [
    'SearchAttributesAdded',
    'id-1',
    {
      kind: 'searchAttributesAdded',
      timeMs: 5,
      namespaceId: 'id-1',
      attributes: new Map([['Color', 2]]),
      slots: new Map([['Color', 'Keyword02']]),
      generations: new Map([['Color', 3]]),
    },
    '08052a300a0469642d3112090a05436f6c6f7210021a120a05436f6c6f7212094b6579776f7264303222090a05436f6c6f721003',
  ],
  [
    'SearchAttributesPurged',
    'id-1',
    { kind: 'searchAttributesPurged', timeMs: 5, namespaceId: 'id-1', slots: ['Keyword01', 'Int06'] },
    '08053a180a0469642d3112094b6579776f726430311205496e743036',
  ],
  [
    'DeadLetterQueueAdded',
    '@cluster',
    { kind: 'deadLetterQueueAdded', timeMs: 5, number: 1, category: 'transfer', sourceCluster: 'active' },
    '0805421408011208' + '7472616e73666572' + '1a06' + '616374697665',
  ],
];

const carried: readonly (readonly [type: string, key: string, record: ClusterRecord, hex: string])[] = [
  ['CarryingBegun', '@cluster', { kind: 'carryingBegun', timeMs: 5, cut: 300 }, '0805720308ac02'],
  [
    'ClusterCarried',
    '@cluster',
    {
      kind: 'clusterCarried',
      timeMs: 5,
      identity: { clusterId: 'c', clusterName: 'n', tokenKey: new Uint8Array([1, 2]), historyShards: 4 },
      deadLetterQueues: [{ number: 1, category: 'transfer', sourceCluster: 'active' }],
    },
    '08057a240a0c0a016312016e1a02010220041214080112087472616e736665721a06616374697665',
  ],
  [
    'NamespaceCarried',
    'orders-deleted-id-1',
    {
      kind: 'namespaceCarried',
      timeMs: 5,
      id: 'id-1',
      name: 'orders-deleted-id-1',
      registeredName: 'orders',
      description: 'd',
      ownerEmail: 'o',
      data: new Map([['k', 'v']]),
      retentionMs: 86_400_000,
      createdTimeMs: 4,
      isDeprecated: true,
      isArchived: true,
      archivalUri: 'file:///a',
      deletion: { purgeAtMs: 6, deleteDelayMs: 7, purgedAtMs: 8 },
    },
    '080582014f0a0469642d3112136f72646572732d64656c657465642d69642d311a066f72646572732201642a016f32060a016b1201763880b899294004480150015a0966696c653a2f2f2f616206080610071808',
  ],
  [
    'AttributesCarried',
    'id-1',
    {
      kind: 'attributesCarried',
      timeMs: 5,
      namespaceId: 'id-1',
      attributes: new Map([['Color', 2]]),
      columns: [{ slot: 'Keyword01', name: 'Color', isRemoved: true }],
      generations: new Map([['Color', 1]]),
    },
    '08058a01320a0469642d3112090a05436f6c6f7210021a140a094b6579776f726430311205436f6c6f72180122090a05436f6c6f721001',
  ],
  [
    'RemovedNamesCarried',
    '@cluster',
    { kind: 'removedNamesCarried', timeMs: 5, names: new Map([['id-2', 'gone']]) },
    '080592010e0a0c0a0469642d321204676f6e65',
  ],
  ['CarryingFinished', '@cluster', { kind: 'carryingFinished', timeMs: 5, cut: 300 }, '08059a010308ac02'],
];

test.each([...golden, ...carried])('golden: %s', (type, key, record, hex) => {
  const encoded = clusterCodec.encode(record);
  expect(encoded).toMatchObject({ type, key, schema: 1 });
  expect(Buffer.from(encoded.value).toString('hex')).toBe(hex);
  expect(clusterCodec.decode(Buffer.from(hex, 'hex'), 1)).toEqual(record);
});

test('what it cannot read stops the partition', () => {
  const { value } = clusterCodec.encode(golden[0]![2]);
  expect(() => clusterCodec.decode(value, 2)).toThrow('has schema 2, written by another version; this one reads 1');
  expect(() => clusterCodec.decode(value.subarray(0, value.length - 5), 1)).toThrow();
  expect(() => clusterCodec.decode(new Uint8Array([0x08, 0x05]), 1)).toThrow('no change');
});
