export type SqliteOptions = {
  /** Path of the file; undefined: in memory. */
  readonly filename: string | undefined;
  /** How long a List or Count may take: whoever asked has been refused by then. Default 10,000. */
  readonly queryTimeoutMs?: number;
  /** It only reads, beside another connection of ours that writes. */
  readonly readsOnly?: boolean;
  /** The tables, by numbered steps. Default: those of this version. */
  readonly migrations?: readonly string[];
  /** Shared by all connections of a process, so that all have the same file: what another puts in its place meanwhile is opened by none. */
  readonly opened?: OpenedFile;
};

/** Device and inode of the file that was opened first; zeros: none was yet. In memory that threads share. */
export type OpenedFile = BigUint64Array<SharedArrayBuffer>;

export function noFileYet(): OpenedFile {
  return new BigUint64Array(new SharedArrayBuffer(16));
}

/** For people. */
export function sqliteName({ filename }: SqliteOptions): string {
  return `sqlite ${filename ?? 'in memory'}`;
}
