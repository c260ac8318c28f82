import { expect, test } from 'vitest';

/** Whoever runs the tests must see what was not tested; the CI machine has everything, so there it is an error. */
export function skipAloud(what: string, reason: string): void {
  if (process.env['CI'] !== undefined) {
    test(what, () => expect.unreachable(`CI must run ${what}: ${reason}`));
    return;
  }
  console.warn(`SKIPPED: ${what}: ${reason}`);
  // oxlint-disable-next-line vitest/no-disabled-tests -- the skip is the message
  test.skip(what, () => {});
}
