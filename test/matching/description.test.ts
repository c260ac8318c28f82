/** What a host says of a queue: by priority, and how fast tasks come and go. */
import { expect, test } from 'vitest';
import type { TaskQueueDescription } from '../../src/matching/matching-replies.ts';
import { activities, add, Host, poll, task } from './fixtures.ts';

function described(host: Host, queue = activities): TaskQueueDescription {
  const reply = host.replies.get(host.ask({ kind: 'describeTaskQueue', queue }));
  if (reply?.kind !== 'taskQueueDescription') throw new Error(`it answers ${reply?.kind}`);
  return reply;
}

const early = { priority: { priorityKey: 1, fairnessKey: '', fairnessWeight: 0 } };

function startAll(host: Host): void {
  for (const start of host.takeStarts()) host.answerStart(start);
}

test('a queue that nobody has used has the priority of those that set none', () => {
  expect(described(new Host()).levels).toEqual([{ priorityKey: 3, backlogCount: 0, backlogAgeMs: 0, addRate: 0, dispatchRate: 0 }]);
});

test('each priority has its backlog, its age, and its rates over the last 30 s', () => {
  const host = new Host();
  for (let nth = 0; nth < 30; nth++) host.ask(add(task(`a${nth}`)));
  host.advanceTo(host.now + 4_000);
  for (let nth = 0; nth < 10; nth++) host.ask(add(task(`b${nth}`, early)));
  for (let nth = 0; nth < 15; nth++) host.ask(poll(`p${nth}`));
  startAll(host);
  host.advanceTo(host.now + 6_000);
  const levels = [
    { priorityKey: 1, backlogCount: 0, backlogAgeMs: 0, addRate: 10 / 6, dispatchRate: 10 / 6 },
    { priorityKey: 3, backlogCount: 25, backlogAgeMs: 10_000, addRate: 3, dispatchRate: 5 / 10 },
  ];
  expect(described(host)).toMatchObject({ backlogCountHint: 25, levels });
  host.advanceTo(host.now + 40_000);
  expect(described(host).levels.map(({ addRate, dispatchRate }) => addRate + dispatchRate)).toEqual([0, 0]);
});

test('what is over counts no more, also before its removal is journaled', () => {
  const host = new Host();
  host.ask(add(task('a', early)));
  host.ask(poll('p'));
  startAll(host);
  expect(host.core.storedTasks, 'of the journal').toBe(1);
  host.ask(add(task('b', early)));
  host.ask(poll('q'));
  const [start] = host.takeStarts();
  host.answerStart(start!);
  expect(described(host)).toMatchObject({ backlogCountHint: 0, levels: [{ backlogCount: 0 }, { priorityKey: 3, backlogCount: 0 }] });
});

test('what a child lends is counted there, when it comes and when its parent has given it out', () => {
  const host = new Host();
  const child = { ...activities, partition: 1 };
  host.ask(add(task('a'), { queue: child }));
  const [forwarded] = host.takeForwardedTasks();
  host.ask(forwarded!.command);
  expect(described(host).levels[0]).toMatchObject({ addRate: 0 });
  host.ask({ kind: 'forwardedTaskAnswered', correlation: forwarded!.correlation, outcome: 'taken' });
  expect(described(host, child).levels).toMatchObject([{ addRate: 1, dispatchRate: 1 }]);
});

test('it says for a while that a rate limit has held something up', () => {
  const host = new Host();
  for (const name of ['a', 'b']) host.ask(poll(name, { maxTasksPerSecond: 1 }));
  expect(described(host).isRateLimited).toBe(false);
  for (const name of ['a', 'b']) host.ask(add(task(name)));
  expect(described(host).isRateLimited).toBe(true);
  startAll(host);
  host.advanceTo(host.now + 40_000);
  expect(described(host)).toMatchObject({ isRateLimited: false, ratePerSecond: 1 });
});
