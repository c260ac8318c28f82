import { LogError } from '../../actors/log.ts';

/** What kafkajs reports, as the world's error: what happened and what that usually means. */
export function kafkaFailure(error: unknown, doing: string): LogError {
  if (error instanceof LogError) return error;
  const root = rootOf(error);
  const said = `${doing}: ${root.message}`;
  switch (root.name) {
    case 'KafkaJSSASLAuthenticationError':
      return new LogError('misconfigured', `${said}. The broker refused the user name or the password (perdure.kafka.sasl).`, {
        cause: error,
      });
    case 'KafkaJSConnectionClosedError':
      return new LogError('unavailable', `${said}. ${closedHint}`, { cause: error });
    case 'KafkaJSRequestTimeoutError':
      return new LogError('unavailable', `${said}. The broker did not answer in time.`, { cause: error });
    default:
  }
  if (codeOf(root, 'type') === 'UNSUPPORTED_SASL_MECHANISM') {
    return new LogError('misconfigured', `${said}. The broker does not offer this perdure.kafka.sasl.mechanism.`, { cause: error });
  }
  if (/clos|hang up|ECONNRESET/i.test(root.message)) return new LogError('unavailable', `${said}. ${closedHint}`, { cause: error });
  if (/certificate|self.signed|SSL|TLS|alert/i.test(root.message)) {
    return new LogError('misconfigured', `${said}. ${tlsHint}`, { cause: error });
  }
  return new LogError('unavailable', said, { cause: error });
}

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
