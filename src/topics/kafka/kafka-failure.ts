import { LogError } from '../../actors/log.ts';
import { AssertionError } from '../../kernel/assert.ts';

/** What kafkajs reports once the log was open, as the world's error. Everything may pass: somebody may be mending it right now. */
export function kafkaFailure(error: unknown, doing: string): LogError {
  if (error instanceof LogError) return error;
  // A bug of ours is not an outage.
  if (error instanceof AssertionError) throw error;
  return new LogError('unavailable', `${doing}: ${rootOf(error).message}`, { cause: error });
}

/** The same at start, when nothing has worked yet: with what it usually means, and without hope where waiting will not help. */
export function startFailure(error: unknown, doing: string): LogError {
  const failure = kafkaFailure(error, doing);
  if (failure === error && (failure.code !== 'unavailable' || failure.cause === undefined)) return failure;
  const root = rootOf(error);
  const misconfigured = (hint: string): LogError => new LogError('misconfigured', `${failure.message}. ${hint}`, { cause: error });
  if (root.name === 'KafkaJSSASLAuthenticationError') return misconfigured(loginHint);
  if (codeOf(root, 'type') === 'UNSUPPORTED_SASL_MECHANISM') return misconfigured(mechanismHint);
  if (/clos|hang up|ECONNRESET/i.test(root.message)) {
    return new LogError('unavailable', `${failure.message}. ${closedHint}`, { cause: error });
  }
  if (/certificate|self.signed|SSL|TLS|alert/i.test(root.message)) return misconfigured(tlsHint);
  return failure;
}

const loginHint = 'The broker refused the user name or the password (perdure.kafka.sasl).';
const mechanismHint = 'The broker does not offer this perdure.kafka.sasl.mechanism.';
const closedHint =
  'A broker that closes the connection at once usually expects TLS (perdure.kafka.tls) or a login (perdure.kafka.sasl) on this listener.';
const tlsHint =
  "Check perdure.kafka.tls: the authority that signed the broker's certificate (ca), its host name (serverName), and whether this listener speaks TLS at all.";

/** kafkajs wraps: the truth is in the innermost cause. */
function rootOf(error: unknown): Error {
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
