/** Fills its heap until that is reported as nearly full, empties it again, and prints what it heard. */
import { setImmediate as turn } from 'node:timers/promises';
import { HeapWatch } from '../../src/observability/heap-watch.ts';
import { createLogger } from '../../src/observability/logger.ts';

const limitMiB = Number(process.argv[2]);
const logger = createLogger({ level: 'info', format: 'text', write: (line) => void process.stdout.write(line), nowMs: () => Date.now() });
const watch = new HeapWatch(logger, () => limitMiB * 2 ** 20, 0);

async function fill(): Promise<void> {
  const kept: object[] = [];
  while (watch.nearlyFull === undefined) {
    for (let count = 0; count < 1_000; count++) kept.push({ count, next: { count } });
    await turn();
  }
  process.stdout.write(`kept ${kept.length > 0}\n`);
}

await fill();
while (watch.nearlyFull !== undefined) await turn();
process.stdout.write('empty\n');
watch.stop();
