import { beforeEach, describe, expect, test } from 'vitest';
import type { StartTask } from '../../src/matching/matching-effects.ts';
import { activities, add, Host, poll, task } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
});

describe('rate limit', () => {
  test('tasks leave at the rate that the last worker asked for, even with polls waiting', () => {
    for (let i = 0; i < 6; i++) host.ask(poll(`p${i}`, { maxTasksPerSecond: 2 }));
    for (let i = 0; i < 6; i++) host.ask(add(task(`t${i}`)));
    const times: number[] = host.takeStarts().map(() => host.now);
    for (let at = host.now; at < 4_000; at += 10) {
      host.advanceTo(at);
      for (const _ of host.takeStarts()) times.push(at);
    }
    expect(times).toEqual([1_000, 1_000, 1_500, 2_000, 2_500, 3_000]);
  });

  test('a rate below one lets one through and then waits', () => {
    host.ask(poll('p1', { maxTasksPerSecond: 0.5 }));
    host.ask(poll('p2', { maxTasksPerSecond: 0.5 }));
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    expect(host.takeStarts()).toHaveLength(1);
    host.advanceTo(2_999);
    expect(host.takeStarts()).toHaveLength(0);
    host.advanceTo(3_000);
    expect(host.takeStarts()).toHaveLength(1);
  });

  test('zero lets nothing pass; a higher limit frees what waits', () => {
    host.ask(poll('p1', { maxTasksPerSecond: 0 }));
    host.ask(add(task('a')));
    host.advanceTo(30_000);
    expect(host.takeStarts()).toHaveLength(0);
    host.ask(poll('p2', { maxTasksPerSecond: 100 }));
    host.advanceTo(30_020);
    expect(host.takeStarts()).toHaveLength(1);
  });

  test.each([Infinity, Number.MAX_VALUE, 1e9])('a rate of %d counts as the highest', (rate) => {
    host.ask(poll('p1', { maxTasksPerSecond: rate }));
    const described = host.ask({ kind: 'describeTaskQueue', queue: poll('p1').queue });
    expect(host.replies.get(described)).toMatchObject({ ratePerSecond: 100_000 });
    host.ask(add(task('a')));
    expect(host.takeStarts()).toHaveLength(1);
  });

  describe('a task that reached nobody takes no token', () => {
    /** The poll of its first start is gone, and the next one finds the token that the first has taken. */
    function expectAgain(): void {
      host.ask(poll('p2', { maxTasksPerSecond: 0.001 }));
      expect(host.takeStarts()).toMatchObject([{ pollRequestId: 'p2', task: { scheduledEventId: 5 } }]);
    }

    let asked: number;
    let start: StartTask;
    beforeEach(() => {
      asked = host.ask(poll('p1', { maxTasksPerSecond: 0.001 }));
      host.ask(add(task('a')));
      [start] = host.takeStarts() as [StartTask];
    });

    test('its poll left, and history could not answer', () => {
      host.cancel(asked);
      host.answerStart(start, { kind: 'unavailable' });
      expectAgain();
    });

    test('history could not answer, and its poll left', () => {
      host.answerStart(start, { kind: 'unavailable' });
      host.cancel(asked);
      expectAgain();
    });

    test('it was started for a poll that had left, and comes again', () => {
      host.cancel(asked);
      host.answerStart(start);
      host.ask(add(task('a', { stamp: 2 })));
      expectAgain();
    });
  });

  test('a rate next to nothing lets one through and then waits, for as long as it takes', () => {
    host.ask(poll('p1', { maxTasksPerSecond: Number.MIN_VALUE }));
    host.ask(poll('p2', { maxTasksPerSecond: Number.MIN_VALUE }));
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    expect(host.takeStarts()).toHaveLength(1);
    host.advanceTo(1_000_000_000);
    expect(host.takeStarts()).toHaveLength(0);
  });

  test('a token that comes back when its poll is gone lets go at once what waits', () => {
    const asked = host.ask(poll('p1', { maxTasksPerSecond: 0.01 }));
    host.ask(poll('p2', { maxTasksPerSecond: 0.01 }));
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    const [start] = host.takeStarts();
    host.cancel(asked);
    host.answerStart(start!, { kind: 'obsolete' });
    host.advanceTo(host.now + 1);
    expect(host.takeStarts()).toMatchObject([{ pollRequestId: 'p2', task: { key: { workflowId: 'b' } } }]);
  });

  test('a task that comes back from its rest takes no token before one of a better priority', () => {
    const at = (priorityKey: number) => ({ priority: { priorityKey, fairnessKey: '', fairnessWeight: 0 } });
    for (const name of ['p1', 'p2', 'p3']) host.ask(poll(name, { maxTasksPerSecond: 0.5 }));
    host.ask(add(task('late', at(5))));
    host.answerStart(host.takeStarts()[0]!, { kind: 'refused' });
    host.ask(add(task('first', at(1))));
    host.ask(add(task('second', at(1))));
    expect(host.takeStarts()).toMatchObject([{ task: { key: { workflowId: 'first' } } }]);
    // The rest of the one and the wait for a token end within one turn.
    host.now += 2_000;
    host.ask({ kind: 'tick' });
    expect(host.takeStarts()).toMatchObject([{ task: { key: { workflowId: 'second' } } }]);
  });

  test('where keys share a lane, none of a key that may go is given out after its time', () => {
    host = new Host({ keyedLanesPerQueueMax: 1, sharedLanesPerLevel: 1 });
    const of = (fairnessKey: string) => ({ priority: { priorityKey: 3, fairnessKey, fairnessWeight: 1 } });
    const keyRate = { perSecond: 0.001, reason: '' };
    const change = { identity: '', queueRate: undefined, keyRate, setWeights: [], unsetWeights: [] };
    host.ask({ kind: 'updateTaskQueueConfig', queue: activities, ...change });
    for (const name of ['own', 'shared']) host.ask(add(task(name, of(name))));
    for (const name of ['p1', 'p2']) host.ask(poll(name));
    expect(host.takeStarts()).toHaveLength(2);
    host.ask(add(task('held', of('shared'))));
    host.ask(add(task('expired', { ...of('other'), expiryTimeMs: 2_000 })));
    host.ask(add(task('live', of('another'))));
    host.now = 3_000;
    host.ask(poll('p3'));
    expect(host.takeStarts()).toMatchObject([{ task: { key: { workflowId: 'live' } } }]);
  });

  test('an obsolete task costs no token', () => {
    host.ask(poll('p1', { maxTasksPerSecond: 1 }));
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    host.answerStart(host.takeStarts()[0]!, { kind: 'obsolete' });
    expect(host.takeStarts()[0]?.task.key.workflowId).toBe('b');
  });
});
