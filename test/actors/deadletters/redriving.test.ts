/**
 * Dead letters are merged while their queue and their shard die at any moment: each generation is executed once, no id is lost, and all are merged
 * in the end.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { letterIds, type Plant, RedrivingWorld, type Step } from './redriving-world.ts';

const id = fc.constantFrom(...letterIds);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('merge' as const), id }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('succeed' as const, 'fail' as const, 'lose' as const), id }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('commit' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('crashShard' as const, 'takeOver' as const, 'answerIsLost' as const, 'pass' as const) }),
  },
);

async function run(steps: readonly Step[], plant?: Plant): Promise<void> {
  const world = new RedrivingWorld(plant);
  await world.begin();
  for (const each of steps) await world.run(each);
  await world.settle();
}

test('whatever happens to both, in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), (steps) => run(steps)),
    { numRuns: 30 },
  );
}, 120_000);

const merge = { do: 'merge', id: 0 } as const;
const succeed = { do: 'succeed', id: 0 } as const;
const fail = { do: 'fail', id: 0 } as const;
const commit = { do: 'commit' } as const;
const crashShard = { do: 'crashShard' } as const;
const answerIsLost = { do: 'answerIsLost' } as const;
const takeOver = { do: 'takeOver' } as const;
const pass = { do: 'pass' } as const;

describe('between each pair of steps of a merge', () => {
  const merging: readonly Step[] = [merge, commit, succeed, commit, pass];
  const failing: readonly Step[] = [merge, commit, fail, commit, pass, merge, commit, succeed, commit];
  const moments = [merging, failing].flatMap((steps) => [...steps.keys()].map((at) => ({ steps, at })));

  test.each(moments)('the shard dies ($at of $steps.length)', async ({ steps, at }) => {
    await run([...steps.slice(0, at), crashShard, ...steps.slice(at)]);
  });

  test.each(moments)('the queue dies ($at of $steps.length)', async ({ steps, at }) => {
    await run([...steps.slice(0, at), takeOver, ...steps.slice(at)]);
  });
});

describe('a planted bug is caught:', () => {
  test.each<readonly [Plant, readonly Step[]]>([
    ['answers-early', [merge, commit, succeed, crashShard]],
    ['confirms-early', [merge, commit, succeed, answerIsLost, merge, commit]],
    ['keeps-generation', [merge, commit, fail, commit]],
    ['executes-again', [merge, commit, succeed, takeOver, merge, commit, takeOver, merge, commit]],
  ])('%s', async (plant, steps) => {
    await expect(run(steps, plant)).rejects.toThrow();
    await run(steps);
  });
});
