import { effectiveConfig, toYaml } from '../../config/effective.ts';
import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { listFormat } from '../output.ts';
import { printOne } from '../printed-list.ts';
import { printProblems, readServerFile } from '../server-file.ts';

export async function runPrint({ flags, args, io }: Invocation): Promise<ExitCode> {
  const format = listFormat(flags.one('output'), 'text');
  const [file = ''] = args;
  const read = readServerFile(file, io, { strict: false, autoCreateTopics: true });
  printProblems(file, read, io);
  if (read.settings === undefined) return exitCodes.usage;
  const effective = effectiveConfig(read.settings.server, read.settings);
  if (format === 'json') io.out(`${JSON.stringify(effective, null, 2)}\n`);
  else {
    printOne(
      io,
      format,
      () => effective,
      () => toYaml(effective),
    );
  }
  return exitCodes.done;
}
