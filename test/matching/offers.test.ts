import { beforeEach, describe, expect, test } from 'vitest';
import { matchingLimits as limits } from '../../src/matching/matching-limits.ts';
import { activities, add, Host, poll, sticky, task, workflows } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
});

describe('a poll meets a task', () => {
  test('a task that finds a waiting poll is started for it and never touches the journal', () => {
    const polled = host.ask(poll('p1'));
    const added = host.ask(add(task('a')));
    const [start] = host.takeStarts();
    expect(start).toMatchObject({ task: task('a'), pollRequestId: 'p1', identity: 'worker-1', queue: activities });
    expect(host.replies.size).toBe(0);
    host.answerStart(start!);
    expect(host.replies.get(polled)).toEqual({
      kind: 'task',
      task: { started: 'a' },
      origin: task('a'),
      pollRequestId: 'p1',
      backlogCountHint: 0,
    });
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    host.advanceTo(200_000);
    expect(host.journal).toEqual([]);
  });

  test('a task without a poll is in the journal before its add is answered, and goes to the next poll', () => {
    const added = host.ask(add(task('a')));
    expect(host.journal).toHaveLength(1);
    expect(host.journal[0]).toMatchObject({ spilled: [{ id: 1, queue: activities, task: task('a') }], removed: [] });
    expect(host.replies.get(added)).toEqual({ kind: 'stored' });
    const polled = host.ask(poll('p1'));
    const [start] = host.takeStarts();
    host.answerStart(start!);
    expect(host.replies.get(polled)).toMatchObject({ kind: 'task', task: { started: 'a' } });
  });

  test('the commit of a spilled task carries the answer of its add as an effect', () => {
    const handled = host.core.handle(add(task('a')), 1_000, 7);
    expect(handled).toMatchObject({ kind: 'commit', reply: undefined, effects: [{ kind: 'reply', askId: 7, reply: { kind: 'stored' } }] });
  });

  test('stored tasks go out in the order in which they came', () => {
    for (const name of ['a', 'b', 'c']) host.ask(add(task(name)));
    for (const request of ['p1', 'p2', 'p3']) host.ask(poll(request));
    expect(host.takeStarts().map((start) => start.task.key.workflowId)).toEqual(['a', 'b', 'c']);
  });

  test('polls are served in the order in which they came', () => {
    for (const request of ['p1', 'p2']) host.ask(poll(request));
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    expect(host.takeStarts().map((start) => start.pollRequestId)).toEqual(['p1', 'p2']);
  });

  test('queues of other names, types and namespaces do not meet', () => {
    host.ask(poll('p1', { queue: workflows }));
    host.ask(poll('p2', { queue: { ...activities, name: 'other' } }));
    host.ask(poll('p3', { queue: { ...activities, namespaceId: 'ns2' } }));
    host.ask(poll('p4', { queue: { ...activities, kind: 'sticky' } }));
    host.ask(add(task('a')));
    expect(host.takeStarts()).toEqual([]);
    expect(host.journal).toHaveLength(1);
  });

  test('a copy of a stored task is dropped, behind the commits that its answer rests on', () => {
    host.ask(add(task('a')));
    const handled = host.core.handle(add(task('a')), 1_000, 99);
    expect(handled).toEqual({ kind: 'wait', barrier: true, effects: [{ kind: 'reply', askId: 99, reply: { kind: 'stored' } }] });
    expect(host.ask(add(task('a', { stamp: 2 })))).toBeGreaterThan(0);
    expect(host.journal).toHaveLength(2);
  });

  test('a task past its schedule-to-start time is offered to nobody', () => {
    host.ask(add(task('a', { expiryTimeMs: 5_000 })));
    host.ask(add(task('b')));
    host.advanceTo(5_000);
    host.ask(poll('p1'));
    expect(host.takeStarts().map((start) => start.task.key.workflowId)).toEqual(['b']);
  });

  test('of very many that expired while no worker was there, each turn drops some; the poll waits for the first that is good', () => {
    host = new Host({ expiredPerLookMax: 10, removalsFlushMs: 0 });
    for (let count = 0; count < 25; count++) host.ask(add(task(`a${count}`, { expiryTimeMs: 5_000 })));
    host.ask(add(task('b')));
    host.advanceTo(5_000);
    const stored = host.journal.length;
    host.ask(poll('p1'));
    host.advanceTo(6_000);
    expect(host.takeStarts()).toMatchObject([{ pollRequestId: 'p1', task: task('b') }]);
    expect(host.journal.slice(stored).map(({ removed }) => removed.length)).toEqual([10, 10, 5]);
  });
});

describe('the journal', () => {
  test('a removal travels with the next record', () => {
    host.ask(add(task('a')));
    host.ask(poll('p1'));
    host.answerStart(host.takeStarts()[0]!);
    expect(host.journal).toHaveLength(1);
    host.ask(add(task('b')));
    expect(host.journal[1]).toMatchObject({ spilled: [{ id: 2 }], removed: [1] });
  });

  test('an idle host journals its removals after a while, or when told', () => {
    host.ask(add(task('a')));
    host.ask(poll('p1'));
    host.answerStart(host.takeStarts()[0]!);
    host.advanceTo(1_000 + limits.removalsFlushMs);
    expect(host.journal[1]).toEqual({ kind: 'backlogChanged', timeMs: 2_000, spilled: [], removed: [1], configured: [], forgotten: [] });
    host.ask({ kind: 'flushRemovals' });
    expect(host.journal).toHaveLength(2);
  });

  test('the backlog survives a restart, in order, without what was removed', () => {
    for (const name of ['a', 'b', 'c']) host.ask(add(task(name)));
    host.ask(poll('p1'));
    host.answerStart(host.takeStarts()[0]!);
    host.ask({ kind: 'flushRemovals' });
    const state = host.core.canonicalState();
    host.restart();
    expect(host.core.canonicalState()).toBe(state);
    expect(host.core.counts()).toMatchObject({ storedTasks: 2, queues: 1, polls: 0 });
    host.ask(poll('p2'));
    host.ask(poll('p3'));
    expect(host.takeStarts().map((start) => start.task.key.workflowId)).toEqual(['b', 'c']);
    host.ask(add(task('d')));
    expect(host.journal.at(-1)?.spilled[0]?.id).toBeGreaterThan(3);
  });

  test('a task whose removal was lost with a crash is offered once more and dropped', () => {
    host.ask(add(task('a')));
    host.ask(poll('p1'));
    host.answerStart(host.takeStarts()[0]!);
    host.restart();
    const polled = host.ask(poll('p2'));
    host.answerStart(host.takeStarts()[0]!, { kind: 'obsolete' });
    expect(host.replies.has(polled)).toBe(false);
    host.ask({ kind: 'flushRemovals' });
    expect(host.core.counts().storedTasks).toBe(0);
  });
});

describe('sticky queues', () => {
  const onSticky = { queue: sticky };

  test('unavailable when nobody ever polled', () => {
    const added = host.ask(add(task('a'), onSticky));
    expect(host.replies.get(added)).toEqual({ kind: 'stickyUnavailable' });
    expect(host.core.counts().queues).toBe(0);
  });

  test('with a recent poll the task waits in memory, its add answered, and is never stored', () => {
    const polled = host.ask(poll('p1', onSticky));
    host.cancel(polled);
    host.advanceTo(1_000 + limits.stickyPollWindowMs - 1);
    const added = host.ask(add(task('a'), onSticky));
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    expect(host.journal).toEqual([]);
    host.ask(poll('p2', onSticky));
    expect(host.takeStarts()[0]).toMatchObject({ pollRequestId: 'p2', task: task('a') });
  });

  test('unavailable ten seconds after the last poll ended', () => {
    const polled = host.ask(poll('p1', onSticky));
    host.advanceTo(50_000);
    expect(host.replies.has(polled)).toBe(false);
    host.cancel(polled);
    host.advanceTo(50_000 + limits.stickyPollWindowMs);
    const added = host.ask(add(task('a'), onSticky));
    expect(host.replies.get(added)).toEqual({ kind: 'stickyUnavailable' });
  });

  test('ShutdownWorker drops it at once: polls end, tasks and queries go, later adds are sent away', () => {
    const polls = [
      host.ask(poll('p1', { ...onSticky, workerInstanceKey: 'k' })),
      host.ask(poll('p2', { ...onSticky, workerInstanceKey: 'k' })),
    ];
    host.cancel(polls[0]!);
    const done = host.ask({ kind: 'shutdownWorker', queue: sticky, workerInstanceKey: 'k' });
    expect(host.replies.get(polls[1]!)).toEqual({ kind: 'emptyPoll' });
    expect(host.replies.get(done)).toEqual({ kind: 'done' });
    const added = host.ask(add(task('a'), onSticky));
    expect(host.replies.get(added)).toEqual({ kind: 'stickyUnavailable' });
    const late = host.ask(poll('p3', { ...onSticky, workerInstanceKey: 'k' }));
    expect(host.replies.get(late)).toEqual({ kind: 'emptyPoll' });
    const still = host.ask(add(task('a'), onSticky));
    expect(host.replies.get(still)).toEqual({ kind: 'stickyUnavailable' });
  });

  test('ShutdownWorker of one worker leaves the polls of others on a normal queue', () => {
    const mine = host.ask(poll('p1', { workerInstanceKey: 'k1' }));
    const other = host.ask(poll('p2', { workerInstanceKey: 'k2' }));
    host.ask({ kind: 'shutdownWorker', queue: activities, workerInstanceKey: 'k1' });
    expect(host.replies.get(mine)).toEqual({ kind: 'emptyPoll' });
    expect(host.replies.has(other)).toBe(false);
  });

  test('polls that a worker had sent before ShutdownWorker, and that come behind it, end at once: also on a queue that nobody has used', () => {
    host.ask({ kind: 'shutdownWorker', queue: activities, workerInstanceKey: 'k1' });
    const [late, other, elsewhere] = [
      host.ask(poll('p1', { workerInstanceKey: 'k1' })),
      host.ask(poll('p2', { workerInstanceKey: 'k2' })),
      host.ask(poll('p3', { queue: { ...activities, name: 'other' }, workerInstanceKey: 'k1' })),
    ];
    expect([late, other, elsewhere].map((askId) => host.replies.get(askId))).toEqual([{ kind: 'emptyPoll' }, undefined, undefined]);
    host.advanceTo(host.now + limits.stoppedWorkerMs);
    const again = host.ask(poll('p4', { workerInstanceKey: 'k1', deadlineMs: host.now + 60_000 }));
    expect(host.replies.has(again)).toBe(false);
  });

  test('a poll whose task was taken away by history ends too, and takes no other', () => {
    const polled = host.ask(poll('p1', { workerInstanceKey: 'k1' }));
    host.ask(add(task('a')));
    const [start] = host.takeStarts();
    host.ask({ kind: 'shutdownWorker', queue: activities, workerInstanceKey: 'k1' });
    host.ask(add(task('b')));
    host.ask({ kind: 'taskStartAnswered', correlation: start!.correlation, outcome: { kind: 'obsolete' } });
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
  });

  test('a poll whose start nobody answers ends too, and another worker has its task', () => {
    const [waiting, hung] = [host.ask(poll('p1', { workerInstanceKey: 'k1' })), host.ask(poll('p2', { workerInstanceKey: 'k1' }))];
    host.ask(add(task('a')));
    const [first] = host.takeStarts();
    host.ask({ kind: 'taskStartAnswered', correlation: first!.correlation, outcome: { kind: 'unavailable' } });
    host.ask({ kind: 'shutdownWorker', queue: activities, workerInstanceKey: 'k1' });
    expect([waiting, hung].map((askId) => host.replies.get(askId))).toEqual([{ kind: 'emptyPoll' }, { kind: 'emptyPoll' }]);
    expect(host.takeStarts()).toEqual([]);
    host.ask(poll('p3', { workerInstanceKey: 'k2' }));
    expect(host.takeStarts()).toHaveLength(1);
  });

  test('a poll whose start was under way when its worker stopped ends once history cannot answer', () => {
    const polled = host.ask(poll('p1', { workerInstanceKey: 'k1' }));
    host.ask(add(task('a')));
    const [start] = host.takeStarts();
    host.ask({ kind: 'shutdownWorker', queue: activities, workerInstanceKey: 'k1' });
    expect(host.replies.has(polled)).toBe(false);
    host.ask({ kind: 'taskStartAnswered', correlation: start!.correlation, outcome: { kind: 'unavailable' } });
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
  });

  test('a namespace that stops workers without end forgets its own', () => {
    const few = new Host({ stoppedWorkersPerHostMax: 3 });
    const ofOther = { ...activities, namespaceId: 'other' };
    few.ask({ kind: 'shutdownWorker', queue: ofOther, workerInstanceKey: 'k0' });
    for (let n = 1; n <= 5; n++) few.ask({ kind: 'shutdownWorker', queue: activities, workerInstanceKey: `k${n}` });
    const other = few.ask(poll('p0', { queue: ofOther, workerInstanceKey: 'k0' }));
    expect(few.replies.get(other)).toEqual({ kind: 'emptyPoll' });
    const polls = [1, 2, 3, 4, 5].map((n) => few.ask(poll(`p${n}`, { workerInstanceKey: `k${n}` })));
    const isEmpty = { kind: 'emptyPoll' };
    expect(polls.map((askId) => few.replies.get(askId))).toEqual([undefined, undefined, undefined, isEmpty, isEmpty]);
  });

  test('more workers that stop than are known: the first is forgotten', () => {
    const few = new Host({ stoppedWorkersPerHostMax: 1 });
    for (const workerInstanceKey of ['k1', 'k2']) few.ask({ kind: 'shutdownWorker', queue: activities, workerInstanceKey });
    const polls = ['k1', 'k2'].map((workerInstanceKey) => few.ask(poll(workerInstanceKey, { workerInstanceKey })));
    expect(polls.map((askId) => few.replies.get(askId))).toEqual([undefined, { kind: 'emptyPoll' }]);
  });
});
