import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failureFingerprint } from '../../src/deadletters/failure-fingerprint.ts';
import { saidError, taskErrorLimits, thrownError, type TaskError } from '../../src/deadletters/task-failure.ts';

describe('what was thrown', () => {
  test('with its type, its frames and what led to it', () => {
    const cause = new RangeError('too far', { cause: 'a text' });
    const thrown = new TypeError('not so\n    at nowhere (it.ts:1:1)', { cause });
    const { errorType, errorMessage, errorStack, errorChain } = thrownError(thrown);
    expect([errorType, errorMessage]).toEqual(['TypeError', 'not so\n    at nowhere (it.ts:1:1)']);
    expect(errorStack).toMatch(/^at .*task-failure\.test\.ts/);
    expect(errorStack).not.toContain('nowhere');
    expect(errorChain).toEqual([
      { errorType: 'RangeError', errorMessage: 'too far' },
      { errorType: 'Error', errorMessage: 'a text' },
    ]);
  });

  test('ends with causes that go round', () => {
    const one = new Error('one');
    const two = new Error('two', { cause: one });
    one.cause = two;
    expect(thrownError(one).errorChain).toEqual([{ errorType: 'Error', errorMessage: 'two' }]);
  });

  test('whatever it is, it is bounded text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.string().map((text) => new Error(text)),
        ),
        (thrown) => {
          for (const text of Object.values(thrownError(thrown)).flat(2)) expect(['string', 'object']).toContain(typeof text);
        },
      ),
    );
    let deep: unknown = 'bottom';
    for (let depth = 0; depth < 100; depth++) deep = new Error('x'.repeat(100_000), { cause: deep });
    const { errorMessage, errorChain } = thrownError(deep);
    expect(errorMessage.length).toBe(taskErrorLimits.messageCharsMax);
    expect(errorChain.length).toBe(taskErrorLimits.chainMax);
    expect(errorChain.every((error) => error.errorMessage.length === taskErrorLimits.messageCharsMax)).toBe(true);
  });
});

describe('the fingerprint of a failure', () => {
  const stack = (name: string, line: number) =>
    `at node:internal/errors:10:1\nat parse (/x/node_modules/pg/index.js:1:1)\nat async ${name} (file:///srv/app.js:${line}:7)\nat main (file:///srv/app.js:1:1)`;
  const of = (errorMessage: string, more: Partial<TaskError> = {}, taskType = 'START_CHILD', ids: readonly string[] = []): string =>
    failureFingerprint({ ...saidError('DatabaseError', errorMessage), ...more }, taskType, ids);

  test('leaves out numbers, UUIDs and ids', () => {
    const one = of('row 4711 of order-17 is refused by 5f8b9c1e-1111-4222-8333-aabbccddeeff after 1.5 s');
    expect(of('row 12 of order-9 is refused by 0a1b2c3d-9999-4888-8777-001122334455 after 20.25 s')).toBe(one);
    expect(of('row 12 of order-9 is accepted by 0a1b2c3d-9999-4888-8777-001122334455 after 20.25 s')).not.toBe(one);
  });

  test('leaves out the task’s own ids, whatever they look like, but no parts of words', () => {
    const one = of('workflow anna/bob of shop has failed', {}, '', ['anna/bob', 'shop', '']);
    expect(of('workflow a of b has failed', {}, '', ['a', 'b'])).toBe(one);
    expect(of('workflow $.* of [x has failed', {}, '', ['$.*', '[x'])).toBe(one);
    expect(of('workflow # of # has failed', {}, '')).toBe(one);
  });

  test('rests on type, task and the first function of ours; not on its line', () => {
    const one = of('failed', { errorStack: stack('TransferQueue.#deliver', 10) });
    expect(of('failed', { errorStack: stack('TransferQueue.#deliver', 99) })).toBe(one);
    expect(of('failed', { errorStack: stack('TimerQueue.fire', 10) })).not.toBe(one);
    expect(of('failed', { errorStack: stack('TransferQueue.#deliver', 10), errorType: 'LogError' })).not.toBe(one);
    expect(of('failed', { errorStack: stack('TransferQueue.#deliver', 10) }, 'SIGNAL')).not.toBe(one);
  });

  test('is the same for ever', () => {
    expect(of('row 4711 is refused', { errorStack: stack('deliver', 1) })).toMatchInlineSnapshot(`"e6c248961d9a043f"`);
  });

  test('is 16 hex digits of whatever texts', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    fc.assert(
      fc.property(text, text, fc.array(text, { maxLength: 4 }), (message, errorStack, ids) => {
        expect(of(message, { errorStack }, 'T', ids)).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});
