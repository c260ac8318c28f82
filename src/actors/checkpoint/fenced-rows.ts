/** What a takeover reads of a checkpoint: rows in pages, all under the fence that it has raised. */
import { type CheckpointPosition, DatabaseError, type Fence, type Fenced } from '../database.ts';

/** Rows of a page. */
export const PAGE_ROWS = 500;

/** Each from behind the last row of the one before. Rejects with DatabaseError; `unavailable`, too, when another has restored meanwhile. */
export async function* pages<Row>(
  fence: Fence,
  read: (last: Row | undefined) => Promise<Fenced<readonly Row[]>>,
): AsyncGenerator<readonly Row[], void> {
  for (let last: Row | undefined; ;) {
    const page = await under(fence, read(last));
    yield page;
    if (page.length < PAGE_ROWS) return;
    last = page.at(-1);
  }
}

export async function under<Rows>(fence: Fence, read: Promise<Fenced<Rows>>): Promise<Rows> {
  const { fence: found, rows } = await read;
  if (found !== fence) throw new DatabaseError('unavailable', 'another has restored this checkpoint since');
  return rows;
}

/** Why a program that reads rows up to that schema cannot read these; undefined: it can. */
export function newerSchema({ schema }: CheckpointPosition, readsUpTo: number): string | undefined {
  if (schema <= readsUpTo) return undefined;
  return `its checkpoint has state schema ${schema}, written by a newer version; this one reads up to ${readsUpTo}: start that version`;
}
