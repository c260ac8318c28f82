/**
 * `perdure admin state`: what a running server says of its history shards, from `GET /health/state` on its gRPC port. Reads only.
 */
import { errorMessage } from '../../kernel/error-text.ts';
import { usageError, failure } from '../cli-error.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { outputFormat } from '../output.ts';
import { isHostPort } from '../../config/host-port.ts';
import type { Invocation } from '../command.ts';

/** Not by `import`: its module form loads Node's fetch. */
const { get } = process.getBuiltinModule('node:http');

const defaultAddress = '127.0.0.1:7233';
const answerTimeoutMs = 10_000;
/** A page has some 300 bytes for each shard. */
const pageBytesMax = 32 * 1024 * 1024;

/** As much of the page as is printed; a server of another version may leave some out. */
type Shard = {
  readonly shard: number;
  readonly state: string;
  readonly reason?: string;
  readonly offset: number;
  readonly executions?: { readonly hot?: number; readonly cold?: number };
  readonly checkpoint?: {
    readonly offset: number;
    readonly ageSeconds?: number;
    readonly tailRecords: number;
    readonly tailBytes: number;
    readonly unwrittenBytes: number;
    readonly trouble?: { readonly reason: string; readonly seconds: number };
  };
};
type StatePage = { readonly status: string; readonly shards: readonly Shard[] };

export async function runState({ flags, io }: Invocation): Promise<ExitCode> {
  const format = outputFormat(flags.one('output'));
  const address = flags.one('address') ?? (io.env['TEMPORAL_ADDRESS'] || defaultAddress);
  if (!isHostPort(address)) throw usageError(`--address: expected host:port, IPv6 in brackets, got "${address}"`);
  const page = parsed(await body(address), address);
  io.out(format === 'json' ? `${JSON.stringify(page)}\n` : rendered(page));
  return exitCodes.done;
}

async function body(address: string): Promise<string> {
  try {
    return await new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(answerTimeoutMs);
      const request = get(`http://${address}/health/state`, { agent: false, signal }, (response) => {
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
    });
  } catch (error) {
    throw failure(`no server answers at ${address}`, {
      why: errorMessage(error),
      next: 'Name the gRPC port of a running server: --address HOST:PORT.',
    });
  }
}

function parsed(text: string, address: string): StatePage {
  try {
    const page = JSON.parse(text) as Partial<StatePage> | null;
    if (typeof page?.status === 'string' && Array.isArray(page.shards)) return { status: page.status, shards: page.shards };
  } catch {
    // Said below.
  }
  throw failure(`what answers at ${address} is no Perdure server, or an older one`, { next: 'Name its gRPC port: --address HOST:PORT.' });
}

const titles = ['SHARD', 'STATE', 'OFFSET', 'CHECKPOINT', 'AGE', 'TAIL', 'UNWRITTEN', 'HOT', 'COLD'] as const;

function rendered({ status, shards }: StatePage): string {
  const rows = [titles, ...shards.map(cells)];
  const widths = titles.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const notes = shards.flatMap(({ shard, reason = '', checkpoint }) => [
    ...(reason === '' ? [] : [`Shard ${shard}: ${reason}`]),
    ...(checkpoint?.trouble === undefined
      ? []
      : [`Shard ${shard}: nothing written for ${seconds(checkpoint.trouble.seconds)}: ${checkpoint.trouble.reason}`]),
  ]);
  const without = shards.length > 0 && shards.every(({ state, checkpoint }) => state === 'active' && checkpoint === undefined);
  if (without) notes.push('There is no database: state lives in memory and in the journals.');
  return `${status}\n\n${table.join('\n')}\n${notes.length === 0 ? '' : `\n${notes.join('\n')}\n`}`;
}

function cells({ shard, state, offset, executions, checkpoint }: Shard): readonly string[] {
  const { hot, cold } = executions ?? {};
  const kept =
    checkpoint === undefined
      ? ['-', '-', '-', '-']
      : [
          checkpoint.offset < 0 ? 'none' : String(checkpoint.offset),
          checkpoint.ageSeconds === undefined ? '-' : seconds(checkpoint.ageSeconds),
          `${checkpoint.tailRecords} (${size(checkpoint.tailBytes)})`,
          size(checkpoint.unwrittenBytes),
        ];
  return [String(shard), state, String(offset), ...kept, String(hot ?? '-'), String(cold ?? '-')];
}

function seconds(count: number): string {
  if (count < 120) return `${count} s`;
  return count < 7_200 ? `${Math.round(count / 60)} min` : `${Math.round(count / 3_600)} h`;
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KiB` : `${Math.round(bytes / 1024 ** 2)} MiB`;
}
