import type { Command, Flag } from './command.ts';
import { commandWords, helpFlag } from './parse.ts';

const widthMax = 100;
const indent = '  ';

export function renderHelp(path: readonly Command[]): string {
  const command = path.at(-1);
  if (command === undefined) return '';
  const examples = command.examples.flatMap((example) => [`# ${example.what}`, example.line]);
  const sections = [
    [command.summary, ...(command.details ?? [])].map((paragraph) => wrap(paragraph, widthMax).join('\n')).join('\n\n'),
    section('Usage', [usageLine(path, command)]),
    section('Commands', rows((command.subcommands ?? []).map((child) => [child.name, child.summary]))),
    section('Arguments', rows((command.args ?? []).map((arg) => [arg.name, arg.help]))),
    section('Examples', examples),
    flagSection('Flags', [...(command.flags ?? []), helpFlag]),
    flagSection('Flags of every command', command.globalFlags ?? []),
  ];
  return sections.filter((text) => text !== '').join('\n\n') + '\n';
}

export function usageLine(path: readonly Command[], command: Command): string {
  const parts = [commandWords(path)];
  if (command.subcommands !== undefined) parts.push('<command>');
  for (const { name, isOptional } of command.args ?? []) parts.push(isOptional === true ? `[${name}]` : name);
  parts.push('[flags]');
  return parts.join(' ');
}

function flagSection(title: string, flags: readonly Flag[]): string {
  return section(title, rows(flags.map((flag) => [flagLabel(flag), flagHelp(flag)])));
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}:\n${lines.map((line) => indent + line).join('\n')}`;
}

function rows(pairs: readonly (readonly [string, string])[]): string[] {
  const left = Math.max(0, ...pairs.map(([label]) => label.length)) + 2;
  return pairs.flatMap(([label, text]) =>
    wrap(text, widthMax - left - indent.length).map((line, index) => (index === 0 ? label.padEnd(left) : ' '.repeat(left)) + line),
  );
}

export function flagLabel(flag: Flag): string {
  const short = flag.short === undefined ? '    ' : `-${flag.short}, `;
  const name = flag.negatable === true ? `[no-]${flag.name}` : flag.name;
  return `${short}--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`;
}

export function flagHelp(flag: Flag): string {
  const notes = [
    flag.defaultText === undefined ? '' : `default ${flag.defaultText}`,
    flag.env === undefined ? '' : `env ${flag.env}`,
    flag.repeat === true ? 'may be repeated' : '',
    (flag.aliases ?? []).map((alias) => `also --${alias}`).join(', '),
  ].filter((note) => note !== '');
  return notes.length === 0 ? flag.help : `${flag.help} (${notes.join('; ')})`;
}

export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines;
}
