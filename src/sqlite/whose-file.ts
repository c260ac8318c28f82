/**
 * Whose an SQLite file is, asked before anything is written into it: what another program keeps there is left as it is.
 *
 *     table perdure (name, value) has 'format'       a log
 *                                     'migration'    the state beside a log
 *     other tables, and no such one                  another program's: Temporal's dev server has its own tables
 */
export type KindOfFile = 'log' | 'state';

/** What messages call the kinds of files. */
export const kindsOfFile: Readonly<Record<KindOfFile, string>> = { log: 'a log of Perdure', state: 'the state of a Perdure server' };

const mark: Readonly<Record<KindOfFile, string>> = { log: 'format', state: 'migration' };
const wayOut = 'name another file: a new one is made where none is';

/** Runs a SELECT. */
export type AskFile = (sql: string) => readonly Readonly<Record<string, unknown>>[];

/** Why the file cannot be what is wanted, and what to do; undefined: it is that, or nothing is in it yet. */
export function whyNotOurs(filename: string, wanted: KindOfFile, ask: AskFile): string | undefined {
  const tables = ask(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`);
  if (tables.length === 0) return undefined;
  const isNot = `${filename} is not ${kindsOfFile[wanted]}`;
  if (!tables.some(({ name }) => name === 'perdure')) return `${isNot}, but an SQLite database of another program; ${wayOut}`;
  const marks = ask('SELECT name FROM perdure').map(({ name }) => name);
  if (marks.includes(mark[wanted])) return undefined;
  return wanted === 'log'
    ? `${isNot}, but the state that belongs to one; name that log: its name is the same without -state`
    : `${isNot}, but a log of one; ${wayOut}`;
}
