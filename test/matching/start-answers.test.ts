import { beforeEach, describe, expect, test } from 'vitest';
import { add, Host, poll, task } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
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
    expect(host.replies.get(added)).toEqual({ kind: 'stored' });
  });

  test('refused: the poll goes to the next task at once, and the refused one is offered again less and less often', () => {
    const dead = host.ask(add(task('dead')));
    const alive = host.ask(add(task('alive')));
    expect([host.replies.get(dead), host.replies.get(alive)]).toEqual([{ kind: 'stored' }, { kind: 'stored' }]);
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

  test('refused, and not stored: it is stored, so that history need not offer it again and again', () => {
    host.ask(poll('p1', { deadlineMs: 1_000_000 }));
    const answers: unknown[] = [];
    for (let round = 0; round < 10; round++) {
      const added = host.ask(add(task('a')));
      for (const start of host.takeStarts()) host.answerStart(start, { kind: 'refused' });
      answers.push(host.replies.get(added));
      host.advanceTo(host.now + 10_000);
    }
    expect(answers).toEqual(Array.from({ length: 10 }, () => ({ kind: 'stored' })));
    expect(host.core.counts()).toMatchObject({ storedTasks: 1, startsUnderWay: 1 });
    const [start, ...copies] = host.takeStarts();
    expect(copies).toEqual([]);
    host.answerStart(start!);
    host.advanceTo(host.now + 60_000);
    expect([host.takeStarts(), host.core.counts().storedTasks]).toEqual([[], 0]);
  });

  test('refused, and of a child partition: it goes back there at once, held here or not', () => {
    host.ask(poll('p1'));
    const added = host.ask(add(task('a'), { forwardedFrom: 1 }));
    const held = host.ask(add(task('b'), { forwardedFrom: 1, holdUntilMs: host.now + 5_000 }));
    for (const _ of [added, held]) host.answerStart(host.takeStarts()[0]!, { kind: 'refused' });
    const refused = { kind: 'noMatch', isRefused: true };
    expect([host.replies.get(added), host.replies.get(held)]).toEqual([refused, refused]);
    host.advanceTo(host.now + 10_000);
    expect([host.journal, host.takeStarts()]).toEqual([[], []]);
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
