import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClusterRecord } from '../../../src/cluster/records.ts';
import { clusterCodec } from '../../../src/topics/codec/cluster-codec.ts';

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
    namesCluster: fc.boolean(),
  }),
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
    'id-1',
    // As it was written when there were no slots.
    {
      kind: 'searchAttributesAdded',
      timeMs: 5,
      namespaceId: 'id-1',
      attributes: new Map([['Color', 2]]),
      slots: new Map(),
      generations: new Map(),
    },
    '08052a110a0469642d3112090a05436f6c6f721002',
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
    { kind: 'deadLetterQueueAdded', timeMs: 5, number: 1, category: 'transfer', sourceCluster: 'active', namesCluster: false },
    '0805421408011208' + '7472616e73666572' + '1a06' + '616374697665',
  ],
  [
    'DeadLetterQueueAdded',
    '@cluster',
    { kind: 'deadLetterQueueAdded', timeMs: 5, number: 1, category: 'transfer', sourceCluster: 'active', namesCluster: true },
    '0805421608011208' + '7472616e73666572' + '1a06' + '616374697665' + '2001',
  ],
];

test.each(golden)('golden: %s', (type, key, record, hex) => {
  const encoded = clusterCodec.encode(record);
  expect(encoded).toMatchObject({ type, key, schema: 1 });
  expect(Buffer.from(encoded.value).toString('hex')).toBe(hex);
  expect(clusterCodec.decode(Buffer.from(hex, 'hex'), 1)).toEqual(record);
});

test('what it cannot read stops the partition', () => {
  const { value } = clusterCodec.encode(golden[0]![2]);
  expect(() => clusterCodec.decode(value, 2)).toThrow('schema 1, found 2');
  expect(() => clusterCodec.decode(value.subarray(0, value.length - 5), 1)).toThrow();
  expect(() => clusterCodec.decode(new Uint8Array([0x08, 0x05]), 1)).toThrow('no change');
});
