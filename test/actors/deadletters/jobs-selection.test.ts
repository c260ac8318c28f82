/** Plans that are made of what a queue answers. */
import { expect, test } from 'vitest';
import { type AskQueue, selectLetters } from '../../../src/actors/deadletters/jobs/jobs-selection.ts';
import { JobsCore } from '../../../src/deadletters/jobs/jobs-core.ts';
import type { DeadLetterReply, DeadLetterRequest } from '../../../src/deadletters/letter-commands.ts';
import { planOf } from '../../deadletters/jobs/plans.ts';

test('two purges over the same ids are undone each by its own job, also when the same caller asks for both at once', async () => {
  const core = new JobsCore({ requiresReason: false });
  const undo = async (planId: string, purgedBy: string, ids: readonly number[]): Promise<unknown> => {
    const found: DeadLetterReply = { kind: 'purgedFound', ids, lost: [] };
    const counted = { kind: 'counted', incarnation: 0 };
    const ask = ((asked: DeadLetterRequest) => Promise.resolve(asked.kind === 'countLetters' ? counted : found)) as unknown as AskQueue;
    const selection = { ids: [{ from: 0, to: 9 }], condition: undefined, purgedBy };
    const plan = await selectLetters(planOf({ operation: 'restore', selection }), {
      planId,
      sha256: (text) => text,
      ask,
      isAmongOthers: false,
    });
    core.accept(core.handle({ kind: 'storePlan', askId: 1, plan }, 0, 1));
    const applied = core.handle({ kind: 'applyPlan', planId, hash: plan.hash, isDirect: true }, 0, 2);
    core.accept(applied);
    return applied.kind === 'wait' ? undefined : applied.reply;
  };
  expect(await undo('undo-1', 'one', [0, 1, 2])).toMatchObject({ kind: 'job', job: { jobId: 'undo-1', counts: { selected: 3 } } });
  expect(await undo('undo-2', 'another', [3, 4])).toMatchObject({ kind: 'job', job: { jobId: 'undo-2', counts: { selected: 2 } } });
  expect(await undo('undo-3', 'another', [4]), 'the same again').toMatchObject({ kind: 'job', job: { jobId: 'undo-2' } });
});
