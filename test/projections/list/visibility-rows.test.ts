import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VisibilityRows, type VisibilityBatch } from '../../../src/projections/list/visibility-rows.ts';
import { visibilityRow } from '../../../src/projections/list/visibility-row.ts';
import { systemSearchAttributes } from '../../../src/cluster/search-attributes.ts';
import type { HistoryCommand } from '../../../src/history/commands/history-commands.ts';
import type { RecordedEvent } from '../../../src/history/run/events.ts';
import { HistoryCore } from '../../../src/history/history-core.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';
import type { HistoryReply } from '../../../src/history/run/history-replies.ts';
import { historyCodec } from '../../../src/codec/history-codec.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import type { SlotValue, VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { namespace } from '../../grpc/stub-ports.ts';
import { Program, programStep } from '../../history/random-program.ts';
import { completeWorkflow, fields, key, namespaceId, ShardUnderTest, startTimer } from '../../history/shard-under-test.ts';

const custom = new Map([
  ['CustomKeywordField', 2],
  ['CustomIntField', 3],
]);
const registered = {
  ...namespace('ns'),
  customSearchAttributes: custom,
  searchAttributeTypes: new Map([...custom, ...systemSearchAttributes]),
  searchAttributeSlots: new Map([
    ['CustomKeywordField', 'Keyword03'],
    ['CustomIntField', 'Int02'],
  ]),
};
const view = { position: 0, namespaceById: (id: string) => (id === namespaceId ? registered : undefined) };

const start = { epoch: 1, sequence: 1, offset: 0 };

class ListedShard extends ShardUnderTest {
  readonly rows = new VisibilityRows({ shard: 3, core: this.core, registry: { isFolded: true, view }, wire: historyWire });
  /** Accepted, not committed. */
  readonly ahead: HistoryRecord[] = [];

  override ask(command: HistoryCommand): HistoryReply | undefined {
    const before = this.records.length;
    const reply = super.ask(command);
    for (const record of this.records.slice(before)) {
      this.rows.accepted(record);
      this.ahead.push(record);
    }
    return reply;
  }

  /** undefined: there is nothing to commit. */
  commitNext(): HistoryRecord | undefined {
    const record = this.ahead.shift();
    if (record !== undefined) this.rows.committed(record, start, false);
    return record;
  }

  commitAll(): void {
    while (this.commitNext() !== undefined);
  }

  /** A checkpoint is durable; what it has written waits no longer. */
  stored(): void {
    for (const _run of this.rows.stored());
  }

  takeAll(): VisibilityBatch {
    const batch = this.rows.take({ rowsMax: Infinity, bytesMax: Infinity });
    this.rows.written();
    return batch;
  }
}

/** What histories alone tell: of each run a row, at the last record that was added. */
class Oracle {
  readonly #runs = new Map<
    string,
    {
      readonly events: RecordedEvent[];
      readonly steps: ScheduleChanged[];
      transitions: number;
      isPaused?: boolean;
      /** Of what is paused. */
      entries?: readonly string[];
      transitionsAtClose: number;
      record: HistoryRecord;
      resetTimeMs?: number;
      isPrepared?: boolean;
    }
  >();

  add(record: HistoryRecord): void {
    for (const { runId, events, facts } of record.runs) {
      const run = this.#runs.get(runId) ?? { events: [], steps: [], transitions: 0, transitionsAtClose: 0, record };
      this.#runs.set(runId, run);
      run.events.push(...events);
      if (facts.some(({ fact }) => fact.kind === 'preparationBegun')) run.isPrepared = true;
      if (facts.some(({ fact }) => fact.kind === 'preparationEnded')) run.isPrepared = false;
      if (run.isPrepared !== true) run.transitions += 1;
      if (events.some(({ event }) => event.type in closedAs)) run.transitionsAtClose = run.transitions;
      for (const { event } of events) run.isPaused = pausedBy(event.type) ?? run.isPaused ?? false;
      for (const { fact } of facts) {
        if (fact.kind === 'eventBuffered') run.isPaused = pausedBy(fact.event.type) ?? run.isPaused ?? false;
        if (fact.kind === 'pauseInfoChanged') run.entries = fact.entries;
      }
      if (facts.some(({ fact }) => fact.kind === 'runReset')) run.resetTimeMs = record.timeMs;
      for (const { fact } of facts) if (fact.kind === 'scheduleChanged') run.steps.push(fact);
      if (facts.some(({ fact }) => fact.kind === 'runForgotten')) this.#runs.delete(runId);
    }
    for (const { runId } of record.retiredRuns ?? []) this.#runs.delete(runId);
  }

  transitions(runId: string): number {
    return this.#runs.get(runId)?.transitions ?? 0;
  }

  rows(): ReadonlyMap<string, unknown> {
    const shown = [...this.#runs].filter(([, { isPrepared }]) => isPrepared !== true);
    return new Map(shown.map(([runId]) => [runId, this.#row(runId)]));
  }

  #row(runId: string): unknown {
    const run = this.#runs.get(runId);
    const started = run?.events[0]?.event;
    const last = run?.events.at(-1)?.event;
    if (run === undefined || started?.type !== 'workflowExecutionStarted' || last === undefined)
      throw new Error(`${runId} has no beginning`);
    const a = started.attributes;
    const { resetTimeMs } = run;
    const executionTimeMs = resetTimeMs ?? started.eventTimeMs + a.firstWorkflowTaskBackoffMs;
    const status = closedAs[last.type];
    const memo = new Map(textsOf(a.memo));
    const attributes = new Map(textsOf(a.searchAttributes));
    for (const { event } of run.events) {
      if (event.type === 'workflowPropertiesModified') merge(memo, textsOf(event.attributes.upsertedMemo));
      if (event.type === 'upsertWorkflowSearchAttributes') merge(attributes, textsOf(event.attributes.searchAttributes));
    }
    for (const step of run.steps) {
      merge(memo, textsOf(step.memo));
      merge(attributes, textsOf(step.searchAttributes));
    }
    const { entries = [], isPaused = false } = run;
    if (entries.length > 0) attributes.set('TemporalPauseInfo', JSON.stringify(entries));
    const columns = { CustomKeywordField: 'Keyword03', CustomIntField: 'Int02' };
    const slots = Object.entries(columns)
      .map(([name, column]): [string, SlotValue | undefined] => [column, shownAs[attributes.get(name) ?? '']])
      .concat(ofSchedules.map((name) => [name, shownOf(name, attributes.get(name))]))
      .concat([['TemporalPauseInfo', entries.length > 0 ? entries : undefined]])
      .filter(([, value]) => value !== undefined);
    return {
      namespaceId,
      runId,
      shard: 3,
      workflowId: run.record.workflowId,
      workflowType: a.workflowType?.name,
      taskQueue: a.taskQueue?.name,
      status: status ?? (isPaused ? 8 : 1),
      startTimeMs: resetTimeMs ?? started.eventTimeMs,
      executionTimeMs,
      closeTimeMs: status === undefined ? undefined : last.eventTimeMs,
      executionDurationMs: status === undefined ? undefined : last.eventTimeMs - executionTimeMs,
      historyLength: status === undefined ? undefined : run.events.length,
      historySizeBytes: status === undefined ? undefined : run.events.reduce((sum, each) => sum + each.bytes.length, 0),
      stateTransitionCount: status === undefined ? undefined : run.transitionsAtClose,
      parentWorkflowId: a.parentWorkflowExecution?.workflowId ?? '',
      parentRunId: a.parentWorkflowExecution?.runId ?? '',
      rootWorkflowId: a.rootWorkflowExecution?.workflowId ?? run.record.workflowId,
      rootRunId: a.rootWorkflowExecution?.runId ?? runId,
      memo: Object.fromEntries(memo),
      searchAttributes: Object.fromEntries(attributes),
      slots: Object.fromEntries(slots),
    };
  }
}

/** undefined: it says nothing of that. */
function pausedBy(type: string): boolean | undefined {
  if (type === 'workflowExecutionPaused') return true;
  return type === 'workflowExecutionUnpaused' ? false : undefined;
}

/** `temporal.api.enums.v1.WorkflowExecutionStatus` */
const closedAs: Readonly<Record<string, number>> = {
  workflowExecutionCompleted: 2,
  workflowExecutionFailed: 3,
  workflowExecutionCanceled: 4,
  workflowExecutionTerminated: 5,
  workflowExecutionContinuedAsNew: 6,
  workflowExecutionTimedOut: 7,
};

/** What a column holds of the texts that random programs set. */
const shownAs: Readonly<Record<string, SlotValue>> = {
  '"red"': 'red',
  '"a\\u0000b\\ud800"': 'a\ufffdb\ufffd',
  '["blue"]': 'blue',
  '""': '',
  '[5]': 5,
  '9007199254740993': 9_007_199_254_740_993n,
  '-7': -7,
};

/** What schedules set of themselves, and of what they start. */
const ofSchedules = ['TemporalNamespaceDivision', 'TemporalSchedulePaused', 'TemporalScheduledById', 'TemporalScheduledStartTime'];

function shownOf(name: string, text: string | undefined): SlotValue | undefined {
  if (text === undefined) return undefined;
  const value = JSON.parse(text) as SlotValue;
  return name === 'TemporalScheduledStartTime' ? BigInt(Date.parse(String(value))) * 1_000_000n : value;
}

type ScheduleChanged = Extract<HistoryRecord['runs'][number]['facts'][number]['fact'], { readonly kind: 'scheduleChanged' }>;

function textsOf(message: Uint8Array | undefined): [string, string][] {
  if (message === undefined) return [];
  return [...historyWire.decodeFields(message)].map(([name, payload]) => [name, historyWire.payloadValue(payload).text]);
}

function merge(into: Map<string, string>, changes: readonly (readonly [string, string])[]): void {
  for (const [name, text] of changes) {
    if (text === 'null') into.delete(name);
    else into.set(name, text);
  }
}

/** A table of rows, written as a database would. */
class Table {
  readonly rows = new Map<string, VisibilityRow>();

  write({ rows, retired }: VisibilityBatch): void {
    for (const row of rows) {
      expect(row.version, 'no row is older than the one before it').toBeGreaterThan(this.rows.get(row.runId)?.version ?? 0);
      this.rows.set(row.runId, row);
    }
    for (const { runId } of retired) this.rows.delete(runId);
  }

  readable(): ReadonlyMap<string, unknown> {
    return new Map(
      [...this.rows].map(([runId, { version: _version, memo, searchAttributes, slots, ...row }]) => [
        runId,
        {
          ...row,
          memo: Object.fromEntries(textsOf(memo)),
          searchAttributes: Object.fromEntries(textsOf(searchAttributes)),
          slots: Object.fromEntries(slots),
        },
      ]),
    );
  }
}

/** Long enough for a run to be listed as closed in the same step or the next, short enough that many retire. */
const limits = { retentionMsDefault: 3_000 };

const batchLimits = fc.record({ rowsMax: fc.constantFrom(1, 2, 100), bytesMax: fc.constantFrom(0, 50, 1_000_000) });
const step = fc.record({
  run: programStep,
  commits: fc.constantFrom(0, 0, 1, 2, 5, 100),
  settle: fc.constantFrom('not yet', 'written', 'failed'),
  take: fc.option(batchLimits, { freq: 2, nil: undefined }),
  compare: fc.boolean(),
});

test('what is given away is what the committed history tells: batch after batch, after failures, and after a takeover', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const shard = new ListedShard(limits);
      shard.checks = false;
      const program = new Program(shard);
      const oracle = new Oracle();
      const table = new Table();
      const journal: HistoryRecord[] = [];
      let underWay: VisibilityBatch | undefined;
      const settle = (how: 'written' | 'failed'): void => {
        if (underWay !== undefined && how === 'written') {
          table.write(underWay);
          shard.rows.written();
        } else shard.rows.giveBack();
        underWay = undefined;
      };
      const commit = (count: number): void => {
        for (let nth = 0; nth < count && shard.ahead.length > 0; nth++) {
          const record = shard.commitNext();
          if (record === undefined) return;
          journal.push(record);
          oracle.add(record);
        }
      };
      const compare = (): void => {
        settle('written');
        while (shard.rows.waiting > 0) table.write(shard.takeAll());
        expect(table.readable()).toEqual(oracle.rows());
        for (const [runId, { version }] of table.rows) expect(version).toBeLessThanOrEqual(oracle.transitions(runId));
      };
      for (const each of steps) {
        program.run(each.run);
        commit(each.commits);
        if (each.settle !== 'not yet') settle(each.settle);
        if (each.take !== undefined && underWay === undefined) underWay = shard.rows.take(each.take);
        if (each.compare) compare();
      }
      compare();
      commit(Infinity);
      compare();

      const core = new HistoryCore({ wire: historyWire, limits });
      const rows = new VisibilityRows({ shard: 3, core, registry: { isFolded: true, view }, wire: historyWire });
      const rebuilt = new Table();
      for (const record of journal) {
        const { value, schema } = historyCodec.encode(record);
        const decoded = historyCodec.decode(value, schema);
        core.evolve(decoded);
        rows.committed(decoded, start, true);
      }
      rebuilt.write(rows.take({ rowsMax: Infinity, bytesMax: Infinity }));
      expect(rebuilt.readable()).toEqual(oracle.rows());
    }),
    { numRuns: 150 },
  );
});

const checkpointStep = fc.record({
  run: programStep,
  commits: fc.constantFrom(0, 1, 2, 5, 100),
  batch: fc.constantFrom('none', 'take', 'written', 'failed'),
  checkpoint: fc.constantFrom('none', 'begin', 'go on', 'go on', 'stored', 'given up'),
  rows: fc.nat(3),
});

test('a checkpoint has what was committed before it and is in no batch that was written, whatever is taken and given back meanwhile', () => {
  fc.assert(
    fc.property(fc.array(checkpointStep, { maxLength: 60, size: 'max' }), (steps) => {
      const shard = new ListedShard(limits);
      shard.checks = false;
      const program = new Program(shard);
      const oracle = new Oracle();
      const table = new Table();
      let underWay: VisibilityBatch | undefined;
      let checkpoint: { rows: Generator<VisibilityRow, void>; captured: VisibilityRow[]; before: ReadonlyMap<string, unknown> } | undefined;
      const changed = new Set<string>();
      let leaving: Iterator<undefined> | undefined;
      const show = (rows: readonly VisibilityRow[]): void => {
        for (const row of rows) if ((table.rows.get(row.runId)?.version ?? 0) <= row.version) table.rows.set(row.runId, row);
      };
      const settle = (isWritten: boolean): void => {
        if (underWay !== undefined && isWritten) {
          show(underWay.rows);
          for (const { runId } of underWay.retired) table.rows.delete(runId);
          shard.rows.written();
        } else shard.rows.giveBack();
        underWay = undefined;
      };
      const commit = (count: number): void => {
        for (let nth = 0; nth < count && shard.ahead.length > 0; nth++) {
          const record = shard.commitNext();
          if (record === undefined) return;
          oracle.add(record);
          for (const { runId } of [...record.runs, ...(record.retiredRuns ?? [])]) changed.add(runId);
        }
      };
      const stored = ({ rows, captured, before }: NonNullable<typeof checkpoint>): void => {
        captured.push(...rows);
        // A crash behind the checkpoint: what no later record tells again is there.
        show(captured);
        const shown = table.readable();
        for (const [runId, row] of before) if (!changed.has(runId)) expect(shown.get(runId)).toEqual(row);
        while (leaving?.next().done === false);
        leaving = shard.rows.stored()[Symbol.iterator]();
      };
      for (const each of steps) {
        for (let left = 0; left < each.rows && leaving?.next().done === false; left++);
        program.run(each.run);
        commit(each.commits);
        if (each.batch === 'take' && underWay === undefined) underWay = shard.rows.take({ rowsMax: each.rows + 1, bytesMax: 1_000 });
        else if (each.batch === 'written' || each.batch === 'failed') settle(each.batch === 'written');
        if (checkpoint === undefined) {
          if (each.checkpoint !== 'begin') continue;
          checkpoint = { rows: shard.rows.rowsOfCheckpoint(), captured: [], before: oracle.rows() };
          changed.clear();
        } else if (each.checkpoint === 'stored' || each.checkpoint === 'given up') {
          if (each.checkpoint === 'stored') stored(checkpoint);
          checkpoint = undefined;
        }
        for (let next = 0; checkpoint !== undefined && next < each.rows; next++) {
          const { value, done } = checkpoint.rows.next();
          if (done !== true) checkpoint.captured.push(value);
        }
      }
      if (underWay !== undefined) settle(true);
      commit(Infinity);
      while (shard.rows.waiting > 0) {
        underWay = shard.rows.take({ rowsMax: 2, bytesMax: Infinity });
        settle(true);
      }
      expect(table.readable()).toEqual(oracle.rows());
    }),
    { numRuns: 100 },
  );
});

test('a batch that a checkpoint has written is not given back; of what has retired meanwhile a checkpoint has no row', () => {
  const shard = new ListedShard({ retentionMsDefault: 1_000 });
  shard.start();
  shard.commitAll();
  expect(shard.rows.take({ rowsMax: 10, bytesMax: 0 }).rows).toHaveLength(1);
  expect([...shard.rows.rowsOfCheckpoint()]).toHaveLength(1);
  shard.stored();
  shard.rows.giveBack();
  expect(shard.rows.waiting).toBe(0);

  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  shard.commitAll();
  expect(shard.rows.take({ rowsMax: 10, bytesMax: 0 }).rows).toHaveLength(1);
  shard.advance(1_000);
  shard.fireDueTimers();
  shard.commitAll();
  expect([...shard.rows.rowsOfCheckpoint()]).toEqual([]);
});

test('a row that comes back with a checkpoint behind its run’s retirement goes once more', () => {
  const shard = new ListedShard({ retentionMsDefault: 1_000 });
  const runId = shard.start();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  shard.commitAll();
  expect([...shard.rows.rowsOfCheckpoint()].map((row) => row.runId)).toEqual([runId]);
  shard.advance(1_000);
  shard.fireDueTimers();
  shard.commitAll();
  expect(shard.takeAll().retired).toMatchObject([{ runId }]);
  shard.stored();
  expect(shard.takeAll()).toMatchObject({ rows: [], retired: [{ runId }] });
  shard.stored();
  expect(shard.rows.waiting).toBe(0);
});

test('nothing is given away of a record that is not committed, however far memory is', () => {
  const shard = new ListedShard();
  shard.start({ start: { searchAttributes: fields({ CustomKeywordField: '"first"' }) } });
  expect(shard.takeAll()).toEqual({ rows: [], retired: [] });
  const upsert = {
    type: 'upsertWorkflowSearchAttributes',
    userMetadata: undefined,
    attributes: { searchAttributes: fields({ CustomKeywordField: '"second"' }) },
  } as const;
  shard.complete(shard.pollWorkflowTask(), [upsert, completeWorkflow()]);
  expect(shard.takeAll()).toEqual({ rows: [], retired: [] });
  shard.commitNext();
  expect(shard.takeAll().rows).toMatchObject([{ status: 1, closeTimeMs: undefined, slots: new Map([['Keyword03', 'first']]) }]);
  shard.commitAll();
  expect(shard.takeAll().rows).toMatchObject([{ status: 2, closeTimeMs: shard.nowMs, slots: new Map([['Keyword03', 'second']]) }]);
});

test('a run that starts and closes between two batches is one row; what a list does not show makes none', () => {
  const shard = new ListedShard();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t', 1_000)]);
  shard.commitAll();
  expect(shard.takeAll().rows).toMatchObject([{ status: 1, version: 1 }]);
  shard.fireNextTimer();
  const task = shard.pollWorkflowTask();
  shard.commitAll();
  expect(shard.rows.waiting).toBe(0);
  shard.complete(task, [completeWorkflow()]);
  shard.start();
  shard.commitAll();
  expect(shard.takeAll().rows.map(({ status }) => status)).toEqual([2, 1]);
});

test('a batch that was not written is given again, but for what is newer or has retired meanwhile', () => {
  const shard = new ListedShard({ retentionMsDefault: 1_000 });
  const start = (workflowId: string): string => shard.start({ key: { ...key, workflowId } });
  const terminate = (workflowId: string): void =>
    void shard.ask({
      kind: 'terminateWorkflow',
      key: { ...key, workflowId },
      firstExecutionRunId: '',
      reason: '',
      details: undefined,
      identity: '',
      links: [],
      childOf: undefined,
    });
  const [stays, closes, retires] = [start('stays'), start('closes'), start('retires')];
  terminate('retires');
  shard.commitAll();
  expect(shard.rows.take({ rowsMax: 10, bytesMax: 0 }).rows.map(({ runId }) => runId)).toEqual([stays, closes, retires]);
  shard.advance(1_000);
  shard.fireDueTimers();
  terminate('closes');
  shard.commitAll();
  shard.rows.giveBack();
  const { rows, retired } = shard.takeAll();
  expect(new Map(rows.map(({ runId, status }) => [runId, status]))).toEqual(
    new Map([
      [stays, 1],
      [closes, 5],
    ]),
  );
  expect(retired).toEqual([{ namespaceId, workflowId: 'retires', runId: retires }]);
  expect(shard.rows.waiting).toBe(0);
});

test('a batch holds as many bytes of memo and attributes as it may, and one row at least', () => {
  const shard = new ListedShard();
  const memo = fields({ note: JSON.stringify('x'.repeat(50)) });
  for (let nth = 0; nth < 4; nth++) shard.start({ key: { ...key, workflowId: `wf-${nth}` }, start: { memo } });
  shard.commitAll();
  const take = (bytesMax: number): number => {
    const { rows } = shard.rows.take({ rowsMax: 10, bytesMax });
    shard.rows.written();
    return rows.length;
  };
  expect([take(1), take(2 * memo.length), take(1_000), take(1_000)]).toEqual([1, 2, 1, 0]);
});

test('an attribute is shown in the column that it has when the row is made; one that is not defined any more in none', () => {
  const shard = new ListedShard();
  const searchAttributes = fields({
    CustomKeywordField: '"red"',
    Removed: '"old"',
    BuildIds: '["one","two"]',
    TemporalReportedProblems: '["category=WorkflowTaskFailed"]',
    WorkflowId: '"nobody can set this"',
  });
  const runId = shard.start({ start: { searchAttributes } });
  const summary = shard.core.summaryOf(runId);
  if (summary === undefined) throw new Error('the run is in memory');
  const predefined: readonly (readonly [string, SlotValue])[] = [
    ['BuildIds', ['one', 'two']],
    ['TemporalReportedProblems', ['category=WorkflowTaskFailed']],
  ];
  expect(visibilityRow(summary, 3, view, historyWire).slots).toEqual(new Map<string, SlotValue>([['Keyword03', 'red'], ...predefined]));
  const moved = { ...registered, searchAttributeSlots: new Map([['CustomKeywordField', 'Keyword20']]) };
  expect(visibilityRow(summary, 3, { ...view, namespaceById: () => moved }, historyWire).slots).toEqual(
    new Map<string, SlotValue>([['Keyword20', 'red'], ...predefined]),
  );
  const redefined = {
    ...registered,
    searchAttributeTypes: new Map([['CustomKeywordField', 3]]),
    searchAttributeSlots: new Map([['CustomKeywordField', 'Int01']]),
  };
  expect(visibilityRow(summary, 3, { ...view, namespaceById: () => redefined }, historyWire).slots).toEqual(new Map(predefined));
  expect(visibilityRow(summary, 3, { ...view, namespaceById: () => undefined }, historyWire).slots).toEqual(new Map(predefined));
  expect(visibilityRow(summary, 3, view, historyWire).searchAttributes).toEqual(searchAttributes);
});

test('whatever names and attributes hold, a row is made that every database takes', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 1_000, size: 'max' }),
    fc.array(fc.constantFrom('\0', '\ud800', '\udc00', '😀', 'a'), { maxLength: 1_000, size: 'max' }).map((all) => all.join('')),
  );
  const anyBytes = fc.uint8Array({ maxLength: 200 });
  fc.assert(
    fc.property(
      hostile,
      hostile,
      hostile,
      fc.oneof(anyBytes, fc.constant(undefined)),
      fc.nat(),
      (workflowId, type, queue, attributes, delay) => {
        const shard = new ShardUnderTest();
        const runId = shard.start();
        const summary = shard.core.summaryOf(runId);
        if (summary === undefined) throw new Error('the run is in memory');
        const { start } = summary;
        const hostileRun = {
          ...summary,
          key: { ...summary.key, workflowId },
          start: {
            ...start,
            workflowType: type,
            taskQueue: { ...start.taskQueue, name: queue },
            executionTimeMs: start.startTimeMs + delay * 1e9,
            root: { workflowId: queue, runId },
          },
          searchAttributes: attributes,
        };
        const row = visibilityRow(hostileRun, 3, view, historyWire);
        for (const text of [row.workflowId, row.workflowType, row.taskQueue, row.rootWorkflowId]) {
          expect(text.isWellFormed() && !text.includes('\0') && Buffer.byteLength(text) <= 2_048).toBe(true);
        }
        expect(row.executionTimeMs).toBeLessThanOrEqual(253_402_300_799_999);
      },
    ),
    { numRuns: 100 },
  );
});
