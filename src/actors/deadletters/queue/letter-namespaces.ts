/**
 * In which namespaces the task of a letter is executed: in its own if they are there, else in those that have their names by now. What this
 * process has folded of the registry may lag behind, so what it does not know is looked for once more, behind the barrier of the cluster's partition.
 */
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';
import type { LetterTask } from '../../../deadletters/letter.ts';
import type { PendingTask } from '../../../history/run/tasks.ts';
import { clusterSynced, type Asker } from '../../asks/router.ts';
import type { Clock } from '../../../ports/machine.ts';

export type LetterNamespacesOptions = {
  readonly registry: { readonly view: Pick<ClusterSnapshot, 'namespaceById' | 'namespaceByName'> };
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly clock: Clock;
};

export type InNamespaces =
  | { readonly kind: 'task'; readonly task: PendingTask }
  /** Whom it is for has vanished with its namespace. `detail`: for people. */
  | { readonly kind: 'over'; readonly detail: string }
  | { readonly kind: 'gone'; readonly namespace: string }
  | { readonly kind: 'unknown' };

export class LetterNamespaces {
  readonly #options: LetterNamespacesOptions;

  constructor(options: LetterNamespacesOptions) {
    this.#options = options;
  }

  async resolve(letter: LetterTask, task: PendingTask): Promise<InNamespaces> {
    const known = this.#resolveNow(letter, task);
    if (known.kind !== 'gone') return known;
    const { asker, clock } = this.#options;
    return (await clusterSynced(asker, clock)) ? this.#resolveNow(letter, task) : { kind: 'unknown' };
  }

  isThere(namespaceId: string): boolean {
    return (this.#options.registry.view.namespaceById(namespaceId)?.state ?? 'deleted') !== 'deleted';
  }

  #resolveNow(letter: LetterTask, task: PendingTask): InNamespaces {
    const own = this.#idNow(task.key.namespaceId, letter.namespace);
    if (own === undefined) return { kind: 'gone', namespace: letter.namespace || task.key.namespaceId };
    const replaced = new Map([[task.key.namespaceId, own]]);
    const { targetNamespaceId } = letter;
    if (targetNamespaceId !== '' && !replaced.has(targetNamespaceId)) {
      const target = this.#idNow(targetNamespaceId, letter.targetNamespace);
      if (target === undefined) return { kind: 'gone', namespace: letter.targetNamespace || targetNamespaceId };
      if (target !== targetNamespaceId && task.kind === 'notifyParent')
        return { kind: 'over', detail: `the parent is gone with its namespace ${letter.targetNamespace}` };
      replaced.set(targetNamespaceId, target);
    }
    return { kind: 'task', task: inNamespaces(task, replaced) };
  }

  #idNow(id: string, name: string): string | undefined {
    if (this.isThere(id)) return id;
    const byName = name === '' ? undefined : this.#options.registry.view.namespaceByName(name);
    return byName === undefined || byName.state === 'deleted' ? undefined : byName.id;
  }
}

type Key = PendingTask['key'];

function inNamespaces(task: PendingTask, replaced: ReadonlyMap<string, string>): PendingTask {
  const moved = (key: Key): Key => ({ ...key, namespaceId: replaced.get(key.namespaceId) ?? key.namespaceId });
  if ('target' in task) return { ...task, key: moved(task.key), target: moved(task.target) };
  if ('child' in task) return { ...task, key: moved(task.key), child: moved(task.child) };
  return { ...task, key: moved(task.key) };
}
