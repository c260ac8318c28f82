/** What a takeover reads of a checkpoint: rows in pages, all under the fence that it has raised. */
import { type CheckpointPosition, DatabaseError, type Fence, type Fenced } from '../database-port.ts';

export const PAGE_ROWS = 500;

/** Reads page by page, each from behind the last row of the one before. Rejects with DatabaseError; `unavailable`, too, when another has restored meanwhile. */
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
  if (found !== fence) throw new DatabaseError('unavailable', 'another owner has restored this checkpoint since');
  return rows;
}

/** The schema of the bytes in the rows of every checkpoint. */
export const stateSchema = 1;

/** Why this program cannot read the rows of a checkpoint; undefined: it can. */
export function foreignSchema({ schema }: CheckpointPosition): string | undefined {
  if (schema === stateSchema) return undefined;
  return `its checkpoint has state schema ${schema}, written by another version; this one reads ${stateSchema}: start that version`;
}
