/** State of a matching host as the bytes of a checkpoint's rows: `perdure.state.v1`, each behind its format and its checksum. */
import type { BacklogWire } from '../matching/checkpoint/backlog-wire.ts';
import * as state from '../wire/generated/state/matching.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { configuredFromWire, configuredToWire, spilledFromWire, spilledToWire } from './matching-codec.ts';
import { decodeChecked, encodeChecked } from './state/checked-bytes.ts';

/** Decoding throws DatabaseError `corrupt`, and nothing else. */
export const matchingStateCodec: BacklogWire = {
  encodeTask: ({ spilled, storedAtMs }) => encodeChecked(state.writeStoredTask, { spilled: spilledToWire(spilled), storedAtMs }),

  decodeTask: (bytes) =>
    decodeChecked(bytes, 'matching task', (body) => {
      const { spilled, storedAtMs } = state.decodeStoredTask(body, ownLimits);
      return { spilled: spilledFromWire(spilled), storedAtMs };
    }),

  encodeCounters: ({ lastId, configs }) => encodeChecked(state.writeBacklogCounters, { lastId, configs: configs.map(configuredToWire) }),

  decodeCounters: (bytes) =>
    decodeChecked(bytes, 'set of counters', (body) => {
      const { lastId, configs } = state.decodeBacklogCounters(body, ownLimits);
      return { lastId, configs: configs.map(configuredFromWire) };
    }),
};
