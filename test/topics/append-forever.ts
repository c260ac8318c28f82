/** Run by embedded-log.test.ts: appends batches of three to the file given, until it is killed or the log fails. */
import { writeSync } from 'node:fs';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { partitionsMin } from '../contract/log-limits.ts';
import { LogWriter, record } from '../contract/log-writer.ts';

const log = await openEmbeddedLog({ filename: process.argv[2], topics: [{ name: 'test.history', partitions: partitionsMin }] });
const at = { topic: 'test.history', partition: 0 };
const writer = new LogWriter(log, at);
for (let next = await log.end(at); ; next += 3) {
  const value = new Uint8Array(next % 1000);
  const outcome = await writer.append(record(next, { value }), record(next + 1, { value }), record(next + 2, { value }));
  if (outcome.kind !== 'appended') {
    writeSync(1, `${outcome.kind}\n`);
    process.exit(3);
  }
  writeSync(1, `${next + 3}\n`);
}
