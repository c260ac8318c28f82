/** How a command reaches a running server; `connection.ts` reads them. */
import type { Flag } from './command.ts';

const addressFlag: Flag = {
  name: 'address',
  value: 'HOST:PORT',
  help: 'gRPC port of the server',
  defaultText: '127.0.0.1:7233',
  env: 'TEMPORAL_ADDRESS',
};

/** Of every command that calls the server. */
export const connectionFlags: readonly Flag[] = [
  addressFlag,
  { name: 'api-key', value: 'KEY', help: 'Sent as bearer token; means TLS, unless --no-tls', env: 'TEMPORAL_API_KEY' },
  { name: 'grpc-meta', value: 'NAME=VALUE', help: 'A header of every call', repeat: true },
  { name: 'tls', help: 'Connect with TLS', negatable: true, env: 'TEMPORAL_TLS' },
  { name: 'tls-ca-path', value: 'FILE', help: 'Certificates that sign the server’s, PEM', env: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH' },
  { name: 'tls-cert-path', value: 'FILE', help: 'Own certificate, PEM', env: 'TEMPORAL_TLS_CLIENT_CERT_PATH' },
  { name: 'tls-key-path', value: 'FILE', help: 'Own key, PEM', env: 'TEMPORAL_TLS_CLIENT_KEY_PATH' },
  { name: 'tls-ca-data', value: 'PEM', help: 'Certificates that sign the server’s, as they are', env: 'TEMPORAL_TLS_SERVER_CA_CERT_DATA' },
  { name: 'tls-cert-data', value: 'PEM', help: 'Own certificate, as it is', env: 'TEMPORAL_TLS_CLIENT_CERT_DATA' },
  { name: 'tls-key-data', value: 'PEM', help: 'Own key, as it is', env: 'TEMPORAL_TLS_CLIENT_KEY_DATA' },
  {
    name: 'tls-disable-host-verification',
    help: 'Take the certificate of any server',
    env: 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
  },
  { name: 'tls-server-name', value: 'NAME', help: 'Name in the server’s certificate', env: 'TEMPORAL_TLS_SERVER_NAME' },
];
