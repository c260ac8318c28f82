import { beforeEach, describe, expect, test } from 'vitest';
import { add, Host, poll, query, sticky, task, workflows } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
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
