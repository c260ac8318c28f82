/** Our configuration as kafkajs wants it. */
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory, KafkaConfig, LogEntry, SASLOptions } from 'kafkajs';
import type { KafkaOptions, KafkaTls } from '../../config/kafka-options.ts';
import type { Logger } from '../../observability/logger.ts';

export type ClientSettings = {
  readonly kafka: Pick<KafkaOptions, 'brokers' | 'tls' | 'sasl'>;
  readonly logger: Logger;
  readonly requestTimeoutMs: number;
};

const connectionTimeoutMs = 3_000;
const keepAliveMs = 10_000;

export function clientConfig({ kafka, logger, requestTimeoutMs }: ClientSettings): KafkaConfig {
  return {
    clientId: 'perdure',
    brokers: kafka.brokers.map(withoutBrackets),
    ...(kafka.tls === undefined ? {} : { ssl: tlsOptions(kafka.tls) }),
    ...(kafka.sasl === undefined ? {} : { sasl: kafka.sasl satisfies Pick<SASLOptions, 'mechanism'> as SASLOptions }),
    connectionTimeout: connectionTimeoutMs,
    authenticationTimeout: connectionTimeoutMs,
    requestTimeout: requestTimeoutMs,
    enforceRequestTimeout: true,
    socketFactory,
    logCreator: () => (entry) => passOn(logger, entry),
  };
}

/** kafkajs splits an address at its first colon. So the colons of an IPv6 address are replaced, and put back where the socket is opened. */
function withoutBrackets(address: string): string {
  const match = /^\[(.+)\]:(\d+)$/.exec(address);
  return match === null ? address : `${match[1]?.replaceAll(':', '~')}:${match[2]}`;
}

const socketFactory: ISocketFactory = ({ host: disguised, port, ssl, onConnect }) => {
  const host = disguised.replaceAll('~', ':');
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = ssl ? connectTls({ host, port, ...servername, ...ssl }, onConnect) : connectTcp({ host, port }, onConnect);
  // A peer that vanished without a word is noticed by the request timeout; this finds it on idle connections.
  socket.setKeepAlive(true, keepAliveMs);
  socket.setNoDelay(true);
  // kafkajs unrefs a dead socket at every retry; each time that would leave a listener for a connection that never comes.
  socket.once('close', () => (socket.unref = () => socket));
  return socket;
};

function tlsOptions({ verifyServer, ca, cert, key, serverName }: KafkaTls): NonNullable<Exclude<KafkaConfig['ssl'], boolean>> {
  return { rejectUnauthorized: verifyServer, ca, cert, key, ...(serverName === undefined ? {} : { servername: serverName }) };
}

/** kafkajs logs as errors what we handle: for an operator those lines are details. */
function passOn(logger: Logger, { namespace, log }: LogEntry): void {
  if (logger.enabled('debug')) logger.debug(`kafkajs: ${log.message}`, { component: namespace });
}
