/** Decoding a large batch takes tens of milliseconds: decoders yield every few hundred records, so that others are served meanwhile. */

/** Two reads and the slice of a fold may meet in one turn of the event loop. */
const sliceMs = 4;

export async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  let startMs = performance.now();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (performance.now() - startMs < sliceMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    startMs = performance.now();
  }
}
