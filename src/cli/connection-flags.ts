/** The key of a setting in a profile follows from the variable of its flag: `TEMPORAL_TLS_SERVER_NAME` is `tls.server_name`. */
import type { Flag } from './command.ts';
import { textOutputFlag } from './global-flags.ts';

export type ConnectionSetting = Pick<Flag, 'name'> & { readonly env: string };

function tls(name: string, variable: string, value: string, help: string) {
  return { name: `tls-${name}`, env: `TEMPORAL_TLS_${variable}`, value, help };
}

export const connection = {
  address: {
    name: 'address',
    value: 'HOST:PORT',
    help: 'Address of the server’s gRPC port',
    defaultText: '127.0.0.1:7233',
    env: 'TEMPORAL_ADDRESS',
  },
  apiKey: {
    name: 'api-key',
    value: 'KEY',
    help: 'API key, sent as a bearer token; turns TLS on unless --no-tls is given',
    env: 'TEMPORAL_API_KEY',
  },
  tls: { name: 'tls', help: 'Connect with TLS', negatable: true, env: 'TEMPORAL_TLS' },
  ca: tls('ca-path', 'SERVER_CA_CERT_PATH', 'FILE', 'PEM file of the CA certificates for the server’s certificate'),
  certificate: tls('cert-path', 'CLIENT_CERT_PATH', 'FILE', 'PEM file of the client certificate'),
  key: tls('key-path', 'CLIENT_KEY_PATH', 'FILE', 'PEM file of the client key'),
  caData: tls('ca-data', 'SERVER_CA_CERT_DATA', 'PEM', 'CA certificates as text, instead of --tls-ca-path'),
  certificateData: tls('cert-data', 'CLIENT_CERT_DATA', 'PEM', 'Client certificate as text, instead of --tls-cert-path'),
  keyData: tls('key-data', 'CLIENT_KEY_DATA', 'PEM', 'Client key as text, instead of --tls-key-path'),
  trustsAnyone: {
    name: 'tls-disable-host-verification',
    help: 'Do not verify the server’s certificate',
    env: 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
  },
  serverName: tls('server-name', 'SERVER_NAME', 'NAME', 'Expected name in the server’s certificate'),
} satisfies Readonly<Record<string, Flag & ConnectionSetting>>;

const { address, apiKey, ...ofTls } = connection;
const grpcMeta: Flag = { name: 'grpc-meta', value: 'NAME=VALUE', help: 'Header to send with every call', repeat: true };
export const connectionFlags: readonly Flag[] = [address, apiKey, grpcMeta, ...Object.values(ofTls)];
/** For commands that call a server and print one object as text, unless told otherwise. */
export const callFlags: readonly Flag[] = [textOutputFlag, ...connectionFlags];
