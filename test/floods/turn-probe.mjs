/**
 * Preloaded into a server under a flood: five times a second a line `time longest` of the turn of its event loop that took the most processor time
 * since the last one, in milliseconds. Not of the wall clock: a turn that waits for a processor is long for no fault of ours.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env.FLOOD_TURNS;
if (isMainThread && file !== undefined) watch();

function watch() {
  let last = processorMs();
  let longest = 0;
  setInterval(() => {
    const now = processorMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1).unref();
  setInterval(() => {
    appendFileSync(file, `${Date.now()} ${longest}\n`);
    longest = 0;
  }, 200).unref();
}

function processorMs() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
