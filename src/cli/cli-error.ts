import { suggest } from '../config/suggest.ts';
import { plainLines } from './plain-text.ts';
import { exitCodes, type ExitCode } from './command.ts';

/** What the user sees when a command fails: what happened, why, and what to do next. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly why: string | undefined;
  readonly next: string | undefined;

  constructor(exitCode: ExitCode, what: string, parts: { readonly why?: string | undefined; readonly next?: string | undefined } = {}) {
    super(what);
    this.exitCode = exitCode;
    this.why = parts.why;
    this.next = parts.next;
  }

  /** One part per line. The first names the program, so that it can be found in the log of a build. */
  render(): string {
    return (
      [`perdure: ${this.message}`, this.why, this.next]
        .filter((part) => part !== undefined)
        .map(plainLines)
        .join('\n') + '\n'
    );
  }
}

export function usageError(what: string, parts: { readonly why?: string | undefined; readonly next?: string | undefined } = {}): CliError {
  return new CliError(exitCodes.usage, what, parts);
}

export function failure(what: string, parts: { readonly why?: string | undefined; readonly next?: string | undefined } = {}): CliError {
  return new CliError(exitCodes.failed, what, parts);
}

/** `a, b or c` */
export function alternatives(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

export function didYouMean(given: string, known: Iterable<string>): string | undefined {
  const meant = suggest(given, known);
  return meant === undefined ? undefined : `Did you mean ${meant}?`;
}
