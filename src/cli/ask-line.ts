import { createInterface } from 'node:readline';
import { CliError } from './cli-error.ts';
import { exitCodes } from './command.ts';

/** Prints a question on stderr and reads one line from stdin. Returns undefined when stdin ends; Ctrl-C ends the question too. */
export function askLine(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  return new Promise((resolve, reject) => {
    const interrupted = (): void => {
      reject(new CliError(exitCodes.interrupted, 'program interrupted'));
      lines.close();
    };
    process.once('SIGINT', interrupted);
    lines.once('close', () => {
      process.removeListener('SIGINT', interrupted);
      resolve(undefined);
    });
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    process.stderr.write(question);
  });
}
