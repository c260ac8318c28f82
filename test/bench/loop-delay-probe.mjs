/**
 * Preloaded into a Node server under measurement: once a second a line `time p99 longest` in milliseconds, of how late its event loop was.
 * The threads of that server have event loops of their own, which hold up nobody.
 */
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const file = process.env.BENCH_LOOP_DELAY;
if (isMainThread && file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  setInterval(() => {
    appendFileSync(file, `${Date.now()} ${delay.percentile(99) / 1e6} ${delay.max / 1e6}\n`);
    delay.reset();
  }, 1_000).unref();
}
