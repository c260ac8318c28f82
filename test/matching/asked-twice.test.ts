/** An ask that is repeated with equal bytes has happened once. Repeated polls: `polls.test.ts`; what answers a query: `queries.test.ts`. */
import { beforeEach, expect, test } from 'vitest';
import { activities, add, Host, poll, query, sticky, task, workflows } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
});

test('a task that is added twice is stored once, and goes to one poll', () => {
  for (const queue of [activities, workflows]) {
    const added = [1, 2].map(() => host.ask(add(task('a'), { queue })));
    expect(added.map((askId) => host.replies.get(askId))).toEqual([{ kind: 'stored' }, { kind: 'stored' }]);
  }
  expect(host.journal.flatMap(({ spilled }) => spilled)).toHaveLength(2);
  for (const queue of [activities, workflows]) {
    host.ask(poll(`one ${queue.taskType}`, { queue }));
    host.ask(poll(`other ${queue.taskType}`, { queue }));
  }
  expect(host.takeStarts().map(({ pollRequestId }) => pollRequestId)).toEqual(['one activity', 'one workflow']);
});

test('a query that is dispatched twice goes to a worker once, and its answer to who asked last', () => {
  host.cancel(host.ask(poll('p1', { queue: workflows })));
  const first = host.ask(query('q1'));
  const second = host.ask(query('q1'));
  expect(host.replies.get(first)).toMatchObject({ rejection: { reason: 'query-expired' } });
  expect(host.replies.get(host.ask(poll('p2', { queue: workflows })))).toMatchObject({ kind: 'queryTask', queryId: 'q1' });
  const waits = host.ask(poll('p3', { queue: workflows }));
  expect(host.replies.has(waits)).toBe(false);
  const result = { answered: true, answer: new Uint8Array([7]), errorMessage: '', failure: undefined };
  host.ask({ kind: 'answerQuery', queue: workflows, queryId: 'q1', result });
  expect(host.replies.get(second)).toEqual({ kind: 'queryAnswer', result });
});

test('a worker that is shut down twice is shut down', () => {
  const polled = host.ask(poll('p1', { queue: sticky, workerInstanceKey: 'k' }));
  const asked = [1, 2].map(() => host.ask({ kind: 'shutdownWorker', queue: sticky, workerInstanceKey: 'k' }));
  expect(asked.map((askId) => host.replies.get(askId))).toEqual([{ kind: 'done' }, { kind: 'done' }]);
  expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
  const added = host.ask(add(task('a'), { queue: sticky }));
  expect(host.replies.get(added)).toEqual({ kind: 'stickyUnavailable' });
});
