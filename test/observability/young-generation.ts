/** Prints how large the young generation of a thread gets that starts now, in MiB; `bounded`: after `boundThreadHeaps`. */
import { getHeapSpaceStatistics } from 'node:v8';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { boundThreadHeaps } from '../../src/observability/heap-watch.ts';

if (isMainThread) {
  if (process.argv[2] === 'bounded') boundThreadHeaps();
  new Worker(new URL(import.meta.url)).on('message', (mebibytes) => console.log(mebibytes));
} else {
  parentPort?.postMessage(filled() / 2 ** 20);
}

/** By what lives through many collections. */
function filled(): number {
  const kept: object[][] = [];
  let bytesMax = 0;
  for (let round = 0; round < 150; round++) {
    kept.push(Array.from({ length: 20_000 }, (_, index) => ({ index })));
    if (kept.length > 60) kept.shift();
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    bytesMax = Math.max(bytesMax, young?.space_size ?? Infinity);
  }
  return bytesMax;
}
