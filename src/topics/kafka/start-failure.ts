/** Why a start could not talk to Kafka, and what mends it. A wrong protocol meets silence: then listener-probe.ts finds the right one. */
import { LogError } from '../../ports/log.ts';
import { codeOf, kafkaFailure, rootOf } from './kafka-failure.ts';
import { probeListener, type ListenerKind } from './listener-probe.ts';
import type { ClientSettings } from './client-options.ts';

/** What somebody has to change, or an outage that may pass. `doing` says what was tried where nothing better is known. */
export async function startFailure(error: unknown, kafka: ClientSettings['kafka'], doing: string): Promise<LogError> {
  if (error instanceof LogError && (error.code !== 'unavailable' || error.cause === undefined)) return error;
  const failure = kafkaFailure(error, doing);
  const root = rootOf(error);
  const address = addressIn(error);
  const at = address ?? kafka.brokers.join(', ');
  const misconfigured = (words: string): LogError => new LogError('misconfigured', words, { cause: error });
  const unavailable = (words: string): LogError => new LogError('unavailable', words, { cause: error });

  const login = loginTrouble(root, kafka, at);
  if (login !== undefined) return misconfigured(login);
  if (root.name === 'KafkaJSServerDoesNotSupportApiKey') {
    const remedy = 'name the listeners of brokers in perdure.kafka.brokers';
    return misconfigured(`the server at ${at} is not a broker (a KRaft controller?): ${remedy}`);
  }
  const code = codeOf(root, 'code') ?? '';
  const certificate = certificateTrouble(code, root.message, kafka.tls?.ca !== undefined, at);
  if (certificate !== undefined) return misconfigured(certificate);
  if (networkErrors.test(code) || /timeout/i.test(root.message)) return unavailable(unreachable(address, code, kafka));
  if (!/clos|hang up|disconnect|ECONNRESET|EPROTO|wrong version|alert/i.test(`${root.message} ${code}`)) return failure;
  const kind = await kindOf(address ?? kafka.brokers[0] ?? '');
  if (kind === undefined) return unavailable(`what listens at ${at} closes the connection, with TLS and without: is it a broker of Kafka?`);
  const contradiction = contradictions(kind, kafka);
  if (contradiction !== undefined) {
    return misconfigured(`the listener at ${at} ${contradiction}, or name another listener in perdure.kafka.brokers`);
  }
  return unavailable(`the broker at ${at} closed the connection at once (${root.message})`);
}

function loginTrouble(root: Error, { sasl, tls }: ClientSettings['kafka'], at: string): string | undefined {
  if (root.name === 'KafkaJSSASLAuthenticationError') {
    return `Kafka at ${at} refused the user name or the password: correct perdure.kafka.sasl (user "${sasl?.username}", mechanism ${sasl?.mechanism})`;
  }
  switch (codeOf(root, 'type')) {
    case 'ILLEGAL_SASL_STATE': {
      const listener = tls === undefined ? 'SASL_PLAINTEXT' : 'SASL_SSL';
      const remedy = `remove it, or name the ${listener} listener in perdure.kafka.brokers`;
      return `the listener at ${at} asks for no login, but perdure.kafka.sasl is set: ${remedy}`;
    }
    case 'UNSUPPORTED_SASL_MECHANISM':
      return `Kafka at ${at} does not offer ${sasl?.mechanism} for its login: set perdure.kafka.sasl.mechanism to one that it does offer`;
    default:
      return undefined;
  }
}

const unknownAuthority =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|CERT_UNTRUSTED)$/;

function certificateTrouble(code: string, message: string, ownAuthority: boolean, at: string): string | undefined {
  if (unknownAuthority.test(code)) {
    return ownAuthority
      ? `the certificate of ${at} was not signed by the authority in perdure.kafka.tls.caFile: name the file of the one that signed it`
      : `the certificate of ${at} was signed by an authority that is not known here: name its certificate in perdure.kafka.tls.caFile`;
  }
  switch (code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `the certificate of ${at} ${code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}: renew it, or correct the clock of this machine`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID': {
      const names = /cert's altnames: (.*)$/.exec(message)?.[1] ?? 'other names';
      return `the certificate of ${at} is for ${names}: set perdure.kafka.tls.serverName to one of its names, or perdure.kafka.brokers`;
    }
    default:
  }
  return /CERTIFICATE_REQUIRED|BAD_CERTIFICATE|HANDSHAKE_FAILURE/.test(code)
    ? `the listener at ${at} accepts only clients with a certificate that it trusts: set perdure.kafka.tls.certFile and keyFile`
    : undefined;
}

const networkErrors = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/;

/** An address that is not in the configuration was advertised by a broker: half of all first connections fail there. */
function unreachable(address: string | undefined, code: string, { brokers }: ClientSettings['kafka']): string {
  const reason = code === '' ? 'no answer' : code;
  if (address === undefined) return `no broker of ${brokers.join(', ')} can be reached (${reason})`;
  if (brokers.includes(address)) {
    const others = brokers.length === 1 ? '' : `, nor any other of perdure.kafka.brokers`;
    return `the broker at ${address} cannot be reached (${reason})${others}: is it running, and is perdure.kafka.brokers right?`;
  }
  return (
    `Kafka answers at ${brokers.join(', ')}, but advertises a broker at ${address}, which cannot be reached from here (${reason}): set ` +
    `advertised.listeners of that broker to an address that can, or name another listener in perdure.kafka.brokers`
  );
}

/** Where a connection failed, as kafkajs noted it; `~` stands for the colons of IPv6. */
function addressIn(error: unknown): string | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth++) {
    const broker: unknown = 'broker' in current ? current.broker : undefined;
    if (typeof broker !== 'string') continue;
    const [host = '', port = ''] = broker.split(/:(?=\d+$)/);
    return host.includes('~') ? `[${host.replaceAll('~', ':')}]:${port}` : broker;
  }
  return undefined;
}

async function kindOf(address: string): Promise<ListenerKind | undefined> {
  const match = /^\[?(.+?)\]?:(\d+)$/.exec(address);
  return match === null ? undefined : await probeListener(match[1] ?? '', Number(match[2]));
}

/** How the listener's protocol differs from ours, and which key to set. */
function contradictions({ transport, mechanisms }: ListenerKind, { tls, sasl }: ClientSettings['kafka']): string | undefined {
  const found: string[] = [];
  if (transport === 'tls' && tls === undefined) found.push('speaks TLS, but perdure.kafka.tls is not set');
  if (transport === 'plaintext' && tls !== undefined) found.push('does not speak TLS, but perdure.kafka.tls is set');
  if (mechanisms !== undefined && sasl === undefined) {
    found.push(`asks for a login (${mechanisms.toSorted().join(', ').toLowerCase()}), but perdure.kafka.sasl is not set`);
  }
  if (mechanisms === undefined && sasl !== undefined) found.push('asks for no login, but perdure.kafka.sasl is set');
  if (found.length === 0) return undefined;
  return `${found.join(', and ')}: correct ${found.length === 1 ? 'that key' : 'these keys'}`;
}
