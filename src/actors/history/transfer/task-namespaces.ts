/**
 * Whether a namespace that a task acts on is there. What this process has folded of the registry may lag behind: what it does not know is
 * looked for once more, behind the read barrier of the cluster's partition; all who look at the time share one such read.
 */
import { ownWork } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';
import type { Clock } from '../../../ports/machine.ts';

export type TaskNamespacesOptions = {
  readonly registry: { readonly isFolded: boolean; readonly view: Pick<ClusterSnapshot, 'namespaceById'> };
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly clock: Clock;
};

const ANSWER_TIMEOUT_MS = 10_000;

export class TaskNamespaces {
  readonly #options: TaskNamespacesOptions;
  #looking: ((isRead: boolean) => void)[] | undefined;

  constructor(options: TaskNamespacesOptions) {
    this.#options = options;
  }

  /** While nothing is folded, nothing speaks against any. */
  fateOf(namespaceId: string): 'there' | 'deleted' | 'unknown' {
    const { registry } = this.#options;
    const namespace = registry.view.namespaceById(namespaceId);
    if (namespace === undefined) return registry.isFolded ? 'unknown' : 'there';
    return namespace.state === 'deleted' ? 'deleted' : 'there';
  }

  /** `isRead`: `fateOf` says what is true now. False: ask again later. */
  readAfresh(then: (isRead: boolean) => void): void {
    if (this.#looking !== undefined) return void this.#looking.push(then);
    this.#looking = [then];
    const { asker, clock } = this.#options;
    asker.askCluster({ kind: 'syncCluster' }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), ({ kind }) => {
      const looking = this.#looking ?? [];
      this.#looking = undefined;
      for (const each of looking) each(kind === 'done');
    });
  }
}

export function namespaceGoneMessage(namespaceId: string): string {
  return `Namespace ${namespaceId} is not found.`;
}
