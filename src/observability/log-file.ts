import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * A log file opened for append, and opened again on SIGUSR1, so that log rotation can move it away. Writes are synchronous: the
 * last lines before a crash are the ones that matter.
 */
export function openLogFile(filename: string): (line: string) => void {
  let descriptor = openSync(filename, 'a');
  process.on('SIGUSR1', () => {
    const old = descriptor;
    descriptor = openSync(filename, 'a');
    closeSync(old);
  });
  return (line) => void writeSync(descriptor, line);
}
