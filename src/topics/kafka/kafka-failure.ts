import { LogError } from '../../ports/log.ts';
import { AssertionError } from '../../kernel/assert.ts';

/** What kafkajs reports while the log is open, as a LogError. All of it is recoverable: somebody may be mending the cause right now. */
export function kafkaFailure(error: unknown, doing: string): LogError {
  if (error instanceof LogError) return error;
  // A bug of ours is not an outage.
  if (error instanceof AssertionError) throw error;
  return new LogError('unavailable', failureText(error, doing), { cause: error });
}

/** The message for people, for bugs as well. */
export function failureText(error: unknown, doing: string): string {
  return error instanceof LogError ? error.message : `${doing}: ${rootOf(error).message}`;
}

/** kafkajs wraps errors: the innermost cause says what happened. */
export function rootOf(error: unknown): Error {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    const inner = current.cause ?? ('originalError' in current ? current.originalError : undefined);
    if (!(inner instanceof Error)) return current;
    current = inner;
  }
  return current instanceof Error ? current : new Error(String(error));
}

export function isRequestTimeout(error: unknown): boolean {
  return rootOf(error).name === 'KafkaJSRequestTimeoutError';
}

export function codeOf(error: unknown, field: 'type' | 'code'): string | undefined {
  if (!(error instanceof Error) || !(field in error)) return undefined;
  const value: unknown = Reflect.get(error, field);
  return typeof value === 'string' ? value : undefined;
}
