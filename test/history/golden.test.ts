/**
 * Journals outlive versions: what 0.1.0 wrote must be read for ever, and mean the same. The golden files hold the records of programs
 * that use every event, every fact and every task. No journal is ever rewritten: a new form gets files of its own.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventTypeNumber } from '../../src/history/generated/public-api.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { Fact, HistoryRecord } from '../../src/history/run/record.ts';
import { recordSchema } from '../../src/codec/record-schema.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import {
  batches,
  pauses,
  preparations,
  rareRecords,
  readmissions,
  requests,
  resets,
  schedules,
  updateCallbacks,
  updates,
} from './golden-features.ts';
import { asideAndBack, chains, deletions, everything, everyOtherEvent, priorities, problems } from './golden-programs.ts';
import type { ShardUnderTest } from './shard-under-test.ts';
import { taskKinds } from './task-kinds.ts';

/** What wrote `golden/history-journal-v1-….hex`. */
const programs: { readonly [name: string]: () => ShardUnderTest } = {
  everything: everything,
  'put-aside': asideAndBack,
  events: everyOtherEvent,
  deletions: deletions,
  problems: problems,
  chains: chains,
  priorities: priorities,
  updates: updates,
  readmissions: readmissions,
  'update-callbacks': updateCallbacks,
  resets: resets,
  preparations: preparations,
  schedules: schedules,
  batches: batches,
  pauses: pauses,
  requests: requests,
};
const names = Object.keys(programs);

function valuesOf(name: string): readonly Uint8Array[] {
  return readFileSync(new URL(`golden/history-journal-v1-${name}.hex`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Uint8Array.from(Buffer.from(line, 'hex')));
}

function read(value: Uint8Array): HistoryRecord {
  return historyCodec.decode(value, recordSchema);
}

/**
 * The state after each record as a hash, and the fullest one as text. Who changes the shape of the state writes them anew, once the
 * programs before and after have been seen to replay all of these journals to the same, but for that change.
 */
test.each(names)('schema 1 is read, and replays to the state that it always replayed to: %s', async (name) => {
  const core = new HistoryCore({ wire: historyWire });
  let fullest = '';
  const hashes = valuesOf(name).map((value) => {
    core.evolve(read(value));
    const state = core.canonicalState();
    if (state.length > fullest.length) fullest = state;
    return createHash('sha256').update(state).digest('hex');
  });
  await expect([...hashes, '', fullest, ''].join('\n')).toMatchFileSnapshot(`golden/history-journal-v1-${name}.state.txt`);
});

test.each([...names, 'rare'])('what is read is written again byte for byte: %s', (name) => {
  for (const value of valuesOf(name)) expect(historyCodec.encode(read(value))).toMatchObject({ schema: 1, value });
});

test('what few records hold is read, and means what it meant', () => {
  expect(valuesOf('rare').map(read)).toEqual(rareRecords);
});

test('neither the golden files nor their programs leave anything out', () => {
  const facts: { readonly [Kind in Fact['kind']]: true } = {
    startRequest: true,
    workflowTaskScheduled: true,
    workflowTaskHeartbeat: true,
    workflowTaskStarted: true,
    workflowTaskFailed: true,
    workflowTaskRequeued: true,
    stickySet: true,
    stickyCleared: true,
    problemsReported: true,
    eventBuffered: true,
    bufferFlushed: true,
    timerFiredUnbuffered: true,
    activityStarted: true,
    activityStartWithdrawn: true,
    activityHeartbeat: true,
    activityRetried: true,
    activityBackoffEnded: true,
    activitiesPaused: true,
    activitiesWithheld: true,
    activityUnpaused: true,
    activityReset: true,
    activityOptionsUpdated: true,
    activityRescheduled: true,
    pauseInfoChanged: true,
    callbackAttempted: true,
    updateRejected: true,
    requestAnswered: true,
    runReset: true,
    runResetTo: true,
    preparationBegun: true,
    preparationEnded: true,
    scheduleChanged: true,
    scheduledBy: true,
    batchChanged: true,
    runPutAside: true,
    runTakenBack: true,
    runForgotten: true,
  };
  for (const records of [
    [...names, 'rare'].flatMap((name) => valuesOf(name).map(read)),
    [...Object.values(programs).flatMap((program) => program().records), ...rareRecords],
  ]) {
    const changes = records.flatMap(({ runs }) => runs);
    expect(kindsOf(changes.flatMap((change) => change.facts.map(({ fact }) => fact.kind)))).toEqual(kindsOf(Object.keys(facts)));
    expect(kindsOf(records.flatMap((record) => record.tasks.map(({ kind }) => kind)))).toEqual(kindsOf(Object.keys(taskKinds)));
    const events = changes.flatMap((change) => change.events.map(({ event }) => event.type));
    expect(kindsOf(events)).toEqual(kindsOf(Object.keys(eventTypeNumber)));
  }
});

function kindsOf(kinds: readonly string[]): readonly string[] {
  return [...new Set(kinds)].toSorted();
}

test('a record of a newer schema, or one that makes no sense, is refused', () => {
  const [first = new Uint8Array(0)] = valuesOf('everything');
  expect(() => historyCodec.decode(first, 2)).toThrow('has schema 2, written by another version; this one reads 1');
  expect(() => read(first.subarray(0, first.length - 3))).toThrow();
});
