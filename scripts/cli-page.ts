/**
 * Writes docs/cli.md and the manual page docs/perdure.1 from the command tree: `npm run gen:docs`. A test fails when they are not what this makes.
 */
import { writeFileSync } from 'node:fs';
import type { Command, Flag } from '../src/cli/command.ts';
import { rootCommand } from '../src/cli/commands.ts';
import { globalFlags } from '../src/cli/global-flags.ts';
import { connectionFlags } from '../src/cli/connection-flags.ts';
import { flagHelp, flagLabel, usageLine } from '../src/cli/help.ts';
import { commandWords } from '../src/cli/parse.ts';

type Path = readonly Command[];

/** Parents before their children, as the tree has them. */
function pathsBelow(path: Path): readonly Path[] {
  return [path, ...(path.at(-1)?.subcommands ?? []).flatMap((child) => pathsBelow([...path, child]))];
}

const paths = pathsBelow([rootCommand]);
const leaves = paths.filter((path) => path.at(-1)?.run !== undefined);

const exitCodes = [
  ['0', 'done'],
  ['1', 'failed'],
  ['2', 'wrong flags or values, bad configuration; one task was named and several letters match'],
  ['3', 'letters of the selection remain; of a server: another one serves this log'],
  ['4', 'no server answers there, or it does not serve'],
  ['5', 'permission denied'],
  ['130', 'interrupted; a job that was waited for goes on, and its id is printed'],
] as const;

/** Said once for all commands that have them. */
function ownFlags({ flags = [] }: Command): readonly Flag[] {
  return flags.filter((flag) => flag.name === 'address' || !connectionFlags.includes(flag));
}

export function cliPage(): string {
  return `# The command line

<!-- Made by scripts/cli-page.ts from src/cli/commands.ts: change it there, then run npm run gen:docs. -->

\`perdure help COMMAND\` and \`perdure COMMAND --help\` say the same. Flags may stand before, between and behind the words of a command. What others read goes
to stdout, all else to stderr.

${table(
  ['command', ''],
  leaves.map((path) => [`[${commandWords(path)}](#${commandWords(path).replaceAll(' ', '-')})`, path.at(-1)?.summary ?? '']),
)}
## Exit codes

${table(['code', 'means'], exitCodes)}
## Flags of every command

Before its words or behind them. A command that lists one of them means its own.

${flagTable(globalFlags)}
## Profiles

What is said of a connection neither by a flag nor by a variable is read from a profile of the file that Temporal's command line has:

    [profile.prod]
    address = "temporal.example.com:7233"
    api_key = "…"

    [profile.prod.tls]
    server_name = "temporal.example.com"

\`address\`, \`api_key\`, \`grpc_meta\` and \`tls\` are used, \`namespace\` and \`codec\` are not: commands here ask for all namespaces, and print payloads as they are
stored. A key means TLS, unless \`--no-tls\` or \`tls.disabled\` says otherwise.

## Connection flags

Every command that has \`--address\` and calls the gRPC port has these too.

${flagTable(connectionFlags.filter(({ name }) => name !== 'address'))}
## Temporal's command line

\`temporal-admin\`, \`temporal-cluster\` and \`temporal-namespace\` beside \`perdure\` on the PATH make \`temporal admin …\`, \`temporal cluster health\` and
\`temporal namespace …\` run the commands below; \`temporal help\` and its completion ask them too.

${leaves.map(commandSection).join('\n')}`;
}

function commandSection(path: Path): string {
  const command = path.at(-1) ?? rootCommand;
  const flags = ownFlags(command);
  const parts = [
    `## ${commandWords(path)}`,
    ...[command.summary, ...(command.details ?? [])].map(prose),
    `    ${usageLine(path, command)}`,
    command.examples
      .map(({ what, line }) => `# ${what}\n${line}`)
      .map((text) => text.replaceAll(/^/gm, '    '))
      .join('\n'),
    flags.length === 0 ? '' : flagTable(flags),
  ];
  return `${parts
    .filter((part) => part !== '')
    .map((part) => part.trimEnd())
    .join('\n\n')}\n`;
}

function flagTable(flags: readonly Flag[]): string {
  return table(
    ['flag', ''],
    flags.map((flag) => [`\`${flagLabel(flag).trim()}\``, prose(flagHelp(flag))]),
  );
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return `${[row(header), `|${header.map(() => '---|').join('')}`, ...rows.map(row)].join('\n')}\n`;
}

/** Angle brackets are no HTML. */
function prose(text: string): string {
  return text.replaceAll('<', '&lt;');
}

/** One page for all commands: `man perdure`. */
export function manualPage(): string {
  const sections = leaves.flatMap((path) => {
    const command = path.at(-1) ?? rootCommand;
    return [
      `.SS ${roff(commandWords(path))}`,
      roff([command.summary, ...(command.details ?? [])].join(' ')),
      '.PP',
      `.B ${roff(usageLine(path, command))}`,
      ...ownFlags(command).flatMap((flag) => ['.TP', `.B ${roff(flagLabel(flag).trim())}`, roff(flagHelp(flag))]),
      ...command.examples.flatMap(({ what, line }) => ['.PP', `${roff(what)}:`, '.br', `.I ${roff(line)}`]),
    ];
  });
  return `${[
    '.\\" Made by scripts/cli-page.ts: run npm run gen:docs.',
    '.TH PERDURE 1',
    '.SH NAME',
    `perdure \\- ${roff(rootCommand.summary)}`,
    '.SH SYNOPSIS',
    '.B perdure \\fICOMMAND\\fR [flags]',
    '.SH COMMANDS',
    ...sections,
    '.SH FLAGS OF EVERY COMMAND',
    ...globalFlags.flatMap((flag) => ['.TP', `.B ${roff(flagLabel(flag).trim())}`, roff(flagHelp(flag))]),
    '.SH CONNECTION FLAGS',
    ...connectionFlags.flatMap((flag) => ['.TP', `.B ${roff(flagLabel(flag).trim())}`, roff(flagHelp(flag))]),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, means]) => ['.TP', `.B ${code}`, roff(means)]),
  ].join('\n')}\n`;
}

/** A dash of a flag is no hyphen, and no line begins as a request does. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('’', "'")
    .replaceAll('…', '...')
    .replace(/^([.'])/, '\\&$1');
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/cli.md', import.meta.url), cliPage());
  writeFileSync(new URL('../docs/perdure.1', import.meta.url), manualPage());
}
