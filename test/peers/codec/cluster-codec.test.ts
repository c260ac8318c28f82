import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import type { ClusterCommand, ClusterReply } from '../../../src/cluster/cluster-commands.ts';
import { clusterAsks } from '../../../src/peers/codec/cluster-codec.ts';
import { askFailures } from './arbitrary-ask-failure.ts';
import { type ByKind, bytes, count, enumValue, list, mapOf, orNone, record, text, word } from './arbitrary.ts';
import { describeCodec, numbersOf } from './round-trip.ts';

const requests: ByKind<ClusterCommand> = {
  registerNamespace: record({
    kind: fc.constant('registerNamespace' as const),
    id: text,
    name: text,
    description: text,
    ownerEmail: text,
    data: mapOf(text),
    retentionMs: count,
  }),
  updateNamespace: record({
    kind: fc.constant('updateNamespace' as const),
    id: text,
    description: orNone(text),
    ownerEmail: orNone(text),
    data: orNone(mapOf(text)),
    retentionMs: orNone(count),
    state: orNone(word('registered', 'deprecated')),
  }),
  deleteNamespace: record({ kind: fc.constant('deleteNamespace' as const), id: text, graceMs: count, deleteDelayMs: count }),
  endNamespace: record({ kind: fc.constant('endNamespace' as const), id: text }),
  addSearchAttributes: record({ kind: fc.constant('addSearchAttributes' as const), namespaceId: text, attributes: mapOf(enumValue) }),
  removeSearchAttributes: record({ kind: fc.constant('removeSearchAttributes' as const), namespaceId: text, names: list(text) }),
  addDeadLetterQueue: record({ kind: fc.constant('addDeadLetterQueue' as const), category: text, sourceCluster: text }),
  purgeSearchAttributes: record({ kind: fc.constant('purgeSearchAttributes' as const), namespaceId: text, slots: list(text) }),
  initializeCluster: record({
    kind: fc.constant('initializeCluster' as const),
    clusterId: text,
    clusterName: text,
    tokenKey: bytes,
    historyShards: count,
  }),
  syncCluster: record({ kind: fc.constant('syncCluster' as const) }),
};

const answers: ByKind<ClusterReply | AskFailure> = {
  ...askFailures,
  done: record({ kind: fc.constant('done' as const) }),
  rejected: record({
    kind: fc.constant('rejected' as const),
    rejection: record({
      reason: word('namespace-exists', 'namespace-not-found', 'invalid-argument', 'failed-precondition', 'resource-exhausted'),
      message: text,
    }),
  }),
};

describeCodec('asks of the cluster', clusterAsks.requests, requests);
describeCodec('answers of the cluster', clusterAsks.answers, answers);

test('golden: the numbers of asks and answers', () => {
  expect(numbersOf(clusterAsks.requests, requests)).toMatchInlineSnapshot(`
    {
      "addDeadLetterQueue": 8,
      "addSearchAttributes": 3,
      "deleteNamespace": 9,
      "endNamespace": 10,
      "initializeCluster": 5,
      "purgeSearchAttributes": 7,
      "registerNamespace": 1,
      "removeSearchAttributes": 4,
      "syncCluster": 6,
      "updateNamespace": 2,
    }
  `);
  expect(numbersOf(clusterAsks.answers, answers)).toMatchInlineSnapshot(`
    {
      "busy": 103,
      "dataLoss": 107,
      "deadline": 102,
      "done": 2,
      "internal": 105,
      "notHere": 106,
      "rejected": 1,
      "tooLarge": 104,
      "unavailable": 101,
    }
  `);
});
