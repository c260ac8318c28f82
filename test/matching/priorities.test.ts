/** Whose turn it is: priority, then fair shares between keys, then age; of what is in memory, in rows, and at a parent. */
import { describe, expect, test } from 'vitest';
import type { PriorityFields } from '../../src/kernel/priority.ts';
import { Tally } from '../../src/kernel/tally.ts';
import type { UpdateTaskQueueConfig } from '../../src/matching/matching-commands.ts';
import type { LoadStoredTasks } from '../../src/matching/matching-effects.ts';
import { KeyRates } from '../../src/matching/key-rates.ts';
import { matchingLimits, type MatchingLimits } from '../../src/matching/matching-limits.ts';
import type { TaskQueuePartition } from '../../src/kernel/task-queue.ts';
import type { MatchingTask } from '../../src/matching/matching-tasks.ts';
import { matchingStateCodec } from '../../src/codec/matching-state-codec.ts';
import { Table } from './checkpointed-backlog.ts';
import { activities, add, Host, poll, sticky, task } from './fixtures.ts';

function at(priorityKey: number, fairnessKey = '', fairnessWeight = 0): { readonly priority: PriorityFields } {
  return { priority: { priorityKey, fairnessKey, fairnessWeight } };
}

let polls = 0;

/** Which tasks so many polls get, one after the other. */
function taken(host: Host, count: number, queue = activities): readonly string[] {
  const names: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    host.ask(poll(`p${++polls}`, { queue, deadlineMs: host.now + 60_000 }));
    for (const start of host.takeStarts()) {
      names.push(start.task.key.workflowId);
      host.answerStart(start);
    }
  }
  return names;
}

function addAll(host: Host, tasks: readonly MatchingTask[], queue = activities): void {
  for (const each of tasks) host.ask(add(each, { queue }));
}

function numbered(name: string, count: number, over: Partial<MatchingTask>): readonly MatchingTask[] {
  return Array.from({ length: count }, (_, nth) => task(`${name}${nth}`, over));
}

/** How many of them begin so. */
function countOf(names: readonly string[], letter: string): number {
  return names.filter((name) => name.startsWith(letter)).length;
}

describe('priorities', () => {
  test('a lower number goes first, whoever says nothing is in the middle, and among equals the oldest goes first', () => {
    const host = new Host();
    const tasks = [task('none'), task('five', at(5)), task('seven', at(7)), task('one', at(1)), task('three', at(3)), task('zero', at(0))];
    addAll(host, [...tasks, task('two', at(2)), task('one again', at(1))]);
    expect(taken(host, 8)).toEqual(['one', 'one again', 'two', 'none', 'three', 'zero', 'five', 'seven']);
  });

  test('a task that came back from a poll goes before later ones of its priority, and behind those of a better one', () => {
    const host = new Host();
    addAll(host, [task('a', at(2)), task('b', at(2))]);
    const asked = host.ask(poll('lost'));
    const [start] = host.takeStarts();
    host.cancel(asked);
    host.ask(add(task('first', at(1))));
    host.answerStart(start!, { kind: 'unavailable' });
    expect(taken(host, 3)).toEqual(['first', 'a', 'b']);
  });

  test('a sticky queue keeps to them as well', () => {
    const host = new Host();
    host.ask(poll('p', { queue: sticky, deadlineMs: host.now + 5 }));
    host.advanceTo(host.now + 10);
    addAll(host, [task('late', at(4)), task('early', at(2)), task('none')], sticky);
    expect(taken(host, 3, sticky)).toEqual(['early', 'none', 'late']);
  });

  test('after a takeover it goes on as before', () => {
    const host = new Host();
    addAll(host, [task('none'), task('late', at(5)), task('early', at(1, 'k'))]);
    host.restart();
    host.advanceTo(host.now + 1);
    expect(taken(host, 3)).toEqual(['early', 'none', 'late']);
  });

  test('a parent has the first tasks of each priority, however many of another it has not given out', () => {
    const host = new Host();
    const child = { ...activities, partition: 1 };
    addAll(host, numbered('late', 20, at(5)), child);
    host.ask({ kind: 'tick' });
    answerForwarded(host, 'noMatch');
    host.advanceTo(host.now + 1_000);
    const held = host.takeForwardedTasks().map(({ command }) => command.task.key.workflowId);
    expect(held).toHaveLength(8);
    host.ask(add(task('early', at(1)), { queue: child }));
    expect(host.takeForwardedTasks().map(({ command }) => command.task.key.workflowId)).toEqual(['early']);
  });
});

function answerForwarded(host: Host, outcome: 'taken' | 'noMatch'): void {
  for (const { correlation } of host.takeForwardedTasks()) host.ask({ kind: 'forwardedTaskAnswered', correlation, outcome });
}

describe('fair shares', () => {
  test('a flood of one key holds up no other, and who has none has a share as well', () => {
    const host = new Host();
    addAll(host, [...numbered('a', 100, at(3, 'flood')), ...numbered('b', 5, at(3, 'small')), ...numbered('c', 5, {})]);
    const first = taken(host, 15);
    expect([countOf(first, 'a'), countOf(first, 'b'), countOf(first, 'c')]).toEqual([5, 5, 5]);
    expect(taken(host, 95)).toEqual(Array.from({ length: 95 }, (_, nth) => `a${nth + 5}`));
  });

  test.each([
    [1, 3, [10, 30]],
    [0, 4, [8, 32]],
    [0.5, 0.25, [27, 13]],
    [1_000_000, 1, [39, 1]],
  ])('weights of %d and %d', (one, other, expected) => {
    const host = new Host();
    addAll(host, [...numbered('a', 60, at(3, 'one', one)), ...numbered('b', 60, at(3, 'other', other))]);
    const first = taken(host, 40);
    for (const [nth, letter] of ['a', 'b'].entries()) {
      expect(Math.abs(countOf(first, letter) - expected[nth]!), `${letter}: ${countOf(first, letter)}`).toBeLessThanOrEqual(1);
    }
  });

  test('nobody saves turns up while he sends nothing, nor gains by sending one at a time', () => {
    const host = new Host();
    addAll(host, numbered('a', 200, at(3, 'flood')));
    taken(host, 50);
    addAll(host, numbered('b', 50, at(3, 'late')));
    expect(countOf(taken(host, 20), 'b'), 'its share, and not what it has missed').toBeLessThanOrEqual(11);
    const light = new Host();
    addAll(light, numbered('a', 100, at(3, 'flood')));
    let of = 0;
    for (let nth = 0; nth < 30; nth++) {
      light.ask(add(task(`c${nth}`, at(3, 'light', 0.1))));
      of += countOf(taken(light, 1), 'c');
    }
    expect(of).toBeLessThanOrEqual(4);
  });

  test('priority goes before fairness: a key that is behind waits for better priorities', () => {
    const host = new Host();
    addAll(host, [...numbered('a', 5, at(4, 'x')), ...numbered('b', 5, at(2, 'y')), task('c', at(4, 'z'))]);
    const order = taken(host, 11);
    expect(countOf(order.slice(0, 5), 'b')).toBe(5);
    expect(order.slice(5, 7).toSorted()).toEqual(['a0', 'c']);
  });

  test('a task that turned out to be over costs its key no turn', () => {
    const host = new Host();
    addAll(host, [...numbered('a', 20, at(3, 'ended')), ...numbered('b', 20, at(3, 'other'))]);
    const started: string[] = [];
    for (let nth = 0; nth < 10; nth++) {
      host.ask(poll(`q${nth}`));
      for (let starts = host.takeStarts(); starts.length > 0; starts = host.takeStarts()) {
        for (const start of starts) {
          const isOver = start.task.key.workflowId.startsWith('a') && Number(start.task.key.workflowId.slice(1)) < 10;
          if (isOver) host.answerStart(start, { kind: 'obsolete' });
          else {
            started.push(start.task.key.workflowId);
            host.answerStart(start);
          }
        }
      }
    }
    expect(countOf(started, 'a')).toBeGreaterThanOrEqual(4);
  });

  test('a parent has one of each key, though the first key takes all of its places', () => {
    const host = new Host();
    const child = { ...activities, partition: 1 };
    addAll(host, numbered('a', 20, at(3, 'flood')), child);
    answerForwarded(host, 'noMatch');
    host.advanceTo(host.now + 1_000);
    expect(host.takeForwardedTasks()).toHaveLength(8);
    addAll(host, numbered('b', 3, at(3, 'small')), child);
    expect(host.takeForwardedTasks().map(({ command }) => command.task.key.workflowId)).toEqual(['b0']);
  });

  test('more keys than a queue has lanes: all are worked off, those with a lane keep their shares', () => {
    const host = new Host({ keyedLanesPerQueueMax: 10, idleLanesMax: 2 });
    addAll(host, numbered('a', 300, at(3, 'flood')));
    for (let nth = 0; nth < 200; nth++) host.ask(add(task(`k${nth}`, at(3, `key-${nth}`))));
    expect(new Set(host.journal.flatMap(({ spilled }) => spilled.map(({ shared }) => shared))).size, 'shared lanes are used').toBe(9);
    const first = taken(host, 180);
    expect(countOf(first, 'k'), 'most of the turns are not those of the flood').toBeGreaterThan(90);
    expect(new Set([...first, ...taken(host, 320)]).size).toBe(500);
    host.advanceTo(host.now + matchingLimits.removalsFlushMs);
    expect(host.core.storedTasks).toBe(0);
  });
});

test('keys of one namespace that fill a host leave others their share of lanes of their own', () => {
  const host = new Host({ keyedLanesPerHostMax: 20 });
  const laneOfNew = (namespaceId: string, nth: number): number | undefined => {
    host.ask(add(task(`${namespaceId}${nth}`, at(3, `key-${nth}`)), { queue: { ...activities, namespaceId } }));
    return host.journal.at(-1)?.spilled[0]?.shared;
  };
  const lanesOf = (namespaceId: string, count: number) => Array.from({ length: count }, (_, nth) => laneOfNew(namespaceId, nth));
  expect(lanesOf('greedy', 25)).toEqual([...Array.from({ length: 20 }, () => 0), 1, 1, 1, 1, 1]);
  expect(lanesOf('other', 12)).toEqual([...Array.from({ length: 10 }, () => 0), 1, 1]);
  expect(lanesOf('third', 8)).toEqual([...Array.from({ length: 6 }, () => 0), 1, 1]);
});

/** A host that was just taken over: all of it is in rows. */
class FromRows {
  readonly table = new Table();
  readonly host: Host;

  constructor(tasks: readonly MatchingTask[], limits: Partial<MatchingLimits> = {}) {
    const before = new Host(limits, matchingStateCodec);
    addAll(before, tasks);
    before.core.cut();
    this.table.write(
      before.core.capture(() => true)!,
      before.journal.length,
    );
    this.host = new Host(limits, matchingStateCodec);
    this.table.installInto(this.host.core);
    this.host.ask({ kind: 'activate' });
    this.host.advanceTo(this.host.now + 1);
  }

  answerReads(): void {
    const loads = this.host.effects.filter((effect): effect is LoadStoredTasks => effect.kind === 'loadStoredTasks');
    this.host.effects = this.host.effects.filter((effect) => effect.kind !== 'loadStoredTasks');
    for (const { queue, key, afterTaskId, max } of loads) {
      const rows = this.table.sorted.filter((row) => row.queue === key && row.taskId > afterTaskId).slice(0, max);
      this.host.ask({ kind: 'storedTasksLoaded', queue, key, rows });
    }
  }

  /** The first of them. Whose lane's it was. */
  answerOneRead(): string | undefined {
    const load = this.host.effects.find((effect): effect is LoadStoredTasks => effect.kind === 'loadStoredTasks');
    if (load === undefined) return undefined;
    this.host.effects = this.host.effects.filter((effect) => effect !== load);
    const { queue, key, afterTaskId, max } = load;
    const rows = this.table.sorted.filter((row) => row.queue === key && row.taskId > afterTaskId).slice(0, max);
    this.host.ask({ kind: 'storedTasksLoaded', queue, key, rows });
    return key;
  }

  failReads(): void {
    const loads = this.host.effects.filter((effect): effect is LoadStoredTasks => effect.kind === 'loadStoredTasks');
    this.host.effects = this.host.effects.filter((effect) => effect.kind !== 'loadStoredTasks');
    for (const { queue, key } of loads) this.host.ask({ kind: 'storedTasksLoaded', queue, key, rows: undefined });
  }

  taken(count: number): readonly string[] {
    return Array.from({ length: count }, () => {
      const names = taken(this.host, 1);
      this.answerReads();
      return names;
    }).flat();
  }
}

describe('in rows', () => {
  test('more keys than may be read for at a time: all have their turns, and those whose reads failed too', () => {
    const limits = { windowTasksPerHostMax: 1, windowTasksPerLaneMin: 1, windowTasksPerKeyedLaneMin: 1, coldReadsPerQueueMax: 2 };
    const tasks = Array.from({ length: 40 }, (_, nth) => numbered(`k${nth}-`, 6, at(3, `key-${nth}`))).flat();
    const of = new FromRows(tasks, { ...limits, removalsFlushMs: 0 });
    const names = new Set<string>();
    for (let nth = 0; names.size < tasks.length; nth++) {
      expect(nth).toBeLessThan(20_000);
      for (const name of taken(of.host, 1)) names.add(name);
      if (nth % 7 === 0) of.failReads();
      else if (nth % 3 === 0) of.answerReads();
      of.host.advanceTo(of.host.now + 50);
    }
    expect(of.host.core.counts().startsUnderWay).toBe(0);
  });

  test('while reads are slow and the window is full, each key is read for before any is for a third time', () => {
    const limits = { windowTasksPerHostMax: 1, windowTasksPerLaneMin: 1, windowTasksPerKeyedLaneMin: 2, coldReadsPerQueueMax: 4 };
    const tasks = Array.from({ length: 20 }, (_, nth) => numbered(`k${nth}-`, 40, at(3, `key-${nth}`))).flat();
    const of = new FromRows(tasks, { ...limits, removalsFlushMs: 0 });
    const reads = new Map<string, number>();
    for (let turn = 0; turn < 200 && reads.size < 20; turn++) {
      taken(of.host, 5);
      const key = of.answerOneRead();
      if (key !== undefined) reads.set(key, (reads.get(key) ?? 0) + 1);
      expect(Math.max(0, ...reads.values())).toBeLessThan(3);
    }
    expect(reads.size).toBe(20);
  });

  const small = { windowTasksPerLaneMax: 10, windowTasksPerHostMax: 40, windowTasksPerLaneMin: 4, removalsFlushMs: 0 };

  test('a long backlog hides no task of a better priority behind its window', () => {
    const of = new FromRows([...numbered('a', 500, {}), task('early', at(1)), ...numbered('b', 30, at(2))], small);
    expect(of.host.core.counts().tasksInMemory).toBeLessThan(40);
    const order = of.taken(531);
    expect(order[0]).toBe('early');
    expect(countOf(order.slice(1, 31), 'b')).toBe(30);
    expect(new Set(order).size).toBe(531);
    expect(order.slice(31)).toEqual(Array.from({ length: 500 }, (_, nth) => `a${nth}`));
  });

  test('nor one of another key', () => {
    const of = new FromRows(
      [...numbered('a', 300, at(3, 'flood')), ...numbered('b', 100, at(3, 'b/é\u0000')), ...numbered('c', 100, {})],
      small,
    );
    const first = of.taken(30);
    expect([countOf(first, 'a'), countOf(first, 'b'), countOf(first, 'c')]).toEqual([10, 10, 10]);
    expect(new Set([...first, ...of.taken(470)]).size).toBe(500);
    expect(of.host.core.storedTasks - 1).toBeLessThanOrEqual(0);
  });

  test('a thousand keys take a few rows each, and a few reads at a time', () => {
    const tasks = Array.from({ length: 3_000 }, (_, nth) => task(`k${nth}`, at(3, `key-${nth % 1_000}`)));
    const of = new FromRows(tasks, { ...small, windowTasksPerKeyedLaneMin: 1 });
    expect(of.host.core.counts().tasksInMemory).toBeLessThan(1_100);
    const order = of.taken(3_000);
    expect(new Set(order).size).toBe(3_000);
    expect(new Set(order.slice(0, 1_000).map((name) => Number(name.slice(1)) % 1_000)).size, 'each key has had its turn').toBeGreaterThan(
      950,
    );
  });
});

describe('rates of fairness keys', () => {
  function limited(perSecond: number, over: Partial<Pick<UpdateTaskQueueConfig, 'queueRate' | 'setWeights'>> = {}): Host {
    const host = new Host();
    limitKeys(host, perSecond, over);
    return host;
  }

  function limitKeys(host: Host, perSecond: number | undefined, over = {}): void {
    const keyRate = { perSecond, reason: '' };
    const change = { identity: 'ops', queueRate: undefined, keyRate, setWeights: [], unsetWeights: [], ...over };
    host.ask({ kind: 'updateTaskQueueConfig', queue: activities, ...change });
  }

  /** What goes out by then, to polls that wait all along, by its first letter and second. */
  function sentUntil(host: Host, atMs: number): readonly string[] {
    const sent: string[] = [];
    const note = (): void => {
      for (const start of host.takeStarts()) {
        sent.push(`${start.task.key.workflowId.slice(0, 1)}${host.now / 1_000}`);
        host.answerStart(start);
      }
    };
    note();
    for (let at = host.now; at <= atMs; at += 100) {
      host.advanceTo(at);
      note();
    }
    return sent;
  }

  function pollAll(host: Host, count: number): void {
    for (let nth = 0; nth < count; nth++) host.ask(poll(`p${++polls}`, { deadlineMs: host.now + 60_000 }));
  }

  test('each key goes at its own pace, by its weight, and one that may not go holds up no other', () => {
    const host = limited(1, { setWeights: [{ key: 'b', weight: 2 }] });
    addAll(host, [...numbered('a', 9, at(3, 'a')), ...numbered('b', 9, at(3, 'b')), ...numbered('c', 2, at(5, 'c'))]);
    pollAll(host, 20);
    expect(sentUntil(host, 3_000).toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'b1', 'b1.5', 'b2', 'b2.5', 'b3', 'c1', 'c2']);
  });

  test('also those that meet a poll which waits already; tasks without a key have a rate together', () => {
    const host = limited(0.5);
    pollAll(host, 9);
    addAll(host, [task('n1'), task('a1', at(3, 'a')), task('n2'), task('a2', at(3, 'a')), task('b1', at(1, 'b'))]);
    expect(sentUntil(host, 4_000)).toEqual(['n1', 'a1', 'b1', 'n3', 'a3']);
  });

  test('a rate of the queue holds beside it, and takes no token of a key for what it holds up', () => {
    const host = limited(1, { queueRate: { perSecond: 1, reason: '' } });
    addAll(host, [...numbered('a', 3, at(3, 'a')), ...numbered('b', 3, at(3, 'b'))]);
    pollAll(host, 9);
    expect(sentUntil(host, 4_000)).toEqual(['a1', 'b2', 'a3', 'b4']);
  });

  test('0 lets no key go; another rate, another weight and the end of it let go what waits', () => {
    const host = limited(0);
    addAll(host, numbered('a', 3, at(3, 'a')));
    pollAll(host, 9);
    expect(sentUntil(host, 20_000)).toEqual([]);
    limitKeys(host, 0.001);
    expect(sentUntil(host, 30_000)).toEqual(['a20']);
    limitKeys(host, 0.001, { setWeights: [{ key: 'a', weight: 1_000 }] });
    expect(sentUntil(host, 31_000)).toEqual(['a31']);
    limitKeys(host, undefined);
    expect(host.takeStarts()).toHaveLength(1);
  });

  test('a task that reached nobody takes no token', () => {
    const host = limited(0.001);
    const asked = host.ask(poll('lost'));
    host.ask(add(task('a', at(3, 'a'))));
    const [start] = host.takeStarts();
    host.cancel(asked);
    host.answerStart(start!, { kind: 'unavailable' });
    expect(taken(host, 1)).toEqual(['a']);
  });

  test('ten thousand keys that are quiet again leave nothing behind; those that are not are 2,000 at most', () => {
    const limits = { ...matchingLimits, keyBucketsPerQueueMax: 2_000, keyBucketsPerHostMax: 3_000 };
    const ofHost = new Tally();
    const used = (perSecond: number): KeyRates => {
      const rates = new KeyRates(perSecond, { namespaceId: 'ns', weightOf: () => 1, limits, ofHost });
      for (let nth = 0; nth < 10_000; nth++) rates.take(task('t', at(3, `k${nth}`)), nth);
      return rates;
    };
    expect(used(1_000_000).size).toBe(1);
    const rates = used(0.1);
    expect(rates.size).toBe(2_000);
    expect(used(0.1).size, 'of a host that has many, the rest').toBe(999);
    expect(ofHost.total).toBe(3_000);
    rates.clear();
    expect(ofHost.total).toBe(1_000);
  });

  test('keys of one namespace that fill a host end the rates of no other, nor that of a queue of their own', () => {
    const host = new Host({ keyBucketsPerHostMax: 10 });
    const limitedAt = (queue: TaskQueuePartition): TaskQueuePartition => {
      limitKeys(host, 0.001, { queue });
      for (let nth = 0; nth < 12; nth++) host.ask(poll(`p${++polls}`, { queue }));
      return queue;
    };
    const startsOf = (queue: TaskQueuePartition, keys: readonly string[]): number => {
      addAll(
        host,
        numbered(`${queue.namespaceId}-${queue.name}`, keys.length, {}).map((each, nth) => ({ ...each, ...at(3, keys[nth]!) })),
        queue,
      );
      return host.takeStarts().length;
    };
    const greedy = limitedAt({ ...activities, namespaceId: 'greedy' });
    startsOf(
      greedy,
      Array.from({ length: 12 }, (_, nth) => `key-${nth}`),
    );
    expect(startsOf(limitedAt({ ...activities, namespaceId: 'other' }), ['a', 'b', 'a', 'b', 'a'])).toBe(2);
    expect(startsOf(limitedAt({ ...greedy, name: 'second' }), ['a', 'a', 'a'])).toBe(1);
  });

  const forever = { deadlineMs: 1_000_000_000 };

  test('a token that comes back lets the next of its key go, whoever waits and whatever its priority', () => {
    const host = limited(0.001);
    addAll(host, [task('a1', at(3, 'a')), task('a2', at(3, 'a'))]);
    for (const name of ['p1', 'p2']) host.ask(poll(name, forever));
    const [first] = host.takeStarts();
    host.answerStart(first!, { kind: 'obsolete' });
    const [second] = host.takeStarts();
    expect(second?.task.key.workflowId).toBe('a2');
    host.ask(add(task('a3', at(5, 'a'))));
    host.ask(poll('p3', forever));
    host.answerStart(second!, { kind: 'obsolete' });
    host.advanceTo(host.now + 10);
    expect(host.takeStarts().map(({ task }) => task.key.workflowId)).toEqual(['a3']);
  });

  test('a clock that is set back by an hour holds up no key for that long', () => {
    const host = new Host();
    host.now = 10_000_000;
    limitKeys(host, 1);
    addAll(host, numbered('a', 2, at(3, 'a')));
    for (const name of ['p1', 'p2']) host.ask(poll(name, forever));
    expect(host.takeStarts()).toHaveLength(1);
    host.now -= 3_600_000;
    host.ask({ kind: 'tick' });
    host.advanceTo(host.now + 1_000);
    host.ask(poll('p3', forever));
    host.advanceTo(host.now + 1_000);
    expect(host.takeStarts()).toHaveLength(1);
  });

  test('where keys share a lane, one that may not go holds up no other either', () => {
    const host = new Host({ keyedLanesPerQueueMax: 1, sharedLanesPerLevel: 1 });
    limitKeys(host, 1, { setWeights: [{ key: 'slow', weight: 0.001 }] });
    addAll(host, [task('x', at(3, 'x')), ...numbered('s', 2, at(3, 'slow')), ...['b', 'c', 'd'].map((key) => task(key, at(3, key)))]);
    pollAll(host, 5);
    expect(
      host
        .takeStarts()
        .map(({ task }) => task.key.workflowId)
        .toSorted(),
    ).toEqual(['b', 'c', 'd', 's0', 'x']);
    host.ask(add(task('e', at(3, 'e'))));
    pollAll(host, 1);
    expect(host.takeStarts().map(({ task }) => task.key.workflowId)).toEqual(['e']);
  });
});
