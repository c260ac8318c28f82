/** The runner of a job beside a queue that answers as the test says. */
import { expect, test } from 'vitest';
import type { Asker, DeadLetterAnswer } from '../../../src/actors/asks/router.ts';
import { JobRunner } from '../../../src/actors/deadletters/jobs/jobs-runner.ts';
import type { DeadLetterRequest } from '../../../src/deadletters/letter-commands.ts';
import { JobsCore } from '../../../src/deadletters/jobs/jobs-core.ts';
import type { JobEntry, JobsCommand } from '../../../src/deadletters/jobs/job.ts';
import { letterRow } from '../../../src/deadletters/letter-records.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { planOf, queue as aQueue } from '../../deadletters/jobs/plans.ts';
import { turns } from '../../support/event-loop.ts';
import { HandClock } from '../../support/hand-clock.ts';

const PLAN_ID = 'undo';

/** A job that restores message 0, and what it tells. */
function restoring(clock: HandClock, answerTo: (request: DeadLetterRequest) => unknown) {
  const core = new JobsCore({ requiresReason: false });
  let runner: JobRunner | undefined;
  const handle = (command: JobsCommand): void => {
    const decided = core.handle(command, clock.wallMs(), 1);
    core.accept(decided);
    for (const effect of decided.effects) if (effect.kind === 'jobChanged') changed(effect.entry);
  };
  const asker: Pick<Asker, 'askDeadLetters'> = {
    askDeadLetters: (_queue, request, _context, onAnswer) => {
      clock.soon(() => onAnswer(answerTo(request) as DeadLetterAnswer<typeof request>));
      return 0;
    },
  };
  const changed = (entry: JobEntry): void => {
    if (runner !== undefined) return entry.job.endTimeMs === undefined ? runner.changed(entry) : runner.stop();
    runner = new JobRunner(entry, { asker, clock, lettersPerStepMax: () => 100, isActive: () => true, tell: handle });
  };
  const { kind: _, selection: __, ...plan } = planOf({ operation: 'restore' });
  const ids = [{ from: 0, to: 0 }];
  handle({
    kind: 'storePlan',
    askId: 1,
    plan: { ...plan, queue: { ...aQueue, incarnation: 1 }, planId: PLAN_ID, hash: 'h', requestHash: 'r', ids, selected: 1, causes: [] },
  });
  handle({ kind: 'applyPlan', planId: PLAN_ID, hash: 'h' });
  return () => core.state.job(PLAN_ID)?.job;
}

function listed(jobId: string | undefined) {
  if (jobId === undefined) return { kind: 'letters', letters: [], isLast: true };
  const letter = { ...letterOf(1, 1), jobId };
  const row = letterRow({ kind: 'letter', timeMs: 0, messageId: 0, letter }, { sourceCluster: 'active', offset: 0 });
  return { kind: 'letters', letters: [{ row, content: { value: letter.task.value, headers: [], letter, problem: '' } }], isLast: true };
}

test.each([
  { by: 'the job itself, by a step that nobody answered', inQueueFor: PLAN_ID, counted: 'restored' },
  { by: 'another job before', inQueueFor: 'another', counted: 'gone' },
  { by: 'nobody: it was merged', inQueueFor: undefined, counted: 'gone' },
])('a dead letter that is not to be restored any more is counted as what it is: restored by $by', async ({ inQueueFor, counted }) => {
  const clock = new HandClock();
  let steps = 0;
  const job = restoring(clock, ({ kind }) => {
    if (kind === 'listLetters') return listed(steps < 2 ? undefined : inQueueFor);
    if (kind !== 'restoreLetters') return { kind: 'done' };
    steps += 1;
    return steps === 1 ? { kind: 'deadline', message: 'too late' } : { kind: 'restored', ids: [], lost: [] };
  });
  for (let passed = 0; passed < 10_000 && job()?.endTimeMs === undefined; passed += 10) {
    clock.advance(10);
    await turns(4);
  }
  expect(job()).toMatchObject({ state: 'completed', counts: { selected: 1, [counted]: 1, notTried: 0 } });
  expect(steps).toBe(2);
});
