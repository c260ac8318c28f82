/**
 * Writes docs/cli.md and the manual page docs/perdure.1 from the command tree: `npm run gen:docs`. A test fails when they are not what this makes.
 */
import { writeFileSync } from 'node:fs';
import type { Command, Flag } from '../src/cli/command.ts';
import { rootCommand } from '../src/cli/root-command.ts';
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
  ['2', 'wrong flags or values, invalid configuration; or the flags name one task, and several dead letters match'],
  ['3', 'of a command: selected dead letters remain; of a server: another server serves this log'],
  ['4', 'no server answers there, or it does not serve'],
  ['5', 'permission denied'],
  ['130', 'interrupted; the job that the command waited for continues, and its id is printed'],
] as const;

/** Connection flags are listed once for all commands, except `--address`. */
function ownFlags({ flags = [] }: Command): readonly Flag[] {
  return flags.filter((flag) => flag.name === 'address' || !connectionFlags.includes(flag));
}

export function cliPage(): string {
  return `# The command line

<!-- Made by scripts/cli-page.ts from src/cli/root-command.ts: change it there, then run npm run gen:docs. -->

\`perdure help COMMAND\` and \`perdure COMMAND --help\` print the same help. Flags may come before, between and after the words of a command. Results go
to stdout; progress, questions and errors go to stderr.

${table(
  ['command', ''],
  leaves.map((path) => [`[${commandWords(path)}](#${commandWords(path).replaceAll(' ', '-')})`, path.at(-1)?.summary ?? '']),
)}
## Exit codes

${table(['code', 'means'], exitCodes)}
## Flags of every command

Every command accepts these flags, before or after its words. If a command has its own flag of that name, its own description applies.

${flagTable(globalFlags)}
## Profiles

Settings of the connection that neither a flag nor an environment variable gives are read from a profile, in the same file that Temporal's command line uses:

    [profile.prod]
    address = "temporal.example.com:7233"
    api_key = "…"

    [profile.prod.tls]
    server_name = "temporal.example.com"

\`address\`, \`api_key\`, \`grpc_meta\` and \`tls\` are used. \`namespace\` and \`codec\` are not, because these commands are about all namespaces and print payloads as they are
stored. An API key turns TLS on, unless \`--no-tls\` or \`tls.disabled\` turns it off.

## Connection flags

Every command that has \`--address\` has these flags too.

${flagTable(connectionFlags.filter(({ name }) => name !== 'address'))}
## Temporal's command line

If \`temporal-admin\`, \`temporal-cluster\` and \`temporal-namespace\` are on the PATH, as \`perdure\` is, then \`temporal admin …\`, \`temporal cluster health\` and
\`temporal namespace …\` run the commands below. \`temporal help\` and its completion include them.

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

/** Dashes must not become hyphens, and no line may begin like a roff request. */
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
