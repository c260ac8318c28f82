/**
 * `perdure admin visibility rebuild`: a running server builds the rows of List again from its runs, by `POST /visibility/rebuild` on its gRPC
 * port. It serves on meanwhile; how far it is stands in `perdure admin state`.
 */
import { printOne } from '../printed-list.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';
import { connectionSettings } from '../connection.ts';
import { askServer, noServer } from './ask-server.ts';

/** `refused`: why nothing was begun. */
type ShardAnswer = { readonly shard: number; readonly refused?: string };

export async function runRebuildVisibility(invocation: Invocation): Promise<ExitCode> {
  const settings = connectionSettings(invocation);
  const shards = parsed(await askServer(settings, 'POST', '/visibility/rebuild'), settings.address);
  printOne(invocation, { shards }, () => rendered(shards));
  return shards.some(({ refused }) => refused !== undefined) ? exitCodes.failed : exitCodes.done;
}

function parsed(text: string, address: string): readonly ShardAnswer[] {
  try {
    const answer = JSON.parse(text) as { readonly shards?: unknown } | null;
    if (Array.isArray(answer?.shards)) return answer.shards as readonly ShardAnswer[];
  } catch {
    // Said below.
  }
  throw noServer(address);
}

function rendered(shards: readonly ShardAnswer[]): string {
  const begun = shards.filter(({ refused }) => refused === undefined);
  const refused = Map.groupBy(
    shards.filter((each) => each.refused !== undefined),
    (each) => each.refused,
  );
  const lines = [...refused].map(([reason, [first, ...others]]) => {
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    return `shard ${first?.shard}${more}: ${reason}`;
  });
  if (begun.length > 0) {
    const count = begun.length === shards.length ? `${begun.length}` : `${begun.length} of ${shards.length}`;
    lines.unshift(
      `Rebuilding the rows of List from the workflows of ${count} ${shards.length === 1 ? 'shard' : 'shards'}. To see the progress: perdure admin state`,
    );
  }
  return `${lines.join('\n')}\n`;
}
