import { setTimeout as delay } from 'node:timers/promises';
import { isWebUi } from './is-web-ui.ts';

const LOOK_EVERY_MS = 2_000;
/** Whoever starts it later knows where. */
const LOOK_MS_MAX = 60_000;

/**
 * Looks for Temporal's web UI beside a server that serves already, for a minute: it is a program of its own, and usually started after the server.
 * Nobody waits for this. Once it is there, `found` is called, once.
 */
export async function announceWebUi(port: number, stopped: AbortSignal, found: () => void): Promise<void> {
  for (const endMs = performance.now() + LOOK_MS_MAX; performance.now() < endMs && !stopped.aborted;) {
    if ((await isWebUi(port, stopped)) && !stopped.aborted) return found();
    // Aborted when the server stops: then there is nothing to look for.
    await delay(LOOK_EVERY_MS, undefined, { ref: false, signal: stopped }).catch(() => undefined);
  }
}
