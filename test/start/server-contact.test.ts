import { expect, test } from 'vitest';
import { claimsOf } from '../../src/start/server-contact.ts';

const claims = claimsOf({ instance: 'instance-1', addresses: ['127.0.0.1:7233', '[::1]:7233'] });

test('golden: the bytes of a claim', () => {
  const encoded = claims.encode({ ownerNonce: 'nonce-1', owner: 'host:7233 pid 7' });
  expect(Buffer.from(encoded).toString('hex')).toMatchInlineSnapshot(
    `"0a076e6f6e63652d31120f686f73743a373233332070696420371a0a696e7374616e63652d31220e3132372e302e302e313a37323333220a5b3a3a315d3a37323333"`,
  );
});

test('golden: a claim of before there were addresses', () => {
  const earlier = Uint8Array.from(Buffer.from('0a076e6f6e63652d31120f686f73743a37323333207069642037', 'hex'));
  expect(claims.decode(earlier)).toEqual({ ownerNonce: 'nonce-1', owner: 'host:7233 pid 7', instance: '', addresses: [] });
});
