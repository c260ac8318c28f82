import type { ExitCode } from './exit-codes.ts';
import type { Io } from './io.ts';

/** One flag. Without `value` it is a switch. */
export type Flag = {
  /** Without dashes. */
  readonly name: string;
  readonly short?: string;
  readonly aliases?: readonly string[];
  /** Placeholder of the value in help: `FILE`. */
  readonly value?: string;
  readonly repeat?: boolean;
  /** Several values may follow it, up to the next flag: `--clusters a b`. */
  readonly many?: boolean;
  /** A switch that also has a `--no-` form. */
  readonly negatable?: boolean;
  /** The values that there are; any other is refused. */
  readonly choices?: readonly string[];
  readonly help: string;
  /** Shown as `(default …)`. */
  readonly defaultText?: string;
  readonly env?: string;
};

export type Argument = { readonly name: string; readonly help: string; readonly isOptional?: boolean };

export type Example = { readonly what: string; readonly line: string };

/**
 * One node of the command tree. Help and parsing come from this one tree, so they cannot disagree. A node has either
 * subcommands or an action; the action's code is loaded only when it runs, so that help and errors answer at once.
 */
export type Command = {
  readonly name: string;
  readonly summary: string;
  /** Further paragraphs of the help text. */
  readonly details?: readonly string[];
  readonly args?: readonly Argument[];
  readonly flags?: readonly Flag[];
  /** Of the root: what all commands take. */
  readonly globalFlags?: readonly Flag[];
  readonly examples: readonly Example[];
  readonly subcommands?: readonly Command[];
  /** Words that are commands of another program, with what to say of them. */
  readonly elsewhere?: ReadonlyMap<string, string>;
  readonly run?: (invocation: Invocation) => Promise<ExitCode>;
};

export interface FlagValues {
  /** The last value given, for a flag that takes one. */
  one(name: string): string | undefined;
  /** All values given, in order. */
  all(name: string): readonly string[];
  /** True or false when the switch was given, undefined when not. */
  switched(name: string): boolean | undefined;
}

export type Invocation = {
  readonly flags: FlagValues;
  readonly args: readonly string[];
  readonly io: Io;
};
