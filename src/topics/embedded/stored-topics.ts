/** For tools: which topics a log file holds. */
import type { TopicSpec } from '../../actors/log.ts';
import { DatabaseSync } from 'node:sqlite';
import { logFailure } from './log-failure.ts';

export function storedTopics(filename: string): readonly Pick<TopicSpec, 'name' | 'partitions'>[] {
  try {
    const db = new DatabaseSync(filename, { readOnly: true });
    try {
      const rows = db.prepare('SELECT topic, count(*) AS partitions FROM partitions GROUP BY topic ORDER BY min(id)').all();
      return rows.map(({ topic, partitions }) => ({ name: String(topic), partitions: Number(partitions) }));
    } finally {
      db.close();
    }
  } catch (error) {
    throw logFailure(error, filename);
  }
}
