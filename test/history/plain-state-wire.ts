/** State as bytes in the plainest way: what checkpoints of the core are tested with, whatever the codec of the journals' topics does. */
import { deserialize, serialize } from 'node:v8';
import type { StateWire } from '../../src/history/checkpoint/state-wire.ts';
import { type ColdRun, freezeRun, thawRun } from '../../src/history/execution/cold-run.ts';
import type { AsideRun } from '../../src/history/state.ts';
import type { PendingTask } from '../../src/history/tasks.ts';

export const plainStateWire: StateWire = {
  encodeRun: (run, aside) => serialize({ run: freezeRun(run, false), aside }),
  decodeRun(state) {
    const { run, aside } = deserialize(state) as { readonly run: ColdRun; readonly aside: AsideRun | undefined };
    return { run: thawRun(run), aside };
  },
  encodeTask: (task) => serialize(task),
  decodeTask: (bytes) => deserialize(bytes) as PendingTask,
  encodeCounters: (counters) => serialize(counters),
  decodeCounters: (bytes) => deserialize(bytes) as { readonly taskIdLast: number },
};
