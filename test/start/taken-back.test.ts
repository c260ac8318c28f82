/** A partition that a rival took: whether it is taken back, and when. */
import { beforeEach, expect, test } from 'vitest';
import type { PartitionId } from '../../src/ports/log.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { TakenBack, type TakenBackOptions } from '../../src/start/taken-back.ts';
import { HandClock } from '../support/hand-clock.ts';

type OnReply = Parameters<TakenBackOptions['asker']['askCluster']>[2];

const partition = { topic: 'p.history', partition: 3 };
const rival = { owner: 'rival', ownerNonce: 'n', epoch: 2, offset: 7 };

let clock: HandClock;
let asked: OnReply[];
let started: PartitionId[];
let takenBack: TakenBack;

beforeEach(() => {
  clock = new HandClock('when moved');
  asked = [];
  started = [];
  takenBack = new TakenBack({
    asker: { askCluster: (_command, _context, onReply) => (asked.push(onReply as OnReply), asked.length) },
    clock,
    logger: silentLogger,
    start: (each) => void started.push(each),
  });
});

/** What the partition of the cluster says to the question that waits. */
function answer(reply: Parameters<OnReply>[0]): void {
  asked.shift()?.(reply);
}

const notOurs = { kind: 'unavailable', message: 'p.cluster/0 is lost' } as const;

test('whoever holds the partition of the cluster takes it back, once he is told that he does', () => {
  takenBack.lost(partition, rival);
  expect([asked.length, started]).toEqual([1, []]);
  answer({ kind: 'done' });
  expect(started).toEqual([partition]);
});

test('as long as nobody says so he asks again, and takes nothing', () => {
  takenBack.lost(partition, rival);
  for (let times = 0; times < 20; times++) {
    answer(notOurs);
    expect([asked.length, started]).toEqual([0, []]);
    clock.advance(10_000);
    expect(asked).toHaveLength(1);
  }
  answer({ kind: 'done' });
  expect(started).toEqual([partition]);
});

test('one that is taken again and again is taken back ever more rarely; another one at once', () => {
  const waited: number[] = [];
  for (let times = 0; times < 10; times++) {
    takenBack.lost(partition, rival);
    const lostMs = clock.nowMs;
    while (asked.length === 0) clock.advance(50);
    waited.push(clock.nowMs - lostMs);
    answer({ kind: 'done' });
  }
  expect(waited).toEqual([0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
  takenBack.lost({ ...partition, partition: 4 }, rival);
  expect(asked).toHaveLength(1);
});

test('a server that stops takes nothing back, whatever it learns, and asks no more', () => {
  takenBack.lost(partition, rival);
  takenBack.lost(partition, rival);
  takenBack.stop();
  answer({ kind: 'done' });
  answer(notOurs);
  clock.advance(60_000);
  takenBack.lost(partition, rival);
  clock.advance(60_000);
  expect([asked, started, clock.pending]).toEqual([[], [], 0]);
});
