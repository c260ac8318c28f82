/**
 * Records that somebody else deletes from the topic of a queue, by hand or by a retention limit: their dead letters are damaged, and nobody else
 * waits for them.
 */
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { DeadLetterAnswer } from '../../../src/actors/asks/router.ts';
import type { ListLetters } from '../../../src/deadletters/letter-commands.ts';
import { CheckpointedQueue } from './checkpointed-queue.ts';

const partition = { topic: 'dlq.test.transfer.active', partition: 0 };
const list = { kind: 'listLetters', condition: undefined, afterMessageId: -1, max: 1_000, bytesMax: 10_000_000 } as const;
const gone = 'its record is gone';

let queue: CheckpointedQueue;
beforeEach(async () => {
  queue = new CheckpointedQueue();
  await queue.start();
});

/** By message id; what is wrong with its record: '' = nothing. */
async function listed(withContent: boolean): Promise<ReadonlyMap<number, string>> {
  const answer: DeadLetterAnswer<ListLetters> | undefined = await queue.ask({ ...list, withContent });
  if (answer?.kind !== 'letters') throw new Error(JSON.stringify(answer));
  if (withContent) for (const { content } of answer.letters) expect(content).toBeDefined();
  return new Map(answer.letters.map(({ row, content }) => [row.messageId, content?.problem ?? '']));
}

function offsetOf(messageId: number): number {
  return queue.log.records(partition).findLastIndex(({ key }) => key === String(messageId));
}

/** What is said to people, once. */
function errors(): readonly string[] {
  return queue.lines.filter((line) => line.includes('records of a dead letter queue are gone')).map((line) => line.trimEnd());
}

async function restart(): Promise<void> {
  queue.anotherProcess();
  await queue.start();
}

/** Another record stands behind it. */
function isRemovable(offset: number): boolean {
  const records = queue.log.records(partition);
  return offset < records.length - 1 && records[offset]?.isTombstone !== true;
}

const cut = (offset: number): Promise<void> => queue.log.truncate(partition, offset);
const damaged = new Map([
  [0, gone],
  [1, gone],
  [2, ''],
  [3, ''],
]);

describe('while it is served', () => {
  test('they are listed as damaged, and the others are read', async () => {
    await queue.handOver(1, 4);
    await cut(offsetOf(2));
    expect(await listed(false)).toEqual(damaged);
    expect(await listed(true)).toEqual(damaged);
    expect(await queue.ask({ kind: 'readLetter', messageId: 0 })).toMatchObject({
      kind: 'letter',
      letter: { row: { messageId: 0, workflowId: 'order-1' }, content: { problem: gone } },
    });
    expect(await queue.ask({ kind: 'countMatching', condition: undefined })).toMatchObject({ count: 4 });
  });

  test('so is one that is gone from the middle', async () => {
    await queue.handOver(1, 4);
    queue.log.remove(partition, offsetOf(1));
    expect(await listed(true)).toEqual(new Map([0, 1, 2, 3].map((id) => [id, id === 1 ? gone : ''])));
    expect(await queue.ask({ kind: 'readLetter', messageId: 1 })).toMatchObject({ kind: 'letter', letter: { content: { problem: gone } } });
  });

  test('a merge leaves them with the reason, and the next is merged', async () => {
    await queue.handOver(1, 3);
    await cut(offsetOf(1));
    await queue.ask({ kind: 'claimLetters', jobId: 'job', ranges: [{ from: 0, to: 2 }] });
    const merge = (messageId: number) =>
      queue.ask({ kind: 'mergeLetter', jobId: 'job', who: 'anna', why: '', messageId, overridesLoopGuard: false });
    expect(await merge(0)).toEqual({ kind: 'mergeEnded', outcome: 'skipped', reason: gone });
    // Its shard is asked, and nobody plays it here.
    expect(await merge(1)).toBeUndefined();
    expect(await merge(1)).toMatchObject({ kind: 'rejected', rejection: { reason: 'being-merged' } });
  });

  test('they are purged like any other, and then the journal is cut', async () => {
    await queue.handOver(1, 4);
    await cut(offsetOf(2));
    await queue.purge([3]);
    await queue.pass(10_000);
    expect(queue.lines.join()).toMatch(/message 0 cannot be read \(its record is gone\).*purge it/);
    await queue.ask({ kind: 'releaseClaim', jobId: 'job' });
    await queue.purge([0, 1]);
    await queue.pass(120_000, 1_000);
    expect(queue.journalStart).toBeGreaterThan(offsetOf(3));
    expect(await listed(true)).toEqual(new Map([[2, '']]));
    await restart();
    expect(queue.lines.join()).not.toMatch(/records of a dead letter queue are gone/);
  });
});

describe('after a restart', () => {
  test('with its database they are listed as damaged, and one line says what is gone', async () => {
    await queue.handOver(1, 4);
    await queue.checkpointed();
    await cut(offsetOf(2));
    await restart();
    expect(await listed(true)).toEqual(damaged);
    expect(errors()).toEqual([expect.stringMatching(/damaged-letters=2 message-ids="0 to 1"$/)]);
    expect(errors()[0]).toContain(`offsets="0 to ${offsetOf(2) - 1}"`);
    // The checkpoint is behind what is gone: nothing was missed.
    await queue.handOver(1, 1);
    expect((await listed(false)).size).toBe(5);
  });

  test('where the database was behind as well, all that is left is served', async () => {
    await queue.handOver(1, 2);
    await queue.checkpointed();
    queue.fault = 'fails';
    await queue.handOver(1, 3);
    await cut(offsetOf(3));
    queue.anotherProcess();
    queue.mend();
    await queue.start();
    expect(await listed(true)).toEqual(
      new Map([
        [0, gone],
        [1, gone],
        [3, ''],
        [4, ''],
      ]),
    );
    expect(errors()).toEqual([expect.stringMatching(/damaged-letters=2 message-ids="0 to 1" message-ids-lost-at-most=2$/)]);
    expect(await queue.handOver(1, 1)).toEqual([5]);
  });

  test('without a database the others are served, and the line says which ids may be lost', async () => {
    await queue.handOver(1, 5);
    await queue.purge([1]);
    queue.undoWindowMs = 3_600_000;
    queue.loseDatabase();
    await cut(offsetOf(4));
    await restart();
    expect(await listed(true)).toEqual(new Map([[4, '']]));
    expect(errors()).toEqual([expect.stringMatching(/damaged-letters=0 message-ids-lost-at-most="0 to 3"$/)]);
    expect(await queue.handOver(1, 1)).toEqual([5]);
  });
});

test(
  'whatever is deleted when, the queue is served, and each dead letter is there, damaged, resolved or reported as lost',
  { timeout: 60_000 },
  async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('handOver' as const), count: fc.integer({ min: 1, max: 4 }) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('purge' as const), id: fc.nat(20) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constantFrom('cut' as const, 'remove' as const),
          share: fc.double({ min: 0, max: 0.99, noNaN: true }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(50, 3_000, 40_000) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'checkpointed' as const, 'loseDatabase' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        queue = new CheckpointedQueue();
        await queue.start();
        let isLost = false;
        const letters = new Set<number>();
        for (const given of steps) {
          const { end } = await queue.log.bounds(partition);
          switch (given.kind) {
            case 'handOver':
              for (const id of await queue.handOver(1, given.count)) letters.add(id);
              break;
            case 'purge':
              await queue.purge([given.id]);
              await queue.ask({ kind: 'releaseClaim', jobId: 'job' });
              letters.delete(given.id);
              break;
            case 'cut':
              await cut(Math.floor(given.share * end));
              break;
            case 'remove':
              // Of one that was purged the tombstone is all that says so: a broker keeps it for longer than the letter.
              if (isRemovable(Math.floor(given.share * end))) queue.log.remove(partition, Math.floor(given.share * end));
              break;
            case 'pass':
              await queue.pass(given.ms, 1_000);
              break;
            case 'restart':
              await restart();
              break;
            case 'checkpointed':
              await queue.pass(5_000, 1_000);
              break;
            case 'loseDatabase':
              queue.loseDatabase();
              isLost = true;
              await restart();
              break;
          }
        }
        await restart();
        const found = await listed(true);
        const ids = [...found.keys()];
        expect(await listed(false).then((found) => [...found.keys()])).toEqual(ids);
        expect(
          ids.filter((id) => !letters.has(id)),
          'nobody is there who was purged',
        ).toEqual([]);
        if (!isLost && !queue.lines.some((line) => line.includes('are gone from its topic'))) expect(ids).toEqual([...letters]);
        expect(await queue.handOver(2, 1)).toHaveLength(1);
      }),
      { numRuns: 60 },
    );
  },
);
