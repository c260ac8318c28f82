import { expect, test } from 'vitest';
import { fingerprint64 } from '../../src/archival/fingerprint64.ts';

const text = Buffer.from('workflow-0123456789-ünïcode/'.repeat(40));

/** As github.com/dgryski/go-farm, by which Temporal names files, answers for the first bytes. */
test.each([
  [0, 11160318154034397263n],
  [1, 12348292010337643139n],
  [3, 12796718848294004968n],
  [4, 2890819828284213302n],
  [7, 6784554701745685901n],
  [8, 1308140881844369183n],
  [15, 7758329651791134518n],
  [16, 3011332191754507254n],
  [17, 1473146966015629337n],
  [31, 3847174369454890973n],
  [32, 960693826713461086n],
  [33, 3153273556405000181n],
  [36, 10389154680156186565n],
  [63, 8397805802095931675n],
  [64, 6936678129663598836n],
  [65, 3725506228841225061n],
  [127, 1538725996667614522n],
  [128, 89879535231086266n],
  [129, 12735598162910898610n],
  [1000, 8598483424915299215n],
])('%i bytes', (length, fingerprint) => {
  expect(fingerprint64(text.subarray(0, length).toString())).toBe(fingerprint);
});
