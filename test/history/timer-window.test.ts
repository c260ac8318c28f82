/** Which timers of a shard are in memory, whatever happens to them, their rows and the clock: the one that is due next is always there in time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TimerWindowLimits } from '../../src/history/residency/timer-window.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import { Checkpoints } from './checkpointed-shard.ts';
import { cancelTimer, completeWorkflow, key, ShardUnderTest, startTimer } from './shard-under-test.ts';

const limits: TimerWindowLimits = {
  aheadMsMax: 60_000,
  timersMax: 8,
  timersLeft: 2,
  timersNearMax: 12,
  pageRows: 3,
  overdueMsMax: 1_000,
};

class WindowedShard extends ShardUnderTest {
  readonly checkpoints: Checkpoints;
  readonly window;

  constructor(change: Partial<TimerWindowLimits> = {}) {
    super({}, stateCodec);
    this.checks = false;
    this.checkpoints = new Checkpoints(this);
    this.window = this.core.timerWindow;
    this.window.opens({ ...limits, ...change });
    this.start();
  }

  /** Of one workflow: the next workflow task comes with a signal. */
  timers(...timersMs: readonly number[]): void {
    this.signal();
    const commands = timersMs.map((ms) => startTimer(`${ms} from ${this.nowMs}`, ms));
    this.complete(this.pollWorkflowTask(), commands);
  }

  write(): void {
    this.checkpoints.cut();
    this.checkpoints.capture(Infinity);
    this.checkpoints.write('written');
    this.leave();
  }

  leave(): void {
    this.window.comeNearer(this.nowMs);
    for (const _look of this.window.leave(() => this.nowMs));
  }

  /** As the shell does: pages as long as they are wanted. Answers how many. */
  fill(): number {
    let pages = 0;
    if (!this.window.wants(this.nowMs)) return pages;
    do {
      const rows = this.checkpoints.table.timers(this.window.begin(this.nowMs));
      for (const row of rows) this.window.install(row);
      this.window.end(rows, this.nowMs);
      pages++;
    } while (this.window.goesOn);
    return pages;
  }

  get inMemory(): number {
    return this.core.shard.timers.size;
  }

  get fired(): number {
    return this.history().filter((type) => type === 'timerFired').length;
  }
}

describe('a timer', () => {
  test('that is far stays until it is written, and comes back in time to fire', () => {
    const shard = new WindowedShard();
    shard.fill();
    shard.timers(3_600_000);
    shard.leave();
    expect(shard.inMemory, 'its row is not written').toBe(1);
    shard.write();
    expect(shard.inMemory).toBe(0);
    for (let minutes = 0; minutes < 60; minutes++) {
      shard.fill();
      expect(shard.core.shard.timers.next() === undefined).toBe(minutes < 59);
      shard.advance(60_000);
      shard.fireDueTimers();
    }
    expect(shard.fired).toBe(1);
  });

  test('stays while its row is on its way, whatever becomes of that', () => {
    const shard = new WindowedShard();
    shard.timers(3_600_000);
    shard.checkpoints.cut();
    shard.leave();
    shard.checkpoints.capture(Infinity);
    shard.leave();
    shard.checkpoints.write('failed');
    shard.leave();
    shard.checkpoints.write('lost');
    shard.leave();
    expect(shard.inMemory).toBe(1);
    shard.checkpoints.write('written');
    shard.leave();
    expect(shard.inMemory).toBe(0);
  });

  test('that is near stays, written or not', () => {
    const shard = new WindowedShard();
    shard.fill();
    shard.timers(1_000, 59_000, 61_000);
    shard.write();
    expect(shard.inMemory).toBe(2);
  });

  test('that was cancelled in the table alone does not come back with a window, nor when its row is gone', () => {
    const shard = new WindowedShard();
    shard.timers(50_000);
    const timerId = `50000 from ${shard.nowMs}`;
    shard.write();
    expect(shard.inMemory).toBe(0);
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [cancelTimer(timerId)]);
    expect(shard.checkpoints.table.size.timers).toBe(1);
    shard.fill();
    expect(shard.inMemory, 'its row is there still').toBe(0);
    shard.write();
    expect(shard.checkpoints.table.size.timers).toBe(0);
  });

  test('of a workflow that has ended goes with it, from memory and table', () => {
    const shard = new WindowedShard();
    shard.timers(1_000, 90_000);
    shard.write();
    shard.fill();
    expect(shard.inMemory).toBe(1);
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    shard.write();
    expect([shard.inMemory, shard.checkpoints.table.size.timers], 'the end of its retention, and nothing else').toEqual([1, 0]);
  });

  test('does not fire while its workflow is quarantined, though it was in the table alone then', () => {
    const shard = new WindowedShard();
    shard.timers(50_000);
    shard.write();
    shard.expectDone({ kind: 'putAside', key: shard.describe().key, failedCommand: 'fireTimer', taskId: 0, reason: 'planted' });
    shard.write();
    shard.fill();
    expect(shard.core.shard.timers.next()).toBeUndefined();
    shard.advance(60_000);
    shard.fill();
    shard.fireDueTimers();
    expect(shard.fired).toBe(0);
  });

  test('that is due with others of its workflow fires with them, in memory or not', () => {
    const shard = new WindowedShard();
    shard.fill();
    shard.timers(70_000, 71_000, 72_000);
    shard.write();
    shard.timers(72_500);
    shard.advance(80_000);
    shard.fireDueTimers();
    expect(shard.fired, 'the one that is not written is late, and those before it are in the table').toBe(4);
    shard.write();
    expect([shard.fill() > 0, shard.inMemory, shard.checkpoints.table.size.timers]).toEqual([true, 0, 0]);
  });
});

describe('a window', () => {
  test('holds as many timers as it may, and goes on when few are left or half of its time is over', () => {
    const shard = new WindowedShard();
    shard.timers(...Array.from({ length: 20 }, (_, n) => 1_000 * (n + 1)));
    shard.write();
    expect(shard.inMemory).toBe(0);
    expect(shard.fill()).toBe(3);
    expect(shard.inMemory).toBe(8);
    expect(shard.fill()).toBe(0);
    shard.advance(4_000);
    shard.fireDueTimers();
    expect(shard.inMemory).toBe(4);
    expect(shard.fill(), 'half of the time is over').toBeGreaterThan(0);
    expect(shard.inMemory).toBe(8);
  });

  test('is not read again where there is nothing more', () => {
    const shard = new WindowedShard();
    shard.timers(1_000, 2_000);
    shard.write();
    expect(shard.fill()).toBe(1);
    shard.advance(2_000);
    shard.fireDueTimers();
    shard.advance(20_000);
    expect(shard.fill()).toBe(0);
    shard.advance(10_000);
    expect(shard.fill(), 'half of a minute is over').toBe(1);
  });

  test('comes nearer where too many are near, and those behind it leave', () => {
    const shard = new WindowedShard();
    shard.fill();
    shard.timers(...Array.from({ length: 40 }, (_, n) => 1_000 * (n + 1)));
    expect(shard.inMemory).toBe(40);
    shard.write();
    expect(shard.inMemory).toBeLessThanOrEqual(12);
    for (let seconds = 0; seconds < 40; seconds++) {
      shard.fill();
      shard.advance(1_000);
      shard.fireDueTimers();
      expect(shard.fired).toBe(seconds + 1);
    }
  });

  test('of timers that cannot be decided keeps no other waiting for long', () => {
    const shard = new WindowedShard({ timersMax: 4 });
    shard.timers(...Array.from({ length: 6 }, (_, n) => 1_000 + n));
    shard.write();
    shard.fill();
    shard.advance(2_000);
    for (
      let next = shard.core.shard.timers.next();
      next !== undefined && next.fireTimeMs <= shard.nowMs;
      next = shard.core.shard.timers.next()
    )
      shard.core.postponeTimer(next.taskId, shard.nowMs + 60_000);
    expect(shard.inMemory).toBe(4);
    shard.fill();
    shard.fill();
    expect(shard.core.shard.timers.next()?.fireTimeMs).toBeLessThanOrEqual(shard.nowMs);
  });

  test('survives a clock that is set, forward and back', () => {
    const shard = new WindowedShard();
    shard.timers(30_000, 10_000_000);
    shard.write();
    shard.fill();
    shard.advance(20_000_000);
    for (let pages = 1; pages > 0;) pages = shard.fill();
    shard.fireDueTimers();
    expect(shard.fired).toBe(2);
    shard.timers(1_000);
    shard.write();
    shard.advance(-15_000_000);
    expect(shard.core.shard.timers.next()).toBeDefined();
    for (let pages = 1; pages > 0;) pages = shard.fill();
    shard.advance(15_001_000);
    shard.fireDueTimers();
    expect(shard.fired).toBe(3);
  });
});

const step = fc.oneof(
  fc.record({ do: fc.constant('timers' as const), ms: fc.array(fc.constantFrom(0, 500, 20_000, 70_000, 200_000), { maxLength: 6 }) }),
  fc.record({ do: fc.constantFrom('cut' as const, 'capture' as const, 'lose' as const, 'write' as const, 'leave' as const) }),
  fc.record({ do: fc.constant('checkpoint' as const) }),
  fc.record({ do: fc.constantFrom('begin' as const, 'end' as const, 'fail' as const) }),
  fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(1, 1_000, 40_000) }),
);

test('random programs: every timer fires once, and none before its time; what is due is in memory once a window was read', () => {
  let left = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), (steps) => {
      const shard = new WindowedShard();
      const { checkpoints, window } = shard;
      let page: ReturnType<typeof checkpoints.table.timers> | undefined;
      let wanted = 0;
      const end = (): void => {
        if (page === undefined) return;
        for (const row of page) window.install(row);
        window.end(page, shard.nowMs);
        page = undefined;
      };
      for (const each of steps) {
        switch (each.do) {
          case 'timers':
            wanted += each.ms.length;
            shard.signal();
            shard.complete(
              shard.pollWorkflowTask(),
              each.ms.map((ms, at) => startTimer(`${wanted} ${at}`, ms)),
            );
            break;
          case 'cut':
            if (checkpoints.state === 'none') checkpoints.cut();
            break;
          case 'capture':
            if (checkpoints.state === 'cut') checkpoints.capture(3);
            break;
          case 'lose':
          case 'write':
            end();
            if (checkpoints.state === 'captured') checkpoints.write(each.do === 'write' ? 'written' : 'lost');
            break;
          case 'checkpoint':
            end();
            while (checkpoints.state !== 'captured') {
              if (checkpoints.state === 'none') checkpoints.cut();
              checkpoints.capture(Infinity);
            }
            checkpoints.write('written');
            break;
          case 'leave': {
            const before = shard.inMemory;
            shard.leave();
            left += before - shard.inMemory;
            break;
          }
          case 'begin':
            page ??= checkpoints.table.timers(window.begin(shard.nowMs));
            break;
          case 'end':
            end();
            break;
          case 'fail':
            if (page !== undefined) window.abandon();
            page = undefined;
            break;
          case 'time':
            shard.advance(each.ms);
            shard.fireDueTimers();
        }
      }
      end();
      for (let round = 0; round < 200; round++) {
        for (let pages = 1; pages > 0; shard.fireDueTimers()) pages = shard.fill();
        const overdue = [...checkpoints.folded.timers.values()].filter(({ fireTimeMs }) => fireTimeMs <= shard.nowMs);
        expect(overdue, 'what is due was in memory').toEqual([]);
        shard.advance(5_000);
      }
      expect(checkpoints.folded.timers.size).toBe(0);
      expect(shard.fired).toBe(wanted);
    }),
    { numRuns: 100 },
  );
  expect(left).toBeGreaterThan(50);
}, 240_000);

test('without a database all timers are in memory', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t', 1e9)]);
  expect(shard.core.shard.timers.size).toBe(1);
  expect(() => shard.core.timerWindow).toThrow('all timers are in memory');
  expect(shard.describe().key).toMatchObject({ workflowId: key.workflowId });
});
