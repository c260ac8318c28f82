import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';

const { CI, PERDURE_SEED } = process.env;

/** Where all that tests draw at random begins: a build can be repeated, and everybody else's run is another one. */
export const seed = Number(PERDURE_SEED ?? (CI === undefined ? randomInt(2 ** 31) : 20_261));
assert(Number.isSafeInteger(seed) && seed >= 0, `PERDURE_SEED is ${PERDURE_SEED}, and must be a whole number`);
