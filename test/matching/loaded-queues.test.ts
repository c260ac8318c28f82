import { beforeEach, describe, expect, test } from 'vitest';
import { matchingLimits as limits } from '../../src/matching/matching-limits.ts';
import { activities, add, Host, poll, sticky, task } from './fixtures.ts';

const tooMany = { kind: 'rejected', rejection: { reason: 'too-many-queues' } };
const room = 6;

function named(name: string, namespaceId = 'ns'): typeof activities {
  return { ...activities, name, namespaceId };
}

/** A poll that has come and gone: its queue stays in memory for a while. */
function leaveIdle(host: Host, name: string, namespaceId?: string): void {
  host.cancel(host.ask(poll(name, { queue: named(name, namespaceId) })));
}

describe('a host with as many queues as it may hold', () => {
  test('lets the longest unused idle one go for a new name', () => {
    const host = new Host({ queuesPerHostMax: room });
    for (let index = 0; index < 1_000; index++) {
      leaveIdle(host, `made-up-${index}`);
      expect(host.core.counts().queues).toBeLessThanOrEqual(room);
    }
    const polled = host.ask(poll('p', { queue: named('orders') }));
    host.ask(add(task('a'), { queue: named('orders') }));
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(polled)).toMatchObject({ kind: 'task' });
  });

  test('keeps the pollers of a queue that is used, whatever names come and go', () => {
    const host = new Host({ queuesPerHostMax: room });
    for (let index = 0; index < 20; index++) {
      leaveIdle(host, 'used');
      leaveIdle(host, `made-up-${index}`);
    }
    const described = host.ask({ kind: 'describeTaskQueue', queue: named('used') });
    expect(host.replies.get(described)).toMatchObject({ pollers: [{ identity: 'worker-1' }] });
  });

  test('never lets go of polls, tasks or starts under way', () => {
    const host = new Host({ queuesPerHostMax: room });
    const waiting = host.ask(poll('waiting', { queue: named('waiting') }));
    host.ask(add(task('stored'), { queue: named('stored') }));
    const starting = host.ask(poll('starting', { queue: named('starting') }));
    host.ask(add(task('starting'), { queue: named('starting') }));
    for (let index = 0; index < 50; index++) leaveIdle(host, `made-up-${index}`);

    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(starting)).toMatchObject({ kind: 'task', task: { started: 'starting' } });
    host.ask(add(task('late'), { queue: named('waiting') }));
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(waiting)).toMatchObject({ kind: 'task', task: { started: 'late' } });
    const found = host.ask(poll('found', { queue: named('stored') }));
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(found)).toMatchObject({ kind: 'task', task: { started: 'stored' } });
  });

  test('finds the idle one behind more busy ones than a request looks at', () => {
    const host = new Host({ queuesPerHostMax: room, evictionLooksMax: 2 });
    for (let index = 0; index < room - 1; index++) host.ask(poll(`busy-${index}`, { queue: named(`busy-${index}`) }));
    leaveIdle(host, 'idle');
    const answers = Array.from({ length: 3 }, (_, index) => host.replies.get(host.ask(poll(`new-${index}`, { queue: named('new') }))));
    expect(answers).toMatchObject([tooMany, tooMany, undefined]);
    expect(host.core.counts()).toMatchObject({ queues: room, polls: room });
  });
});

describe('a namespace that keeps every queue of a host busy', () => {
  test.each(['polls', 'tasks'] as const)('with %s gets no more, and every other one its even share', (what) => {
    const host = new Host({ queuesPerHostMax: room });
    const fill = (namespaceId: string, name: string): unknown => {
      const queue = named(name, namespaceId);
      const unique = `${namespaceId}-${name}`;
      return host.replies.get(host.ask(what === 'polls' ? poll(unique, { queue }) : add(task(unique), { queue })));
    };
    for (let index = 0; index < 20; index++) fill('greedy', `q${index}`);
    expect(host.core.counts().queues).toBe(room);
    expect(fill('greedy', 'one-more')).toMatchObject(tooMany);

    for (const [namespaceId, share] of [
      ['second', room / 2],
      ['third', room / 3],
    ] as const) {
      for (let index = 0; index < share; index++) expect(fill(namespaceId, `q${index}`)).not.toMatchObject(tooMany);
      expect(fill(namespaceId, 'one-more')).toMatchObject(tooMany);
    }
    expect(fill('greedy', 'one-more')).toMatchObject(tooMany);
    expect(host.core.counts().queues).toBe(room + room / 2 + room / 3);
  });

  test('does not keep the memory when its polls end', () => {
    const host = new Host({ queuesPerHostMax: room });
    for (let index = 0; index < room; index++) host.ask(poll(`p${index}`, { queue: named(`q${index}`, 'greedy'), deadlineMs: 5_000 }));
    for (let index = 0; index < 3; index++) host.ask(poll(`s${index}`, { queue: named(`q${index}`, 'second'), deadlineMs: 60_000 }));
    expect(host.core.counts().queues).toBe(room + 3);
    host.advanceTo(6_000);
    host.ask(poll('s3', { queue: named('q3', 'second'), deadlineMs: 60_000 }));
    expect(host.core.counts()).toMatchObject({ queues: room, polls: 4 });
  });
});

describe('a takeover with a large backlog', () => {
  /** How many turns the new owner needs until nothing is due any more. */
  function turns(host: Host): number {
    let count = 0;
    for (; (host.core.nextDeadline() ?? Infinity) <= host.now; count++) host.ask({ kind: 'tick' });
    return count;
  }

  function describeBacklog(host: Host, name = 'orders'): unknown {
    return host.replies.get(host.ask({ kind: 'describeTaskQueue', queue: named(name) }));
  }

  function started(host: Host): readonly string[] {
    return host.takeStarts().map((start) => start.task.key.workflowId);
  }

  function withBacklog(count: number, queues = ['orders']): Host {
    const host = new Host({ storedTasksPerTurnMax: 10 });
    for (let index = 0; index < count; index++) {
      for (const name of queues) host.ask(add(task(`${name}-${index}`), { queue: named(name) }));
    }
    host.restart();
    return host;
  }

  test('loads many queues a few at a time, and all of them', () => {
    const names = Array.from({ length: 100 }, (_, index) => `q${index}`);
    const host = withBacklog(1, names);
    expect(host.core.counts().queues).toBe(10);
    expect(turns(host)).toBe(10);
    for (const name of names) {
      host.ask(poll(name, { queue: named(name) }));
      expect(started(host)).toEqual([`${name}-0`]);
    }
  });

  test('what history offers again at the same time is not stored twice', () => {
    const host = withBacklog(100);
    const journaled = host.journal.length;
    for (let index = 0; index < 100; index++) {
      expect(host.replies.get(host.ask(add(task(`orders-${index}`))))).toEqual({ kind: 'stored' });
    }
    expect(host.journal).toHaveLength(journaled);
    expect(describeBacklog(host)).toMatchObject({ backlogCountHint: 100 });
  });

  test('serves polls meanwhile, in the order of the backlog; what is offered meanwhile comes behind it', () => {
    const host = withBacklog(100);
    host.ask(add(task('new')));
    for (let index = 0; index < 50; index++) {
      host.ask(poll(`p${index}`));
      expect(started(host)).toEqual([`orders-${index}`]);
    }
    host.ask(add(task('newer')));
    turns(host);
    for (let index = 50; index < 100; index++) host.ask(poll(`p${index}`));
    expect(started(host)).toEqual(Array.from({ length: 50 }, (_, index) => `orders-${index + 50}`));
    host.ask(poll('last'));
    host.ask(poll('very last'));
    expect(started(host)).toEqual(['new', 'newer']);
  });

  test('finds work for a poll of a queue whose turn has not come', () => {
    const host = withBacklog(100, ['orders', 'other']);
    host.ask(poll('p', { queue: named('other') }));
    expect(started(host)).toEqual(['other-0']);
  });

  test('describes all of it at once', () => {
    const host = withBacklog(100, ['orders', 'other']);
    host.now += 500;
    for (const [name, ackLevel] of [
      ['orders', 0],
      ['other', 1],
    ] as const) {
      expect(describeBacklog(host, name)).toMatchObject({ backlogCountHint: 100, backlogAgeMs: 500, ackLevel, readLevel: 200 });
    }
    host.ask(add(task('new')));
    for (let index = 0; index < 30; index++) {
      host.ask(poll(`p${index}`));
      host.answerStart(host.takeStarts()[0]!);
    }
    expect(describeBacklog(host)).toMatchObject({ backlogCountHint: 71, backlogAgeMs: 500, ackLevel: 60, readLevel: 201 });
  });

  test('a takeover in the middle loses nothing and offers nothing twice', () => {
    const host = withBacklog(30);
    host.ask(poll('p'));
    host.answerStart(host.takeStarts()[0]!);
    host.ask(add(task('new')));
    host.restart();
    turns(host);
    for (let index = 0; index < 31; index++) host.ask(poll(`p${index}`));
    expect(started(host)).toEqual([...Array.from({ length: 29 }, (_, index) => `orders-${index + 1}`), 'new']);
  });

  test('the limit of a queue counts what is not loaded yet', () => {
    const full = new Host({ storedTasksPerTurnMax: 10, storedTasksPerQueueMax: 100 });
    for (let index = 0; index < 100; index++) full.ask(add(task(`t${index}`)));
    full.restart();
    expect(full.replies.get(full.ask(add(task('more'))))).toMatchObject({ rejection: { reason: 'backlog-full' } });
  });

  test('a child partition offers the oldest at its parent, and then the next ones', () => {
    const child = { ...activities, partition: 1 };
    const host = new Host({ storedTasksPerTurnMax: 2, forwardedAddsMax: 0 });
    for (let index = 0; index < 20; index++) host.ask(add(task(`t${index}`), { queue: child }));
    host.restart();
    const offered = host.takeForwardedTasks();
    expect(offered.map(({ command }) => command.task.key.workflowId)).toEqual(Array.from({ length: 8 }, (_, index) => `t${index}`));
    host.ask({ kind: 'forwardedTaskAnswered', correlation: offered[0]!.correlation, outcome: 'taken' });
    expect(host.takeForwardedTasks().map(({ command }) => command.task.key.workflowId)).toEqual(['t8']);
  });
});

test('a host of other limits keeps them, and its refusals name them', () => {
  const host = new Host({ queuesPerHostMax: 1, pollsPerQueueMax: 2, pollersPerQueueMax: 1 });
  const asked = ['a', 'b', 'c'].map((name) => host.ask(poll(name, { identity: name })));
  expect(host.replies.get(asked[2]!)).toMatchObject({ rejection: { message: 'task queue partition has 2 open polls, its limit' } });
  const refused = host.replies.get(host.ask(poll('d', { queue: named('other') })));
  expect(refused).toMatchObject({ rejection: { message: 'matching host has 1 task queue partitions in use, its limit' } });
  const described = host.ask({ kind: 'describeTaskQueue', queue: activities });
  expect(host.replies.get(described)).toMatchObject({ pollers: [{ identity: 'b' }] });
});

describe('description and memory', () => {
  let host: Host;
  beforeEach(() => {
    host = new Host();
  });

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
      isRateLimited: false,
      levels: [{ priorityKey: 3, backlogCount: 1, backlogAgeMs: 1_000, addRate: 2, dispatchRate: 1 }],
    });
    host.advanceTo(301_001);
    const second = host.ask({ kind: 'describeTaskQueue', queue: activities });
    expect(host.replies.get(second)).toMatchObject({ pollers: [{ identity: 'new' }] });
  });

  test('a description rests on what was read: it waits for the barrier', () => {
    expect(host.core.handle({ kind: 'describeTaskQueue', queue: activities }, 1_000, 1)).toMatchObject({ kind: 'wait', barrier: true });
  });

  test('one turn of a takeover brings no more lanes into memory than it may, however many a queue has', () => {
    const host = new Host({ storedTasksPerTurnMax: 10 });
    for (const name of ['one', 'two', 'three']) {
      for (let nth = 0; nth < 20; nth++) {
        const priority = { priorityKey: 3, fairnessKey: `key-${nth}`, fairnessWeight: 1 };
        host.ask(add(task(`${name}-${nth}`, { priority }), { queue: named(name) }));
      }
    }
    host.restart();
    expect(host.core.counts().queues).toBe(1);
    host.advanceTo(host.now + 1);
    expect(host.core.counts().queues).toBe(3);
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
