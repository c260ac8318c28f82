/** How a command reaches a running server; `connection.ts` reads them. */
import type { Flag } from './command.ts';

const addressFlag: Flag = {
  name: 'address',
  value: 'HOST:PORT',
  help: 'Address of the server’s gRPC port',
  defaultText: '127.0.0.1:7233',
  env: 'TEMPORAL_ADDRESS',
};

/** Of every command that calls the server. */
export const connectionFlags: readonly Flag[] = [
  addressFlag,
  { name: 'api-key', value: 'KEY', help: 'Sent as bearer token; turns TLS on, unless --no-tls is given', env: 'TEMPORAL_API_KEY' },
  { name: 'grpc-meta', value: 'NAME=VALUE', help: 'Header to send with every call', repeat: true },
  { name: 'tls', help: 'Connect with TLS', negatable: true, env: 'TEMPORAL_TLS' },
  {
    name: 'tls-ca-path',
    value: 'FILE',
    help: 'PEM file of the CA certificates that signed the server’s',
    env: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  },
  { name: 'tls-cert-path', value: 'FILE', help: 'PEM file of the client certificate', env: 'TEMPORAL_TLS_CLIENT_CERT_PATH' },
  { name: 'tls-key-path', value: 'FILE', help: 'PEM file of the client key', env: 'TEMPORAL_TLS_CLIENT_KEY_PATH' },
  { name: 'tls-ca-data', value: 'PEM', help: 'The same as --tls-ca-path, as text', env: 'TEMPORAL_TLS_SERVER_CA_CERT_DATA' },
  { name: 'tls-cert-data', value: 'PEM', help: 'The same as --tls-cert-path, as text', env: 'TEMPORAL_TLS_CLIENT_CERT_DATA' },
  { name: 'tls-key-data', value: 'PEM', help: 'The same as --tls-key-path, as text', env: 'TEMPORAL_TLS_CLIENT_KEY_DATA' },
  {
    name: 'tls-disable-host-verification',
    help: 'Do not verify the server’s certificate',
    env: 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
  },
  { name: 'tls-server-name', value: 'NAME', help: 'Expected name in the server’s certificate', env: 'TEMPORAL_TLS_SERVER_NAME' },
];
