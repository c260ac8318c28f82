/** A journal that takes a while to read: the start may be ended meanwhile, and otherwise goes through. */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { encodeBatch } from '../../src/topics/embedded/batch-codec.ts';
import { Child } from '../cli/child.ts';
import { record } from '../contract/log-writer.ts';
import { withFolder } from '../support/servers.ts';

const perdure = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
const batches = 200;
const recordsPerBatch = 400;

function start(database: string): Child {
  const line = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', '0', '--headless', '--db-filename', database, '--log-level', 'debug'];
  return new Child(perdure, line);
}

async function stop(server: Child): Promise<void> {
  server.process.kill('SIGTERM');
  expect(await server.exit).toEqual({ code: 0, signal: null });
}

/** Cheap, and read like all others: records that an owner wrote twice. */
function lengthen(database: string): void {
  const db = new DatabaseSync(database);
  const id = Number(db.prepare("SELECT id FROM partitions WHERE topic = 'perdure.history' AND partition = 0").get()?.['id']);
  let base = Number(db.prepare(`SELECT max(base + count) AS next FROM journal_${id}`).get()?.['next']);
  const insert = db.prepare(`INSERT INTO journal_${id} (base, count, data) VALUES (?, ?, ?)`);
  const repeated = record(0, { epoch: 1, sequence: 0, value: new Uint8Array(1_000) });
  const data = encodeBatch(Array.from({ length: recordsPerBatch }, () => repeated));
  db.exec('BEGIN');
  for (let batch = 0; batch < batches; batch++, base += recordsPerBatch) insert.run(base, recordsPerBatch, data);
  db.exec('COMMIT');
  db.close();
}

test('SIGTERM during the replay ends the server with 0; left alone, it serves', async () => {
  await withFolder(async (folder) => {
    const database = join(folder, 'journal.db');
    const first = start(database);
    await first.seen('out', /Server:/);
    await stop(first);
    lengthen(database);

    const interrupted = start(database);
    await interrupted.seen('err', new RegExp(`replaying.*records=${batches * recordsPerBatch + 1}\\b`));
    await stop(interrupted);
    expect(interrupted.out).not.toContain('Server:');

    const patient = start(database);
    await patient.seen('out', /Server:/);
    await stop(patient);
  });
});
