import type { Draft } from '../draft.ts';
import { reject } from '../reject.ts';
import type { Rejected } from '../replies.ts';

/**
 * Updates that no worker has accepted are in memory alone, so what they take there has a limit beside those of each run. undefined: there is
 * room for so many bytes more.
 */
export function noRoomInNamespace({ volatile, limits }: Draft, namespaceId: string, bytes: number): Rejected | undefined {
  const { updateBytesPerNamespaceMax } = limits;
  if ((volatile.updateBytes.get(namespaceId) ?? 0) + bytes <= updateBytesPerNamespaceMax) return undefined;
  const message = `the updates of this namespace that no worker has accepted take ${updateBytesPerNamespaceMax} bytes in a history shard`;
  return reject({ reason: 'too-many-updates', message });
}
