/** `… dlq read` and `… dlq count`: the dead letters of a selection, and their number. */
import { usageError } from '../../cli-error.ts';
import { exitCodes, type ExitCode, type FlagValues, type Invocation } from '../../command.ts';
import { withServer, type GrpcClient } from '../../grpc-client.ts';
import { PrintedList } from '../../printed-list.ts';
import type { DeadLetter } from '../../../wire/generated/api/deadletter/service.ts';
import { letterForms } from './letter-forms.ts';
import { tellOfOwnLetters } from './queues.ts';
import { selected, type Selected } from './selected.ts';
import { calls, type DlqKind } from './service.ts';

const pageSizeMax = 1_000;

type Paging = { readonly limit: number; readonly pageSize: number; readonly withPayload: boolean };

export async function runRead(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const detail = { isLong: flags.switched('long') === true, withPayload: flags.switched('payload') === true };
  const list = new PrintedList<DeadLetter>(invocation, letterForms(kind, detail));
  const paging = {
    limit: count(flags, 'limit', 0) || Infinity,
    pageSize: Math.min(count(flags, 'page-size', pageSizeMax) || pageSizeMax, pageSizeMax),
    withPayload: detail.withPayload,
  };
  return list.whole(() =>
    withServer(invocation, async (client) => {
      const wanted = await selected(kind, flags, client);
      for await (const letters of pages(client, wanted, paging)) if (!(await list.add(letters))) return;
      if (!list.isBegun) await tellOfOwnLetters(kind, invocation, client);
    }),
  );
}

/** One page is in memory at a time. */
async function* pages(client: GrpcClient, { queues, selection }: Selected, { limit, pageSize, withPayload }: Paging) {
  let nextPageToken: Uint8Array = new Uint8Array(0);
  let missing = queues.length === 0 ? 0 : limit;
  while (missing > 0) {
    const request = { queues, selection, pageSize: Math.min(pageSize, missing), nextPageToken, withPayload };
    const page = await client.call(calls.ListDeadLetters, request);
    yield page.letters;
    missing -= page.letters.length;
    nextPageToken = page.nextPageToken;
    if (nextPageToken.length === 0) return;
  }
}

export async function runCount(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags, io, format } = invocation;
  const number = await withServer(invocation, async (client) => {
    const { queues, selection } = await selected(kind, flags, client);
    const found = queues.length === 0 ? 0 : (await client.call(calls.CountDeadLetters, { queues, selection })).count;
    if (found === 0) await tellOfOwnLetters(kind, invocation, client);
    return found;
  });
  if (format !== 'none') io.out(format === 'text' ? `${number}\n` : `{"count": ${number}}\n`);
  return exitCodes.done;
}

export function count(flags: FlagValues, name: string, otherwise: number): number {
  const given = flags.one(name);
  if (given === undefined) return otherwise;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw usageError(`--${name}: expected a whole number from 0, got "${given}"`);
}
