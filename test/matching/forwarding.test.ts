import { beforeEach, describe, expect, test } from 'vitest';
import type { ForwardTask } from '../../src/matching/matching-effects.ts';
import { matchingLimits as limits } from '../../src/matching/matching-limits.ts';
import type { TaskQueuePartition } from '../../src/kernel/task-queue.ts';
import type { ForwardedPollOutcome, ForwardedTaskOutcome } from '../../src/matching/matching-commands.ts';
import { activities, add, Host, poll, task, type Started } from './fixtures.ts';

const child: TaskQueuePartition = { ...activities, partition: 2 };
const started = (name: string) =>
  ({ kind: 'task', task: { started: name }, origin: task(name), pollRequestId: 'p1', backlogCountHint: 0 }) as const;

let host: Host;
beforeEach(() => {
  host = new Host({ forwardedPollsMax: 1 });
});

function answerForwardedPoll(outcome: ForwardedPollOutcome<Started>): void {
  const [forwarded] = host.takeForwardedPolls();
  host.ask({ kind: 'forwardedPollAnswered', correlation: forwarded!.correlation, outcome });
}

describe('polls of a child partition', () => {
  test('the first waits at the parent, under the same request and deadline; the next here', () => {
    host.ask(poll('p1', { queue: child, maxTasksPerSecond: undefined }));
    host.ask(poll('p2', { queue: child }));
    const forwarded = host.takeForwardedPolls();
    expect(forwarded).toHaveLength(1);
    expect(forwarded[0]?.command).toEqual({ ...poll('p1'), queue: { ...child, partition: 0 }, forwardedFrom: 2 });
    host.ask(add(task('a'), { queue: child }));
    expect(host.takeStarts()[0]).toMatchObject({ pollRequestId: 'p2', queue: child });
  });

  test("the parent's task goes to the caller, and the next poll goes to the parent", () => {
    const polled = host.ask(poll('p1', { queue: child }));
    host.ask(poll('p2', { queue: child }));
    answerForwardedPoll(started('a'));
    expect(host.replies.get(polled)).toEqual(started('a'));
    expect(host.takeForwardedPolls()[0]?.command.pollRequestId).toBe('p2');
  });

  test('when the server stops, one that waits at the parent is answered by it, also when it is not there any more', () => {
    const [away, here] = [host.ask(poll('p1', { queue: child })), host.ask(poll('p2', { queue: child }))];
    host.ask({ kind: 'endPolls' });
    expect(host.replies.get(here)).toEqual({ kind: 'emptyPoll' });
    expect(host.replies.has(away)).toBe(false);
    answerForwardedPoll({ kind: 'unavailable' });
    expect(host.replies.get(away)).toEqual({ kind: 'emptyPoll' });
    host.advanceTo(200_000);
  });

  test('empty at the parent is empty here', () => {
    const polled = host.ask(poll('p1', { queue: child }));
    answerForwardedPoll({ kind: 'emptyPoll' });
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
  });

  test('without an answer it still ends soon after its deadline', () => {
    const polled = host.ask(poll('p1', { queue: child }));
    host.advanceTo(60_000 + 2 * limits.startGraceMs);
    expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
    expect(host.effects.map((effect) => effect.kind)).toContain('cancelForwardedPoll');
  });

  test('with the parent away it waits here, and tries again after a pause', () => {
    host.ask(poll('p1', { queue: child }));
    answerForwardedPoll({ kind: 'unavailable' });
    expect(host.takeForwardedPolls()).toEqual([]);
    host.advanceTo(1_000 + limits.forwardRetryMs);
    expect(host.takeForwardedPolls()).toHaveLength(1);
  });

  test('a task added while the parent is away finds the poll', () => {
    host.ask(poll('p1', { queue: child }));
    answerForwardedPoll({ kind: 'unavailable' });
    host.ask(add(task('a'), { queue: child }));
    expect(host.takeStarts()[0]?.pollRequestId).toBe('p1');
  });

  test('canceled at the parent: the parent learns of it; a task that comes all the same is withdrawn', () => {
    const polled = host.ask(poll('p1', { queue: child }));
    const [forwarded] = host.takeForwardedPolls();
    host.cancel(polled);
    expect(host.effects).toEqual([{ kind: 'cancelForwardedPoll', correlation: forwarded!.correlation }]);
    host.ask({ kind: 'forwardedPollAnswered', correlation: forwarded!.correlation, outcome: started('a') });
    expect(host.takeWithdrawals()).toMatchObject([{ key: task('a').key, scheduledEventId: 5, pollRequestId: 'p1' }]);
    expect(host.replies.has(polled)).toBe(false);
  });

  test('with a rate limit all of them wait at the parent, which alone knows the whole queue', () => {
    host.ask(poll('p1', { queue: child }));
    host.ask(poll('p2', { queue: child }));
    host.ask(poll('p3', { queue: child, maxTasksPerSecond: 5 }));
    expect(host.takeForwardedPolls().map((forwarded) => forwarded.command.pollRequestId)).toEqual(['p1', 'p2', 'p3']);
    host.ask(add(task('a'), { queue: child }));
    expect(host.takeStarts()).toEqual([]);
    expect(host.takeForwardedTasks()).toHaveLength(1);
  });
});

describe('tasks of a child partition', () => {
  test('without a poll here the parent is tried first; taken there, nothing is stored', () => {
    const added = host.ask(add(task('a'), { queue: child }));
    const [forwarded] = host.takeForwardedTasks();
    expect(forwarded?.command).toEqual(add(task('a'), { queue: { ...child, partition: 0 }, forwardedFrom: 2 }));
    expect(host.replies.has(added)).toBe(false);
    host.ask({ kind: 'forwardedTaskAnswered', correlation: forwarded!.correlation, outcome: 'taken' });
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
    expect(host.journal).toEqual([]);
  });

  test.each(['noMatch', 'unavailable'] as const)('%s: stored here, then answered', (outcome) => {
    const added = host.ask(add(task('a'), { queue: child }));
    host.ask({ kind: 'forwardedTaskAnswered', correlation: host.takeForwardedTasks()[0]!.correlation, outcome });
    expect(host.journal).toMatchObject([{ spilled: [{ queue: child, task: task('a') }] }]);
    expect(host.replies.get(added)).toEqual({ kind: 'stored' });
  });

  test('handed back while a poll came here: matched, not stored', () => {
    const added = host.ask(add(task('a'), { queue: child }));
    host.ask(poll('p1', { queue: child }));
    answerForwardedPoll({ kind: 'unavailable' });
    host.ask({ kind: 'forwardedTaskAnswered', correlation: host.takeForwardedTasks()[0]!.correlation, outcome: 'noMatch' });
    expect(host.takeStarts()[0]?.pollRequestId).toBe('p1');
    expect(host.journal).toEqual([]);
    expect(host.replies.has(added)).toBe(false);
  });

  test('stored ones are offered at the parent, and removed once taken there', () => {
    host.ask(add(task('a'), { queue: child }));
    host.ask({ kind: 'forwardedTaskAnswered', correlation: host.takeForwardedTasks()[0]!.correlation, outcome: 'noMatch' });
    const [offered] = host.takeForwardedTasks();
    expect(offered?.command).toMatchObject({ task: task('a'), forwardedFrom: 2, holdUntilMs: 1_000 + limits.offerHoldMs });
    host.ask({ kind: 'forwardedTaskAnswered', correlation: offered!.correlation, outcome: 'taken' });
    host.ask({ kind: 'flushRemovals' });
    expect(host.core.counts().storedTasks).toBe(0);
  });

  test('handed back again: offered again after a pause, or given to a poll here', () => {
    host.ask(add(task('a'), { queue: child }));
    host.ask({ kind: 'forwardedTaskAnswered', correlation: host.takeForwardedTasks()[0]!.correlation, outcome: 'noMatch' });
    host.ask({ kind: 'forwardedTaskAnswered', correlation: host.takeForwardedTasks()[0]!.correlation, outcome: 'noMatch' });
    expect(host.takeForwardedTasks()).toEqual([]);
    host.advanceTo(1_000 + limits.forwardRetryMs);
    expect(host.takeForwardedTasks()).toHaveLength(1);
  });

  test('handed back after a hold of full length: offered again at once, and neither polls nor other tasks wait for a pause', () => {
    const keyed = (nth: number) => task(`t${nth}`, { priority: { priorityKey: 3, fairnessKey: `key-${nth}`, fairnessWeight: 1 } });
    const answer = (offered: ForwardTask) =>
      host.ask({ kind: 'forwardedTaskAnswered', correlation: offered.correlation, outcome: 'noMatch' });
    const held: ForwardTask[] = [];
    for (let nth = 0; nth < 20; nth++) {
      host.ask(add(keyed(nth), { queue: child }));
      answer(host.takeForwardedTasks()[0]!);
      const offered = host.takeForwardedTasks();
      held.push(...offered);
      host.advanceTo(host.now + 100);
    }
    expect(held).toHaveLength(20);
    for (const offered of held) {
      host.advanceTo(offered.command.holdUntilMs + 5);
      answer(offered);
      expect(host.takeForwardedTasks().map(({ command }) => command.task)).toEqual([offered.command.task]);
    }
    host.ask(poll('p1', { queue: child, deadlineMs: host.now + 60_000 }));
    expect(host.takeForwardedTasks()).toEqual([]);
    expect(host.takeStarts()).toHaveLength(0);
    expect(host.takeForwardedPolls()).toHaveLength(1);
  });

  test('one after the other handed back at once: each pause ends when it was to', () => {
    const answerAll = () => {
      for (const { correlation } of host.takeForwardedTasks()) {
        host.advanceTo(host.now + 300);
        host.ask({ kind: 'forwardedTaskAnswered', correlation, outcome: 'noMatch' });
      }
    };
    for (let nth = 0; nth < 8; nth++) host.ask(add(task(`t${nth}`), { queue: child }));
    for (let round = 0; round < 3; round++) answerAll();
    host.advanceTo(host.now + 1);
    expect(host.takeForwardedTasks().length).toBeGreaterThan(0);
  });

  test('refused there: it rests here, and whatever stood behind it is offered; it comes back behind the others', () => {
    const answer = (outcome: ForwardedTaskOutcome): readonly string[] => {
      const forwarded = host.takeForwardedTasks();
      for (const { correlation } of forwarded) host.ask({ kind: 'forwardedTaskAnswered', correlation, outcome });
      return forwarded.map(({ command }) => command.task.key.workflowId);
    };
    host.ask(poll('p', { queue: child, maxTasksPerSecond: 5, deadlineMs: 1_001 }));
    for (let nth = 0; nth < 10; nth++) host.ask(add(task(`t${nth}`), { queue: child }));
    answer('noMatch');
    host.advanceTo(host.now + limits.forwardRetryMs);
    expect(answer('refused')).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7']);
    expect(answer('noMatch')).toEqual(['t8', 't9']);
    host.advanceTo(host.now + limits.forwardRetryMs);
    expect(answer('taken').slice(0, 3)).toEqual(['t8', 't9', 't0']);
  });

  test('after a restart a backlog without polls of its own is offered at the parent', () => {
    host.ask(add(task('a'), { queue: child }));
    host.ask({ kind: 'forwardedTaskAnswered', correlation: host.takeForwardedTasks()[0]!.correlation, outcome: 'noMatch' });
    host.restart();
    expect(host.takeForwardedTasks()[0]?.command.holdUntilMs).toBeGreaterThan(host.now);
  });
});

test('a partition that has a parent and children shows the one what the others have lent it, for no longer than they have', () => {
  const middle = { ...activities, partition: 1 };
  const lent = host.ask(add(task('lent'), { queue: middle, forwardedFrom: 21, holdUntilMs: 5_000 }));
  const [first] = host.takeForwardedTasks();
  expect(first, 'whether it has anything of its own or not').toBeDefined();
  host.ask(add(task('own'), { queue: middle }));
  const shown = [first!, ...host.takeForwardedTasks()];
  expect(shown.map(({ command }) => [command.task.key.workflowId, command.holdUntilMs])).toEqual([
    ['lent', 5_000],
    ['own', 0],
  ]);
  host.advanceTo(5_000);
  expect(host.effects).toEqual([]);
  for (const { correlation } of shown) host.ask({ kind: 'forwardedTaskAnswered', correlation, outcome: 'noMatch' });
  expect(host.replies.get(lent)).toEqual({ kind: 'noMatch', isRefused: false });
});

test('a partition in the middle pauses when its parent hands back at once what it was lent, though not for long', () => {
  const middle = { ...activities, partition: 1 };
  host.ask(add(task('lent'), { queue: middle, forwardedFrom: 21, holdUntilMs: host.now + 20_000 }));
  const [shown] = host.takeForwardedTasks();
  host.ask({ kind: 'forwardedTaskAnswered', correlation: shown!.correlation, outcome: 'noMatch' });
  host.ask(add(task('next'), { queue: middle, forwardedFrom: 21, holdUntilMs: host.now + 20_000 }));
  expect(host.takeForwardedTasks()).toEqual([]);
  host.advanceTo(host.now + limits.forwardRetryMs);
  expect(host.takeForwardedTasks()).toHaveLength(2);
});

test('what children have lent takes no place at the parent for ever', () => {
  const middle = { ...activities, partition: 1 };
  host.ask(poll('p', { queue: middle, maxTasksPerSecond: 5, deadlineMs: 1_001 }));
  for (let round = 0; round < 3; round++) {
    for (let nth = 0; nth < 8; nth++) {
      host.ask(add(task(`lent${round}-${nth}`), { queue: middle, forwardedFrom: 21, holdUntilMs: host.now + 60_000 }));
    }
    host.ask(add(task(`own${round}`), { queue: middle }));
    let shown = 0;
    for (let tasks = host.takeForwardedTasks(); tasks.length > 0; tasks = host.takeForwardedTasks()) {
      for (const { correlation } of tasks) host.ask({ kind: 'forwardedTaskAnswered', correlation, outcome: 'taken' });
      shown += tasks.length;
    }
    expect(shown, `round ${round}`).toBe(9);
  }
});

describe('at the root', () => {
  const fromChild = { forwardedFrom: 2 };

  test('a forwarded task meets a waiting poll', () => {
    host.ask(poll('p1'));
    const added = host.ask(add(task('a'), fromChild));
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(added)).toEqual({ kind: 'done' });
  });

  test('or is handed back at once, never stored', () => {
    const added = host.ask(add(task('a'), fromChild));
    expect(host.replies.get(added)).toEqual({ kind: 'noMatch', isRefused: false });
    expect(host.journal).toEqual([]);
  });

  test('handed back as well when its poll left before the start was known', () => {
    const polled = host.ask(poll('p1'));
    const added = host.ask(add(task('a'), fromChild));
    host.cancel(polled);
    host.answerStart(host.takeStarts()[0]!, { kind: 'unavailable' });
    expect(host.replies.get(added)).toEqual({ kind: 'noMatch', isRefused: false });
    expect(host.journal).toEqual([]);
  });

  test('held until its time is over, in line with the other tasks', () => {
    const held = host.ask(add(task('a'), { ...fromChild, holdUntilMs: 5_000 }));
    host.ask(add(task('b')));
    host.ask(poll('p1'));
    host.ask(poll('p2'));
    expect(host.takeStarts().map((start) => start.task.key.workflowId)).toEqual(['a', 'b']);
    expect(host.replies.has(held)).toBe(false);
    const late = host.ask(add(task('c'), { ...fromChild, holdUntilMs: 5_000 }));
    host.advanceTo(5_000);
    expect(host.replies.get(late)).toEqual({ kind: 'noMatch', isRefused: false });
    host.ask(poll('p3'));
    expect(host.takeStarts()).toEqual([]);
  });

  test('what history alone has rests here when it is refused', () => {
    host.ask(poll('p1'));
    host.ask(add(task('a'), { holdUntilMs: 5_000 }));
    host.answerStart(host.takeStarts()[0]!, { kind: 'refused' });
    host.advanceTo(host.now + limits.restFirstMs);
    expect(host.takeStarts()).toHaveLength(1);
  });

  test('a forwarded poll is answered like any other', () => {
    const polled = host.ask(poll('p1', fromChild));
    host.ask(add(task('a')));
    host.answerStart(host.takeStarts()[0]!);
    expect(host.replies.get(polled)).toMatchObject({ kind: 'task' });
  });
});
