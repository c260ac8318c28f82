/** A purge is undone: the same dead letters, ids and generations, whoever dies when; nothing of it is cut before its window is over. */
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { CheckpointedQueue } from './checkpointed-queue.ts';

const windowMs = 3_600_000;

let queue: CheckpointedQueue;
beforeEach(async () => {
  queue = new CheckpointedQueue();
  queue.undoWindowMs = windowMs;
  await queue.start();
});

async function ids(of = queue): Promise<readonly number[]> {
  const answer = await of.ask({ kind: 'findLetters', condition: undefined, afterMessageId: -1, max: 1_000 });
  return answer?.kind === 'letterIds' ? answer.ids.map(({ messageId }) => messageId) : [];
}

describe('dead letters that were purged', () => {
  test('are nowhere to be seen, and come back as they were', async () => {
    await queue.handOver(1, 5);
    await queue.purge([1, 3]);
    await queue.pass(60_000, 1_000);
    expect(queue.journalStart).toBe(0);
    expect(await ids()).toEqual([0, 2, 4]);
    expect(await queue.ask({ kind: 'readLetter', messageId: 3 })).toMatchObject({ rejection: { message: 'message 3 is already purged' } });
    expect(await queue.findPurged()).toEqual({ kind: 'purgedFound', ids: [1, 3], lost: [] });
    expect(await queue.restore([1, 3])).toEqual({ kind: 'restored', ids: [1, 3], lost: [] });
    expect(await ids()).toEqual([0, 1, 2, 3, 4]);
    const answer = await queue.ask({ kind: 'readLetter', messageId: 3 });
    expect(answer).toMatchObject({ letter: { row: { generation: 0, state: 'open' }, content: { letter: { jobId: 'undo' } } } });
    queue.checkMemory();
    expect(await queue.restore([1, 3]), 'there is nothing left to undo').toEqual({ kind: 'restored', ids: [], lost: [] });
    expect(await queue.handOver(1, 1)).toEqual([5]);
  });

  test('are the lowest that are open, as the head says behind them', async () => {
    await queue.handOver(1, 4);
    await queue.purge([0, 1]);
    await queue.restore([1]);
    const heads = queue.records().filter(({ key }) => key === '@head');
    const last = heads.at(-1);
    expect(last && queue.codec.decode(last.value, last.schema, last)).toMatchObject({ kind: 'head', nextId: 4, lowestOpen: 1 });
  });

  test('stay where they are once the job that asked for them has let go of them', async () => {
    await queue.handOver(1, 3);
    await queue.purge([1]);
    await queue.ask({ kind: 'releaseClaim', jobId: 'job' });
    const ranges = [{ from: 1, to: 1 }];
    await queue.ask({ kind: 'claimLetters', jobId: 'undo', ranges });
    let answer: unknown;
    const request = { kind: 'restoreLetters', jobId: 'undo', who: 'bert', why: 'a mistake', messageIds: [1] } as const;
    queue.askWith(request, (given) => (answer = given));
    queue.askWith({ kind: 'releaseClaim', jobId: 'undo' }, () => {});
    await queue.pass(1_000);
    expect(answer).toMatchObject({ kind: 'rejected', rejection: { reason: 'not-claimed' } });
    expect(await ids()).toEqual([0, 2]);
    expect(await queue.restore([1])).toEqual({ kind: 'restored', ids: [1], lost: [] });
  });

  test('of another job stay where they are', async () => {
    await queue.handOver(1, 3);
    await queue.purge([0, 1]);
    expect(await queue.findPurged('job')).toMatchObject({ ids: [0, 1] });
    expect(await queue.findPurged('another')).toMatchObject({ ids: [], lost: [] });
    await queue.ask({ kind: 'releaseClaim', jobId: 'job' });
    await queue.ask({ kind: 'claimLetters', jobId: 'undo', ranges: [{ from: 0, to: 2 }] });
    const request = { kind: 'restoreLetters', jobId: 'undo', who: 'bert', why: 'a mistake', messageIds: [0, 1] } as const;
    const comebacks = async (): Promise<unknown> => {
      const counted = await queue.ask({ kind: 'countLetters' });
      return counted?.kind === 'counted' ? counted.comebacks : counted;
    };
    const before = await comebacks();
    expect(await queue.ask({ ...request, purgedBy: 'another' })).toEqual({ kind: 'restored', ids: [], lost: [] });
    expect(await comebacks()).toBe(before);
    expect(await queue.ask({ ...request, purgedBy: 'job' })).toEqual({ kind: 'restored', ids: [0, 1], lost: [] });
    const after = await comebacks();
    expect(after).not.toBe(before);
    await queue.takeOver();
    expect(await comebacks(), 'nobody knows').not.toBe(after);
  });

  test('are cut when the window of the last of them is over, also when the owner was another; then it is too late', async () => {
    await queue.handOver(1, 4);
    await queue.purge([0]);
    await queue.pass(windowMs / 2, 60_000);
    await queue.purge([1]);
    await queue.takeOver();
    await queue.pass(windowMs / 2 + 120_000, 60_000);
    expect(queue.journalStart).toBe(0);
    expect(await queue.findPurged()).toEqual({ kind: 'purgedFound', ids: [1], lost: [0] });
    await queue.pass(windowMs, 60_000);
    expect(queue.journalStart).toBeGreaterThan(0);
    expect(await queue.findPurged()).toEqual({ kind: 'purgedFound', ids: [], lost: [0, 1] });
    expect(await queue.restore([1])).toEqual({ kind: 'restored', ids: [], lost: [1] });
    expect(await ids()).toEqual([2, 3]);
  });

  test('go in the end, however often somebody purges', async () => {
    await queue.handOver(1, 100);
    for (let id = 0; id < 60; id++) {
      await queue.purge([id]);
      await queue.pass(windowMs / 2, 300_000);
    }
    expect(queue.journalStart).toBeGreaterThan(0);
  });
});

test(
  'purged, restored, merged or handed over, with takeovers at any time: each id is what the last of them made of it',
  { timeout: 60_000 },
  async () => {
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('handOver' as const), id: fc.integer({ min: 1, max: 4 }) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('purge' as const, 'restore' as const), id: fc.nat(12) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom('kill' as const, 'loseDatabase' as const, 'late' as const), id: fc.constant(0) }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const one = new CheckpointedQueue();
        one.undoWindowMs = windowMs;
        await one.start();
        const inQueue = new Map<number, boolean>();
        let isCut = false;
        for (const { kind, id } of steps) {
          if (kind === 'handOver') for (const given of await one.handOver(1, id)) inQueue.set(given, true);
          else if (kind === 'purge') {
            await one.purge([id]);
            if (inQueue.has(id)) inQueue.set(id, false);
          } else if (kind === 'restore') {
            const answer = await one.restore([id]);
            const isBack = answer?.kind === 'restored' && answer.ids.includes(id);
            if (inQueue.get(id) === false && !isCut) expect(isBack, `message ${id} comes back`).toBe(true);
            if (isBack) expect(inQueue.get(id)).toBe(false);
            if (isBack) inQueue.set(id, true);
          } else if (kind === 'late') {
            await one.pass(3 * windowMs, 300_000);
            isCut = true;
          } else {
            one.anotherProcess();
            if (kind === 'loseDatabase') one.loseDatabase();
            await one.start();
          }
        }
        const expected = [...inQueue].filter(([, isThere]) => isThere).map(([id]) => id);
        expect(await ids(one)).toEqual(expected.toSorted((a, b) => a - b));
        one.checkMemory();
        await one.checkpointed();
        one.checkRows();
      }),
      { numRuns: 60 },
    );
  },
);
