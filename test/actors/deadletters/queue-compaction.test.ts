/** The journal of a queue begins later: what was purged is gone from it, what is in the queue is not, with and without a database that outlives the process. */
import { beforeEach, describe, expect, test } from 'vitest';
import { LogError, partitionName } from '../../../src/ports/log.ts';
import { turns } from '../../support/event-loop.ts';
import { CheckpointedQueue } from './checkpointed-queue.ts';

const partition = { topic: 'dlq.test.transfer.active', partition: 0 };
let queue: CheckpointedQueue;
beforeEach(async () => {
  queue = new CheckpointedQueue();
  await queue.start();
});

/** Message ids of all records that a reader of the topic is shown. */
const readable = (): readonly string[] =>
  queue
    .records()
    .filter(({ offset, key, isTombstone }) => offset >= queue.journalStart && !key.startsWith('@') && isTombstone !== true)
    .map(({ key }) => key);

async function ids(): Promise<readonly number[]> {
  const answer = await queue.ask({ kind: 'findLetters', condition: undefined, afterMessageId: -1, max: 1_000 });
  return answer?.kind === 'letterIds' ? answer.ids.map(({ messageId }) => messageId) : [];
}

describe('a purge', () => {
  test('leaves nothing of what it purged in the journal, a moment later', async () => {
    await queue.handOver(1, 5);
    await queue.handOver(2, 5);
    await queue.purge([1, 2, 3, 7]);
    expect(readable()).toContain('2');
    await queue.pass(5_000);
    expect(queue.journalStart).toBeGreaterThan(0);
    expect(readable()).toEqual(['0', '4', '5', '6', '8', '9']);
    expect(await ids()).toEqual([0, 4, 5, 6, 8, 9]);
    expect(queue.lines).toEqual([]);
  });

  test.each(['with its database', 'without it'])(
    'a restart goes on from there %s: dead letters, ids, and what each shard has handed over',
    async (how) => {
      await queue.handOver(1, 5);
      await queue.handOver(2, 2);
      await queue.purge([0, 1, 2, 3, 4]);
      await queue.pass(5_000);
      if (how === 'without it') queue.loseDatabase();
      await queue.takeOver();
      queue.checkMemory();
      expect(await ids()).toEqual([5, 6]);
      expect(await queue.handOver(1, 1), 'shard 1 goes on behind its fifth letter').toEqual([7]);
      expect(await queue.ask({ kind: 'readLetter', messageId: 5 })).toMatchObject({ letter: { content: { problem: '' } } });
      expect(await queue.ask({ kind: 'readLetter', messageId: 2 })).toMatchObject({
        rejection: { message: 'message 2 is already purged' },
      });
    },
  );

  test.each(['is killed', 'stops in good order', 'loses its database too'])(
    'whose server %s before that is cut out by the next owner',
    async (how) => {
      await queue.handOver(1, 5);
      await queue.purge([1, 2]);
      await queue.checkpointed();
      expect(readable()).toContain('2');
      if (how === 'stops in good order') await queue.drainAndStart();
      else {
        if (how === 'loses its database too') queue.loseDatabase();
        await queue.takeOver();
      }
      await queue.pass(5_000);
      expect(readable()).toEqual(['0', '3', '4']);
      const start = queue.journalStart;
      await queue.takeOver();
      await queue.pass(5_000);
      expect(queue.journalStart, 'and once').toBe(start);
    },
  );

  test('that comes while dead letters are carried is cut out as well, by the next owner too', async () => {
    for (let nth = 0; nth < 3; nth++) await queue.handOver(1, 100);
    await queue.purge([0]);
    let pages = 0;
    queue.onRead = async (what) => {
      if (what !== 'letters' || ++pages !== 3) return;
      void queue.purge([2, 299]);
      await turns(8);
    };
    while (queue.journalStart === 0) await queue.pass(100);
    expect(readable().filter((key) => key === '2')).toEqual(['2']);
    await queue.takeOver();
    await queue.pass(5_000);
    expect(readable()).toHaveLength(297);
    expect(readable()).not.toContain('2');
  });

  test('whose server stops while dead letters are carried is cut out by the next one, without a word of trouble', async () => {
    for (let nth = 0; nth < 3; nth++) await queue.handOver(1, 100);
    await queue.purge([0]);
    let pages = 0;
    let stopped: Promise<void> | undefined;
    queue.onRead = async (what) => {
      if (what !== 'letters' || ++pages !== 2) return;
      queue.log.held = true;
      await queue.handOver(1, 1);
      stopped = queue.host.actor.drain();
    };
    for (let nth = 0; nth < 20 && stopped === undefined; nth++) await queue.pass(100);
    queue.log.letGo();
    await queue.pass(1_000);
    await stopped;
    expect(queue.lines).toEqual([]);
    expect(queue.journalStart).toBe(0);
    await queue.takeOver();
    await queue.pass(5_000);
    expect(readable()).toHaveLength(300);
  });

  test('of more dead letters in pages than one page takes', async () => {
    for (let nth = 0; nth < 7; nth++) await queue.handOver(1, 100);
    await queue.purge([0]);
    await queue.pass(20_000);
    expect(readable()).toHaveLength(699);
    expect((await ids()).at(-1)).toBe(699);
  });
});

describe('what does not work', () => {
  test('a journal that may not be trimmed keeps all, that is logged, and it is trimmed once it may', async () => {
    const truncate = queue.log.truncate.bind(queue.log);
    queue.log.truncate = () => Promise.reject(new LogError('denied', 'no right to delete records'));
    await queue.handOver(1, 3);
    await queue.purge([1]);
    await queue.pass(10_000);
    expect(queue.journalStart).toBe(0);
    expect(queue.lines.join()).toMatch(/cannot be compacted.*no right to delete records/);
    const written = queue.records().length;
    queue.log.truncate = truncate;
    await queue.pass(120_000, 1_000);
    expect(readable()).toEqual(['0', '2']);
    expect(queue.records(), 'the letters were carried once').toHaveLength(written);
  });

  test('a topic that was restored from a copy with other offsets keeps its dead letters', async () => {
    await queue.handOver(1, 50);
    await queue.purge([0]);
    await queue.pass(5_000);
    queue.anotherProcess();
    const copied = queue.log.records(partition).slice(queue.journalStart);
    queue.log.partitions.set(
      partitionName(partition),
      copied.map((record, offset) => ({ ...record, offset })),
    );
    queue.log.starts.clear();
    queue.loseDatabase();
    await queue.takeOver();
    for (let nth = 0; nth < 3; nth++) await queue.handOver(1, 50);
    await queue.pass(300_000, 1_000);
    expect(readable()).toHaveLength(199);
    expect(queue.lines.join()).toMatch(/cannot be compacted.*was the topic restored from a copy with other offsets/);
  });

  test('of a journal that was cut elsewhere the rest is served, and it says what is missing', async () => {
    await queue.handOver(1, 3);
    queue.loseDatabase();
    await queue.log.truncate(partition, 3);
    queue.anotherProcess();
    queue.host.actor.start();
    await queue.pass(1_000);
    expect(queue.host.actor.status()).toMatchObject({ state: 'active' });
    expect(queue.lines.join()).toMatch(/offsets="0 to 2" damaged-letters=0 message-ids-lost-at-most=0/);
  });

  test('a database that is away puts it off, and dead letters come and go meanwhile', async () => {
    await queue.handOver(1, 4);
    queue.fault = 'fails';
    await queue.purge([0]);
    await queue.pass(10_000);
    expect(queue.journalStart).toBe(0);
    await queue.handOver(1, 1);
    queue.mend();
    await queue.pass(200_000, 1_000);
    expect(readable()).toEqual(['1', '2', '3', '4']);
  });
});
