import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { captureSettings } from '../../src/config/dead-letter-settings.ts';
import { DynamicConfig } from '../../src/config/dynamic-config.ts';
import { constantEntries } from '../../src/config/dynamic-settings.ts';
import { type Attempts, judgeAttempt, noAttempts, type Verdict } from '../../src/deadletters/attempts.ts';
import type { CaptureSettings } from '../../src/deadletters/capture-settings.ts';
import { type NotYet, saidError, type TaskFailure } from '../../src/deadletters/task-failure.ts';

const error = saidError('SomeError', 'it went wrong');
const failed: TaskFailure = { kind: 'failed', by: 'refusal', error };
const internal: TaskFailure = { kind: 'failed', by: 'bug', error };
const shared: TaskFailure = { kind: 'failed', by: 'dependency', error };
const permanent: TaskFailure = { kind: 'permanent', error };
const notYet = (why: NotYet): TaskFailure => ({ kind: 'notYet', why, error });
const waits = (['away', 'moving', 'busy', 'notReady', 'rateLimited'] as const).map(notYet);

const settingsOf = (...values: readonly (readonly [string, unknown])[]): CaptureSettings =>
  new DynamicConfig(constantEntries(new Map(values)).entries).values(captureSettings);
const defaults = settingsOf();

/** The verdict on the last of these, the first at 1,000 ms and a second between them. */
function after(failures: readonly TaskFailure[], settings = defaults, category = 'transfer'): Verdict {
  let attempts: Attempts = noAttempts;
  let last: Verdict | undefined;
  failures.forEach((failure, index) => {
    last = judgeAttempt(attempts, failure, category, 1_000 * (index + 1), settings);
    if (last.kind === 'again') attempts = last.attempts;
  });
  if (last === undefined) throw new Error('no failures');
  return last;
}

const times = (count: number, failure: TaskFailure): readonly TaskFailure[] => Array.from({ length: count }, () => failure);

function pauses(count: number, failure: TaskFailure): readonly number[] {
  return Array.from({ length: count }, (_, index) => {
    const verdict = after(times(index + 1, failure), settingsOf(['history.TaskDLQEnabled', false]));
    return verdict.kind === 'again' ? Math.round(verdict.pauseMs) : -1;
  });
}

describe('pauses', () => {
  test('1 s, a tenth longer each time, up to 3 min', () => {
    expect(pauses(4, failed)).toEqual([1_000, 1_100, 1_210, 1_331]);
    expect(pauses(60, failed).at(-1)).toBe(180_000);
    expect(pauses(2, notYet('away'))).toEqual([1_000, 1_100]);
  });

  test('3 s, half as long again, up to 3 min for what is not ready and 5 min for what is too much', () => {
    expect(pauses(3, notYet('notReady'))).toEqual([3_000, 4_500, 6_750]);
    expect(pauses(20, notYet('notReady')).at(-1)).toBe(180_000);
    expect(pauses(3, notYet('rateLimited'))).toEqual([3_000, 4_500, 6_750]);
    expect(pauses(20, notYet('rateLimited')).at(-1)).toBe(300_000);
  });

  test('start again when something else is the matter', () => {
    const verdict = after([...times(10, notYet('rateLimited')), failed]);
    expect(verdict).toMatchObject({ kind: 'again', pauseMs: 1_000, attempts: { attempts: 11, failures: 1 } });
  });

  test('stay finite, however often', () => {
    const often: Attempts = { ...noAttempts, attempts: 2 ** 40, inARow: 2 ** 40 };
    expect(judgeAttempt(often, notYet('away'), 'transfer', 0, defaults)).toMatchObject({ kind: 'again', pauseMs: 180_000 });
  });
});

describe('a dead letter', () => {
  test('comes of the seventieth failure that counts, with its times', () => {
    expect(after(times(69, failed)).kind).toBe('again');
    expect(after(times(70, failed))).toMatchObject({
      kind: 'letter',
      why: { cause: 'retries-exhausted', disposition: 'exhausted' },
      attempts: { attempts: 70, failures: 70, firstFailureTimeMs: 1_000, lastFailureTimeMs: 70_000 },
    });
  });

  test('never comes of what is not the task’s own fault', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...waits), { minLength: 1, maxLength: 300 }), (failures) => {
        const verdict = after(failures, settingsOf(['history.TaskDLQUnexpectedErrorAttempts', 1]));
        expect(verdict).toMatchObject({ kind: 'again', attempts: { attempts: failures.length, failures: 0 } });
      }),
    );
  });

  test('counts failures alone, whatever comes between', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.constantFrom(failed, internal, ...waits), { minLength: 1 }),
        (max, failures) => {
          const settings = settingsOf(['history.TaskDLQUnexpectedErrorAttempts', max]);
          let counted = 0;
          let attempts: Attempts = noAttempts;
          for (const failure of failures) {
            if (failure.kind === 'failed') counted += 1;
            const verdict = judgeAttempt(attempts, failure, 'outbound', 1, settings);
            expect(verdict.kind).toBe(failure.kind === 'failed' && counted === max ? 'letter' : 'again');
            if (verdict.kind !== 'again') return;
            ({ attempts } = verdict);
            expect(attempts.failures).toBe(counted);
          }
        },
      ),
    );
  });

  test('comes at once of what is permanent', () => {
    expect(after([permanent])).toMatchObject({ kind: 'letter', why: { cause: 'permanent-error' }, attempts: { attempts: 1 } });
  });

  test('does not come of a task that is done', () => {
    const settings = settingsOf(['history.TaskDLQErrorPattern', '.*']);
    expect(after([{ kind: 'over', error }], settings)).toEqual({ kind: 'over' });
  });
});

describe('a dead letter says what kind of cause it looks like', () => {
  test.each([
    ['poison', [permanent]],
    ['poison', [failed, permanent]],
    ['exhausted', times(70, failed)],
    ['exhausted', times(70, internal)],
    ['systemic', times(70, shared)],
    ['exhausted', [...times(69, shared), failed]],
  ] as const)('%s, by its last failure', (disposition, failures) => {
    expect(after(failures)).toMatchObject({ kind: 'letter', why: { disposition } });
  });
});

describe('operators say', () => {
  test('how often: for all, and for one category', () => {
    const settings = settingsOf(['history.TaskDLQUnexpectedErrorAttempts', 3], ['history.timerProcessorMaxRetryCount', 2]);
    expect(after(times(2, failed), settings, 'transfer').kind).toBe('again');
    expect(after(times(3, failed), settings, 'transfer').kind).toBe('letter');
    expect(after(times(2, failed), settings, 'timer').kind).toBe('letter');
    expect(after(times(79, failed), settings, 'replication').kind).toBe('again');
    expect(after(times(80, failed), settings, 'replication').kind).toBe('letter');
  });

  test('that nothing becomes a dead letter', () => {
    const settings = settingsOf(['history.TaskDLQEnabled', false], ['history.TaskDLQErrorPattern', 'wrong']);
    expect(after(times(200, permanent), settings)).toMatchObject({ kind: 'again', attempts: { failures: 200 } });
  });

  test('that internal errors are permanent', () => {
    const settings = settingsOf(['history.TaskDLQInternalErrors', true]);
    expect(after([internal], settings)).toMatchObject({ kind: 'letter', why: { cause: 'permanent-error', disposition: 'poison' } });
    expect(after([failed], settings).kind).toBe('again');
  });

  test('which messages are permanent, before anything else is asked', () => {
    const settings = settingsOf(['history.TaskDLQErrorPattern', '^it went']);
    const picked = { cause: 'permanent-error', disposition: 'operator' };
    expect(after([notYet('away')], settings)).toMatchObject({ kind: 'letter', why: picked, attempts: { failures: 1 } });
    const other: TaskFailure = { kind: 'failed', by: 'refusal', error: saidError('SomeError', 'so it went') };
    expect(after([other], settings).kind).toBe('again');
  });

  test.each([
    ['history.TaskDLQUnexpectedErrorAttempts', 0],
    ['history.TaskDLQUnexpectedErrorAttempts', -1],
    ['history.TaskDLQUnexpectedErrorAttempts', 1.5],
    ['history.TaskDLQUnexpectedErrorAttempts', Number.NaN],
    ['history.TaskDLQUnexpectedErrorAttempts', 2 ** 53],
    ['history.TaskDLQUnexpectedErrorAttempts', '5'],
    ['history.transferProcessorMaxRetryCount', null],
    ['history.TaskDLQEnabled', 'no'],
    ['history.TaskDLQInternalErrors', 1],
    ['history.TaskDLQErrorPattern', ['a']],
    ['history.TaskDLQErrorPattern', '(a'],
    ['history.TaskDLQErrorPattern', '(?=a)'],
  ])('nonsense in %s (%j): one warning, and the default holds', (key, value) => {
    expect(constantEntries(new Map<string, unknown>([[key, value]])).problems).toEqual([
      { key, message: expect.stringContaining('this value is not used: ') },
    ]);
    const settings = settingsOf([key, value]);
    expect(after(times(69, internal), settings).kind).toBe('again');
    expect(after(times(70, internal), settings).kind).toBe('letter');
  });
});
