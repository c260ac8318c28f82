import { beforeEach, describe, expect, test } from 'vitest';
import { Census } from '../../../src/actors/ownership/census.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import { createLogger, silentLogger } from '../../../src/observability/logger.ts';
import { checkFirstStart } from '../../../src/start/whole-journals.ts';
import { HandClock } from '../../support/hand-clock.ts';

type Change = (change: Partial<PartitionStatus>) => void;

let clock: HandClock;
let lines: string[];
let fatal: string[];
let taken: string[];
let moved: number;
let census: Census;
let changes: Record<'cluster' | 'history' | 'matching', Change>;

beforeEach(() => {
  clock = new HandClock('when moved');
  lines = [];
  fatal = [];
  taken = [];
  moved = 0;
  const write = (line: string): void => void lines.push(line.slice(26).trimEnd());
  const logger = createLogger({ level: 'info', format: 'text', write, nowMs: () => clock.wallMs() });
  census = new Census({
    clock,
    logger,
    clusterTopic: 'p.cluster',
    runsPutAside: () => 0,
    stalledMsMax: 15_000,
    takenOver,
    onTaken: ({ topic }, { owner }) => void taken.push(`${topic} by ${owner}`),
    onFatal: ({ message }) => fatal.push(message),
    onMoved: () => void (moved += 1),
  });
  changes = { cluster: partition('p.cluster'), history: partition('p.history'), matching: partition('p.matching') };
});

const takenOver: ConstructorParameters<typeof Census>[0]['takenOver'] = (partition, { owner, epoch }) =>
  new Error(`${partition} was taken by ${owner} at epoch ${epoch}`);

function partition(topic: string): Change {
  const report = census.register(topic, 0);
  const base = {
    partition: { topic, partition: 0 },
    state: 'restoring',
    epoch: 1,
    sequence: 1,
    offset: 1,
    reason: '',
    rival: undefined,
    silentSinceMs: undefined,
    replayed: { records: 12, bytes: 345, ms: 6 },
  } as const;
  return (change) => report({ ...base, ...change } as PartitionStatus);
}

async function started(): Promise<void> {
  for (const change of Object.values(changes)) change({ state: 'active' });
  await census.settled();
  census.serving();
}

test('whoever waits for a start hears of everything that a partition says, so that it is not given up while it moves', () => {
  for (const records of [10, 20, 30]) changes.history({ state: 'replaying', replayed: { records, bytes: 0, ms: 0 } });
  expect(moved).toBe(3);
});

test('a start is settled when every partition is active or failed, and says at once what is not served', async () => {
  changes.cluster({ state: 'active' });
  changes.matching({ state: 'active' });
  changes.history({ state: 'failed', reason: 'a record is damaged' });
  await census.settled();
  expect(lines).toEqual([]);
  census.serving();
  expect(census.unserved()).toEqual([{ partition: 'p.history/0', state: 'failed', reason: 'a record is damaged' }]);
  expect([census.unserved('p.history').length, census.unserved('p.matching').length]).toEqual([1, 0]);
  expect(lines).toEqual([
    'ERROR partitions are not served: their calls are answered UNAVAILABLE  partitions=p.history/0 served=2 state=failed reason="a record is damaged"',
  ]);
});

test('without the cluster’s partition a start fails, with the reason', async () => {
  changes.cluster({ state: 'failed', reason: 'a record is damaged' });
  await expect(census.settled()).rejects.toMatchObject({
    message: expect.stringMatching(/^nothing can be served without p\.cluster\/0/),
    cause: { message: 'a record is damaged' },
  });
});

test('nothing else is claimed before the cluster’s partition is held; a rival’s claim of it ends the start', async () => {
  let isHeld = false;
  void census.clusterHeld().then(() => (isHeld = true));
  changes.history({ state: 'active' });
  changes.cluster({ state: 'claiming' });
  await Promise.resolve();
  expect(isHeld).toBe(false);
  changes.cluster({ state: 'active' });
  await census.clusterHeld();
  changes.cluster({ state: 'unassigned', rival: { owner: 'other', epoch: 7, offset: 9, ownerNonce: 'n' } });
  await expect(census.settled()).rejects.toThrow('p.cluster/0 was taken by other at epoch 7');
});

test('what a start goes on without was never active, however soon it goes on', async () => {
  census = new Census({
    clock,
    logger: silentLogger,
    clusterTopic: 'p.cluster',
    runsPutAside: () => 0,
    stalledMsMax: 1_000,
    takenOver,
    onTaken: () => {},
    onFatal: () => {},
  });
  const [cluster, history] = [partition('p.cluster'), partition('p.history')];
  cluster({ state: 'active' });
  history({ state: 'claiming' });
  clock.advance(1_000);
  await census.settled();
  // Not unserved yet, as far as health is concerned; but an identity beside its empty journal would be taken for a loss at each later start.
  expect(census.unserved()).toEqual([]);
  expect(() => checkFirstStart(census)).toThrow('a first start needs every partition, but p.history/0 cannot be served: it is claiming');
  history({ state: 'active' });
  history({ state: 'claiming' });
  checkFirstStart(census);
});

test('a start goes on without partitions that have not moved for long, once the cluster’s is there', async () => {
  let settled = false;
  void census.settled().then(() => (settled = true));
  changes.history({ state: 'active' });
  clock.advance(20_000);
  await Promise.resolve();
  expect(settled).toBe(false);
  changes.cluster({ state: 'active' });
  clock.advance(14_999);
  // Movement of any of them: another while.
  changes.matching({ state: 'replaying' });
  clock.advance(14_999);
  await Promise.resolve();
  expect(settled).toBe(false);
  clock.advance(1);
  await census.settled();
  census.serving();
  expect(census.unserved()).toEqual([{ partition: 'p.matching/0', state: 'replaying', reason: '', replayed: { records: 12, bytes: 345 } }]);
  changes.matching({ state: 'active' });
  expect([census.unserved(), lines.at(-1)]).toEqual([[], 'INFO  all partitions are served again']);
});

describe('while serving', () => {
  beforeEach(started);

  test('a failed partition is reported at once, then once a minute, until all is well', () => {
    let told = 0;
    census.watch(() => (told += 1));
    changes.history({ state: 'failed', reason: 'lost records' });
    expect([census.unserved().length, told]).toEqual([1, 1]);
    clock.advance(180_000);
    expect(lines).toHaveLength(4);
    changes.history({ state: 'active' });
    expect(census.unserved()).toEqual([]);
    clock.advance(600_000);
    expect(lines.slice(4)).toEqual(['INFO  all partitions are served again']);
    expect(clock.pending).toBe(0);
  });

  test('a doubt is nobody’s business for five seconds', () => {
    changes.history({ state: 'claiming' });
    clock.advance(4_999);
    changes.history({ state: 'restoring' });
    expect([census.unserved(), lines]).toEqual([[], []]);
    clock.advance(1);
    expect(census.unserved()).toEqual([{ partition: 'p.history/0', state: 'restoring', reason: '' }]);
    expect(lines).toHaveLength(1);
    changes.history({ state: 'active' });
    changes.history({ state: 'claiming' });
    expect(census.unserved()).toEqual([]);
  });

  test('whose log has been silent for five seconds is not served, with the reason, until it answers', () => {
    const silence = { state: 'active', silentSinceMs: clock.monoMs(), reason: 'Kafka: no broker answers' } as const;
    clock.advance(3_000);
    changes.history(silence);
    clock.advance(1_999);
    expect([census.unserved(), lines]).toEqual([[], []]);
    let told = 0;
    census.watch(() => (told += 1));
    clock.advance(1);
    const reason = 'no answer from its log for 5 s (Kafka: no broker answers)';
    expect([census.unserved(), told]).toEqual([[{ partition: 'p.history/0', state: 'active', reason }], 1]);
    expect(lines.at(-1)).toContain(`partitions=p.history/0 served=2 state=active reason="${reason}"`);
    // In doubt it has waited for just as long.
    changes.history({ ...silence, state: 'claiming' });
    expect(census.unserved()).toHaveLength(1);
    changes.history({ state: 'active' });
    expect([census.unserved(), lines.at(-1)]).toEqual([[], 'INFO  all partitions are served again']);
    clock.advance(600_000);
    expect(lines).toHaveLength(2);
  });

  test('others that are not served meanwhile are reported after five seconds, all together', () => {
    changes.history({ state: 'failed', reason: 'x' });
    changes.cluster({ state: 'failed', reason: 'y' });
    changes.matching({ state: 'failed', reason: 'z' });
    expect(census.unserved()).toHaveLength(3);
    clock.advance(4_999);
    expect(lines).toHaveLength(1);
    clock.advance(1);
    expect(lines.at(-1)).toContain('partitions="p.cluster/0, p.history/0, p.matching/0" served=0');
    clock.advance(59_999);
    expect(lines).toHaveLength(2);
  });

  test('a rival that takes the cluster’s partition ends the process; of another one he does not decide', () => {
    const lost = { state: 'unassigned', rival: { owner: 'other', epoch: 7, offset: 9, ownerNonce: 'n' } } as const;
    changes.history(lost);
    // Told again in the same state: it was taken once.
    changes.history(lost);
    expect([taken, fatal]).toEqual([['p.history by other'], []]);
    changes.history({ state: 'active' });
    changes.history(lost);
    changes.cluster(lost);
    expect([taken, fatal]).toEqual([['p.history by other', 'p.history by other'], ['p.cluster/0 was taken by other at epoch 7']]);
  });

  test('a stop is no failure', () => {
    census.stopping();
    changes.history({ state: 'draining' });
    changes.history({ state: 'released' });
    clock.advance(600_000);
    expect([lines, clock.pending]).toEqual([[], 0]);
  });
});
