import { createInterface } from 'node:readline';

/** One question on stderr, one line from stdin; undefined when stdin ends or Ctrl-C is pressed. */
export function askLine(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  return new Promise((resolve) => {
    const interrupted = (): void => {
      resolve(undefined);
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
