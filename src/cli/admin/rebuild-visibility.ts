/**
 * `perdure admin visibility rebuild`: a running server builds the rows of List again from its runs, by `POST /visibility/rebuild` on its gRPC
 * port. It serves on meanwhile; how far it is stands in `perdure admin state`.
 */
import { printOne } from '../printed-list.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';
import { connectionSettings } from '../connection.ts';
import { jsonOfServer } from './ask-server.ts';

/** `refused`: why nothing was begun. */
type ShardAnswer = { readonly shard: number; readonly refused?: string };
type RebuildAnswer = { readonly shards: readonly ShardAnswer[] };

export async function runRebuildVisibility(invocation: Invocation): Promise<ExitCode> {
  const isFit = ({ shards }: Partial<RebuildAnswer>): boolean => Array.isArray(shards);
  const { shards } = await jsonOfServer<RebuildAnswer>(connectionSettings(invocation), 'POST', '/visibility/rebuild', isFit);
  printOne(invocation, { shards }, () => rendered(shards));
  return shards.some(({ refused }) => refused !== undefined) ? exitCodes.failed : exitCodes.done;
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
