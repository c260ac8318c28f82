import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * A log file opened for append, and opened again on SIGUSR1, so that log rotation can move it away. Writes are synchronous: the
 * last lines before a crash are the ones that matter. A log that cannot be written (the disk is full, the folder is gone) loses lines and
 * stops nobody: `say` tells of it when it begins and when it is over.
 */
export function openLogFile(filename: string, say: (what: string) => void): (line: string) => void {
  let descriptor = openSync(filename, 'a');
  let linesLost = 0;
  process.on('SIGUSR1', () => {
    const old = descriptor;
    try {
      descriptor = openSync(filename, 'a');
    } catch (error) {
      say(`the log file ${filename} cannot be opened again, the old one is written on (${messageOf(error)})`);
      return;
    }
    closeSync(old);
  });
  return (line) => {
    try {
      writeSync(descriptor, line);
    } catch (error) {
      linesLost += 1;
      if (linesLost === 1) say(`the log file ${filename} cannot be written, its lines are lost until it can (${messageOf(error)})`);
      return;
    }
    if (linesLost > 0) say(`the log file ${filename} is written again, ${linesLost} lines are lost`);
    linesLost = 0;
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
