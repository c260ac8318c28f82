import { expect, test } from 'vitest';
import { ignoredPartitions, type LayoutQuestion } from '../../src/start/layout.ts';

const identity = { clusterId: 'id', clusterName: 'active', tokenKey: new Uint8Array(32), historyShards: 4 };

type Case = {
  readonly known: boolean;
  readonly shards?: number;
  readonly name?: string;
  readonly topics: readonly [number, number, number];
};

function question({ known, shards = 4, name = 'active', topics: [history, matching, cluster] }: Case): LayoutQuestion {
  const topic = (suffix: string, partitions: number) => ({ name: `p.${suffix}`, partitions, purpose: '' });
  return {
    prefix: 'p',
    identity: known ? identity : undefined,
    configured: { clusterName: name, historyShards: shards, matchingPartitions: 4 },
    topics: [topic('history', history), topic('matching', matching), topic('cluster', cluster)],
  };
}

test.each<readonly [string, Case, readonly string[]]>([
  ['a first start', { known: false, topics: [4, 4, 1] }, []],
  ['a later one', { known: true, topics: [4, 4, 1] }, []],
  ['partitions were added to .history', { known: true, topics: [6, 4, 1] }, ['p.history 6 of which 4']],
  [
    'and to all others',
    { known: true, topics: [5, 5, 2] },
    ['p.history 5 of which 4', 'p.matching 5 of which 4', 'p.cluster 2 of which 1'],
  ],
])('served: %s', (_, layout, ignored) => {
  expect(ignoredPartitions(question(layout)).map(({ topic, found, served }) => `${topic} ${found} of which ${served}`)).toEqual(ignored);
});

test.each<readonly [string, Case, RegExp]>([
  [
    'a first start on a topic with more',
    { known: false, topics: [6, 4, 1] },
    /^topic p\.history has 6 partitions, needed are 4 .*delete the topic/,
  ],
  ['a first start on a topic with fewer', { known: false, topics: [4, 4, 0] }, /^topic p\.cluster has 0 partitions, needed are 1/],
  [
    'fewer than the cluster has',
    { known: true, topics: [3, 4, 1] },
    /^topic p\.history has 3 partitions, but the cluster was made with 4: .*gone/,
  ],
  [
    'another number of shards',
    { known: true, shards: 8, topics: [4, 4, 1] },
    /^persistence\.numHistoryShards is 8, but .* made with 4 .*set it to 4/,
  ],
  [
    'also where the topic has that many',
    { known: true, shards: 8, topics: [8, 4, 1] },
    /^persistence\.numHistoryShards is 8, but .* made with 4/,
  ],
  [
    'another name',
    { known: true, name: 'b', topics: [4, 4, 1] },
    /^clusterMetadata\.currentClusterName is "b", but .* "active", for ever: set it to "active"/,
  ],
])('refused: %s', (_, layout, words) => {
  expect(() => ignoredPartitions(question(layout))).toThrow(words);
});
