import { CliError, usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import type { Io } from './io.ts';
import { rootCommand } from './commands.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { incompleteInstallation } from './incomplete-installation.ts';
import { commandWords, parseCommandLine } from './parse.ts';

/** Runs one command line and says with which code the process ends. Only our own bugs are thrown. */
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
  if (command === rootCommand && !help && flags.switched('version') === true) {
    const { runVersion } = await import('./version.ts');
    return runVersion({ flags, args, io });
  }
  if (help || command.run === undefined) {
    const { renderHelp } = await import('./help.ts');
    io.out(renderHelp(path));
    return exitCodes.done;
  }
  checkArguments(path, command, args);
  return command.run({ flags, args, io });
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
