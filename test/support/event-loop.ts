/** Lets everything run that waits for the event loop, so many times. */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Lets the event loop turn until it is so. What bounds it is the test's own time limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turns();
}
