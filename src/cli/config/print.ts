import { effectiveConfig, toYaml } from '../../config/effective.ts';
import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { outputFormat } from '../output.ts';
import { printProblems, readServerFile } from '../server-file.ts';

export async function runPrint({ flags, args, io }: Invocation): Promise<ExitCode> {
  const format = outputFormat(flags.one('output'));
  const [file = ''] = args;
  const read = readServerFile(file, io, { strict: false, autoCreateTopics: true });
  printProblems(file, read, io);
  if (read.settings === undefined) return exitCodes.usage;
  const effective = effectiveConfig(read.settings.server, read.settings);
  io.out(format === 'json' ? `${JSON.stringify(effective, null, 2)}\n` : toYaml(effective));
  return exitCodes.done;
}
