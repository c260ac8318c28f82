/** What the owner of a shard looks up beside its core: its store, its runs, its rows of List. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { ListRunKeys } from './run-keys.ts';

export type OwnerRequest = ReadHistory | ListRunKeys | HoldRows | RebuildList;

const kinds: { readonly [Kind in OwnerRequest['kind']]: true } = {
  readHistory: true,
  listRunKeys: true,
  holdRows: true,
  rebuildList: true,
};

export function isOwnerRequest(request: { readonly kind: string }): request is OwnerRequest {
  return Object.hasOwn(kinds, request.kind);
}

/** Encoded events `firstEventId … lastEventId` of a run, as many as the limits allow but at least one; none when the run is not known. */
export type ReadHistory = {
  readonly kind: 'readHistory';
  readonly key: RunKey;
  readonly firstEventId: number;
  readonly lastEventId: number;
  readonly eventsMax: number;
  readonly bytesMax: number;
};

/** The fence under which the shard's rows of List are written, once all are made with so much of the registry; else failed-precondition. */
export type HoldRows = { readonly kind: 'holdRows'; readonly registryPosition: number };

/** Rows of List are built again from the runs: Done when that is noted; failed-precondition: they are in no database. */
export type RebuildList = { readonly kind: 'rebuildList' };

export type RowsHeld = { readonly kind: 'rowsHeld'; readonly fence: number };
