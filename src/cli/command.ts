import type { Io } from './io.ts';

/** A flag. Without `value` it is a switch. */
export type Flag = {
  /** The name without dashes. */
  readonly name: string;
  readonly short?: string;
  readonly aliases?: readonly string[];
  /** The placeholder of the value in help, such as `FILE`. */
  readonly value?: string;
  readonly repeat?: boolean;
  /** Several values may follow it, up to the next flag: `--clusters a b`. */
  readonly many?: boolean;
  /** Whether the switch also has a `--no-` form. */
  readonly negatable?: boolean;
  readonly choices?: readonly string[];
  readonly help: string;
  /** The default, which help shows as `(default …)`. */
  readonly defaultText?: string;
  readonly env?: string;
};

type MoreOfFlag = Omit<Flag, 'name' | 'value' | 'help'>;

export function flag(name: string, value: string, help: string, more: MoreOfFlag = {}): Flag {
  return { name, value, help, ...more };
}

export function toggle(name: string, help: string, more: MoreOfFlag = {}): Flag {
  return { name, help, ...more };
}

export type Argument = { readonly name: string; readonly help: string; readonly isOptional?: boolean };

export type Example = { readonly what: string; readonly line: string };

/**
 * One node of the command tree. Help and parsing come from this one tree, so they cannot disagree. A node has either
 * subcommands or an action; the action's code is loaded only when it runs, so that help and errors answer at once.
 */
export type Command = {
  readonly name: string;
  readonly summary: string;
  readonly details?: readonly string[];
  readonly args?: readonly Argument[];
  readonly flags?: readonly Flag[];
  /** Only on the root: flags that every command accepts. */
  readonly globalFlags?: readonly Flag[];
  readonly examples: readonly Example[];
  readonly subcommands?: readonly Command[];
  /** Commands of another program, with the hint that is printed for each. */
  readonly elsewhere?: ReadonlyMap<string, string>;
  readonly run?: (invocation: Invocation) => Promise<ExitCode>;
};

export function command(name: string, summary: string, parts: Omit<Command, 'name' | 'summary'>): Command {
  return { name, summary, ...parts };
}

export interface FlagValues {
  /** The last value given, for a flag that takes one. */
  one(name: string): string | undefined;
  all(name: string): readonly string[];
  /** True or false when the switch was given, undefined when not. */
  switched(name: string): boolean | undefined;
}

export type Invocation = {
  readonly flags: FlagValues;
  readonly args: readonly string[];
  readonly io: Io;
  /** The format of `--output`, already checked. */
  readonly format: ListFormat;
};

export const listFormats = ['json', 'jsonl', 'text', 'none'] as const;
export type ListFormat = (typeof listFormats)[number];

/** Exit codes that scripts can rely on. 3 means `anotherServer` for `server start` and `server start-dev`, and `partlyDone` for all other commands. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** Wrong flags or arguments, or invalid configuration. */
  usage: 2,
  /** Another server serves this log. Starting again does not help until a person has stopped one of them. */
  anotherServer: 3,
  /** A job on dead letters has ended, and selected dead letters remain. */
  partlyDone: 3,
  /** No server answers, or it does not serve. */
  unreachable: 4,
  denied: 5,
  /** SIGINT while the command waited. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
