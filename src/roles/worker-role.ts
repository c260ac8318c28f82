/** Background work for the whole cluster: purging deleted namespaces, and clearing the columns of removed search attributes. */
import { randomUUID } from 'node:crypto';
import { NamespacePurge, type PurgeReport } from '../actors/cluster/namespace-purge.ts';
import type { Rounds } from '../actors/cluster/rounds.ts';
import { slotPurge } from '../actors/cluster/slot-purge.ts';
import { namespacePurgeSettings } from '../config/namespace-deletion-settings.ts';
import { matchingPartitionOf } from '../kernel/task-queue.ts';
import type { ClusterRole } from './cluster-role.ts';
import type { HistoryRole } from './history-role.ts';
import type { ProcessParts } from './process-parts.ts';

export class WorkerRole {
  readonly #slots: Rounds;
  readonly #namespaces: NamespacePurge;

  constructor({ common, layout, router, dynamicConfig }: ProcessParts, cluster: ClusterRole, history: HistoryRole) {
    const { historyShards, matchingPartitions } = layout;
    const shared = { ...common, cluster: cluster.registry, asker: router, historyShards, matchingPartitions };
    this.#slots = slotPurge({ ...shared, clear: (left, held) => history.visibility.clearSlots(left, held) });
    this.#namespaces = new NamespacePurge({
      ...shared,
      hostOf: (queue) => matchingPartitionOf(queue, matchingPartitions),
      settings: () => dynamicConfig.values(namespacePurgeSettings),
      newId: randomUUID,
    });
    cluster.follow(() => {
      this.#slots.look();
      this.#namespaces.look();
    });
  }

  stop(): void {
    this.#slots.close();
    this.#namespaces.close();
  }

  purges(): readonly PurgeReport[] {
    return this.#namespaces.report();
  }
}
