import { quoted } from './schema-name.ts';
import type { Session } from './connections.ts';

/** Id of the cluster whose database it is; undefined: nobody's yet. Its tables are there, of whatever version. */
export async function boundCluster(session: Session, schema: string): Promise<string | undefined> {
  const text = `SELECT value FROM ${quoted(schema)}.perdure WHERE name = 'cluster'`;
  const { rows } = await session.query<{ readonly value: string }>({ text }, []);
  return rows[0]?.value;
}
