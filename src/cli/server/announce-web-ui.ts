import { setTimeout as delay } from 'node:timers/promises';
import { isWebUi } from './is-web-ui.ts';

const LOOK_EVERY_MS = 2_000;
/** A user who starts the UI later knows its address. */
const LOOK_MS_MAX = 60_000;

/** Looks for Temporal's web UI, a separate program, for a minute after the start. `found` is called once, when the UI is there. */
export async function announceWebUi(port: number, stopped: AbortSignal, found: () => void): Promise<void> {
  for (const endMs = performance.now() + LOOK_MS_MAX; performance.now() < endMs && !stopped.aborted;) {
    if ((await isWebUi(port, stopped)) && !stopped.aborted) return found();
    // Aborted when the server stops, because then there is nothing to look for.
    await delay(LOOK_EVERY_MS, undefined, { ref: false, signal: stopped }).catch(() => undefined);
  }
}
