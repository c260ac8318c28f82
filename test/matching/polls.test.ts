import { beforeEach, describe, expect, test } from 'vitest';
import { matchingLimits as limits } from '../../src/matching/matching-limits.ts';
import { add, Host, poll, task, workflows } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
});

describe('the end of a poll', () => {
  test('a thousand deadlines that pass together are not the work of one command', () => {
    const few = new Host({ duePerCommandMax: 2 });
    const polled = Array.from({ length: 5 }, (_, at) => few.ask(poll(`p${at}`, { deadlineMs: 9_000 })));
    few.now = 9_000;
    for (const answered of [2, 4, 5]) {
      expect(few.core.nextDeadline()).toBe(9_000);
      few.ask({ kind: 'tick' });
      expect(polled.filter((askId) => few.replies.has(askId))).toHaveLength(answered);
    }
  });

  test('empty exactly at its deadline', () => {
    const polled = host.ask(poll('p1', { deadlineMs: 9_000 }));
    expect(host.core.nextDeadline()).toBe(9_000);
    host.advanceTo(8_999);
    expect(host.replies.has(polled)).toBe(false);
    host.advanceTo(9_000);
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
  });

  test('a poll past its deadline gets nothing, even before the timer fires', () => {
    const polled = host.ask(poll('p1', { deadlineMs: 9_000 }));
    host.now = 9_001;
    host.ask(add(task('a')));
    expect(host.takeStarts()).toEqual([]);
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
  });

  test('a poll that comes too late is answered at once', () => {
    const polled = host.ask(poll('p1', { deadlineMs: 1_000 }));
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
  });

  test('with a start under way it waits a little longer for it', () => {
    const polled = host.ask(poll('p1', { deadlineMs: 9_000 }));
    host.ask(add(task('a')));
    host.advanceTo(9_000 + limits.startGraceMs - 1);
    expect(host.replies.has(polled)).toBe(false);
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(polled)).toMatchObject({ kind: 'task' });
  });

  test('canceled before a task came: it gets nothing, the next one gets the task', () => {
    const polled = host.ask(poll('p1'));
    host.ask(poll('p2'));
    host.cancel(polled);
    host.ask(add(task('a')));
    expect(host.takeStarts().map((start) => start.pollRequestId)).toEqual(['p2']);
    expect(host.replies.has(polled)).toBe(false);
  });

  test('canceled while an activity starts: the start is withdrawn, and history offers the task again', () => {
    const polled = host.ask(poll('p1'));
    host.ask(poll('p2'));
    const added = host.ask(add(task('a')));
    const [start] = host.takeStarts();
    host.cancel(polled);
    expect(host.effects).toEqual([]);
    host.answerStart(start!);
    expect(host.effects.map((effect) => effect.kind)).toEqual(['withdrawActivityStart']);
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    expect(host.replies.has(polled)).toBe(false);
    host.ask(add(task('a', { stamp: 2 })));
    expect(host.takeStarts()[0]).toMatchObject({ pollRequestId: 'p2', task: { stamp: 2 } });
  });

  test('canceled while it is unknown whether an activity started: withdrawn first, then another poll gets this copy', () => {
    const polled = host.ask(poll('p1'));
    host.ask(poll('p2'));
    host.ask(add(task('a')));
    const [start] = host.takeStarts();
    host.cancel(polled);
    host.answerStart(start!, { kind: 'unavailable' });
    expect(host.effects.map((effect) => effect.kind)).toEqual(['withdrawActivityStart', 'startTask']);
    expect(host.takeStarts()[0]?.pollRequestId).toBe('p2');
  });

  test('canceled while a workflow task starts: that one waits for its timeout', () => {
    const polled = host.ask(poll('p1', { queue: workflows }));
    const added = host.ask(add(task('a'), { queue: workflows }));
    const [start] = host.takeStarts();
    host.cancel(polled);
    host.answerStart(start!);
    expect(host.effects).toEqual([]);
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    expect(host.journal).toEqual([]);
  });

  test('canceled while the start turns out obsolete: no withdrawal', () => {
    const polled = host.ask(poll('p1'));
    host.ask(add(task('a')));
    const [start] = host.takeStarts();
    host.cancel(polled);
    host.answerStart(start!, { kind: 'obsolete' });
    expect(host.effects).toEqual([]);
  });

  test('the same poll asked twice: the first caller ends empty, the second gets the task', () => {
    const first = host.ask(poll('p1'));
    const second = host.ask(poll('p1', { deadlineMs: 70_000 }));
    expect(host.replies.get(first)).toEqual({ kind: 'emptyPoll' });
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    const starts = host.takeStarts();
    expect(starts).toHaveLength(1);
    host.answerStart(starts[0]!);
    expect(host.replies.get(second)).toMatchObject({ kind: 'task' });
  });

  test('the same poll asked twice while its start is under way', () => {
    const first = host.ask(poll('p1'));
    host.ask(add(task('a')));
    const second = host.ask(poll('p1'));
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(first)).toEqual({ kind: 'emptyPoll' });
    expect(host.replies.get(second)).toMatchObject({ kind: 'task' });
  });

  test('more polls than the limit are rejected', () => {
    for (let i = 0; i < limits.pollsPerQueueMax; i++) host.ask(poll(`p${i}`));
    const polled = host.ask(poll('one too many'));
    expect(host.replies.get(polled)).toMatchObject({ kind: 'rejected', rejection: { reason: 'too-many-polls' } });
  });
});

describe('the server stops', () => {
  test('polls that wait end empty, later ones at once, and a task that is being started reaches its poll', () => {
    const [waiting, matched] = [host.ask(poll('p1', { queue: workflows })), host.ask(poll('p2'))];
    host.ask(add(task('a')));
    const [start] = host.takeStarts();
    host.ask({ kind: 'endPolls' });
    expect(host.replies.get(waiting)).toEqual({ kind: 'emptyPoll' });
    expect(host.replies.has(matched)).toBe(false);
    const late = host.ask(poll('p3'));
    expect(host.replies.get(late)).toEqual({ kind: 'emptyPoll' });
    host.answerStart(start!);
    expect(host.replies.get(matched)).toMatchObject({ kind: 'task', task: { started: 'a' } });
    const stored = host.ask(add(task('b')));
    expect(host.replies.get(stored)).toEqual({ kind: 'stored' });
    expect(host.journal).toHaveLength(1);
  });

  test('a poll whose task turns out to be gone does not wait again', () => {
    const matched = host.ask(poll('p1'));
    host.ask(add(task('a')));
    host.ask({ kind: 'endPolls' });
    const [start] = host.takeStarts();
    host.answerStart(start!, { kind: 'obsolete' });
    expect(host.replies.get(matched)).toEqual({ kind: 'emptyPoll' });
  });
});
