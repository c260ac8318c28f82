/** State of a history shard as the bytes of a checkpoint's rows: `perdure.state.v1`, each behind its format and its checksum. */
import type { EventsLeftOut, StateWire } from '../history/shard/state-wire.ts';
import * as state from '../wire/generated/state/history.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { decodeChecked, encodeChecked } from './state/checked-bytes.ts';
import { linesFromWire, linesToWire, markFromWire, marksToWire } from './letter-task-codec.ts';
import { historyCodec } from './history-codec.ts';
import { leaveOut, putBack } from './state/left-out.ts';
import { asideFromMessage, runFromMessage, runToMessage, shownFromMessage } from './state/run-message.ts';
import { taskFromMessage, taskToMessage } from './state/task-message.ts';

/** Decoding throws DatabaseError `corrupt`, and nothing else. */
export const stateCodec: StateWire = {
  encodeRun: (run, aside) => ({ state: encodeChecked(state.writeRun, runToMessage(run, aside)), bytesLeftOut: 0 }),

  decodeRun: (bytes, events = noEvents) =>
    decodeChecked(bytes, 'run', (body) => {
      const message = putBack(state.decodeRun(body, ownLimits), events);
      return { run: runFromMessage(message), aside: asideFromMessage(message) };
    }),

  decodeShown: (bytes) => decodeChecked(bytes, 'run', (body) => shownFromMessage(state.decodeRun(body, ownLimits))),

  eventsLeftOut: (bytes) => decodeChecked(bytes, 'run', (body) => state.decodeRunEvents(body, ownLimits).eventsLeftOut),

  encodeTask: (task) => encodeChecked(state.writePendingTask, taskToMessage(task)),

  decodeTask: (bytes) => decodeChecked(bytes, 'task', (body) => taskFromMessage(state.decodePendingTask(body, ownLimits))),

  encodeCounters: ({ handOvers: lines, letterMarks: marks = [], ...counters }) =>
    encodeChecked(state.writeShardCounters, { ...counters, handOvers: linesToWire(lines), letterMarks: marksToWire(marks) }),

  encodeRecord: (record) => {
    const { schema, value } = historyCodec.encode(record);
    return encodeChecked(state.writeWaitingRecord, { schema, record: value });
  },

  decodeRecord: (bytes) =>
    decodeChecked(bytes, 'record that waits', (body) => {
      const { schema, record } = state.decodeWaitingRecord(body, ownLimits);
      return historyCodec.decode(record, schema);
    }),

  decodeCounters: (bytes) =>
    decodeChecked(bytes, 'set of counters', (body) => {
      const { handOvers: lines, letterMarks: marks, ...counters } = state.decodeShardCounters(body, ownLimits);
      const handOvers = linesFromWire(lines);
      const marked = marks.length === 0 ? {} : { letterMarks: marks.map(markFromWire) };
      return { ...counters, ...(handOvers === undefined ? {} : { handOvers }), ...marked };
    }),
};

/** Leaves large payloads to the rows of history, which the same checkpoint must write. What either writes, both read (`eventsLeftOut`). */
export const stateCodecBesideHistory: StateWire = {
  ...stateCodec,
  encodeRun: (run, aside) => {
    const { message, bytesLeftOut } = leaveOut(runToMessage(run, aside));
    return { state: encodeChecked(state.writeRun, message), bytesLeftOut };
  },
};

const noEvents: EventsLeftOut = new Map();
