/** State of a dead letter queue as the bytes of a checkpoint: `perdure.state.v1`, behind its format and its checksum. */
import type { HandedOver } from '../deadletters/hand-overs.ts';
import type { LetterIdsSnapshot } from '../deadletters/letter-ids.ts';
import type { QueueStateWire } from '../deadletters/queue-state.ts';
import * as state from '../wire/generated/state/dead_letters.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { decodeChecked, encodeChecked } from './state/checked-bytes.ts';

/** Decoding throws DatabaseError `corrupt`, and nothing else. */
export const deadLetterStateCodec: QueueStateWire = {
  encodeCounters: ({ ids, handOvers, cut, uncutPurges, incarnation }) =>
    encodeChecked(state.writeQueueCounters, {
      nextId: ids.nextId,
      chunks: ids.chunks.map(chunkToWire),
      handOvers: [...handOvers].map(([shard, recent]) => handOversToWire(shard, recent)),
      cut,
      uncutPurges,
      incarnation,
    }),

  decodeCounters: (bytes) =>
    decodeChecked(bytes, 'set of counters', (body) => {
      const { nextId, chunks, handOvers, cut, uncutPurges, incarnation } = state.decodeQueueCounters(body, ownLimits);
      return {
        ids: { nextId, chunks: chunks.map(({ statuses, status }) => (statuses.length === 0 ? status : statuses)) },
        handOvers: new Map(handOvers.map(handOversFromWire)),
        cut,
        uncutPurges,
        incarnation,
      };
    }),
};

const allAlike = new Uint8Array();

function chunkToWire(chunk: LetterIdsSnapshot['chunks'][number]): state.LetterIdsChunk {
  return typeof chunk === 'number' ? { statuses: allAlike, status: chunk } : { statuses: chunk, status: 0 };
}

function handOversToWire(shard: number, recent: readonly HandedOver[]): state.ShardHandOvers {
  const messageIds = recent.map(({ messageId }) => messageId);
  return { shard, lastSequence: recent.at(-1)?.sequence ?? 0, messageIds, tasks: recent.map(({ task = -1 }) => task) };
}

function handOversFromWire({ shard, lastSequence, messageIds, tasks }: state.ShardHandOvers): [number, readonly HandedOver[]] {
  const first = lastSequence - messageIds.length + 1;
  return [
    shard,
    messageIds.map((messageId, index) => {
      const task = tasks[index] ?? -1;
      return { sequence: first + index, messageId, ...(task === -1 ? {} : { task }) };
    }),
  ];
}
