import { plainLines } from './plain-text.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';

/** What the user sees when a command cannot go on: what happened, why, and what to do next. */
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

  /** One part per line; the first names the program, so that it can be found in the log of a build. */
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
