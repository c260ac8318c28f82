/** What `perdure admin` asks of a running server, on its gRPC port. */
import { errorMessage } from '../../kernel/error-text.ts';
import { CliError, failure } from '../cli-error.ts';
import { exitCodes } from '../exit-codes.ts';

/** Not by `import`: its module form loads Node's fetch. */
const { request: httpRequest } = process.getBuiltinModule('node:http');

const answerTimeoutMs = 10_000;
/** A page has some 300 bytes for each shard. */
const pageBytesMax = 32 * 1024 * 1024;

export function noServer(address: string): CliError {
  return failure(`what answers at ${address} is no Perdure server, or an older one`, { next: 'Name its gRPC port: --address HOST:PORT.' });
}

/** What it answers, whatever that is. */
export async function askServer(address: string, method: 'GET' | 'POST', path: string): Promise<string> {
  try {
    return await new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(answerTimeoutMs);
      const headers = { 'perdure-operator': 'perdure admin' };
      const request = httpRequest(`http://${address}${path}`, { method, headers, agent: false, signal }, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > pageBytesMax) request.destroy(new Error('its answer has no end'));
          else chunks.push(chunk);
        });
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end();
    });
  } catch (error) {
    throw new CliError(exitCodes.unreachable, `no server answers at ${address}`, {
      why: errorMessage(error),
      next: 'Name the gRPC port of a running server: --address HOST:PORT.',
    });
  }
}
