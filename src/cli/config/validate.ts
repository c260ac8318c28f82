import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { printProblems, readServerFile } from '../server-file.ts';

export async function runValidate({ args, io }: Invocation): Promise<ExitCode> {
  const [file = ''] = args;
  const read = readServerFile(file, io, { strict: true, autoCreateTopics: true });
  printProblems(file, read, io);
  if (read.settings === undefined) return exitCodes.usage;
  io.out(`${file}: ok\n`);
  return exitCodes.done;
}
