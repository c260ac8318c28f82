/** How a command reaches a running server; `connection.ts` reads them. */
import type { Flag } from './command.ts';

export const addressFlag: Flag = {
  name: 'address',
  value: 'HOST:PORT',
  help: 'gRPC port of the server',
  defaultText: '127.0.0.1:7233',
  env: 'TEMPORAL_ADDRESS',
};

/** Of every command that calls the server. */
export const connectionFlags: readonly Flag[] = [
  addressFlag,
  { name: 'api-key', value: 'KEY', help: 'Sent as bearer token', env: 'TEMPORAL_API_KEY' },
  { name: 'grpc-meta', value: 'NAME=VALUE', help: 'A header of every call', repeat: true },
  { name: 'tls', help: 'Connect with TLS', negatable: true, env: 'TEMPORAL_TLS' },
  { name: 'tls-ca-path', value: 'FILE', help: 'Certificates that sign the server’s, PEM', env: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH' },
  { name: 'tls-cert-path', value: 'FILE', help: 'Own certificate, PEM', env: 'TEMPORAL_TLS_CLIENT_CERT_PATH' },
  { name: 'tls-key-path', value: 'FILE', help: 'Own key, PEM', env: 'TEMPORAL_TLS_CLIENT_KEY_PATH' },
  { name: 'tls-server-name', value: 'NAME', help: 'Name in the server’s certificate', env: 'TEMPORAL_TLS_SERVER_NAME' },
  { name: 'command-timeout', value: 'DURATION', help: 'Give up after so long; 0: never', defaultText: '0' },
  { name: 'client-connect-timeout', value: 'DURATION', help: 'For the connection alone', defaultText: '10s' },
];
