export type SqliteOptions = {
  /** Path of the file; undefined: in memory. */
  readonly filename: string | undefined;
  /** How long another process may hold the file's lock. Default 5,000. */
  readonly lockTimeoutMs?: number;
  /** It only reads, beside another connection of ours that writes. */
  readonly readsOnly?: boolean;
};

/** For people. */
export function sqliteName({ filename }: SqliteOptions): string {
  return `sqlite ${filename ?? 'in memory'}`;
}
