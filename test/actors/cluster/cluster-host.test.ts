/** What a process knows of the cluster's journal, and how much of it that is. */
import { afterEach, expect, test } from 'vitest';
import { ClusterHost } from '../../../src/actors/cluster/cluster-host.ts';
import { CLUSTER_ACTOR, Router, type ClusterAnswer } from '../../../src/actors/asks/router.ts';
import { systemClock, systemRandom } from '../../../src/actors/system-ports.ts';
import type { ClusterCommand } from '../../../src/cluster/commands.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { clusterCodec } from '../../../src/topics/codec/cluster-codec.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { jsonClaims } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import { until } from '../../support/event-loop.ts';

const topic = 'test.cluster';

class Bench {
  readonly router = new Router(systemClock);
  readonly host: ClusterHost;

  constructor(log: MemoryLog) {
    this.host = new ClusterHost({
      topic,
      owner: 'test',
      log,
      codec: clusterCodec,
      claims: jsonClaims,
      sink: this.router.cluster.sink(CLUSTER_ACTOR),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      onStatus: () => {},
    });
    this.router.cluster.attach(CLUSTER_ACTOR, this.host.actor);
    this.host.actor.start();
  }

  ask<Command extends ClusterCommand>(command: Command): Promise<ClusterAnswer<Command>> {
    return new Promise((resolve) => void this.router.askCluster(command, FAR_AWAY_MS, resolve));
  }
}

const benches: Bench[] = [];

async function open(log: MemoryLog): Promise<Bench> {
  const bench = new Bench(log);
  benches.push(bench);
  await until(() => bench.host.actor.status().state === 'active');
  return bench;
}

afterEach(async () => {
  for (const { host, router } of benches.splice(0)) {
    await host.actor.drain();
    router.close();
  }
});

test('the view stands behind its last record: when the answer comes, and after a takeover, whose claim is no record of it', async () => {
  const log = new MemoryLog();
  const first = await open(log);
  expect(first.host.view.position).toBe(0);
  const namespace = { id: 'id-a', name: 'a', description: '', ownerEmail: '', data: new Map(), retentionMs: 86_400_000 };
  expect(await first.ask({ kind: 'registerNamespace', ...namespace })).toEqual({ kind: 'done' });
  const { position } = first.host.view;
  expect(position).toBe(log.records({ topic, partition: 0 }).length);
  expect(await first.ask({ kind: 'syncCluster' })).toEqual({ kind: 'done' });
  expect(first.host.view.position).toBe(position);

  const second = await open(log);
  expect(second.host.view.position).toBe(position);
  expect(second.host.view.namespaceById('id-a')?.name).toBe('a');
});
