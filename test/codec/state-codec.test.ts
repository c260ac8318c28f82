/**
 * What is stored of a shard comes back exactly, or is refused: once a journal is trimmed, its rows are all that is left of it.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../src/projections/database-port.ts';
import { canonicalText } from '../../src/history/run/canonical.ts';
import type { EventsLeftOut } from '../../src/history/shard/state-wire.ts';
import { evolve } from '../../src/history/evolve/evolve.ts';
import { Pending } from '../../src/history/run/pending.ts';
import { Shard } from '../../src/history/shard/shard.ts';
import { executionKey, newRun, type Run, type RunView } from '../../src/history/run/state.ts';
import type { HistoryRecord } from '../../src/history/run/record.ts';
import type { PendingTask } from '../../src/history/run/tasks.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import { stateCodec, stateCodecBesideHistory } from '../../src/codec/state-codec.ts';
import { asCore } from '../../src/wire/as-core.ts';
import { encodeEvent } from '../../src/codec/event-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import * as state from '../../src/wire/generated/state/history.ts';
import { Program, programStep } from '../history/random-program.ts';
import { bytes, key, scheduleActivity, ShardUnderTest, startChild } from '../history/shard-under-test.ts';
import { taskKinds } from '../history/task-kinds.ts';
import {
  aside,
  executedAgain,
  fullActivity,
  fullOperations,
  fullReset,
  fullBatch,
  fullSchedule,
  fullScheduledBy,
  fullRun,
  fullTasks,
  handedOver,
  largeEvents,
  lastMessages,
  furtherTasks,
  batchTasks,
  scheduleTasks,
  pendingOf,
} from './full-state.ts';

const corrupt = expect.objectContaining({ constructor: DatabaseError, code: 'corrupt' }) as unknown;

// ── Random programs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('random programs: a shard that stores and reads each changed run goes on as if it had not', () => {
  fc.assert(
    fc.property(fc.array(programStep, { minLength: 30, maxLength: 80, size: 'max' }), (steps) => {
      const shard = new Shard();
      const stored = new Shard();
      for (const record of recordsOf(steps)) {
        evolve(shard, record, historyWire);
        evolve(stored, record, historyWire);
        for (const runId of changedBy(record)) storeAndRead(stored, runId);
        expect(canonicalText(stored), record.type).toBe(canonicalText(shard));
      }
    }),
    { numRuns: 60 },
  );
}, 120_000);

test('random programs: every pending task comes back', () => {
  fc.assert(
    fc.property(fc.array(programStep, { minLength: 30, maxLength: 80, size: 'max' }), (steps) => {
      const shard = new Shard();
      const seen = new Set<number>();
      for (const record of recordsOf(steps)) {
        evolve(shard, record, historyWire);
        for (const task of [...shard.transfers.values(), ...shard.timers.values(), ...shard.tasksAside.values()]) {
          if (!seen.has(task.taskId)) expectTaskBack(task);
          seen.add(task.taskId);
        }
        const waiting = stateCodec.encodeRecord(record);
        expect(stateCodec.encodeRecord(stateCodec.decodeRecord(waiting))).toEqual(waiting);
        const runsBehind = Array.from(shard.runs.values(), ({ key }) => ({ ...key, records: record.timeMs }));
        const counters = { taskIdLast: shard.taskIdLast, runs: shard.runs.size, runsBehind };
        expect(shard.runCount).toBe(counters.runs);
        expect(stateCodec.decodeCounters(stateCodec.encodeCounters(counters))).toEqual(counters);
      }
    }),
    { numRuns: 60 },
  );
}, 120_000);

function recordsOf(steps: readonly (typeof programStep extends fc.Arbitrary<infer Step> ? Step : never)[]): readonly HistoryRecord[] {
  const program = new Program(new ShardUnderTest({ retentionMsDefault: 3_600_000 }));
  program.shard.checks = false;
  for (const step of steps) program.run(step);
  program.shard.pumpOutboxIfPossible();
  return program.shard.records;
}

function changedBy({ runs, tasks }: HistoryRecord): ReadonlySet<string> {
  return new Set([...runs.map(({ runId }) => runId), ...tasks.map(({ key }) => key.runId)]);
}

function storeAndRead(shard: Shard, runId: string): void {
  const run = shard.runs.get(runId);
  if (run === undefined) return;
  const bytes = stateCodec.encodeRun(run, shard.aside.get(runId)).state;
  const read = stateCodec.decodeRun(bytes);
  expect(stateCodec.encodeRun(read.run, read.aside).state).toEqual(bytes);
  const isCurrent = shard.currentRuns.get(executionKey(run.key.namespaceId, run.key.workflowId)) === run;
  shard.installRun(read.run);
  if (isCurrent) shard.installCurrentRun(read.run);
  expect(read.aside).toEqual(shard.aside.get(runId));
}

function expectRunBack(run: Run): Uint8Array {
  const bytes = stateCodec.encodeRun(run, undefined).state;
  const read = stateCodec.decodeRun(bytes);
  expect(read.aside).toBeUndefined();
  expect(isDeepStrictEqual(plain(read.run), plain(run))).toBe(true);
  return bytes;
}

/** For large values: quicker than their canonical text, and it sees the order of entries. */
function plain(run: RunView): object {
  return Object.fromEntries(Object.entries(run).map(([name, value]) => [name, value instanceof Pending ? [...value.entries()] : value]));
}

function expectTaskBack(task: PendingTask): void {
  expect(canonicalText(stateCodec.decodeTask(stateCodec.encodeTask(task)))).toBe(canonicalText(task));
}

// ── Values nobody sends on purpose ─────────────────────────────────────────────────────────────────────────────────────────────

/** By the name of their property; all other numbers go to ±2^53. */
const int32s = new Set([
  'status',
  'state',
  'kind',
  'eventType',
  'parentClosePolicy',
  'workflowIdReusePolicy',
  'maximumAttempts',
  'attempt',
  'initiator',
]);
const mayBeAbsent = new Set([
  ...['workflowTask', 'sticky', 'memo', 'searchAttributes', 'parent', 'userMetadata', 'priority', 'workerVersion', 'heartbeatDetails'],
  ...['lastFailure', 'activityType', 'workflowType', 'header', 'input', 'retryPolicy', 'externalWorkflowExecution', 'versioningOverride'],
]);
/** Which value of a set is its key. */
const keyNames: { readonly [Name in keyof Run as Run[Name] extends Pending<infer _Key, infer _Value> ? Name : never]: string } = {
  signalRequestIds: 'requestId',
  updates: 'updateId',
  activities: 'scheduledEventId',
  activityIds: '',
  timers: 'timerId',
  children: 'initiatedEventId',
  externalSignals: 'initiatedEventId',
  externalCancels: 'initiatedEventId',
};

const int32 = fc.oneof(fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31)), fc.integer());
const safe = fc.oneof(fc.constantFrom(0, 1, -1, 2 ** 32, 2 ** 53 - 1, -(2 ** 53 - 1)), fc.maxSafeInteger());
const text = fc.oneof(
  fc.constantFrom('', '\0', 'a\0b', '__proto__', '\u{10ffff}\u0800\u007f\u0080', 'x'.repeat(127), 'x'.repeat(128), 'ä'.repeat(1_000)),
  fc.string({ unit: 'binary' }),
);
const binary = fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ maxLength: 200 }));

/** The same structure with other values in it. */
function varied(value: unknown, name: string, draw: fc.GeneratorValue): unknown {
  if (mayBeAbsent.has(name) && draw(fc.integer, { min: 0, max: 3 }) === 0 && typeof value !== 'string') return undefined;
  if (value instanceof Uint8Array) return draw(() => binary);
  if (value instanceof Pending) return variedSet(value as Pending<unknown, object>, keyNames[name as keyof typeof keyNames], draw);
  if (Array.isArray(value)) {
    const items = draw(() => fc.shuffledSubarray(value as unknown[]));
    return items.map((item) => (typeof item === 'number' ? draw(() => int32) : varied(item, '', draw)));
  }
  switch (typeof value) {
    case 'number':
      if (name === 'backoffCoefficient') return draw(() => fc.double());
      return int32s.has(name) ? draw(() => int32) : draw(() => safe);
    case 'string':
      return ['archetype', 'type'].includes(name) || value === 'transient' ? value : draw(() => text);
    case 'boolean':
      return draw(fc.boolean);
    case 'object':
      if (value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([inner, of]) => [inner, varied(of, inner, draw)]));
    default:
      return value;
  }
}

function variedSet(set: Pending<unknown, object>, keyName: string, draw: fc.GeneratorValue): Pending<unknown, object> {
  const values = [...set.values()].map((item) => varied(item, '', draw) as Record<string, unknown>);
  return pendingOf(
    draw(() => fc.shuffledSubarray(values)),
    (item) => (keyName === '' ? draw(() => text) : item[keyName]),
  );
}

test('whatever values are in it, a run comes back', () => {
  fc.assert(
    fc.property(fc.gen(), (draw) => {
      const run = varied({ ...fullRun(), startedWith: startedWith(bytes('input')) }, '', draw) as Run;
      expect(canonicalText(stateCodec.decodeRun(stateCodec.encodeRun(run, undefined).state).run)).toBe(canonicalText(run));
    }),
    { numRuns: 300 },
  );
}, 120_000);

test('what is absent and what is empty are two things', () => {
  const run = { ...newRun({ namespaceId: '', workflowId: '', runId: '' }, '', fullRun().start), memo: new Uint8Array(0) };
  const read = stateCodec.decodeRun(stateCodec.encodeRun(run, undefined).state).run;
  expect(read).toMatchObject({ memo: new Uint8Array(0), searchAttributes: undefined, workflowTask: undefined });
  const start = { ...run.start, firstRunId: '', originalRunId: 'run', root: { workflowId: '', runId: '' } };
  expectRunBack({ ...fullRun(), start });
  expectRunBack({ ...fullRun(), start: { ...start, originalRunId: '', root: { workflowId: 'wf', runId: 'run' } } });
});

/** Of a run on a schedule, which failed twice. */
function startedWith(input: Uint8Array): NonNullable<Run['startedWith']> {
  const shard = new ShardUnderTest();
  const retryPolicy = {
    initialIntervalMs: 1,
    backoffCoefficient: 1.5,
    maximumIntervalMs: 2,
    maximumAttempts: 3,
    nonRetryableErrorTypes: ['T'],
  };
  shard.start({ start: { input, retryPolicy, cronSchedule: '@daily', header: bytes('header') } });
  const { attributes } = shard.lastEvent('workflowExecutionStarted');
  return { ...attributes, memo: bytes('memo'), lastCompletionResult: bytes('result'), continuedFailure: bytes('failure'), attempt: 3 };
}

test('what a large run is started again with stands in its history alone', () => {
  const small = { ...fullRun(), startedWith: startedWith(bytes('input')) };
  expect(stateCodec.eventsLeftOut(stateCodecBesideHistory.encodeRun(small, undefined).state)).toEqual([]);
  const attributes = startedWith(new Uint8Array(1024 * 1024).fill(7));
  const run = { ...fullRun(), startedWith: attributes };
  const { state: row, bytesLeftOut } = stateCodecBesideHistory.encodeRun(run, undefined);
  expect([stateCodec.eventsLeftOut(row), row.length < 8_192, bytesLeftOut > 1024 * 1024]).toEqual([[1], true, true]);
  const meta = { eventId: 1, eventTimeMs: 0, version: 0, taskId: 0, workerMayIgnore: false, userMetadata: undefined };
  const event = encodeEvent({ ...meta, type: 'workflowExecutionStarted', links: [], eventGroupMarkers: [], attributes });
  expect(canonicalText(stateCodec.decodeRun(row, new Map([[1, event]])).run)).toBe(canonicalText(run));
  expect(() => stateCodec.decodeRun(row)).toThrow(corrupt);
});

describe('large', () => {
  const long = '\u{ffff}'.repeat(1_000);

  test('the longest ids', () => {
    const run = fullRun();
    const key = { namespaceId: long, workflowId: long, runId: long };
    const start = { ...run.start, root: { workflowId: long, runId: long }, firstRunId: long };
    run.activities.set(5, fullActivity(5, long));
    run.activityIds.set(long, { scheduledEventId: 5 });
    expectRunBack({ ...run, key, start });
    for (const task of fullTasks) expectTaskBack({ ...task, key });
  });

  test('a payload of 2 MiB', () => {
    const run = fullRun();
    const input = new Uint8Array(2 * 1024 * 1024).fill(7);
    run.activities.set(5, fullActivity(5, 'first', input));
    run.memo = input;
    expect(expectRunBack(run).length).toBeGreaterThan(2 * input.length);
    const news: PendingTask = { kind: 'notifyParent', taskId: 1, key: run.key, version: 0, outcome: { kind: 'completed', result: input } };
    expect(isDeepStrictEqual(stateCodec.decodeTask(stateCodec.encodeTask(news)), news)).toBe(true);
  });

  test('10,000 pending activities', () => {
    const run = fullRun();
    for (let at = 0; at < 10_000; at++) {
      run.activities.set(100 + at, fullActivity(100 + at, `${at}`));
      run.activityIds.set(`${at}`, { scheduledEventId: 100 + at });
    }
    expectRunBack(run);
  });

  test('100,001 request ids of signals', () => {
    const run = fullRun();
    const entries = Array.from({ length: 100_001 }, (_, at) => ({ requestId: `${at}`, eventId: at, eventType: 26 }));
    run.signalRequestIds = pendingOf(entries, ({ requestId }) => requestId);
    expectRunBack(run);
  });
});

test('entries come back in the order in which they came', () => {
  const run = stateCodec.decodeRun(stateCodec.encodeRun(fullRun(), undefined).state).run;
  expect([...run.activities.values()].map(({ activityId }) => activityId)).toEqual(['second', 'first']);
});

test('what was read holds nothing of the row that it was read from', () => {
  const bytes = stateCodec.encodeRun(fullRun(), aside).state;
  const row = new Uint8Array(bytes.length + 20);
  row.set(bytes, 10);
  const read = stateCodec.decodeRun(row.subarray(10, 10 + bytes.length));
  row.fill(0xff);
  expect(canonicalText(read.run)).toBe(canonicalText(fullRun()));
});

// ── What a run leaves to its history ───────────────────────────────────────────────────────────────────────────────────────────

describe('a run whose history is stored beside it', () => {
  /** An activity, a child and a signal with a payload of that size under way; small ones of each, and a cancel request. */
  function busyWorkflow(payload: Uint8Array): ShardUnderTest {
    const shard = new ShardUnderTest();
    shard.checks = false;
    shard.start({ key: { ...key, workflowId: 'other' } });
    shard.start();
    const execution = { workflowId: 'other', runId: '' };
    const signal = (input: Uint8Array, header?: Uint8Array): WorkflowCommand => ({
      type: 'signalExternalWorkflowExecution',
      userMetadata: undefined,
      attributes: { namespace: '', namespaceId: '', execution, signalName: 's', input, control: '', childWorkflowOnly: false, header },
    });
    shard.complete(pollOf(shard, key.workflowId), [
      scheduleActivity({ activityId: 'large', input: payload }),
      scheduleActivity({ activityId: 'small' }),
      startChild({ workflowId: 'small' }),
      { ...startChild({ workflowId: 'large', input: payload }), userMetadata: bytes('metadata') } as WorkflowCommand,
      signal(payload, bytes('header')),
      signal(bytes('small')),
      {
        type: 'requestCancelExternalWorkflowExecution',
        userMetadata: undefined,
        attributes: { namespace: '', namespaceId: '', ...execution, control: '', childWorkflowOnly: false, reason: 'r' },
      },
    ]);
    shard.pollActivityTask();
    return shard;
  }

  const shard = busyWorkflow(new Uint8Array(2 * 1024 * 1024).fill(7));
  const folded = new Shard();
  for (const record of shard.records) evolve(folded, record, historyWire);
  const { runId } = shard.describe().key;
  const run = folded.runs.get(runId);
  if (run === undefined) throw new Error('the run is gone');
  const { state: row, bytesLeftOut } = stateCodecBesideHistory.encodeRun(run, undefined);
  const types = new Map(shard.events(runId).map(({ eventId, type }) => [eventId, type]));
  const written = shard.records.flatMap(({ runs }) => runs.filter((each) => each.runId === runId).flatMap(({ events }) => events));
  const events: EventsLeftOut = new Map(written.map(({ event, bytes: encoded }) => [event.eventId, encoded]));
  const namedIn = (ids: readonly number[]): EventsLeftOut => new Map([...events].filter(([eventId]) => ids.includes(eventId)));

  test('leaves out what is large, and says which events must be read', () => {
    expect(row.length).toBeLessThan(2_000);
    const named = stateCodec.eventsLeftOut(row).map((eventId) => types.get(eventId));
    expect(named).toEqual(['activityTaskScheduled', 'startChildWorkflowExecutionInitiated', 'signalExternalWorkflowExecutionInitiated']);
    expect(bytesLeftOut).toBeGreaterThan(3 * 2 * 1024 * 1024);
  });

  test('is read with those events, and needs no others', () => {
    const read = stateCodec.decodeRun(row, namedIn(stateCodec.eventsLeftOut(row)));
    expect(isDeepStrictEqual(plain(read.run), plain(run))).toBe(true);
    expect(stateCodecBesideHistory.encodeRun(read.run, undefined)).toEqual({ state: row, bytesLeftOut });
  });

  test.each<[string, EventsLeftOut | undefined, string]>([
    ['no events', undefined, 'activityTaskScheduled, is not at hand'],
    ['one that is missing', namedIn(stateCodec.eventsLeftOut(row).slice(0, 2)), 'is not at hand'],
    ['others', new Map([...events].map(([eventId, encoded]) => [eventId + 1, encoded])), 'where activityTaskScheduled must be'],
    ['damaged ones', new Map([...events].map(([eventId, encoded]) => [eventId, encoded.slice(0, 9)])), 'cannot be read'],
  ])('is not read with %s', (_name, others, problem) => {
    expect(() => stateCodec.decodeRun(row, others)).toThrow(problem);
    expect(() => stateCodec.decodeRun(row, others)).toThrow(corrupt as Error);
  });

  test('leaves nothing out that is small', () => {
    const small = busyWorkflow(new Uint8Array(4 * 1024 - 100));
    const shardOfSmall = new Shard();
    for (const record of small.records) evolve(shardOfSmall, record, historyWire);
    for (const each of shardOfSmall.runs.values()) {
      expect(stateCodecBesideHistory.encodeRun(each, undefined).state).toEqual(stateCodec.encodeRun(each, undefined).state);
    }
  });

  test('leaves out what is small as well where there is very much of it', () => {
    const rowOf = (activities: number) => {
      const many = new ShardUnderTest();
      many.checks = false;
      many.start();
      const input = new Uint8Array(1_000).fill(7);
      const commands = Array.from({ length: activities }, (_, nth) => scheduleActivity({ activityId: `a${nth}`, input }));
      many.complete(pollOf(many, key.workflowId), commands);
      const shardOfMany = new Shard();
      for (const record of many.records) evolve(shardOfMany, record, historyWire);
      const [it] = [...shardOfMany.runs.values()];
      const eventsOfIt = many.records.flatMap(({ runs }) => runs.flatMap((each) => each.events));
      const known: EventsLeftOut = new Map(eventsOfIt.map(({ event, bytes: encoded }) => [event.eventId, encoded]));
      return { it: it!, known, row: stateCodecBesideHistory.encodeRun(it!, undefined).state };
    };
    const few = rowOf(200);
    expect(few.row).toEqual(stateCodec.encodeRun(few.it, undefined).state);
    const very = rowOf(2_000);
    expect(very.row.length).toBeLessThan(200_000);
    expect(stateCodec.eventsLeftOut(very.row)).toHaveLength(2_000);
    const read = stateCodec.decodeRun(very.row, very.known);
    expect(isDeepStrictEqual(plain(read.run), plain(very.it))).toBe(true);
    expect(stateCodecBesideHistory.encodeRun(read.run, undefined).state).toEqual(very.row);
  });

  test('the same run with all that is in it needs no event', () => {
    const whole = stateCodec.encodeRun(run, undefined).state;
    expect(whole.length).toBeGreaterThan(3 * 2 * 1024 * 1024);
    expect(stateCodec.eventsLeftOut(whole)).toEqual([]);
    expect(isDeepStrictEqual(plain(stateCodecBesideHistory.decodeRun(whole).run), plain(run))).toBe(true);
  });
});

function pollOf(shard: ShardUnderTest, workflowId: string): StartedWorkflowTask {
  const task = [...shard.core.shard.transfers.values()].find((of) => of.kind === 'workflowTask' && of.key.workflowId === workflowId);
  if (task?.kind !== 'workflowTask') throw new Error(`no workflow task of ${workflowId}`);
  const { scheduledEventId, stamp, taskQueue } = task;
  const pollRequestId = shard.newRequestId();
  const reply = shard.ask({ kind: 'startWorkflowTask', key: task.key, scheduledEventId, stamp, pollRequestId, identity: 'w', taskQueue });
  if (reply?.kind !== 'workflowTask') throw new Error('not started');
  return reply;
}

// ── What cannot be what was written ────────────────────────────────────────────────────────────────────────────────────────────

const decodeRun = (bytes: Uint8Array) => stateCodec.decodeRun(bytes);
const decodeTask = (bytes: Uint8Array) => stateCodec.decodeTask(bytes);
const decodeCounters = (bytes: Uint8Array) => stateCodec.decodeCounters(bytes);
const rows: readonly (readonly [string, Uint8Array, (bytes: Uint8Array) => unknown])[] = [
  ['run', stateCodec.encodeRun(fullRun(), aside).state, decodeRun],
  ...[...fullTasks, ...furtherTasks, ...scheduleTasks, ...batchTasks].map(
    (task) => [task.kind, stateCodec.encodeTask(task), decodeTask] as const,
  ),
  ['counters', stateCodec.encodeCounters({ taskIdLast: 2 ** 40, runs: 2 ** 41, runsBehind: [] }), decodeCounters],
  ['counters with tasks', stateCodec.encodeCounters(handedOver), decodeCounters],
  ['counters with letters', stateCodec.encodeCounters(executedAgain), decodeCounters],
];
const row = fc.constantFrom(...rows);

/** As if a program had written this body. */
function resealed(body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(5 + body.length);
  bytes[0] = 1;
  bytes.set(body, 5);
  new DataView(bytes.buffer).setUint32(1, crc32(body, 1), true);
  return bytes;
}

describe('bytes that cannot be what was written', () => {
  test.each(rows)('each bit counts: %s', (_name, bytes, decode) => {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => decode(flipped), `bit ${bit}`).toThrow(corrupt as Error);
    }
  });

  test.each(rows)('each byte counts: %s', (_name, bytes, decode) => {
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decode(bytes.subarray(0, length)), `${length} bytes`).toThrow(corrupt as Error);
    }
    expect(() => decode(Uint8Array.from([...bytes, 0]))).toThrow(corrupt as Error);
  });

  test('whatever a body is, it is read or refused', () => {
    fc.assert(
      fc.property(row, fc.nat(), fc.uint8Array({ maxLength: 60 }), fc.nat(60), ([, bytes, decode], at, inserted, removed) => {
        const body = [...bytes.subarray(5)];
        body.splice(at % body.length, removed, ...inserted);
        try {
          decode(resealed(Uint8Array.from(body)));
        } catch (error) {
          expect(error).toEqual(corrupt);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  const message = state.decodeRun(rows[0]?.[1].subarray(5) ?? new Uint8Array(0));
  const task = state.emptyPendingTask();
  const news = { ...state.decodePendingTask(stateCodec.encodeTask(fullTasks[7] as PendingTask).subarray(5)) };

  test.each<[string, () => unknown, string]>([
    ['no bytes', () => stateCodec.decodeRun(new Uint8Array(0)), 'a stored run of 0 bytes cannot be read: it is shorter than its head'],
    ['a later format', () => stateCodec.decodeTask(Uint8Array.of(2, 0, 0, 0, 0)), 'its format is 2, this version reads 1'],
    ['another checksum', () => stateCodec.decodeCounters(Uint8Array.of(1, 0, 0, 0, 0)), 'its checksum does not fit'],
    ['a run without a key', () => stateCodec.decodeRun(resealed(new Uint8Array(0))), 'Run.key is missing'],
    [
      'an archetype',
      () => stateCodec.decodeRun(resealed(state.encodeRun({ ...message, start: { ...message.start, archetype: 4 } }))),
      'unknown archetype 4',
    ],
    [
      'a schedule without its state',
      () =>
        stateCodec.decodeRun(resealed(state.encodeRun({ ...message, start: { ...message.start, archetype: state.Archetype.SCHEDULE } }))),
      'the run is a schedule and says nothing of it',
    ],
    [
      'a kind of workflow task',
      () => stateCodec.decodeRun(resealed(state.encodeRun({ ...message, workflowTask: { ...message.workflowTask!, kind: 0 } }))),
      'unknown kind 0',
    ],
    ['a task that is none', () => stateCodec.decodeTask(resealed(state.encodePendingTask(task))), 'a kind that this version does not know'],
    [
      'news without an outcome',
      () => stateCodec.decodeTask(resealed(state.encodePendingTask({ ...news, outcome: undefined }))),
      'the news of task 101 come of a close of the unknown kind 0',
    ],
    [
      'news of an unknown outcome',
      () => stateCodec.decodeTask(resealed(state.encodePendingTask({ ...news, outcome: { kind: 6, value: undefined, retryState: 0 } }))),
      'of the unknown kind 6',
    ],
  ])('%s', (_name, decode, problem) => {
    expect(decode).toThrow(problem);
    expect(decode).toThrow(corrupt as Error);
  });
});

test('a property that a message lacks does not compile, not even an optional one', () => {
  const message: { readonly known: number } = { known: 1 };
  // @ts-expect-error: `added` would be lost.
  expect(asCore<{ readonly known: number; readonly added?: number }>(message)).toBe(message);
});

// ── Golden rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Rows outlive versions: what 0.1.0 wrote is read for ever. No file is ever written again: a new form gets files of its own. */
function golden(name: string): readonly Uint8Array[] {
  const lines = readFileSync(new URL(`golden/state-v1-${name}.hex`, import.meta.url), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => Uint8Array.from(Buffer.from(line, 'hex')));
}

/** Runs that together have all that a run can have. */
function goldenRuns(): readonly Run[] {
  const answered = { requests: [1, 2, 3, 4].map((operation) => ({ operation, requestId: `request-${operation}` })) };
  const options = { ...fullOperations.options!, errorTypes: { types: ['Fatal', 'Late'] } };
  const pause = { timeMs: 41, identity: 'operator', reason: 'why', requestId: 'pause-request' };
  const reset = { ...fullRun(), startedWith: startedWith(bytes('input')), reset: fullReset, resetRunId: 'reset-run', pause, answered };
  reset.updates.set('admitted', { updateId: 'admitted', admittedEventId: 38, acceptedEventId: 0, completedEventId: 0 });
  reset.activities.set(5, { ...fullActivity(5, 'first'), operations: { ...fullOperations, options, answered } });
  reset.activities.set(12, {
    ...fullActivity(12, 'second'),
    operations: { ...fullOperations, options: { ...options, errorTypes: { types: [] } } },
  });
  const [callback] = fullRun().callbacks;
  if (callback === undefined) throw new Error('there is none');
  const updates = [
    { updateId: 'u1', rejection: { failure: bytes('refused'), timeMs: 5 } },
    { updateId: 'u2', rejection: undefined },
  ];
  return [
    fullRun(),
    { ...reset, callbacks: updates.map((update) => ({ ...callback, update })) },
    { ...fullRun(), preparation: { baseRunId: 'base-run' } },
    { ...fullRun(), own: fullSchedule, scheduledBy: fullScheduledBy },
    { ...fullRun(), own: fullBatch },
  ];
}

const goldenTasks: readonly PendingTask[] = [...fullTasks, ...lastMessages, ...furtherTasks, ...scheduleTasks, ...batchTasks];
const goldenCounters = [{ taskIdLast: 123_456_789_012, runs: 3, runsBehind: [] }, handedOver, executedAgain];

describe('rows of schema 1 are read, mean what they meant, and are written again byte for byte', () => {
  test('runs', () => {
    const rows = golden('runs');
    const read = rows.map((row) => stateCodec.decodeRun(row));
    expect(read.map((row) => canonicalText(row))).toEqual(goldenRuns().map((run) => canonicalText({ run, aside })));
    expect(read.map(({ run, aside: waiting }) => stateCodec.encodeRun(run, waiting).state)).toEqual(rows);
    const [row = new Uint8Array(0)] = rows.slice(2);
    expect(stateCodec.decodeShown(row).preparation).toEqual({ baseRunId: 'base-run' });
  });

  test('a run that leaves large payloads to its history', async () => {
    const [row = new Uint8Array(0)] = golden('run-beside-history');
    const read = stateCodec.decodeRun(row, new Map(largeEvents.map((event) => [event.eventId, encodeEvent(event)])));
    await expect(`${canonicalText(read)}\n`).toMatchFileSnapshot('golden/state-v1-run-beside-history.txt');
    expect(stateCodecBesideHistory.encodeRun(read.run, undefined).state).toEqual(row);
  });

  test('tasks', () => {
    const rows = golden('tasks');
    expect(rows.map(decodeTask)).toEqual(goldenTasks);
    expect(goldenTasks.map((task) => stateCodec.encodeTask(task))).toEqual(rows);
  });

  test('counters', () => {
    const rows = golden('counters');
    expect(rows.map(decodeCounters)).toEqual(goldenCounters);
    expect(goldenCounters.map((counters) => stateCodec.encodeCounters(counters))).toEqual(rows);
  });

  test('nothing is left out of them', () => {
    const runs = golden('runs').map((row) => stateCodec.decodeRun(row).run);
    const [first] = runs;
    if (first === undefined) throw new Error('the golden file is empty');
    expect(Object.keys(first)).toEqual(Object.keys(newRun(first.key, '', first.start)));
    const [most = [], ...others] = runs.map((run) => defaultsIn(run, 'run'));
    // A buffered event gets its id when it is flushed, and no event has admitted most updates.
    const inNone = most.filter((path) => others.every((defaults) => defaults.includes(path)));
    expect(inNone).toEqual(['run.buffered.0.eventId', 'run.updates.update.admittedEventId']);
    const seen = new Set(golden('tasks').map((row) => stateCodec.decodeTask(row).kind));
    expect([...seen].toSorted()).toEqual(Object.keys(taskKinds).toSorted());
  });
});

/** Paths of what has the value that a missing field has. */
function defaultsIn(value: unknown, path: string): string[] {
  if (value instanceof Uint8Array) return value.length === 0 ? [path] : [];
  const entries =
    value instanceof Pending ? [...(value as Pending<unknown, object>).entries()] : isObject(value) ? Object.entries(value) : [];
  if (!isObject(value)) return value === undefined || value === 0 || value === '' || value === false ? [path] : [];
  return entries.length === 0 ? [path] : entries.flatMap(([name, inner]) => defaultsIn(inner, `${path}.${String(name)}`));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
