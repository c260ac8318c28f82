import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { HmacSha256 } from '../../src/grpc/tokens/hmac.ts';
import { tokenKind, TokenSigner } from '../../src/grpc/tokens/token-signer.ts';

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
  const body = filled(130);
  const token = new TokenSigner(() => filled(32)).sign(tokenKind.workflowTask, body);

  test('is read by whoever has the key', () => {
    expect(Buffer.from(new TokenSigner(() => filled(32)).verify(tokenKind.workflowTask, token) ?? [])).toEqual(Buffer.from(body));
  });

  test('is worth nothing under another key, for another use, or with one bit changed', () => {
    const key = filled(32);
    const signer = new TokenSigner(() => key);
    expect(new TokenSigner(() => filled(33)).verify(tokenKind.workflowTask, token)).toBeUndefined();
    expect(signer.verify(tokenKind.activityTask, token)).toBeUndefined();
    for (let at = 0; at < token.length; at++) {
      const changed = Uint8Array.from(token);
      changed[at]! ^= 1;
      expect(signer.verify(tokenKind.workflowTask, changed)).toBeUndefined();
    }
  });

  test('is signed anew when the cluster has another key', () => {
    let key = filled(32);
    const signer = new TokenSigner(() => key);
    const before = signer.sign(tokenKind.workflowTask, body);
    key = filled(33);
    expect(Buffer.from(signer.sign(tokenKind.workflowTask, body))).not.toEqual(Buffer.from(before));
  });
});
