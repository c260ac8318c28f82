/**
 * Archives a history while its file may grow no more for a while, as on a disk that is full until somebody makes room: the kernel takes a part of
 * a write then, and says so by its number of bytes alone. A process of its own, for what is limited holds for all that it writes.
 */
import { execFileSync } from 'node:child_process';
import { FileArchiver } from '../../src/archival/file-archiver.ts';
import { loadPublicMessages } from '../../src/wire/services.ts';

const [folder = ''] = process.argv.slice(2);
const { HistoryEvent } = (await loadPublicMessages()).history.v1;
const events = Array.from({ length: 500 }, (_, nth) => HistoryEvent.encode(HistoryEvent.fromObject({ eventId: String(nth + 1) })).finish());

function limitFiles(bytes: string): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
}

async function* pages(): AsyncGenerator<readonly Uint8Array[]> {
  limitFiles('4096');
  yield await Promise.resolve(events.slice(0, 250));
  limitFiles('unlimited');
  yield events.slice(250);
}

// What a write beyond the limit is told by, and would end the process.
process.on('SIGXFSZ', () => {});
const key = { namespaceId: 'namespace', workflowId: 'workflow', runId: 'run' };
try {
  await new FileArchiver({ roots: [folder], fileMode: 0o640, dirMode: 0o750 }).write(`file://${folder}`, key, pages());
  process.stdout.write('archived');
} catch (error) {
  process.stdout.write(error instanceof Error && 'code' in error ? String(error.code) : String(error));
}
