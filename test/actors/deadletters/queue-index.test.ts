/** What the owner of a queue answers of its dead letters: right after they came and went, and while its database is away. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { DeadLetterAnswer } from '../../../src/actors/asks/router.ts';
import type { CheckpointTrouble, ScheduledJournal } from '../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { DatabaseError } from '../../../src/projections/database-port.ts';
import type { GroupLetters, ListLetters } from '../../../src/deadletters/letter-commands.ts';
import type { Condition } from '../../../src/filter/condition.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { turns } from '../../support/event-loop.ts';
import { CheckpointedQueue } from './checkpointed-queue.ts';

const all = { condition: undefined, afterMessageId: -1, max: 1_000, bytesMax: 10_000_000 } as const;
const list: ListLetters = { kind: 'listLetters', ...all, withContent: false };
const ofWorkflow = (workflowId: string): Condition => ({
  kind: 'compare',
  column: { name: 'WorkflowId', kind: 'keyword' },
  operator: '=',
  operand: workflowId,
});

let queue: CheckpointedQueue;
beforeEach(async () => {
  queue = new CheckpointedQueue();
  await queue.start();
});

async function listed(request: Partial<ListLetters> = {}): Promise<readonly number[]> {
  const answer = await queue.ask({ ...list, ...request });
  if (answer?.kind !== 'letters') throw new Error(JSON.stringify(answer));
  return answer.letters.map(({ row }) => row.messageId);
}

describe('the index of a dead letter queue', () => {
  test('shows at once what came and what went, and again after a restart', async () => {
    expect(await listed()).toEqual([]);
    await queue.handOver(1, 3);
    expect(await listed()).toEqual([0, 1, 2]);
    await queue.handOver(2, 2);
    await queue.purge([1, 3]);
    expect(await listed()).toEqual([0, 2, 4]);
    await queue.takeOver();
    expect(await listed()).toEqual([0, 2, 4]);
    await queue.handOver(1, 1);
    expect(await listed({ afterMessageId: 2 })).toEqual([4, 5]);
  });

  test('pages, counts, chooses and groups', async () => {
    await queue.handOver(1, 4);
    await queue.handOver(2, 2);
    expect(await queue.ask({ ...list, max: 2 })).toMatchObject({ isLast: false });
    expect(await listed({ max: 2, afterMessageId: 1 })).toEqual([2, 3]);
    const condition = ofWorkflow('order-2');
    expect(await listed({ condition })).toEqual([1, 5]);
    expect(await queue.ask({ kind: 'countMatching', condition })).toEqual({ kind: 'matched', count: 2 });
    expect(await queue.ask({ kind: 'countMatching', condition: undefined })).toEqual({ kind: 'matched', count: 6 });
    const ids = [1, 5].map((messageId) => ({ messageId, generation: 0 }));
    expect(await queue.ask({ kind: 'findLetters', condition, afterMessageId: -1, max: 10 })).toEqual({
      kind: 'letterIds',
      ids,
      isLast: true,
    });
    const groups: GroupLetters = { kind: 'groupLetters', condition: undefined, by: 'cause', max: 10 };
    expect(await queue.ask(groups)).toMatchObject({ kind: 'groups', groups: [{ key: 'retries-exhausted', count: 6, lowestId: 0 }] });
  });

  test('gives what a record holds: all of it, with what its headers say', async () => {
    await queue.handOver(3, 2);
    const answer = await queue.ask({ kind: 'readLetter', messageId: 1 });
    expect(answer).toMatchObject({
      kind: 'letter',
      letter: {
        row: { messageId: 1, workflowId: 'order-2' },
        content: { letter: letterOf(3, 2), value: letterOf(3, 2).task.value, problem: '' },
      },
    });
    const headers = answer?.kind === 'letter' ? answer.letter.content?.headers : undefined;
    expect(headers).toContainEqual({ name: 'perdure.message-id', value: '1' });
    expect(headers?.map(({ name }) => name)).toEqual(expect.arrayContaining(['perdure.schema', 'perdure.epoch', 'perdure.sequence']));
  });

  test('a page with contents ends where they have no room, behind the first one however large', async () => {
    await queue.handOver(3, 5);
    const contents = await queue.ask({ ...list, withContent: true });
    expect(contents).toMatchObject({ isLast: true });
    expect(contents?.kind === 'letters' ? contents.letters.map(({ content }) => content?.letter) : []).toEqual(
      [1, 2, 3, 4, 5].map((sequence) => letterOf(3, sequence)),
    );
    const page = await queue.ask({ ...list, withContent: true, bytesMax: 3_000 });
    const given = page?.kind === 'letters' ? page.letters.length : 0;
    expect(given).toBeGreaterThan(0);
    expect(given).toBeLessThan(5);
    expect(page).toMatchObject({ isLast: false });
    expect(await queue.ask({ ...list, withContent: true, bytesMax: 1 })).toMatchObject({
      letters: [{ row: { messageId: 0 } }],
      isLast: false,
    });
  });

  test('tells what became of a dead letter that is not there', async () => {
    await queue.handOver(1, 2);
    await queue.purge([1]);
    const rejected = (message: string) => ({ kind: 'rejected', rejection: { reason: 'not-in-queue', message } });
    expect(await queue.ask({ kind: 'readLetter', messageId: 1 })).toEqual(rejected('message 1 is already purged'));
    expect(await queue.ask({ kind: 'readLetter', messageId: 2 })).toEqual(rejected('there is no message 2'));
    expect(await queue.ask({ kind: 'readLetter', messageId: -1 })).toMatchObject({ rejection: { reason: 'invalid-argument' } });
    for (const page of [{ max: 0 }, { afterMessageId: -2 }]) {
      expect(await queue.ask({ ...list, ...page })).toMatchObject({ rejection: { reason: 'invalid-argument' } });
    }
  });
});

describe('groups of all dead letters', () => {
  const groups = (max: number): GroupLetters => ({ kind: 'groupLetters', condition: undefined, by: 'cause', max });
  const counted = (count: number) => ({ kind: 'groups', groups: [{ key: 'retries-exhausted', count }] });

  test('are counted once, as long as nothing changes', async () => {
    const reads: string[] = [];
    queue.onRead = (what) => void reads.push(what);
    await queue.handOver(1, 3);
    for (const max of [10, 1, 100]) expect(await queue.ask(groups(max))).toMatchObject(counted(3));
    expect(reads.filter((what) => what === 'letterGroups')).toHaveLength(1);
    await queue.handOver(1, 1);
    expect(await queue.ask(groups(10))).toMatchObject(counted(4));
    await queue.purge([0, 1]);
    expect(await queue.ask(groups(10))).toMatchObject(counted(2));
    await queue.takeOver();
    expect(await queue.ask(groups(10))).toMatchObject(counted(2));
  });

  test('are not kept where dead letters come while they are counted', async () => {
    await queue.handOver(1, 3);
    queue.onRead = async (what) => {
      if (what !== 'letterGroups') return;
      queue.onRead = () => {};
      await queue.handOver(1, 1);
    };
    await queue.ask(groups(10));
    expect(await queue.ask(groups(10))).toMatchObject(counted(4));
  });

  test('are not kept where a checkpoint that was waited for leaves dead letters out', async () => {
    await queue.handOver(1, 3);
    queue.fault = 'hangs';
    const first = queue.ask(groups(10));
    await turns(8);
    await queue.handOver(1, 1);
    queue.mend();
    await first;
    await queue.quiet();
    expect(await queue.ask(groups(10))).toMatchObject(counted(4));
  });
});

describe('whoever goes away', () => {
  test('gives up what is walked over for him, and his place: others have it at once', async () => {
    await queue.handOver(1, 2);
    await queue.checkpointed();
    let slow = true;
    queue.onRead = () => (slow ? new Promise(() => {}) : undefined);
    const answers: unknown[] = [];
    const asks = Array.from({ length: 4 }, () => queue.askWith(list, (answer) => answers.push(answer)));
    await turns(8);
    slow = false;
    for (const askId of asks.slice(0, 3)) queue.router.cancel(askId);
    await turns(8);
    expect(answers).toMatchObject([{ kind: 'letters', letters: [{}, {}] }]);
    expect(await listed()).toEqual([0, 1]);
  });

  test('gets an answer at once where a thousand others wait', async () => {
    await queue.handOver(1, 2);
    await queue.checkpointed();
    queue.onRead = () => new Promise(() => {});
    const answers: unknown[] = [];
    for (let nth = 0; nth < 1_005; nth++) queue.askWith(list, (answer) => answers.push(answer));
    await turns(20);
    expect(answers).toEqual(Array.from({ length: 3 }, () => ({ kind: 'busy', message: '1000 other requests are reading this queue' })));
  });
});

describe('while the database is away', () => {
  test('whoever asks the index gets an error, dead letters come and go as usual, and the index has them afterwards', async () => {
    await queue.handOver(1, 2);
    queue.fault = 'fails';
    expect(await queue.ask(list)).toMatchObject({ kind: 'unavailable' });
    expect(await queue.handOver(1, 2)).toEqual([2, 3]);
    await queue.purge([0]);
    expect(await queue.ask({ kind: 'countLetters' })).toMatchObject({ open: 3, purged: 1 });
    expect(await queue.ask({ kind: 'countMatching', condition: undefined })).toEqual({ kind: 'matched', count: 3 });
    queue.mend();
    await queue.checkpointed();
    expect(await listed()).toEqual([1, 2, 3]);
  });

  test('whoever waits behind partitions that cannot write either gets an error as well, also if the wait had started', async () => {
    const others = { trouble: undefined as CheckpointTrouble | undefined };
    const journals = Array.from({ length: 2 }, (): ScheduledJournal => {
      return {
        ...{ tailRecords: 1, unwrittenBytes: 0, begin: () => true, noTurn: () => {} },
        get writeTrouble() {
          return others.trouble;
        },
      };
    });
    for (const journal of journals) queue.schedule.wants(journal);
    await queue.handOver(1, 2);
    let early: DeadLetterAnswer<ListLetters> | undefined;
    queue.askWith(list, (answer) => (early = answer));
    await turns(8);
    expect(early, 'they may only be slow').toBeUndefined();
    others.trouble = { sinceMs: 0, reason: 'connection refused' };
    queue.schedule.stuck('connection refused');
    await turns(8);
    expect(early).toEqual({ kind: 'unavailable', message: 'connection refused' });
    expect(await queue.ask(list)).toEqual({ kind: 'unavailable', message: 'connection refused' });
    for (const journal of journals) queue.schedule.ended(journal);
    await queue.checkpointed();
    expect(await listed()).toEqual([0, 1]);
  });

  test('what was written can be asked for where it can be read, and not where it cannot', async () => {
    await queue.handOver(1, 2);
    await queue.checkpointed();
    queue.fault = 'fails';
    expect(await listed()).toEqual([0, 1]);
    queue.onRead = () => {
      throw new DatabaseError('unavailable', 'it is away');
    };
    expect(await queue.ask(list)).toEqual({ kind: 'unavailable', message: 'it is away' });
    expect(await queue.handOver(1, 1)).toEqual([2]);
  });

  test('rows that another has by now are not shown', async () => {
    await queue.handOver(1, 2);
    await queue.checkpointed();
    queue.raiseFence();
    expect(await queue.ask(list)).toMatchObject({ kind: 'unavailable' });
  });
});
