import { expect, test } from 'vitest';
import { TokenBucket } from '../../src/matching/token-bucket.ts';

test('a bucket starts full, gives what its rate allows, and says when the next token is there', () => {
  const bucket = new TokenBucket(2, 10_000);
  expect([bucket.take(10_000), bucket.take(10_000), bucket.take(10_000)]).toEqual([true, true, false]);
  expect(bucket.nextTokenMs(10_000)).toBe(10_500);
  expect(bucket.take(10_500)).toBe(true);
});

test('a clock that is set back takes no tokens away', () => {
  const bucket = new TokenBucket(2, 3_600_000);
  expect([bucket.take(0), bucket.take(0), bucket.take(0)]).toEqual([true, true, false]);
  expect(bucket.nextTokenMs(0)).toBe(500);
});
