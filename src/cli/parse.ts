import { parseArgs } from 'node:util';
import { suggest } from '../config/suggest.ts';
import { alternatives, didYouMean, usageError } from './cli-error.ts';
import type { Command, Flag, FlagValues } from './command.ts';

export type Parsed = {
  /** The commands from the root to the one that was named. */
  readonly path: readonly Command[];
  readonly flags: FlagValues;
  readonly args: readonly string[];
  readonly help: boolean;
};

type Option = { readonly flag: Flag; readonly on: boolean };

export const helpFlag: Flag = { name: 'help', short: 'h', help: 'Show this help' };

/**
 * Parses a command line with the command tree. Flags may come before, between and after the words of the command, so the words can
 * be found only if it is known which flags take a value. That is looked up in the whole tree, because a name means the same
 * everywhere. Whether the command has these flags is checked afterwards.
 */
export function parseCommandLine(root: Command, argv: readonly string[]): Parsed {
  const { tokens } = parseArgs({ args: [...argv], options: optionTable(root), strict: false, allowPositionals: true, tokens: true });
  const { path, args, unknown, further } = positionals(root, tokens);
  const command = path.at(-1) ?? root;
  const known = optionsOf(command, root);
  const values = new Map<string, string[]>();
  const switches = new Map<string, boolean>();

  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const option = known.get(token.name);
    if (option === undefined) throw unknown ?? unknownFlag(token.rawName, path, known);
    const name = option.flag.name;
    if (option.flag.value === undefined) {
      switches.set(name, readSwitch(token.rawName, token.value, option.on));
    } else {
      const list = values.get(name) ?? [];
      list.push(readValue(token.rawName, token.value, token.inlineValue === true, option.flag), ...(further.get(token.index) ?? []));
      values.set(name, list);
    }
  }
  if (unknown !== undefined) throw unknown;
  return {
    path,
    args,
    help: switches.get('help') === true,
    flags: {
      one: (name) => values.get(name)?.at(-1),
      all: (name) => values.get(name) ?? [],
      switched: (name) => switches.get(name),
    },
  };
}

type Tokens = readonly (
  | { readonly kind: 'positional'; readonly index: number; readonly value: string }
  | { readonly kind: 'option'; readonly index: number; readonly name: string }
  | { readonly kind: 'option-terminator'; readonly index: number }
)[];

/** Words of the command, its arguments, and the further values of flags that take several, by the index of the flag. */
function positionals(root: Command, tokens: Tokens) {
  const followers = followersOf(tokens, manyValued(root));
  const isFollower = new Set([...followers.values()].flat());
  const all = tokens.filter((token) => token.kind === 'positional');
  const words = all.filter(({ index }) => !isFollower.has(index)).map(({ value }) => value);
  const found = descend(root, words);
  const values = new Map(all.map(({ index, value }) => [index, value]));
  const further = new Map([...followers].map(([flag, places]) => [flag, places.map((place) => values.get(place) ?? '')]));
  // `register --clusters a b orders`: if an argument is missing, the last value was meant as the argument.
  const args = [...found.args];
  for (let missing = (found.path.at(-1)?.args?.length ?? 0) - args.length; missing > 0; missing--) {
    const given = [...further.values()].at(-1)?.pop();
    if (given !== undefined) args.push(given);
  }
  return { ...found, args, further };
}

/** Indexes of the positionals right after a flag that takes several values, by the index of the flag. */
function followersOf(tokens: Tokens, many: ReadonlySet<string>): ReadonlyMap<number, readonly number[]> {
  const followers = new Map<number, number[]>();
  let flag: number | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional' && flag !== undefined) followers.get(flag)?.push(token.index);
    else if (token.kind === 'option' && many.has(token.name)) followers.set((flag = token.index), []);
    else flag = undefined;
  }
  return followers;
}

function manyValued(command: Command): ReadonlySet<string> {
  const own = (command.flags ?? []).filter(({ many }) => many === true).map(({ name }) => name);
  return new Set([...own, ...(command.subcommands ?? []).flatMap((child) => [...manyValued(child)])]);
}

export function commandWords(path: readonly Command[]): string {
  return path.map((command) => command.name).join(' ');
}

/** Follows the words down the tree; the remaining words are arguments of the command. */
function descend(root: Command, words: readonly string[]) {
  const path = [root];
  let at = root;
  let used = 0;
  while (at.subcommands !== undefined && used < words.length) {
    const word = words[used] ?? '';
    const next = at.subcommands.find((command) => command.name === word);
    if (next === undefined) return { path, args: [], unknown: unknownCommand(word, path, at) };
    path.push(next);
    at = next;
    used++;
  }
  return { path, args: words.slice(used), unknown: undefined };
}

function unknownCommand(word: string, path: readonly Command[], { subcommands = [], elsewhere }: Command) {
  const words = subcommands.map((command) => command.name);
  const meant = suggest(word, words);
  return usageError(`unknown command "${word}" for "${commandWords(path)}"`, {
    why: elsewhere?.get(word) ?? (meant === undefined ? undefined : `Did you mean "${meant}"?`),
    next: `Run '${commandWords(path)} --help' for the list of commands.`,
  });
}

function unknownFlag(rawName: string, path: readonly Command[], known: ReadonlyMap<string, Option>) {
  const names = [...known.keys()].filter((name) => name.length > 1);
  const meant = rawName.startsWith('--') ? suggest(rawName.slice(2), names) : undefined;
  return usageError(`unknown flag ${rawName} for "${commandWords(path)}"`, {
    why: meant === undefined ? undefined : `Did you mean --${meant}?`,
    next: `Run '${commandWords(path)} --help' for the list of flags.`,
  });
}

function readSwitch(rawName: string, value: string | undefined, on: boolean): boolean {
  switch (value) {
    case undefined:
    case 'true':
      return on;
    case 'false':
      return !on;
    default:
      throw usageError(`${rawName} is a switch, got the value "${value}"`, {
        next: `Write ${rawName}, ${rawName}=true or ${rawName}=false.`,
      });
  }
}

function readValue(rawName: string, value: string | undefined, inline: boolean, flag: Flag): string {
  const swallowedFlag = !inline && value !== undefined && value.length > 1 && value.startsWith('-');
  if (value !== undefined && !swallowedFlag) return chosen(rawName, value, flag);
  throw usageError(`${rawName} needs a value (${flag.value})`, {
    why: swallowedFlag ? `What follows it, "${value}", looks like another flag.` : undefined,
    next: swallowedFlag ? `For a value that begins with a dash write --${flag.name}=${value}.` : undefined,
  });
}

function chosen(rawName: string, value: string, { choices }: Flag): string {
  if (choices === undefined || choices.includes(value)) return value;
  throw usageError(`${rawName}: expected ${alternatives(choices)}, got "${value}"`, { why: didYouMean(value, choices) });
}

/** Every name of every flag of a command; its own flags take precedence over those of all commands. */
function optionsOf(command: Command, { globalFlags = [] }: Command): ReadonlyMap<string, Option> {
  const options = new Map<string, Option>();
  for (const flag of [...globalFlags, ...(command.flags ?? []), helpFlag]) {
    for (const name of [flag.name, ...(flag.aliases ?? []), ...(flag.short === undefined ? [] : [flag.short])])
      options.set(name, { flag, on: true });
    if (flag.negatable === true) options.set(`no-${flag.name}`, { flag, on: false });
  }
  return options;
}

function optionTable(root: Command) {
  const table: Record<string, { type: 'string' | 'boolean'; short?: string }> = {};
  const visit = (command: Command): void => {
    for (const [name, { flag }] of optionsOf(command, root)) {
      if (name.length === 1) continue;
      const type = flag.value === undefined ? 'boolean' : 'string';
      table[name] = name === flag.name && flag.short !== undefined ? { type, short: flag.short } : { type };
    }
    for (const child of command.subcommands ?? []) visit(child);
  };
  visit(root);
  return table;
}
