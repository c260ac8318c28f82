import { describe, expect, test } from 'vitest';
import { type Answer, outcomeOf } from '../../src/outbound/completion-answer.ts';

const answer = (status: number, more: Partial<Answer> = {}): Answer => ({ status, contentType: '', retryable: '', body: '', ...more });
const json = (status: number, body: unknown): Answer => answer(status, { contentType: 'application/json', body: JSON.stringify(body) });

describe('the answer to a callback', () => {
  test.each([200, 201, 204, 299])('%i: delivered', (status) => {
    expect(outcomeOf(answer(status)).kind).toBe('delivered');
  });

  test.each([
    [400, 'BAD_REQUEST'],
    [401, 'UNAUTHENTICATED'],
    [403, 'UNAUTHORIZED'],
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [501, 'NOT_IMPLEMENTED'],
  ])('%i: refused as %s', (status, type) => {
    expect(outcomeOf(answer(status))).toEqual({
      kind: 'refused',
      errorType: `HandlerError ${type}`,
      message: `handler error (${type})`,
    });
  });

  test.each([408, 429, 500, 503, 520, 402, 405, 418, 502, 504, 599, 101])('%i: tried again', (status) => {
    expect(outcomeOf(answer(status)).kind).toBe('failed');
  });

  test.each([301, 302, 303, 307, 308])('%i: a redirect is refused', (status) => {
    expect(outcomeOf(answer(status))).toMatchObject({ kind: 'refused', errorType: 'Redirect' });
  });

  test('the header says otherwise', () => {
    expect(outcomeOf(answer(400, { retryable: 'True' })).kind).toBe('failed');
    expect(outcomeOf(answer(500, { retryable: 'false' })).kind).toBe('refused');
    expect(outcomeOf(answer(500, { retryable: 'maybe' })).kind).toBe('failed');
  });

  test('a handler error in the body goes before the status', () => {
    const body = { message: 'no such order', metadata: { type: 'nexus.HandlerError' }, details: { type: 'NOT_FOUND' } };
    expect(outcomeOf(json(500, body))).toEqual({
      kind: 'refused',
      errorType: 'HandlerError NOT_FOUND',
      message: 'handler error (NOT_FOUND): no such order',
    });
    const override = { ...body, details: { type: 'NOT_FOUND', retryableOverride: true } };
    expect(outcomeOf(json(500, override)).kind).toBe('failed');
  });

  test('any other failure in the body is its message', () => {
    expect(outcomeOf(json(400, { message: 'wrong token' }))).toMatchObject({ message: 'handler error (BAD_REQUEST): wrong token' });
    expect(outcomeOf(json(418, { message: 'short' }))).toMatchObject({ message: 'unexpected response status: 418: short' });
  });

  test.each(['', '{', 'null', '[]', '"text"', '{"message":7,"metadata":3}', '{"metadata":{"type":"nexus.HandlerError"},"details":[]}'])(
    'a body that is no failure harms nobody: %s',
    (body) => {
      expect(['refused', 'failed']).toContain(outcomeOf(answer(400, { contentType: 'application/json; charset=utf-8', body })).kind);
    },
  );
});
