import { alternatives, CliError, didYouMean, usageError } from './cli-error.ts';
import { exitCodes, listFormats, type Command, type ExitCode, type Invocation, type ListFormat } from './command.ts';
import type { Io } from './io.ts';
import { rootCommand } from './root-command.ts';
import { incompleteInstallation } from './incomplete-installation.ts';
import { commandWords, parseCommandLine } from './parse.ts';

/** Runs one command line and returns the exit code of the process. It throws only because of bugs. */
export async function runCli(argv: readonly string[], io: Io): Promise<ExitCode> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    const told = error instanceof CliError ? error : incompleteInstallation(error);
    if (told === undefined) throw error;
    io.err(told.render());
    return told.exitCode;
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<ExitCode> {
  if (argv[0] === '__extension') {
    const { lineOfExtension } = await import('./extension.ts');
    return dispatch(lineOfExtension(argv[1] ?? '', argv.slice(2)), io);
  }
  if (argv[0] === '__complete' || argv[0] === '__completeNoDesc') {
    const { runComplete } = await import('./completion.ts');
    return runComplete(rootCommand, argv.slice(1), io, argv[0] === '__complete');
  }
  // `perdure help server start` is `perdure server start --help`.
  const line = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
  const { path, flags, args, help } = parseCommandLine(rootCommand, line);
  const command = path.at(-1) ?? rootCommand;
  const output = command.flags?.find(({ name }) => name === 'output');
  // Read only if the command runs, so that `--help` works with a wrong format and lists the right ones.
  const invocation = (): Invocation => ({ flags, args, io, format: listFormat(flags.one('output') ?? output?.defaultText ?? 'text') });
  if (command === rootCommand && !help && flags.switched('version') === true) {
    const { runVersion } = await import('./version.ts');
    return runVersion(invocation());
  }
  if (help || command.run === undefined) {
    const { renderHelp } = await import('./help.ts');
    io.out(renderHelp(path));
    return exitCodes.done;
  }
  checkArguments(path, command, args);
  return command.run(invocation());
}

function checkArguments(path: readonly Command[], command: Command, args: readonly string[]): void {
  const expected = command.args ?? [];
  const missing = expected[args.length];
  const next = `Run '${commandWords(path)} --help' for usage.`;
  if (missing !== undefined && missing.isOptional !== true)
    throw usageError(`${missing.name} is missing for "${commandWords(path)}"`, { next });
  const surplus = args[expected.length];
  if (surplus !== undefined) throw usageError(`unexpected argument "${surplus}" for "${commandWords(path)}"`, { next });
}

/** Temporal's command line also calls text `table` and `card`. */
function listFormat(given: string): ListFormat {
  if (given === 'table' || given === 'card') return 'text';
  const format = listFormats.find((name) => name === given);
  if (format !== undefined) return format;
  throw usageError(`--output: expected ${alternatives(listFormats)}, got "${given}"`, { why: didYouMean(given, listFormats) });
}
