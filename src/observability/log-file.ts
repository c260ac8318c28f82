import { closeSync, openSync, writeSync } from 'node:fs';
import { errorMessage } from '../kernel/error-text.ts';

const nothing = Buffer.alloc(0);

/**
 * Opened again on SIGUSR1, so that log rotation can move it away. Writes are synchronous: the last lines before a crash matter. A log that cannot
 * be written loses lines and stops nobody: `say` tells when it begins and is over. A line that was cut is finished before the next one.
 */
export function openLogFile(filename: string, say: (what: string) => void): (line: string) => void {
  let descriptor = openSync(filename, 'a');
  let failing = false;
  let linesLost = 0;
  /** The rest of a line whose beginning stands in the file. */
  let rest = nothing;
  const writeRest = (): void => {
    while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
  };
  process.on('SIGUSR1', () => {
    const old = descriptor;
    try {
      descriptor = openSync(filename, 'a');
    } catch (error) {
      say(`the log file ${filename} cannot be reopened; lines go to the old one (${errorMessage(error)})`);
      return;
    }
    closeSync(old);
    rest = nothing;
  });
  return (line) => {
    const bytes = Buffer.from(line);
    let begun = false;
    try {
      writeRest();
      rest = bytes;
      begun = true;
      writeRest();
    } catch (error) {
      // Not a byte of it is in the file.
      if (!begun || rest === bytes) linesLost += 1;
      if (rest === bytes) rest = nothing;
      if (!failing) say(`the log file ${filename} cannot be written; lines are lost until it can (${errorMessage(error)})`);
      failing = true;
      return;
    }
    if (failing) say(`the log file ${filename} can be written again; ${linesLost} lines were lost`);
    failing = false;
    linesLost = 0;
  };
}
