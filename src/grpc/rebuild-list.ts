/** `POST /visibility/rebuild`: the rows of List are built again from the runs, of each shard; `GET /health/state` tells how far each is. */
import { ownWork, refusalMessage, type AskFailure } from '../actors/asks/asks.ts';
import type { FrontendPorts } from './ports.ts';

/** `refused`: why nothing was begun, as far as is known; absent: they are built again by whoever serves the shard. */
type RebuildAnswer = { readonly shard: number; readonly refused?: string };

const ANSWER_TIMEOUT_MS = 5_000;
/** The same for each shard that it is true of: whoever shows them tells them together. */
const texts: { readonly [Kind in AskFailure['kind']]?: string } = {
  deadline: 'the shard has not answered for 5 s, as while its database is away: the rebuild may still begin',
  notHere: 'the shard is not served here now',
};

export function rebuildList({ asker, clock, server }: FrontendPorts): Promise<readonly RebuildAnswer[]> {
  const rebuild = (shard: number): Promise<RebuildAnswer> =>
    new Promise((resolve) => {
      asker.askHistory(shard, { kind: 'rebuildList' }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), (answer) => {
        if (answer.kind === 'done') resolve({ shard });
        else resolve({ shard, refused: (answer.kind === 'rejected' ? undefined : texts[answer.kind]) ?? refusalMessage(answer) });
      });
    });
  return Promise.all(Array.from({ length: server.historyShards }, (_, index) => rebuild(index + 1)));
}
