import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { HmacSha256, tokenKind, TokenSigner } from '../../src/grpc/tokens/token-signer.ts';

const filled = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => at * 7 + length);

describe('the HMAC of a token', () => {
  test.each([0, 1, 32, 63, 64, 65, 200])('is that of OpenSSL, under a key of %i bytes', (keyLength) => {
    const hmac = new HmacSha256(filled(keyLength));
    for (const length of [0, 1, 55, 64, 130, 1_023, 1_024, 1_025, 70_000, 3]) {
      const message = filled(length);
      expect(Buffer.from(hmac.of(message))).toEqual(createHmac('sha256', filled(keyLength)).update(message).digest());
    }
  });
});

describe('a token', () => {
  const keyBytes = filled(32);
  const signer = new TokenSigner(() => keyBytes);
  const other = new TokenSigner(() => filled(32));
  const bodyOf = (token: Uint8Array, by = signer): string | undefined => {
    const body = by.verify(tokenKind.workflowTask, token);
    return body === undefined ? undefined : Buffer.from(body).toString('hex');
  };

  test.each([1, 130, 223, 224, 2_000])('with a body of %i bytes is read by who signed it, and by whoever has the key', (length) => {
    const body = filled(length);
    const token = signer.sign(tokenKind.workflowTask, body);
    const hex = Buffer.from(body).toString('hex');
    expect([bodyOf(token), bodyOf(token), bodyOf(token, other)]).toEqual([hex, hex, hex]);
  });

  test('is read when ten thousand others were signed since', () => {
    const tokens = Array.from({ length: 10_000 }, (_, nth) => signer.sign(tokenKind.workflowTask, Buffer.from(`body ${nth}`)));
    tokens.forEach((token, nth) => expect(bodyOf(token)).toBe(Buffer.from(`body ${nth}`).toString('hex')));
  });

  test('is worth nothing under another key, for another use, or with one bit changed', () => {
    const token = signer.sign(tokenKind.workflowTask, filled(130));
    expect(bodyOf(token, new TokenSigner(() => filled(33)))).toBeUndefined();
    expect(signer.verify(tokenKind.activityTask, token)).toBeUndefined();
    for (let at = 0; at < token.length; at++) {
      const changed = Uint8Array.from(token);
      changed[at]! ^= 1;
      expect([bodyOf(changed), bodyOf(changed, other)]).toEqual([undefined, undefined]);
    }
    expect(bodyOf(token.subarray(0, 32))).toBeUndefined();
    expect(bodyOf(token.subarray(1))).toBeUndefined();
  });

  test('is worth nothing any more when the cluster has another key', () => {
    let key = filled(32);
    const changing = new TokenSigner(() => key);
    const token = changing.sign(tokenKind.workflowTask, filled(130));
    expect(bodyOf(token, changing)).toBeDefined();
    key = filled(33);
    expect(bodyOf(token, changing)).toBeUndefined();
  });
});
