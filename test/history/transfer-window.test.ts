/** Which tasks for workers are in memory, whatever matching says of them and whatever becomes of their rows: each has its turn, and few are here. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { TransferPage, TransferWindow, TransferWindowLimits } from '../../src/history/residency/transfer-window.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import { isDispatch } from '../../src/history/run/tasks.ts';
import { Checkpoints } from './checkpointed-shard.ts';
import { key, ShardUnderTest, terminateWorkflow } from './shard-under-test.ts';

const limits: TransferWindowLimits = { tasksMax: 4, tasksLeft: 2, pageRows: 2 };

/** Workflows that wait for a worker, and what stands between them and matching. */
class DispatchingShard extends ShardUnderTest {
  checkpoints = new Checkpoints(this);
  /** To be tried, in that order. */
  tried: number[] = [];
  /** By this memory. */
  readonly delivered: number[] = [];
  /** Of those: matching has stored them, and the journal does not say so yet. */
  stored: number[] = [];
  /** Of those that are tried: they have failed before, and wait beside the others. */
  readonly failing = new Set<number>();
  #workflows = 0;
  /** Rows of the page under way. */
  #installed = 0;

  constructor() {
    super({}, stateCodec);
    this.checks = false;
    this.window.opens(limits);
  }

  get window(): TransferWindow {
    const { transferWindow } = this.core;
    if (transferWindow === undefined) throw new Error('it has a database');
    return transferWindow;
  }

  workflow(): number {
    this.start({ key: { ...key, workflowId: `wf-${++this.#workflows}` } });
    const taskId = Math.max(...this.here());
    this.tried.push(taskId);
    return taskId;
  }

  /** As the transfer queue does. */
  answered(taskId: number, answer: 'delivered' | 'stored' | 'refused' | 'failed'): void {
    this.tried.splice(this.tried.indexOf(taskId), 1);
    const isFailing = this.failing.delete(taskId);
    if (this.core.shard.transfers.get(taskId) === undefined) return;
    if (answer === 'failed' || (answer === 'refused' && isFailing)) {
      if (!this.window.fails(taskId)) return;
      this.tried.push(taskId);
      this.failing.add(taskId);
    } else if (answer !== 'refused') {
      expect(this.delivered, 'nothing is given to matching twice').not.toContain(taskId);
      expect(this.noted(), 'nor what it has stored').not.toContain(taskId);
      this.window[answer](taskId);
      this.delivered.push(taskId);
      if (answer === 'stored') this.stored.push(taskId);
    } else if (this.window.keeps(taskId)) this.tried.push(taskId);
  }

  /** The journal says of what matching has stored that it has. */
  note(): void {
    const taskIds = this.stored.splice(0);
    this.ask({ kind: 'noteAtMatching', taskIds });
    this.window.noted(taskIds);
  }

  noted(): readonly number[] {
    const { transfers } = this.checkpoints.folded;
    return [...transfers.values()].flatMap((task) => (isDispatch(task) && task.atMatching === true ? [task.taskId] : []));
  }

  /** The pause of one that was refused. */
  pauseOver(taskId: number): void {
    if (this.failing.has(taskId)) return;
    if (this.core.shard.transfers.get(taskId) === undefined || !this.window.hasTurn(taskId))
      this.tried.splice(this.tried.indexOf(taskId), 1);
  }

  terminate(taskId: number): void {
    const task = this.checkpoints.folded.transfers.get(taskId);
    if (task !== undefined) this.ask(terminateWorkflow({ key: { ...task.key } }));
  }

  here(): readonly number[] {
    return [...this.core.shard.transfers.values()].map(({ taskId }) => taskId);
  }

  pending(): readonly number[] {
    return [...this.checkpoints.folded.transfers.keys()];
  }

  write(): void {
    while (this.checkpoints.state === 'cut') this.checkpoints.capture(Infinity);
    if (this.checkpoints.state === 'none') this.checkpoints.cut();
    this.checkpoints.capture(Infinity);
    this.checkpoints.write('written');
  }

  leave(nowMs = this.nowMs): void {
    for (const _look of this.window.leave(() => nowMs));
  }

  /** undefined: no page is wanted. */
  begin(): readonly [TransferPage, ReturnType<Checkpoints['table']['transfers']>] | undefined {
    this.window.resume();
    this.#bring();
    if (!this.window.wants()) return undefined;
    const page = this.window.begin(this.nowMs);
    this.#installed = 0;
    return [page, this.checkpoints.table.transfers(page.afterTaskId, page.max)];
  }

  /** A page that has been read does not fail. */
  get isInstalling(): boolean {
    return this.window.isReading && this.#installed > 0;
  }

  /** Matching answers between two slices of a page, and what has come is tried. */
  installSome(page: ReturnType<DispatchingShard['begin']>): void {
    const row = page?.[1][this.#installed];
    if (row === undefined) return;
    this.#installed++;
    this.window.install(row);
    this.window.resume();
    this.#bring();
  }

  end(page: ReturnType<DispatchingShard['begin']>): void {
    if (page === undefined) return;
    for (const row of page[1].slice(this.#installed)) this.window.install(row);
    this.window.end(page[1], this.nowMs);
    this.#bring();
  }

  /** Some of what it begins with is in the table alone; the records behind that are folded. */
  restart(): void {
    const { table, recordsInTable } = this.checkpoints;
    this.core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });
    this.window.opens(limits);
    if (table.counters !== undefined) {
      this.core.install({ ...table.rowsOfRestart, runs: table.rows.runs, currentRuns: table.rows.currentRuns }, table.counters);
      this.core.leaveRestInTable();
      this.core.residency.keys.addKnown(table.keys.flatMap((each) => (each.kind === 'run' ? [each] : [])));
      this.core.residency.keys.rebuilt();
    }
    for (const record of this.records.slice(table.counters === undefined ? 0 : recordsInTable)) this.core.evolve(record);
    this.checkpoints.crashed();
    this.delivered.length = 0;
    this.stored = [];
    this.failing.clear();
    const noted = this.noted();
    this.tried = this.here().filter((taskId) => !noted.includes(taskId));
  }

  /** Matching takes all from now on. */
  drain(): void {
    for (let rounds = 0; this.tried.length > 0 || this.window.othersWait; rounds++) {
      expect(rounds, 'the line comes to its end').toBeLessThan(1_000);
      for (const taskId of [...this.tried]) this.answered(taskId, 'delivered');
      this.end(this.begin());
    }
  }

  #bring(): void {
    for (const { taskId } of this.window.takeBrought()) {
      expect(this.tried, 'nobody else tries it').not.toContain(taskId);
      this.tried.push(taskId);
    }
  }
}

describe('a task for a worker', () => {
  test('that matching has leaves when it is written, and is not offered again', () => {
    const shard = new DispatchingShard();
    const taskId = shard.workflow();
    shard.answered(taskId, 'delivered');
    shard.leave();
    expect(shard.here(), 'its row is not written').toEqual([taskId]);
    shard.write();
    shard.leave();
    expect(shard.here()).toEqual([]);
    expect(shard.window.wants()).toBe(false);
    shard.terminate(taskId);
    shard.write();
    expect(shard.checkpoints.table.size.transferTasks, 'its row goes with it').toBe(0);
  });

  test('that matching has stored stays until that is noted, and is never offered again', () => {
    const shard = new DispatchingShard();
    const [first, second] = [shard.workflow(), shard.workflow()];
    shard.write();
    shard.answered(first, 'stored');
    shard.answered(second, 'stored');
    shard.terminate(second);
    shard.leave();
    expect(shard.here(), 'the note is for what is pending').toEqual([first]);
    shard.note();
    expect(shard.records.at(-1)).toMatchObject({ type: 'TasksAtMatching', taskIdsAtMatching: [first] });
    expect(shard.here(), 'its row is written').toEqual([]);
    for (const rows of ['not written', 'written']) {
      shard.restart();
      shard.drain();
      expect(shard.delivered, `the note is ${rows} in its row`).toEqual([]);
      shard.write();
    }
    expect(shard.checkpoints.table.size.transferTasks, 'it is pending still').toBe(1);
    shard.terminate(first);
    shard.write();
    expect(shard.checkpoints.table.size.transferTasks).toBe(0);
  });

  test('that was stored, and noted by a journal that is replayed from its start, is not offered', () => {
    const shard = new DispatchingShard();
    const tasks = Array.from({ length: 12 }, () => shard.workflow());
    for (const taskId of tasks.slice(0, 9)) shard.answered(taskId, 'stored');
    shard.note();
    shard.restart();
    expect(shard.tried).toEqual(tasks.slice(9));
    shard.write();
    shard.leave(-Infinity);
    expect(shard.here(), 'what waits stays').toEqual(tasks.slice(9));
    shard.drain();
    expect(shard.delivered).toEqual(tasks.slice(9));
  });

  test('that was in no memory any more when a replay met its note is not offered either', () => {
    const shard = new DispatchingShard();
    const tasks = Array.from({ length: 12 }, () => shard.workflow());
    for (const taskId of tasks) shard.answered(taskId, 'stored');
    const before = shard.records.length;
    shard.note();
    const noting = shard.records.splice(before);
    shard.restart();
    shard.write();
    shard.leave(-Infinity);
    expect(shard.here().length, 'most left in the fold').toBeLessThan(12);
    for (const record of noting) shard.core.evolve(record);
    shard.records.push(...noting);
    shard.tried = [];
    for (const rows of ['not written', 'written']) {
      shard.drain();
      expect(shard.delivered, rows).toEqual([]);
      shard.write();
    }
    shard.restart();
    shard.drain();
    expect(shard.delivered).toEqual([]);
  });

  test('that is refused stays as long as few wait; then it stands in line, and is brought when few are left', () => {
    const shard = new DispatchingShard();
    const tasks = Array.from({ length: 9 }, () => shard.workflow());
    for (const taskId of tasks) shard.answered(taskId, 'refused');
    shard.write();
    shard.leave();
    expect(shard.here()).toHaveLength(4);
    expect(shard.begin(), 'there is no room').toBeUndefined();
    shard.drain();
    expect(shard.delivered.toSorted((a, b) => a - b)).toEqual(tasks);
  });

  test('that stands in line and is not written needs no database', () => {
    const shard = new DispatchingShard();
    const tasks = Array.from({ length: 9 }, () => shard.workflow());
    for (const taskId of tasks) shard.answered(taskId, 'refused');
    for (let rounds = 0; rounds < 20; rounds++) {
      for (const taskId of [...shard.tried]) shard.answered(taskId, 'delivered');
      expect(shard.begin()).toBeUndefined();
    }
    expect(shard.delivered.toSorted((a, b) => a - b)).toEqual(tasks);
  });

  test('that matching answers in the middle of a page drops nobody out of the line', () => {
    const shard = new DispatchingShard();
    const tasks = Array.from({ length: 12 }, () => shard.workflow());
    for (const taskId of tasks) shard.answered(taskId, 'refused');
    shard.write();
    shard.leave();
    for (let pages = 0; pages < 12; pages++) {
      for (const taskId of [...shard.tried]) shard.answered(taskId, 'delivered');
      const page = shard.begin();
      shard.installSome(page);
      shard.end(page);
    }
    shard.drain();
    expect(shard.delivered.toSorted((a, b) => a - b)).toEqual(tasks);
  });

  test('comes with as many others as a page has rows, in whatever order their pauses end', () => {
    const rows = { tasksMax: 40, tasksLeft: 20, pageRows: 20 };
    const shard = new DispatchingShard();
    shard.window.opens(rows);
    const tasks = Array.from({ length: 100 }, () => shard.workflow());
    shard.write();
    const [even, odd] = [0, 1].map((rest) => tasks.filter((taskId) => taskId % 2 === rest));
    for (const taskId of [...(odd ?? []), ...(even ?? [])].toReversed()) shard.answered(taskId, 'refused');
    const pages: number[] = [];
    while (pages.length < 4) {
      for (const taskId of [...shard.tried]) shard.answered(taskId, 'delivered');
      const before = shard.tried.length;
      shard.end(shard.begin());
      pages.push(shard.tried.length - before);
    }
    expect(Math.min(...pages), 'half of the rows that a page reads').toBeGreaterThanOrEqual(rows.pageRows / 2);
  });

  test('that has ended while it stood in line does not come back by its row', () => {
    const shard = new DispatchingShard();
    const tasks = Array.from({ length: 9 }, () => shard.workflow());
    for (const taskId of tasks) shard.answered(taskId, 'refused');
    shard.write();
    shard.leave();
    const cold = tasks.filter((taskId) => !shard.here().includes(taskId));
    for (const taskId of cold) shard.terminate(taskId);
    expect(shard.checkpoints.table.size.transferTasks, 'the rows are there still').toBe(9);
    shard.drain();
    expect(shard.delivered.filter((taskId) => cold.includes(taskId))).toEqual([]);
    shard.write();
    expect(shard.checkpoints.table.size.transferTasks).toBe(4);
  });

  test('that one matching partition refuses holds up none of another', () => {
    const shard = new DispatchingShard();
    const stuck = Array.from({ length: 20 }, () => shard.workflow());
    const other = [...Array.from({ length: 3 }, () => shard.workflow())];
    shard.write();
    shard.restart();
    const heard = new Set<number>();
    for (let rounds = 0; rounds < 60; rounds++) {
      for (const taskId of [...shard.tried]) {
        heard.add(taskId);
        shard.answered(taskId, stuck.includes(taskId) ? 'refused' : 'delivered');
        if (shard.tried.includes(taskId)) shard.pauseOver(taskId);
      }
      shard.end(shard.begin());
      shard.leave();
      expect(shard.here().length).toBeLessThanOrEqual(limits.tasksMax);
    }
    expect(shard.delivered).toEqual(other);
    expect(heard.size, 'and all are tried').toBe(23);
  });

  test('that fails waits beside the others, in memory, and comes to its end', () => {
    const shard = new DispatchingShard();
    const failing = Array.from({ length: 20 }, () => shard.workflow());
    const others = Array.from({ length: 10 }, () => shard.workflow());
    for (const taskId of failing) shard.answered(taskId, 'failed');
    for (const taskId of others) shard.answered(taskId, 'refused');
    shard.write();
    shard.leave();
    expect(shard.here().length, 'those that fail, and a few of the others').toBeLessThanOrEqual(failing.length + limits.tasksMax);
    for (let rounds = 0; rounds < 20; rounds++) {
      for (const taskId of [...shard.tried]) shard.answered(taskId, failing.includes(taskId) ? 'failed' : 'delivered');
      shard.end(shard.begin());
    }
    expect(shard.delivered.toSorted((one, other) => one - other)).toEqual(others);
    expect(shard.tried).toEqual(failing);
    shard.drain();
    expect(new Set(shard.delivered)).toEqual(new Set([...failing, ...others]));
    shard.leave();
    expect(shard.here()).toEqual([]);
  });

  test('beyond many that fail stands in line, and comes when others are done', () => {
    const shard = new DispatchingShard();
    const failing = Array.from({ length: 520 }, () => shard.workflow());
    for (const taskId of failing) shard.answered(taskId, 'failed');
    shard.write();
    shard.leave();
    expect(shard.here()).toHaveLength(500);
    shard.drain();
    expect(new Set(shard.delivered)).toEqual(new Set(failing));
  });

  test('of a long tail leaves in the replay that brings it', () => {
    const shard = new DispatchingShard();
    const tasks = Array.from({ length: 30 }, () => shard.workflow());
    shard.restart();
    shard.write();
    shard.leave(-Infinity);
    expect(shard.here()).toEqual(tasks.slice(0, 4));
    shard.tried = [...shard.here()];
    shard.drain();
    expect(shard.delivered).toEqual(tasks);
  });
});

type Step =
  | { readonly do: 'start' | 'note' | 'write' | 'cut' | 'leave' | 'begin' | 'install' | 'end' | 'fail' | 'restart' }
  | { readonly do: 'delivered' | 'stored' | 'refused' | 'failed' | 'pauseOver' | 'terminate'; readonly n: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constantFrom('write', 'note', 'cut', 'leave', 'leave', 'begin', 'install', 'end', 'fail') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constantFrom('delivered', 'stored', 'refused', 'failed', 'pauseOver', 'terminate'), n: fc.nat(100) }),
  },
);

test('random steps: every task for a worker has its turn, none is delivered twice, and those that wait in memory are few', () => {
  let left = 0;
  let noted = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 30, maxLength: 150, size: 'max' }), (steps) => {
      const shard = new DispatchingShard();
      let page: ReturnType<DispatchingShard['begin']>;
      const end = (): void => {
        shard.end(page);
        page = undefined;
      };
      for (const each of steps) {
        switch (each.do) {
          case 'start':
            shard.workflow();
            break;
          case 'write':
            end();
            shard.write();
            break;
          case 'cut':
            if (shard.checkpoints.state === 'none') shard.checkpoints.cut();
            break;
          case 'leave': {
            const before = shard.here().length;
            shard.leave();
            left += before - shard.here().length;
            break;
          }
          case 'begin':
            page ??= shard.begin();
            break;
          case 'install':
            shard.installSome(page);
            break;
          case 'end':
            end();
            break;
          case 'fail':
            if (shard.isInstalling) break;
            if (page !== undefined) shard.window.abandon();
            page = undefined;
            break;
          case 'restart':
            page = undefined;
            shard.restart();
            break;
          case 'note':
            shard.note();
            break;
          case 'delivered':
          case 'stored':
          case 'refused':
          case 'failed':
          case 'pauseOver': {
            const taskId = shard.tried[each.n % shard.tried.length];
            if (taskId !== undefined && each.do === 'pauseOver') shard.pauseOver(taskId);
            else if (taskId !== undefined && each.do !== 'pauseOver') shard.answered(taskId, each.do);
            break;
          }
          case 'terminate': {
            const pending = shard.pending();
            const taskId = pending[each.n % pending.length];
            if (taskId !== undefined) shard.terminate(taskId);
          }
        }
      }
      end();
      for (const taskId of [...shard.tried]) shard.answered(taskId, 'refused');
      shard.note();
      shard.write();
      shard.write();
      shard.leave();
      expect(shard.here().length).toBeLessThanOrEqual(limits.tasksMax + shard.failing.size);
      shard.drain();
      const heard = new Set([...shard.delivered, ...shard.noted()]);
      noted += shard.noted().length;
      expect(shard.pending().filter((taskId) => !heard.has(taskId))).toEqual([]);
    }),
    { numRuns: 120 },
  );
  expect(left).toBeGreaterThan(100);
  expect(noted).toBeGreaterThan(100);
}, 240_000);
