export type SqliteOptions = {
  /** Path of the file; undefined: in memory. */
  readonly filename: string | undefined;
  /** Of a List or Count: whoever asked has been told so by then. Default 10,000. */
  readonly queryTimeoutMs?: number;
  /** It only reads, beside another connection of ours that writes. */
  readonly readsOnly?: boolean;
};

/** For people. */
export function sqliteName({ filename }: SqliteOptions): string {
  return `sqlite ${filename ?? 'in memory'}`;
}
