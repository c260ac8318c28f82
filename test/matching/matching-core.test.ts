import { beforeEach, describe, expect, test } from 'vitest';
import { activities, add, Host, poll, task } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
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
    expect(host.replies.get(added)).toEqual({ kind: 'stored' });
    expect(host.journal).toHaveLength(1);
  });

  test('that meets the answer to a start leaves its task to be offered again', () => {
    const trapped = trap({ kind: 'started', task: { started: 'a' } } as const, 'task');
    host.ask(add(task('a')));
    const first = host.ask(poll('p1', { deadlineMs: 30_000 }));
    const [start] = host.takeStarts();
    trapped.armed = true;
    host.answerStart(start!, trapped.command);
    expect(host.effects).toMatchObject([{ kind: 'withdrawActivityStart' }, { kind: 'broken', what: 'taskStartAnswered' }]);
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
