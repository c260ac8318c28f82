/** Task queues of a namespace whose workflows are gone, at a host that answers, or does not any more. */
import { expect, test } from 'vitest';
import { drainQueues } from '../../../src/actors/cluster/drained-queues.ts';
import { Router } from '../../../src/actors/asks/router.ts';
import { systemClock } from '../../../src/ports/system-ports.ts';
import type { TaskQueuePartition } from '../../../src/kernel/task-queue.ts';
import type { MatchingRequest } from '../../../src/matching/matching-commands.ts';
import type { MatchingReply } from '../../../src/matching/matching-replies.ts';
import { turns } from '../../support/event-loop.ts';
import { HandClock } from '../../support/hand-clock.ts';

function queueOf(nth: number): TaskQueuePartition {
  return { namespaceId: 'a', name: `q${nth}`, taskType: 'workflow', partition: 0, kind: 'normal' };
}

/** `answer`: what the one host says; undefined: nothing, ever. */
function draining(answer: (request: MatchingRequest) => MatchingReply<never> | undefined, drainMs = 60_000) {
  const clock = new HandClock();
  const router = new Router(clock);
  const sink = router.matching.sink(0);
  router.matching.attach(0, {
    submit: (askId, request) => {
      const reply = answer(request);
      if (reply !== undefined) systemClock.soon(() => sink.answer(askId, reply));
      return undefined;
    },
    cancel: () => {},
  });
  const begunMs = clock.monoMs();
  const options = { matchingPartitions: 1, asker: router, clock, hostOf: () => 0, newId: () => 'new' };
  const isDrained = drainQueues('a', { ...options, isOver: () => clock.monoMs() - begunMs >= drainMs });
  return { clock, isDrained, passedMs: () => clock.monoMs() - begunMs };
}

test('polls each queue until none of its tasks is left, and counts that queue alone', async () => {
  const stored = new Map(Array.from({ length: 40 }, (_, nth) => [`q${nth}`, 3]));
  const counted: number[] = [];
  const { isDrained } = draining((request) => {
    if (request.kind === 'listStoredQueues') {
      const names = request.only === undefined ? [...stored.keys()] : [request.only.name];
      counted.push(names.length);
      return {
        kind: 'storedQueues',
        queues: names.map((name) => ({ queue: queueOf(Number(name.slice(1))), stored: stored.get(name) ?? 0 })),
      };
    }
    if (request.kind !== 'pollWorkflowTask') throw new Error(`nothing is ${request.kind}`);
    stored.set(request.queue.name, (stored.get(request.queue.name) ?? 0) - 1);
    return { kind: 'emptyPoll' };
  });
  expect(await isDrained).toBe(true);
  expect([...stored.values()].every((left) => left === 0)).toBe(true);
  expect(counted).toEqual([40, ...Array<number>(120).fill(1)]);
});

test('a host that falls silent when it has listed its queues takes no longer than there is time', async () => {
  let lists = 0;
  const queues = Array.from({ length: 320 }, (_, nth) => ({ queue: queueOf(nth), stored: 1 }));
  const { clock, isDrained, passedMs } = draining((request) =>
    request.kind === 'listStoredQueues' && ++lists === 1 ? { kind: 'storedQueues', queues } : undefined,
  );
  let isOver = false;
  void isDrained.then(() => (isOver = true));
  for (await turns(5); !isOver && passedMs() < 600_000; await turns(3)) clock.advance(1_000);
  expect(await isDrained).toBe(false);
  // An answer that was waited for when the time was over is waited for to its end.
  expect(passedMs()).toBeLessThanOrEqual(91_000);
});
