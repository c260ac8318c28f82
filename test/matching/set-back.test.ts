/** A clock that is set back by an hour: whatever waits, waits as long as it would have. */
import { beforeEach, expect, test } from 'vitest';
import { matchingLimits as limits } from '../../src/matching/matching-limits.ts';
import { activities, add, Host, poll, task } from './fixtures.ts';

const hourMs = 3_600_000;
const child = { ...activities, partition: 2 };

let host: Host;
beforeEach(() => {
  host = new Host();
  host.now = 2 * hourMs;
});

/** By an hour; the shell's timer does not know it, and ticks when something had been due. */
function setBack(): void {
  host.now -= hourMs;
  host.ask({ kind: 'tick' });
}

const pollFor = (name: string, waitMs: number, queue = activities) => host.ask(poll(name, { queue, deadlineMs: host.now + waitMs }));

test('a partition asks its parent again', () => {
  pollFor('p1', 60_000, child);
  const [forwarded] = host.takeForwardedPolls();
  host.ask({ kind: 'forwardedPollAnswered', correlation: forwarded!.correlation, outcome: { kind: 'unavailable' } });
  setBack();
  host.advanceTo(host.now + limits.forwardRetryMs);
  expect(host.takeForwardedPolls()).toHaveLength(1);
});

test('a task whose shard did not serve it is offered again', () => {
  host.ask(add(task('a')));
  pollFor('p1', 60_000);
  host.answerStart(host.takeStarts()[0]!, { kind: 'refused' });
  setBack();
  host.advanceTo(host.now + limits.restFirstMs);
  expect(host.takeStarts().map(({ task: { key } }) => key.workflowId)).toEqual(['a']);
});

test('a start that was not answered is asked again', () => {
  host.ask(add(task('a')));
  pollFor('p1', 60_000);
  host.answerStart(host.takeStarts()[0]!, { kind: 'unavailable' });
  setBack();
  host.advanceTo(host.now + limits.startRetryFirstMs);
  expect(host.takeStarts()).toHaveLength(1);
});

test('a poll ends in its time, and not before', () => {
  const polled = pollFor('p1', 60_000);
  setBack();
  host.advanceTo(host.now + 59_999);
  expect(host.replies.has(polled)).toBe(false);
  host.advanceTo(host.now + 1);
  expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
});

test('one whose start is under way waits for it no longer than else', () => {
  host.ask(add(task('a')));
  const polled = pollFor('p1', 60_000);
  expect(host.takeStarts()).toHaveLength(1);
  setBack();
  host.advanceTo(host.now + 60_000 + limits.startGraceMs);
  expect(host.replies.get(polled)).toEqual({ kind: 'emptyPoll' });
});

test('what a child has lent goes back to it', () => {
  const lent = host.ask(add(task('a'), { forwardedFrom: 2, holdUntilMs: host.now + limits.offerHoldMs }));
  setBack();
  host.advanceTo(host.now + limits.offerHoldMs);
  expect(host.replies.get(lent)).toMatchObject({ kind: 'noMatch' });
});

test('a task that is done leaves the journal', () => {
  host.ask(add(task('a')));
  pollFor('p1', 60_000);
  host.answerStart(host.takeStarts()[0]!);
  setBack();
  host.advanceTo(host.now + limits.removalsFlushMs);
  expect(host.journal.flatMap(({ removed }) => removed)).toHaveLength(1);
});

test('a worker that went away before does not count as seen', () => {
  const sticky = { ...activities, kind: 'sticky', type: 'workflow' } as const;
  const polled = host.ask({ ...poll('p1', { queue: sticky, deadlineMs: host.now + 60_000 }), kind: 'pollWorkflowTask' });
  host.cancel(polled);
  setBack();
  host.advanceTo(host.now + limits.stickyPollWindowMs);
  const added = host.ask(add(task('a'), { queue: sticky }));
  expect(host.replies.get(added)).toEqual({ kind: 'stickyUnavailable' });
});

test('a step that is smaller than any of these waits changes nothing', () => {
  const polled = pollFor('p1', 60_000);
  host.now -= limits.clockStepMsMin - 1;
  host.ask({ kind: 'tick' });
  host.advanceTo(host.now + 60_000);
  expect(host.replies.has(polled)).toBe(false);
});
