import { beforeEach, describe, expect, test } from 'vitest';
import { matchingLimits as limits } from '../../src/matching/limits.ts';
import { activities, add, Host, poll, query, sticky, task, workflows } from './fixtures.ts';

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
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    const polled = host.ask(poll('p1'));
    const [start] = host.takeStarts();
    host.answerStart(start!);
    expect(host.replies.get(polled)).toMatchObject({ kind: 'task', task: { started: 'a' } });
  });

  test('the commit of a spilled task carries the answer of its add as an effect', () => {
    const handled = host.core.handle(add(task('a')), 1_000, 7);
    expect(handled).toMatchObject({ kind: 'commit', reply: undefined, effects: [{ kind: 'reply', askId: 7, reply: { kind: 'done' } }] });
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
    expect(handled).toEqual({ kind: 'wait', barrier: true, effects: [{ kind: 'reply', askId: 99, reply: { kind: 'done' } }] });
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
});

describe('what history answers to a start', () => {
  test('obsolete: the task is dropped and the poll gets the next one', () => {
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    const polled = host.ask(poll('p1'));
    host.answerStart(host.takeStarts()[0]!, { kind: 'obsolete' });
    const [second] = host.takeStarts();
    expect(second?.task.key.workflowId).toBe('b');
    host.answerStart(second!);
    expect(host.replies.get(polled)).toMatchObject({ task: { started: 'b' } });
  });

  test('obsolete: the poll keeps its place before later ones', () => {
    host.ask(poll('p1'));
    host.ask(poll('p2'));
    const added = host.ask(add(task('a')));
    host.answerStart(host.takeStarts()[0]!, { kind: 'obsolete' });
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    host.ask(add(task('b')));
    expect(host.takeStarts()[0]?.pollRequestId).toBe('p1');
  });

  test('unavailable: asked again for the same poll, less and less often', () => {
    const polled = host.ask(poll('p1'));
    const added = host.ask(add(task('a')));
    const times: number[] = [];
    for (let i = 0; i < 7; i++) {
      const [start] = host.takeStarts();
      expect(start?.pollRequestId).toBe('p1');
      times.push(host.now);
      host.answerStart(start!, { kind: 'unavailable' });
      host.advanceTo(host.core.nextDeadline()!);
    }
    expect(times.map((time, i) => time - (times[i - 1] ?? time))).toEqual([0, 50, 100, 200, 400, 800, 1000]);
    expect(host.replies.has(added)).toBe(false);
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    expect(host.replies.get(polled)).toMatchObject({ kind: 'task' });
  });

  test('unavailable, and the poll ends: the start is withdrawn and the task stored before its add is answered', () => {
    const polled = host.ask(poll('p1', { deadlineMs: 1_030 }));
    const added = host.ask(add(task('a')));
    host.answerStart(host.takeStarts()[0]!, { kind: 'unavailable' });
    host.advanceTo(1_030);
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
    expect(host.takeWithdrawals()).toEqual([
      { kind: 'withdrawActivityStart', historyShard: 1, key: task('a').key, scheduledEventId: 5, pollRequestId: 'p1' },
    ]);
    expect(host.journal).toMatchObject([{ spilled: [{ task: task('a') }] }]);
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
  });

  test('refused: the poll goes to the next task at once, and the refused one is offered again less and less often', () => {
    const dead = host.ask(add(task('dead')));
    const alive = host.ask(add(task('alive')));
    expect([host.replies.get(dead), host.replies.get(alive)]).toEqual([{ kind: 'done' }, { kind: 'done' }]);
    const polled = host.ask(poll('p1', { deadlineMs: 1_000_000 }));
    const times: number[] = [];
    for (let i = 0; i < 9; i++) {
      const [start] = host.takeStarts();
      expect(start?.task).toEqual(task('dead'));
      times.push(host.now);
      host.answerStart(start!, { kind: 'refused' });
      if (i === 0) {
        const [other] = host.takeStarts();
        expect(other).toMatchObject({ task: task('alive'), pollRequestId: 'p1' });
        host.answerStart(other!);
        expect(host.replies.get(polled)).toMatchObject({ task: { started: 'alive' } });
        host.ask(poll('p2', { deadlineMs: 1_000_000 }));
      }
      while (host.core.nextDeadline() !== undefined && host.core.counts().startsUnderWay === 0) host.advanceTo(host.core.nextDeadline()!);
    }
    expect(times.map((time, i) => time - (times[i - 1] ?? time))).toEqual([0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(host.takeWithdrawals()).toEqual([]);
  });

  test('refused: what comes back stands behind what waits, however much there is of both', () => {
    const host = new Host();
    const dead = Array.from({ length: 100 }, (_, at) => `dead-${at}`);
    const alive = Array.from({ length: 100 }, (_, at) => `alive-${at}`);
    for (const name of [...dead, ...alive]) host.ask(add(task(name)));
    host.ask(poll('first'));
    for (const name of dead) {
      const [start] = host.takeStarts();
      expect(start!.task.key.workflowId).toBe(name);
      host.answerStart(start!, { kind: 'refused' });
    }
    host.advanceTo(host.now + 1_000);
    const started = host.takeStarts().map((start) => start.task.key.workflowId);
    for (let at = 1; at < 200; at++) {
      host.ask(poll(`poll-${at}`, { deadlineMs: 600_000 }));
      started.push(...host.takeStarts().map((start) => start.task.key.workflowId));
    }
    expect(started).toEqual([...alive, ...dead]);
  });

  test('refused after a start whose fate is not known: that one is withdrawn', () => {
    host.ask(add(task('a')));
    host.ask(poll('p1'));
    host.answerStart(host.takeStarts()[0]!, { kind: 'unavailable' });
    host.advanceTo(host.core.nextDeadline()!);
    host.answerStart(host.takeStarts()[0]!, { kind: 'refused' });
    expect(host.takeWithdrawals()).toMatchObject([{ kind: 'withdrawActivityStart', pollRequestId: 'p1' }]);
  });

  test('an answer that nobody asked for, or a second one, changes nothing', () => {
    host.ask(poll('p1'));
    host.ask(add(task('a')));
    const [start] = host.takeStarts();
    host.answerStart(start!);
    host.answerStart(start!);
    host.ask({ kind: 'taskStartAnswered', correlation: 12345, outcome: { kind: 'obsolete' } });
    expect(host.effects).toEqual([]);
  });
});

describe('the end of a poll', () => {
  test('a thousand deadlines that pass together are not one turn', () => {
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
    expect(host.journal[1]).toEqual({ kind: 'backlogChanged', timeMs: 2_000, spilled: [], removed: [1] });
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
    expect(host.replies.get(stored)).toEqual({ kind: 'done' });
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

describe('queries', () => {
  const result = { answered: true, answer: new Uint8Array([7]), errorMessage: '', failure: undefined };

  test('no poller lately: refused with the text that clients compare', () => {
    const asked = host.ask(query('q1'));
    expect(host.replies.get(asked)).toEqual({
      kind: 'rejected',
      rejection: { reason: 'no-poller', message: 'no poller seen for task queue recently, worker may be down' },
    });
  });

  test('goes to a waiting poll, whose answer comes back', () => {
    const polled = host.ask(poll('p1', { queue: workflows }));
    const asked = host.ask(query('q1'));
    expect(host.replies.get(polled)).toEqual({
      kind: 'queryTask',
      queryId: 'q1',
      query: new Uint8Array([1, 2]),
      workflow: query('q1').workflow,
      queuePartition: 0,
      sticky: false,
    });
    const answered = host.ask({ kind: 'answerQuery', queue: workflows, queryId: 'q1', result });
    expect(host.replies.get(answered)).toEqual({ kind: 'done' });
    expect(host.replies.get(asked)).toEqual({ kind: 'queryAnswer', result });
    const again = host.ask({ kind: 'answerQuery', queue: workflows, queryId: 'q1', result });
    expect(host.replies.get(again)).toMatchObject({
      rejection: { reason: 'query-not-found', message: 'query task not found, or already expired' },
    });
  });

  test('waits in memory for the next poll, before stored tasks', () => {
    host.cancel(host.ask(poll('p1', { queue: workflows })));
    host.ask(add(task('a'), { queue: workflows }));
    host.ask(query('q1'));
    const polled = host.ask(poll('p2', { queue: workflows }));
    expect(host.replies.get(polled)).toMatchObject({ kind: 'queryTask', queryId: 'q1' });
    expect(host.journal.flatMap((record) => record.spilled)).toHaveLength(1);
  });

  test('an answer that no poll was asked for is refused', () => {
    host.cancel(host.ask(poll('p1', { queue: workflows })));
    const asked = host.ask(query('q1'));
    const forged = host.ask({ kind: 'answerQuery', queue: workflows, queryId: 'q1', result });
    expect(host.replies.get(forged)).toMatchObject({ kind: 'rejected', rejection: { reason: 'query-not-found' } });
    expect(host.replies.has(asked)).toBe(false);
  });

  test('expires at its deadline, taken or not', () => {
    const polled = host.ask(poll('p1', { queue: workflows }));
    const taken = host.ask(query('q1', { deadlineMs: 5_000 }));
    const untaken = host.ask(query('q2', { deadlineMs: 6_000 }));
    expect(host.replies.get(polled)).toMatchObject({ queryId: 'q1' });
    host.advanceTo(5_000);
    expect(host.replies.get(taken)).toMatchObject({ rejection: { reason: 'query-expired' } });
    host.advanceTo(6_000);
    expect(host.replies.get(untaken)).toMatchObject({ rejection: { reason: 'query-expired' } });
  });

  test('a canceled query is given to nobody', () => {
    host.cancel(host.ask(poll('p1', { queue: workflows })));
    host.cancel(host.ask(query('q1')));
    const polled = host.ask(poll('p2', { queue: workflows }));
    expect(host.replies.has(polled)).toBe(false);
  });

  test('a sticky queue without a poll, or shut down, sends it on', () => {
    const first = host.ask(query('q1', { queue: sticky }));
    expect(host.replies.get(first)).toEqual({ kind: 'stickyUnavailable' });
    host.cancel(host.ask(poll('p1', { queue: sticky })));
    const second = host.ask(query('q2', { queue: sticky }));
    expect(host.replies.has(second)).toBe(false);
    host.ask({ kind: 'shutdownWorker', queue: sticky, workerInstanceKey: '' });
    expect(host.replies.get(second)).toEqual({ kind: 'stickyUnavailable' });
  });
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

  test('a rate next to nothing lets one through and then waits, for as long as it takes', () => {
    host.ask(poll('p1', { maxTasksPerSecond: Number.MIN_VALUE }));
    host.ask(poll('p2', { maxTasksPerSecond: Number.MIN_VALUE }));
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    expect(host.takeStarts()).toHaveLength(1);
    host.advanceTo(1_000_000_000);
    expect(host.takeStarts()).toHaveLength(0);
  });

  test('an obsolete task costs no token', () => {
    host.ask(poll('p1', { maxTasksPerSecond: 1 }));
    host.ask(add(task('a')));
    host.ask(add(task('b')));
    host.answerStart(host.takeStarts()[0]!, { kind: 'obsolete' });
    expect(host.takeStarts()[0]?.task.key.workflowId).toBe('b');
  });
});

describe('description and memory', () => {
  test('pollers, newest first, forgotten after five minutes; the backlog', () => {
    const other = host.ask(poll('p1', { identity: 'old', maxTasksPerSecond: 9 }));
    host.cancel(other);
    host.advanceTo(200_000);
    host.ask(poll('p2', { identity: 'new', deadlineMs: 900_000 }));
    host.ask(add(task('a')));
    host.answerStart(host.takeStarts()[0]!);
    host.ask(add(task('b')));
    host.advanceTo(201_000);
    const first = host.ask({ kind: 'describeTaskQueue', queue: activities });
    expect(host.replies.get(first)).toEqual({
      kind: 'taskQueueDescription',
      pollers: [
        { identity: 'new', lastAccessTimeMs: 200_000, ratePerSecond: undefined },
        { identity: 'old', lastAccessTimeMs: 1_000, ratePerSecond: 9 },
      ],
      backlogCountHint: 1,
      backlogAgeMs: 1_000,
      ackLevel: 0,
      readLevel: 1,
      ratePerSecond: 9,
    });
    host.advanceTo(301_001);
    const second = host.ask({ kind: 'describeTaskQueue', queue: activities });
    expect(host.replies.get(second)).toMatchObject({ pollers: [{ identity: 'new' }] });
  });

  test('a description rests on what was read: it waits for the barrier', () => {
    expect(host.core.handle({ kind: 'describeTaskQueue', queue: activities }, 1_000, 1)).toMatchObject({ kind: 'wait', barrier: true });
  });

  test('a queue that nobody uses leaves memory, one with a backlog or a poll stays', () => {
    host.cancel(host.ask(poll('p1', { queue: { ...activities, name: 'idle' } })));
    host.cancel(host.ask(poll('p1', { queue: sticky })));
    host.ask(add(task('s'), { queue: sticky }));
    host.ask(add(task('a')));
    expect(host.core.counts().queues).toBe(3);
    host.advanceTo(2_000 + 2 * limits.queueIdleMs);
    expect(host.core.counts()).toMatchObject({ queues: 1, storedTasks: 1 });
    host.ask(poll('p2', { deadlineMs: 9_000_000 }));
    expect(host.takeStarts()).toHaveLength(1);
  });
});

describe('a bug of ours', () => {
  const other = { ...activities, name: 'others' };

  /** A command that throws when one of its fields is read, once it is armed. */
  function trap<Command extends object>(command: Command, field: keyof Command): { readonly command: Command; armed: boolean } {
    const trapped = { command: { ...command }, armed: false };
    Object.defineProperty(trapped.command, field, {
      get(): unknown {
        if (trapped.armed) throw new RangeError('planted');
        return command[field];
      },
    });
    return trapped;
  }

  test('that meets a command fails it alone', () => {
    const waiting = host.ask(poll('p1', { queue: other }));
    const trapped = trap(poll('p2'), 'deadlineMs');
    trapped.armed = true;
    const broken = host.ask(trapped.command);
    expect(host.effects).toEqual([
      { kind: 'broken', askId: broken, what: 'pollActivityTask', queue: activities, error: expect.any(RangeError) },
    ]);
    host.ask(add(task('a'), { queue: other }));
    const [start] = host.takeStarts();
    host.answerStart(start!);
    expect(host.replies.get(waiting)).toMatchObject({ kind: 'task' });
  });

  test('that meets a poll half way leaves no poll behind that a task could be lost to', () => {
    const trapped = trap(poll('p1'), 'pollRequestId');
    const armedLate = { ...activities };
    Object.defineProperty(trapped.command, 'identity', {
      get() {
        // Read after the poll was taken in.
        trapped.armed = true;
        return 'worker-1';
      },
    });
    Object.defineProperty(trapped.command, 'queue', { value: armedLate });
    host.ask(trapped.command);
    expect(host.effects.map(({ kind }) => kind)).toContain('broken');
    host.effects = [];
    const added = host.ask(add(task('a')));
    expect(host.takeStarts()).toEqual([]);
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    expect(host.journal).toHaveLength(1);
  });

  test('that meets the answer to a start leaves its task to be offered again', () => {
    const trapped = trap(task('a'), 'key');
    host.ask(add(trapped.command));
    const first = host.ask(poll('p1', { deadlineMs: 30_000 }));
    const [start] = host.takeStarts();
    trapped.armed = true;
    host.answerStart(start!, { kind: 'obsolete' });
    expect(host.effects).toMatchObject([{ kind: 'broken', what: 'taskStartAnswered' }]);
    trapped.armed = false;
    host.advanceTo(40_000);
    expect(host.replies.get(first)).toEqual({ kind: 'emptyPoll' });
    const second = host.ask(poll('p2', { deadlineMs: 60_000 }));
    const [again] = host.takeStarts();
    expect(again).toMatchObject({ pollRequestId: 'p2' });
    host.answerStart(again!);
    expect(host.replies.get(second)).toMatchObject({ kind: 'task' });
  });

  test('that meets one queue when its time has come does not stop the others', () => {
    const trapped = trap(poll('p1', { deadlineMs: 5_000 }), 'identity');
    host.ask(trapped.command);
    const sound = host.ask(poll('p2', { queue: other, deadlineMs: 5_001 }));
    trapped.armed = true;
    host.advanceTo(6_000);
    expect(host.effects).toMatchObject([{ kind: 'broken', askId: 0, what: 'poll', queue: activities }]);
    expect(host.replies.get(sound)).toEqual({ kind: 'emptyPoll' });
    host.advanceTo(100_000);
    expect(host.effects, 'said once').toHaveLength(1);
  });
});
