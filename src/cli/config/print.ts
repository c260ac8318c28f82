import { effectiveConfig, toYaml } from '../../config/effective.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';
import { printOne } from '../printed-list.ts';
import { printProblems, readServerFile } from '../server-file.ts';

export async function runPrint(invocation: Invocation): Promise<ExitCode> {
  const { io, format } = invocation;
  const [file = ''] = invocation.args;
  const read = readServerFile(file, io, { strict: false, autoCreateTopics: true });
  printProblems(file, read, io);
  if (read.settings === undefined) return exitCodes.usage;
  const effective = effectiveConfig(read.settings.server, read.settings);
  if (format === 'json') io.out(`${JSON.stringify(effective, null, 2)}\n`);
  else printOne(invocation, effective, () => toYaml(effective));
  return exitCodes.done;
}
