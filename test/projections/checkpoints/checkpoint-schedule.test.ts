/** Journals of one process: who is checkpointed when. */
import { expect, test } from 'vitest';
import {
  CheckpointSchedule,
  type CheckpointScheduleLimits,
  type CheckpointTrouble,
  type ScheduledJournal,
} from '../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { HandClock } from '../../support/hand-clock.ts';

class Journal implements ScheduledJournal {
  tailRecords = 0;
  unwrittenBytes = 0;
  writeTrouble: CheckpointTrouble | undefined;
  began = 0;
  readonly #schedule: CheckpointSchedule;
  /** It has reason to begin. */
  begins = true;

  constructor(schedule: CheckpointSchedule) {
    this.#schedule = schedule;
    schedule.join(this);
  }

  commit(records: number): this {
    for (let i = 0; i < records; i++) {
      this.tailRecords += 1;
      this.#schedule.committed(10);
    }
    return this;
  }

  noTurn(): void {}

  begin(): boolean {
    if (!this.begins) return false;
    this.began += 1;
    this.#schedule.cut(this.tailRecords, this.tailRecords * 10);
    this.tailRecords = 0;
    return true;
  }
}

function scheduleWith(limits: Partial<CheckpointScheduleLimits>): CheckpointSchedule {
  return new CheckpointSchedule({ ...limits, clock: new HandClock(), logger: silentLogger });
}

function journals(schedule: CheckpointSchedule, count: number): readonly Journal[] {
  return Array.from({ length: count }, () => new Journal(schedule));
}

test('two journals are written at a time; of those that wait the one with the longest tail is next', () => {
  const schedule = scheduleWith({});
  const all = journals(schedule, 4).map((each, index) => each.commit(index + 1));
  for (const each of all) schedule.wants(each);
  expect(all.map(({ began }) => began)).toEqual([1, 1, 0, 0]);
  schedule.ended(all[0]!);
  expect(all.map(({ began }) => began)).toEqual([1, 1, 0, 1]);
  schedule.ended(all[1]!);
  expect(all.map(({ began }) => began)).toEqual([1, 1, 1, 1]);
});

test('many short tails are as long as one: the longest is cut when all together are too long', () => {
  const schedule = scheduleWith({ recordsMax: 100 });
  const all = journals(schedule, 20).map((each, index) => each.commit(index === 7 ? 5 : 4));
  expect(all.map(({ began }) => began).filter((began) => began > 0)).toEqual([]);
  all[0]!.commit(19);
  // Of 23 records, with the hundredth: the tail of the journal that committed it.
  expect(all[0]!.began).toBe(1);
  expect(all.filter(({ began }) => began > 0).length).toBe(1);
  all[1]!.commit(23);
  expect(all[1]!.began).toBe(1);
});

test('a journal with no reason, or none any more, holds up no other', () => {
  const schedule = scheduleWith({});
  const [idle, leaving, first, second, third] = journals(schedule, 5);
  idle!.begins = false;
  schedule.wants(idle!);
  schedule.wants(leaving!);
  for (const each of [first!, second!, third!]) schedule.wants(each);
  expect([leaving!.began, first!.began, second!.began, third!.began]).toEqual([1, 1, 0, 0]);
  schedule.leave(leaving!);
  schedule.leave(second!);
  schedule.ended(first!);
  expect([second!.began, third!.began]).toEqual([1, 1]);
});

test('what hinders those whose turn it is hinders all', () => {
  const schedule = scheduleWith({});
  const [first, second, third] = journals(schedule, 3);
  for (const each of [first!, second!, third!]) schedule.wants(each);
  third!.writeTrouble = { sinceMs: 0, reason: 'it has no turn' };
  expect(schedule.whyNoTurn(5_000)).toBeUndefined();
  expect(schedule.whyNoTurn(10_000)).toMatch('are written first');
  second!.writeTrouble = { sinceMs: 0, reason: 'connection refused' };
  expect(schedule.whyNoTurn(0)).toBe('connection refused');
  third!.writeTrouble = undefined;
  schedule.ended(second!);
  expect(schedule.whyNoTurn(0)).toBeUndefined();
});
