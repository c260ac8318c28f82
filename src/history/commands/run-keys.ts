/** Which runs some namespaces have in a shard, for whoever empties these. */
import type { RunKey } from '../../kernel/run-key.ts';

/** Runs of some namespaces by their ids, a page at a time: first those in memory, then those in the table. Some may be gone since. */
export type ListRunKeys = { readonly kind: 'listRunKeys'; readonly namespaceIds: readonly string[]; readonly from: RunKeysPlace };

/** Behind that run ('' = at the first), in memory or in the table. */
export type RunKeysPlace = { readonly isInTable: boolean; readonly afterRunId: string };

/** `next`: where more may be; undefined: nowhere. */
export type RunKeys = { readonly kind: 'runKeys'; readonly keys: readonly RunKey[]; readonly next: RunKeysPlace | undefined };

/** Leaves behind the read barrier: else a namespace would be taken for empty whose last deletion may still be lost. */
export type FoundRunKeys = ListRunKeys & { readonly page: RunKeys };
