import { test } from 'vitest';
import { lettersAreConserved } from './conserved-queue.ts';

test('dead letters are conserved: each id is in the queue, merged or purged, whatever dies, and of what was purged nothing is left', async () => {
  await lettersAreConserved(1, 20);
}, 60_000);
