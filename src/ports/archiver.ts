/** Where closed histories are kept beyond their retention. */
import type { RunKey } from '../kernel/run-key.ts';

/** One stretch of a history, and where the next begins; undefined: that was the last. */
export type ArchivedPage = { readonly events: readonly Uint8Array[]; readonly nextPlace: number | undefined };

/** It cannot be read now; later it may be. */
export class ArchiveAway extends Error {
  override name = 'ArchiveAway';
}

/** It is there, and is not what was written. */
export class ArchiveDamaged extends Error {
  override name = 'ArchiveDamaged';
}

export interface Archiver {
  /** What may hang or fail as one: the folder below which it is. */
  destinationOf(uri: string): string;
  /** Why nothing can be kept there; undefined: it can. */
  problemOf(uri: string): Promise<string | undefined>;
  /** Whole, or not at all; the same file however often. Rejects with what the file system says. */
  write(uri: string, key: RunKey, pages: AsyncIterable<readonly Uint8Array[]>): Promise<void>;
  /** `place`: 0 at the beginning. undefined: there is no such history. Rejects with ArchiveAway or ArchiveDamaged. */
  read(uri: string, key: RunKey, place: number, eventsMin: number): Promise<ArchivedPage | undefined>;
}

/** What the edge knows of it. */
export type ArchivalPort = {
  /** What namespaces get that say nothing about archival. */
  readonly namespaceDefault: { readonly isEnabled: boolean; readonly uri: string };
  /** Histories that are gone are read from there. */
  readonly isRead: boolean;
  readonly archiver: Pick<Archiver, 'problemOf' | 'read'>;
};
