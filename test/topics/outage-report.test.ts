import { beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { kafkaOutages } from '../../src/topics/kafka/kafka-log.ts';
import { ThrottleReport } from '../../src/topics/kafka/data-plane.ts';

type Line = { readonly level: string; readonly msg: string } & Readonly<Record<string, unknown>>;

let nowMs: number;
let lines: Line[];
beforeEach(() => {
  nowMs = 1_000_000;
  lines = [];
});
const logger = createLogger({
  level: 'info',
  format: 'json',
  write: (line) => void lines.push(JSON.parse(line) as Line),
  nowMs: () => nowMs,
});
const partition = (number: number): { topic: string; partition: number } => ({ topic: 'p.history', partition: number });

/** The process's life in half seconds. */
function live(seconds: number, tick: () => void): void {
  for (let half = 0; half < 2 * seconds; half++) {
    nowMs += 500;
    tick();
  }
}

describe('an outage', () => {
  let report: ReturnType<typeof kafkaOutages>;
  beforeEach(() => {
    report = kafkaOutages(
      logger,
      () => '1 at kafka-1:9092',
      () => nowMs,
    );
  });

  test('is said after a second, every ten seconds, and when it is over', () => {
    live(25, () => {
      report.failed('append', partition(0), 'broker 1 at kafka-1:9092: connect ECONNREFUSED');
      report.failed('append', partition(1), 'broker 1 at kafka-1:9092: connect ECONNREFUSED');
      report.tick();
    });
    expect(lines.map(({ level, msg, partitions, seconds }) => [level, msg, partitions, seconds])).toEqual([
      ['warn', 'partitions wait for Kafka', 2, 1],
      ['warn', 'partitions wait for Kafka', 2, 11],
      ['warn', 'partitions wait for Kafka', 2, 21],
    ]);
    expect(lines[0]).toMatchObject({
      since: new Date(1_000_500).toISOString(),
      brokers: '1 at kafka-1:9092',
      error: 'broker 1 at kafka-1:9092: connect ECONNREFUSED',
    });
    report.worked('append', partition(0));
    expect(lines).toHaveLength(3);
    report.worked('append', partition(1));
    expect(lines[3]).toMatchObject({ level: 'info', msg: 'Kafka serves all partitions again', partitions: 2 });
    live(30, () => report.tick());
    expect(lines).toHaveLength(4);
  });

  test('names what a partition waits for, until that works', () => {
    const reasons = () => [
      report.reasonOf('append', partition(0)),
      report.reasonOf('read', partition(0)),
      report.reasonOf('read', partition(1)),
    ];
    report.failed('read', partition(0), 'a read');
    report.failed('append', partition(0), 'an append');
    expect(reasons()).toEqual(['an append', 'a read', undefined]);
    report.worked('append', partition(0));
    expect(reasons()).toEqual([undefined, 'a read', undefined]);
    report.worked('read', partition(0));
    expect(reasons()).toEqual([undefined, undefined, undefined]);
  });

  test('of less than a second is not said at all', () => {
    report.failed('append', partition(0), 'NOT_LEADER_OR_FOLLOWER');
    live(0.5, () => report.tick());
    report.worked('append', partition(0));
    live(30, () => report.tick());
    expect(lines).toEqual([]);
  });

  test('of appends goes on while reads work', () => {
    live(2, () => {
      report.failed('append', partition(0), 'TOPIC_AUTHORIZATION_FAILED');
      report.worked('read', partition(0));
      report.tick();
    });
    expect(lines).toMatchObject([{ msg: 'partitions wait for Kafka', partitions: 1, error: 'TOPIC_AUTHORIZATION_FAILED' }]);
  });

  test('names the most frequent reasons', () => {
    for (let number = 0; number < 9; number++) report.failed('append', partition(number), `reason ${Math.min(number, 4)}`);
    live(1, () => report.tick());
    expect(lines[0]?.['error']).toBe('reason 4 (5); reason 0 (1); reason 1 (1); and 2 more');
  });

  test('ends for partitions that nobody asks for any more', () => {
    report.failed('append', partition(0), 'no leader');
    live(60, () => report.tick());
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn', 'info']);
    expect(lines[2]?.msg).toBe('nothing waits for Kafka any more');
  });
});

test('throttling is said at most every ten seconds, with how much of it there was, and when it is over', () => {
  const report = new ThrottleReport(logger, () => nowMs);
  live(12, () => report.throttled('kafka-1:9092', 200));
  live(25, () => report.tick());
  expect(lines.map(({ level, answers, throttledMs }) => [level, answers, throttledMs])).toEqual([
    ['warn', 1, 200],
    ['warn', 20, 4000],
    ['warn', 3, 600],
    ['info', undefined, undefined],
  ]);
});
