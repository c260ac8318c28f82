import { describe, expect, test } from 'vitest';
import { refusedDispatch, rejectedTask, thrownByTask, unansweredTask } from '../../../src/actors/history/hand-over/task-failures.ts';
import { DatabaseError } from '../../../src/projections/database-port.ts';
import { LogError } from '../../../src/ports/log.ts';
import { EventsMissing } from '../../../src/actors/history/events/history-store.ts';
import { Reader } from '../../../src/wire/reader.ts';

describe('what an attempt at a task has met', () => {
  test.each(['unavailable', 'deadline', 'busy'] as const)('an answer %s is no fault of the task', (kind) => {
    expect(unansweredTask({ kind, message: 'the log does not answer' })).toMatchObject({
      kind: 'notYet',
      error: { errorMessage: 'the log does not answer' },
    });
  });

  test('a target that moves neither, and one that cannot read what it has for ever', () => {
    expect(unansweredTask({ kind: 'notHere', message: '', hint: '', epoch: 0 })).toMatchObject({ kind: 'notYet', why: 'moving' });
    expect(unansweredTask({ kind: 'dataLoss', message: 'damaged' })).toMatchObject({ kind: 'permanent' });
    expect(unansweredTask({ kind: 'internal', message: 'a bug' })).toMatchObject({ kind: 'failed', by: 'bug' });
    expect(unansweredTask({ kind: 'tooLarge', message: '' })).toMatchObject({ kind: 'failed', by: 'refusal' });
  });

  test('a rejection counts, but for one that says wait, or that there is nothing left to do', () => {
    expect(rejectedTask({ reason: 'busy-workflow', message: '' })).toMatchObject({ kind: 'notYet', why: 'busy' });
    expect(rejectedTask({ reason: 'workflow-closed', message: '' }).kind).toBe('over');
    expect(rejectedTask({ reason: 'invalid-argument', message: 'no such type' })).toMatchObject({
      kind: 'failed',
      error: { errorType: 'invalid-argument', errorMessage: 'no such type' },
    });
  });

  test('a full backlog is waited for', () => {
    expect(refusedDispatch({ reason: 'backlog-full', message: '' })).toMatchObject({ kind: 'notYet', why: 'rateLimited' });
  });

  test('data that cannot be read is read in vain for ever, wherever it stands', () => {
    const garbage = (): unknown => {
      try {
        return new Reader(Uint8Array.of(0x0a, 0xff)).bytes();
      } catch (error) {
        return error;
      }
    };
    expect(thrownByTask(garbage())).toMatchObject({ kind: 'permanent', error: { errorType: 'WireError' } });
    expect(thrownByTask(new EventsMissing('run', 7)).kind).toBe('permanent');
    expect(thrownByTask(new DatabaseError('corrupt', 'row 7')).kind).toBe('permanent');
    expect(thrownByTask(new DatabaseError('data', 'row 7')).kind).toBe('permanent');
    expect(thrownByTask(new LogError('corrupt', 'offset 7')).kind).toBe('permanent');
  });

  test('storage that is away, or wrong as a whole, is not', () => {
    for (const code of ['unavailable', 'overtime', 'misconfigured', 'closed'] as const)
      expect(thrownByTask(new DatabaseError(code, '')).kind).toBe('notYet');
    for (const code of ['unavailable', 'denied', 'locked', 'closed'] as const)
      expect(thrownByTask(new LogError(code, '')).kind).toBe('notYet');
  });

  test('anything else is a bug of ours', () => {
    for (const thrown of [new TypeError('x'), 'text', undefined, null, 7])
      expect(thrownByTask(thrown)).toMatchObject({ kind: 'failed', by: 'bug' });
  });
});
