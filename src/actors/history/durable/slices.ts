/** Long work in the event loop, beside which others go on. */
import type { Clock } from '../../ports.ts';

/** Of the event loop at a time. */
const SLICE_MS = 2;

/** Works from pause to pause; where it has taken its time by then, others have their turn. Rejects with what it throws. */
export async function inSlices(clock: Clock, work: Iterable<unknown>): Promise<void> {
  let endMs = clock.monoMs() + SLICE_MS;
  for (const _pause of work) {
    if (clock.monoMs() < endMs) continue;
    await new Promise<void>((resolve) => void clock.after(0, resolve));
    endMs = clock.monoMs() + SLICE_MS;
  }
}
