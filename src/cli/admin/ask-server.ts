/** HTTP requests of `perdure admin` to a running server, on its gRPC port, or to a proxy in front of it. */
import type { IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { errorMessage } from '../../kernel/error-text.ts';
import { CliError, failure } from '../cli-error.ts';
import type { ConnectionSettings, TlsSettings } from '../connection.ts';
import { exitCodes } from '../command.ts';

const answerTimeoutMs = 10_000;
/** The answer has some 300 bytes for each shard. */
const pageBytesMax = 32 * 1024 * 1024;

/** The JSON of an answer that fits; every other one is none of Perdure's. */
export async function jsonOfServer<Answer>(
  settings: ConnectionSettings,
  method: 'GET' | 'POST',
  path: string,
  isFit: (answer: Partial<Answer>) => boolean,
): Promise<Answer> {
  const text = await askServer(settings, method, path);
  try {
    const answer = JSON.parse(text) as Answer | null;
    if (answer !== null && isFit(answer)) return answer;
  } catch {
    // Said below.
  }
  const what = `the server at ${settings.address} is not Perdure, or is an older version`;
  throw failure(what, { next: 'Name its gRPC port: --address HOST:PORT.' });
}

async function askServer(settings: ConnectionSettings, method: 'GET' | 'POST', path: string): Promise<string> {
  const { address, metadata, tls, commandTimeoutMs } = settings;
  const timeoutMs = commandTimeoutMs === 0 ? answerTimeoutMs : commandTimeoutMs;
  try {
    const { status, text } = await new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const options = {
        method,
        headers: { ...Object.fromEntries(metadata), 'perdure-operator': 'perdure admin' },
        agent: false as const,
        signal: AbortSignal.timeout(timeoutMs),
      };
      const request = begin(`${address}${path}`, options, tls, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > pageBytesMax) request.destroy(new Error('its answer has no end'));
          else chunks.push(chunk);
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end();
    });
    if (status === 401 || status === 403) {
      throw new CliError(exitCodes.denied, `${address} answers with HTTP status ${status}`, {
        next: 'It needs an administrator of the cluster: --api-key, or TEMPORAL_API_KEY.',
      });
    }
    return text;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(exitCodes.unreachable, `no server answers at ${address}`, {
      why: errorMessage(error),
      next: 'Give the address of the gRPC port of a running server: --address HOST:PORT.',
    });
  }
}

/** Without `import`, because the module form of node:http loads Node's fetch. */
function begin(target: string, options: RequestOptions, tls: TlsSettings | undefined, answered: (response: IncomingMessage) => void) {
  if (tls === undefined) return process.getBuiltinModule('node:http').request(`http://${target}`, options, answered);
  const { ca, certificate: cert, key, serverName: servername, trustsAnyone } = tls;
  const secured = { ...options, ca, cert, key, ...(servername === undefined ? {} : { servername }), rejectUnauthorized: !trustsAnyone };
  return process.getBuiltinModule('node:https').request(`https://${target}`, secured, answered);
}
