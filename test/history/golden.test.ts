/**
 * Journals outlive versions: what schema 1 wrote must be read for ever, and mean the same. The golden files hold the records of programs
 * that use every event, every fact and every task. No journal is ever regenerated: a new form gets files of its own.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { canonicalText } from '../../src/history/canonical.ts';
import type { EventKind } from '../../src/history/events.ts';
import { eventTypeNumber } from '../../src/history/generated/public-api.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { Fact, HistoryRecord } from '../../src/history/record.ts';
import { recordSchema } from '../../src/history/record.ts';
import { isTimer, type Task } from '../../src/history/tasks.ts';
import { type batchTasks, laterTasks, type scheduleTasks } from '../topics/codec/full-state.ts';
import { historyCodec } from '../../src/topics/codec/history-codec.ts';
import { historyWire } from '../../src/topics/codec/history-wire.ts';
import { overlapPolicy, scheduleLimits } from '../../src/schedules/schedule.ts';
import { asideAndBack, chains, deletions, everything, everyOtherEvent, priorities, problems } from './golden-programs.ts';
import { taskFailure, unknownSubject } from './hand-over/task-failure.ts';
import { jobKeptAs } from '../../src/batches/job-id.ts';
import { aJobKey, startBatch } from './batch-commands.ts';
import { stepOf } from './batch-step.ts';
import { createSchedule, patchSchedule } from './schedule-commands.ts';
import {
  bytes,
  completeWorkflow,
  failWorkflow,
  fields,
  namespaceId,
  protocolMessage,
  ShardUnderTest,
  updateRequest,
  attachingUpdate,
  updateWorkflow,
} from './shard-under-test.ts';

/** Facts that came later stand in files of their own: what was written once stays as it is. */
const earlier = ['golden/history-journal-v1', 'golden/history-journal-v1-put-aside'] as const;
/**
 * Today's form: tasks leave out what the event in the same record says, a buffered event that is flushed in the same record stands there
 * once, and starts of children carry the close policy.
 */
const newest = [
  'golden/history-journal-v1-lean',
  'golden/history-journal-v1-lean-put-aside',
  'golden/history-journal-v1-lean-events',
  'golden/history-journal-v1-lean-deletions',
  'golden/history-journal-v1-lean-problems',
] as const;
const journals = [...earlier, ...newest] as const;

function goldenRecords(): readonly Uint8Array[] {
  return journals.flatMap(recordsOf);
}

function recordsOf(journal: string): readonly Uint8Array[] {
  return readFileSync(new URL(`${journal}.hex`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Uint8Array.from(Buffer.from(line, 'hex')));
}

test.each(journals)('schema 1 is still read, and means what it meant: %s', async (journal) => {
  const records = recordsOf(journal).map((value) => historyCodec.decode(value, 1));
  expect(records.length).toBeGreaterThan(4);
  await expect(records.map((record) => `${canonicalText(record)}\n`).join('\n')).toMatchFileSnapshot(`${journal}.txt`);
  const core = new HistoryCore({ wire: historyWire });
  for (const record of records) core.evolve(record);
  expect([...core.pendingTransferTasks()].filter(({ kind }) => kind !== 'workflowTask')).toEqual([]);
});

/**
 * The state after each record as a hash, and the fullest one as text. Who changes the shape of the state writes them anew, once the
 * programs before and after have been seen to fold all of these journals to the same, but for that change.
 */
test.each(journals)('it folds to the state that it always folded to: %s', async (journal) => {
  const core = new HistoryCore({ wire: historyWire });
  let fullest = '';
  const hashes = recordsOf(journal).map((value) => {
    core.evolve(historyCodec.decode(value, 1));
    const state = core.canonicalState();
    if (state.length > fullest.length) fullest = state;
    return createHash('sha256').update(state).digest('hex');
  });
  await expect([...hashes, '', fullest, ''].join('\n')).toMatchFileSnapshot(`${journal}.state.txt`);
});

test.each(['golden/history-journal-v1', 'golden/history-journal-v1-lean'])('all of it is forgotten in the end: %s', (journal) => {
  const core = new HistoryCore({ wire: historyWire });
  for (const value of recordsOf(journal)) core.evolve(historyCodec.decode(value, 1));
  expect(core.has({ namespaceId, workflowId: 'short', runId: '' })).toBe(false);
});

test.each(newest)('what is read of the newest form is written again byte for byte: %s', (journal) => {
  expect(recordSchema).toBe(1);
  for (const value of recordsOf(journal)) expect(historyCodec.encode(historyCodec.decode(value, 1)).value).toEqual(value);
});

test.each(earlier)('written again in the newest form, it still means the same: %s', (journal) => {
  for (const value of recordsOf(journal)) {
    const record = historyCodec.decode(value, 1);
    expect(historyCodec.decode(historyCodec.encode(record).value, 1)).toEqual(record);
  }
});

test('neither the golden files nor their programs leave anything out', () => {
  // Completion callbacks come with schema 5, what operators do to activities and resets with schema 6,
  // their request ids with schema 8.
  const facts: {
    readonly [
      Kind in Exclude<
        Fact['kind'],
        | 'callbackAttempted'
        | 'updateRejected'
        | 'scheduleChanged'
        | 'scheduledBy'
        | 'batchChanged'
        | 'requestAnswered'
        | (LaterFact | ResetFact | PauseFact)['kind']
      >
    ]: true;
  } = {
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
    runPutAside: true,
    runTakenBack: true,
    runForgotten: true,
  };
  const tasks: {
    readonly [Kind in Exclude<Task['kind'], (typeof laterTasks | typeof scheduleTasks | typeof batchTasks)[number]['kind']>]: true;
  } = {
    workflowTask: true,
    activityTask: true,
    startChild: true,
    scheduleChildFirstTask: true,
    signalExternal: true,
    cancelExternal: true,
    notifyParent: true,
    closeChild: true,
    userTimer: true,
    activityTimeout: true,
    activityRetry: true,
    workflowTaskTimeout: true,
    firstWorkflowTask: true,
    runTimeout: true,
    executionTimeout: true,
    retention: true,
  };
  for (const records of [
    goldenRecords().map((value) => historyCodec.decode(value, 1)),
    [everything(), asideAndBack(), everyOtherEvent(), deletions(), problems()].flatMap((program) => program.records).map(withoutAnswers),
  ]) {
    const seenFacts = new Set(records.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind))));
    const seenTasks = new Set(records.flatMap((record) => record.tasks.map(({ kind }) => kind)));
    expect([...seenFacts].toSorted()).toEqual(Object.keys(facts).toSorted());
    expect([...seenTasks].toSorted()).toEqual(Object.keys(tasks).toSorted());
    const seenEvents = new Set(records.flatMap(({ runs }) => runs.flatMap(({ events }) => events.map(({ event }) => event.type))));
    const later: readonly string[] = laterEvents;
    expect([...seenEvents].toSorted()).toEqual(
      Object.keys(eventTypeNumber)
        .filter((type) => !later.includes(type))
        .toSorted(),
    );
  }
});

/** Runs were not told of the signals of those before them when these were written (answered-requests.test.ts). */
function withoutAnswers(record: HistoryRecord): HistoryRecord {
  return {
    ...record,
    runs: record.runs.map((run) => ({ ...run, facts: run.facts.filter(({ fact }) => fact.kind !== 'requestAnswered') })),
  };
}

/** Of schema 6. */
const updateEvents = [
  'workflowExecutionUpdateAccepted',
  'workflowExecutionUpdateCompleted',
  'workflowExecutionUpdateAdmitted',
] satisfies readonly EventKind[];
const laterEvents = [...updateEvents, 'workflowExecutionPaused', 'workflowExecutionUnpaused'] satisfies readonly EventKind[];

test('a record of another schema, or one that makes no sense, is refused', () => {
  const [first] = goldenRecords();
  if (first === undefined) throw new Error('the golden file is empty');
  expect(() => historyCodec.decode(first, 9)).toThrow('history records have schemas 1 to 8, found 9');
  expect(() => historyCodec.decode(first.subarray(0, first.length - 3), 1)).toThrow();
});

test('schema 2 is still read, and means what it meant: runs of any workflow ids are retired', () => {
  const [first = '', ...rest] = readFileSync(new URL('golden/history-journal-v2-retired.hex', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  const value = Uint8Array.from(Buffer.from(first, 'hex'));
  expect(rest).toEqual([]);
  const record = historyCodec.decode(value, 2);
  expect(record).toEqual({
    schema: 2,
    timeMs: 1_700_000_003_000,
    type: 'RunsRetired',
    namespaceId: '',
    namespace: '',
    workflowId: '',
    runId: '',
    runs: [],
    tasks: [],
    finishedTaskIds: [],
    retiredRuns: ['one', 'other'].map((workflowId, nth) => ({
      namespaceId,
      workflowId,
      runId: `00000000-0000-4000-8000-00000000000${nth + 1}`,
    })),
  });
  expect(historyCodec.encode(record)).toMatchObject({ schema: 2, value });
});

test('schema 3 is still read, and means what it meant: tasks for workers that matching has stored', () => {
  const text = readFileSync(new URL('golden/history-journal-v3-at-matching.hex', import.meta.url), 'utf8');
  const value = Uint8Array.from(Buffer.from(text.trimEnd(), 'hex'));
  const record = historyCodec.decode(value, 3);
  expect(record).toEqual({
    schema: 3,
    timeMs: 1_700_000_003_000,
    type: 'TasksAtMatching',
    namespaceId: '',
    namespace: '',
    workflowId: '',
    runId: '',
    runs: [],
    tasks: [],
    finishedTaskIds: [8],
    taskIdsAtMatching: [5, 7, Number.MAX_SAFE_INTEGER],
  });
  expect(historyCodec.encode(record)).toMatchObject({ schema: 3, value });
});

test('schema 4 is still read, and means what it meant: tasks that have failed for good, and those that are letters', () => {
  expectWrittenAs('golden/history-journal-v4-hand-over', [handedOverRecord, acceptedRecord]);
});

test('schema 4 is still read, and means what it meant: letters that are executed again', () => {
  expectWrittenAs('golden/history-journal-v4-redrive', [begunRecord, endedRecord, confirmedRecord]);
});

function expectWrittenAs(journal: string, records: readonly HistoryRecord[]): void {
  const values = recordsOf(journal);
  expect(values.map((value) => historyCodec.decode(value, 4))).toEqual(records);
  expect(records.map((record) => historyCodec.encode(record))).toMatchObject(values.map((value) => ({ schema: 4, value })));
}

test('schema 5 is still read, and means what it meant: tasks of later kinds', () => {
  const text = readFileSync(new URL('golden/history-journal-v5-later-tasks.hex', import.meta.url), 'utf8');
  const value = Uint8Array.from(Buffer.from(text.trimEnd(), 'hex'));
  const record = historyCodec.decode(value, 5);
  expect(record).toEqual(laterTasksRecord);
  expect(historyCodec.encode(record)).toMatchObject({ schema: 5, value });
});

/** Written when events left durations of 0 out; the programs that wrote them are those of the files with `zeros` in their names. */
test.each([
  ...['updates', 'reset', 'readmissions', 'update-callbacks', 'schedules', 'priorities', 'batches', 'chains', 'pause'].map(
    (name) => `v6-${name}`,
  ),
  ...['v7-preparation', 'v8-requests', 'v8-signals'],
])('%s of before is still read, is written again byte for byte, and its events mean the same', (name) => {
  const [, usual] = /^v(\d)/.exec(name) ?? [];
  const [before = [], now = []] = [name, `${name}-zeros`].map((file) => {
    const lines = readFileSync(new URL(`golden/history-journal-${file}.hex`, import.meta.url), 'utf8')
      .trimEnd()
      .split('\n');
    // In some files each line begins with the schema of its record.
    return lines.map((line) => {
      const [value = '', schema = usual] = line.split(' ').toReversed();
      return { value, record: historyCodec.decode(Uint8Array.from(Buffer.from(value, 'hex')), Number(schema)) };
    });
  });
  expect(before.map(({ record }) => hexOf(historyCodec.encode(record).value))).toEqual(before.map(({ value }) => value));
  expect(eventsOf(before.map(({ record }) => record))).toEqual(eventsOf(now.map(({ record }) => record)));
});

/** But for the sizes of their histories. */
function eventsOf(records: readonly HistoryRecord[]): readonly unknown[] {
  const events = records.flatMap(({ runs }) => runs.flatMap((change) => change.events.map(({ event }) => event)));
  return events.map((event) => ({ ...event, attributes: { ...event.attributes, historySizeBytes: 0 } }));
}

test('schema 6 is still read, and means what it meant: updates', async () => {
  const { records } = updates();
  const values = records.map((record) => `${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(values).toMatchFileSnapshot('golden/history-journal-v6-updates-zeros.hex');
  const read = recordsOf('golden/history-journal-v6-updates-zeros').map((value) => historyCodec.decode(value, 6));
  expect(read).toEqual(records);
  const events = read.flatMap(({ runs }) => runs.flatMap((change) => change.events.map(({ event }) => event.type)));
  expect(events.filter((type) => laterEvents.some((later) => later === type))).toEqual(updateEvents.slice(0, 2));
});

/** Its later records alone. */
function updates(): { readonly records: readonly HistoryRecord[] } {
  const shard = new ShardUnderTest();
  shard.start();
  shard.ask(updateWorkflow());
  const acceptance = { kind: 'acceptance', requestMessageId: 'u1/request', requestSequencingEventId: 2, request: undefined } as const;
  const accepted = { id: 'a', updateId: 'u1', body: acceptance } as const;
  const completed = {
    id: 'r',
    updateId: 'u1',
    body: { kind: 'response', metaUpdateId: 'u1', identity: 'worker', outcome: bytes('outcome') },
  } as const;
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('a')], { messages: [accepted] });
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('r')], { messages: [completed] });
  return { records: shard.records.filter(({ schema }) => schema === 6) };
}

test('schema 6 is still read, and means what it meant: a run that goes on from an event of another one', async () => {
  const shard = new ShardUnderTest();
  shard.start();
  // As it is written again: without one.
  shard.signal({ requestId: '' });
  shard.reset(3);
  const records = shard.records.filter(({ schema }) => schema === 6);
  const values = records.map((record) => `${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(values).toMatchFileSnapshot('golden/history-journal-v6-reset-zeros.hex');
  expect(recordsOf('golden/history-journal-v6-reset-zeros').map((value) => historyCodec.decode(value, 6))).toEqual(records.map(asRead));
  const facts = records.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind)));
  expect(facts).toEqual(expect.arrayContaining(['runReset', 'runResetTo'] satisfies readonly ResetFact['kind'][]));
});

test('schema 7 is still read, and means what it meant: a run that is prepared for a reset in parts', async () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.signal({ requestId: '' });
  shard.complete(shard.pollWorkflowTask());
  shard.ask(shard.prepareReset(5, { reason: 'in parts' }));
  const records = shard.records.filter(({ schema }) => schema === 7);
  const values = records.map((record) => `${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(values).toMatchFileSnapshot('golden/history-journal-v7-preparation-zeros.hex');
  expect(recordsOf('golden/history-journal-v7-preparation-zeros').map((value) => historyCodec.decode(value, 7))).toEqual(
    records.map(asRead),
  );
  expect(records.map(({ type }) => type)).toEqual(['ResetPrepared', 'ResetPrepared', 'WorkflowExecutionTerminated']);
  const facts = records.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind)));
  const kinds: readonly ResetFact['kind'][] = ['preparationBegun', 'preparationEnded', 'runReset', 'runResetTo'];
  expect(facts).toEqual(expect.arrayContaining([...kinds]));
});

test('schema 6 is still read, and means what it meant: updates that a reset has brought along', async () => {
  const { records } = readmissions();
  const values = records.map((record) => `${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(values).toMatchFileSnapshot('golden/history-journal-v6-readmissions-zeros.hex');
  const read = recordsOf('golden/history-journal-v6-readmissions-zeros').map((value) => historyCodec.decode(value, 6));
  expect(read).toEqual(records.map(asRead));
  const facts = read.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind)));
  expect(facts).toContain('updateRejected' satisfies Fact['kind']);
  const events = read.flatMap(({ runs }) => runs.flatMap((change) => change.events.map(({ event }) => event.type)));
  expect(events).toContain('workflowExecutionUpdateAdmitted' satisfies EventKind);
});

/** Two were accepted; the worker of the run that goes on accepts one of them, and refuses the other. */
function readmissions(): { readonly records: readonly HistoryRecord[] } {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask());
  const acceptanceOf = (updateId: string, request: Uint8Array | undefined) =>
    ({
      id: updateId,
      updateId,
      body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 2, request },
    }) as const;
  shard.signal({ requestId: '' });
  const both = ['u1', 'u2'].map((updateId) => acceptanceOf(updateId, updateRequest(updateId)));
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1'), protocolMessage('u2')], { messages: both });
  shard.reset(4);
  const refusal = { id: 'u2', updateId: 'u2', body: { kind: 'rejection', hasRequest: false, failure: bytes('no') } } as const;
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1')], { messages: [acceptanceOf('u1', undefined), refusal] });
  return { records: shard.records.filter(({ schema }) => schema === 6) };
}

test('schema 6 is still read, and means what it meant: completion callbacks of updates', async () => {
  const { records } = updateCallbacks();
  const values = records.map((record) => `${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(values).toMatchFileSnapshot('golden/history-journal-v6-update-callbacks-zeros.hex');
  const read = recordsOf('golden/history-journal-v6-update-callbacks-zeros').map((value) => historyCodec.decode(value, 6));
  expect(read).toEqual(records.map(asRead));
  const facts = read.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact)));
  expect(facts).toContainEqual({ kind: 'updateRejected', updateId: 'u2', failure: bytes('no') });
});

/** One is completed; the other one is brought along by a reset, and refused then. */
function updateCallbacks(): { readonly records: readonly HistoryRecord[] } {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask());
  for (const updateId of ['u1', 'u2']) shard.ask({ ...updateWorkflow(), update: attachingUpdate(updateId, `by ${updateId}`) });
  const acceptanceOf = (updateId: string) =>
    ({
      id: updateId,
      updateId,
      body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 2, request: undefined },
    }) as const;
  const completed = {
    id: 'r',
    updateId: 'u1',
    body: { kind: 'response', metaUpdateId: 'u1', identity: 'worker', outcome: bytes('outcome') },
  } as const;
  shard.signal({ requestId: '' });
  const messages = [acceptanceOf('u1'), acceptanceOf('u2'), completed];
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1'), protocolMessage('u2'), protocolMessage('r')], { messages });
  shard.ask({ ...updateWorkflow(), update: attachingUpdate('u2', 'again') });
  shard.reset(4);
  const refusal = { id: 'u2', updateId: 'u2', body: { kind: 'rejection', hasRequest: false, failure: bytes('no') } } as const;
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1')], { messages: [acceptanceOf('u1'), refusal] });
  return { records: shard.records.filter(({ schema }) => schema === 6) };
}

test('schema 6 is still read, and means what it meant: schedules, and workflows that they have started', async () => {
  const { records, core } = schedules();
  const written = records.map((record) => historyCodec.encode(record).value);
  await expect(written.map((value) => `${hexOf(value)}\n`).join('')).toMatchFileSnapshot('golden/history-journal-v6-schedules-zeros.hex');
  const facts = records.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind)));
  expect(facts).toEqual(expect.arrayContaining(['scheduleChanged', 'scheduledBy'] satisfies readonly Fact['kind'][]));
  const now = new HistoryCore({ wire: historyWire });
  for (const [i, value] of written.entries()) now.evolve(historyCodec.decode(value, records[i]!.schema));
  expect(now.canonicalState()).toBe(core.canonicalState());
});

function hexOf(value: Uint8Array): string {
  return Buffer.from(value).toString('hex');
}

/** One workflow fails and pauses it, the next one completes, another is under way as a cancelled one and its start wait to be told, and is asked for. */
function schedules(): ShardUnderTest {
  const { bufferAll, cancelOther } = overlapPolicy;
  const shard = new ShardUnderTest();
  const state = { paused: false, notes: 'not yet', limitedActions: true, remainingActions: 9 };
  shard.ask(
    createSchedule({
      retentionMs: 0,
      state,
      memo: fields({ kept: '"memo"' }),
      searchAttributes: fields({ CustomKeywordField: '"red"' }),
      defined: { policies: { overlapPolicy: bufferAll, pauseOnFailure: true } },
    }),
  );
  shard.fireNextTimer();
  shard.pumpOutbox();
  shard.complete(shard.pollWorkflowTask(), [failWorkflow()]);
  shard.pumpOutbox();
  shard.ask(patchSchedule({ unpause: 'again', backfills: [{ fromMs: 0, toMs: 120_000, overlapPolicy: bufferAll }] }));
  shard.pumpOutbox();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  shard.pumpOutbox();
  // Triggers of now had the second of another action when these were written.
  shard.ask(patchSchedule({ trigger: { timeMs: shard.nowMs, overlapPolicy: cancelOther } }, 'trigger'));
  shard.advance(scheduleLimits.lookAfterMs);
  shard.fireDueTimers();
  expect(shard.pendingTask('lookAtAction')).toMatchObject({ startId: 3 });
  return shard;
}

test('schema 6 is still read, and means what it meant: tasks with priorities', async () => {
  const { records, core } = priorities();
  const values = records.map((record) => `${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(values).toMatchFileSnapshot('golden/history-journal-v6-priorities-zeros.hex');
  const read = new HistoryCore({ wire: historyWire });
  for (const [i, value] of recordsOf('golden/history-journal-v6-priorities-zeros').entries()) {
    read.evolve(historyCodec.decode(value, records[i]!.schema));
  }
  expect(read.canonicalState()).toBe(core.canonicalState());
  expect(
    records.map(({ schema }) => schema),
    'a record without such a task is read by earlier programs',
  ).toEqual([6, 1, 6]);
  const activity = [...read.pendingTransferTasks()].find(({ kind }) => kind === 'activityTask');
  expect(activity).toMatchObject({ priority: { priorityKey: 2, fairnessKey: 'tenant', fairnessWeight: 0.5 } });
});

test('schema 6 is still read, and means what it meant: batch jobs', async () => {
  const { records, core } = batches();
  const values = records.map((record) => historyCodec.encode(record).value);
  await expect(values.map((value) => `${hexOf(value)}\n`).join('')).toMatchFileSnapshot('golden/history-journal-v6-batches-zeros.hex');
  const facts = records.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind)));
  expect(facts).toContain('batchChanged' satisfies Fact['kind']);
  const read = new HistoryCore({ wire: historyWire });
  for (const [i, value] of values.entries()) read.evolve(historyCodec.decode(value, records[i]!.schema));
  expect(read.canonicalState()).toBe(core.canonicalState());
});

/** One is completed, one has failed, one is stopped, and one goes on. */
function batches(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.ask(startBatch());
  for (let step = 0; step < 4; step++) shard.fireNextTimer();
  for (const [index, id] of ['failed', 'stopped', 'open'].entries()) {
    const key = { ...aJobKey, workflowId: jobKeptAs(id) };
    shard.ask(startBatch({ key, newRunId: `00000000-0000-4000-8000-00000000000${index}`, total: 2, retentionMs: 0 }));
    const job = shard.ask({ kind: 'describeBatch', key });
    const due = shard.nextTimer();
    if (job?.kind !== 'batchDescription' || due === undefined) throw new Error('the job is due');
    const next =
      id === 'failed' ? ({ kind: 'failed', message: 'no such attribute' } as const) : ({ kind: 'goesOn', pauseMs: 500 } as const);
    shard.ask({ kind: 'batchStepped', key: job.key, taskId: due.taskId, step: stepOf(job.progress, { next }) });
    if (id === 'stopped') shard.ask({ kind: 'stopBatch', key, reason: 'enough', identity: 'operator' });
  }
  return shard;
}

test('schema 6 is still read, and means what it meant: runs with a retry policy and a cron schedule', async () => {
  const { records, core } = chains();
  const values = records.map((record) => historyCodec.encode(record).value);
  await expect(values.map((value) => `${hexOf(value)}\n`).join('')).toMatchFileSnapshot('golden/history-journal-v6-chains-zeros.hex');
  // The last one closes a run for good: earlier programs read that.
  expect(records.map(({ schema }) => schema)).toEqual([...Array.from({ length: records.length - 1 }, () => 6), 1]);
  const read = new HistoryCore({ wire: historyWire });
  for (const value of values) read.evolve(historyCodec.decode(value, 6));
  expect(read.canonicalState()).toBe(core.canonicalState());
});

test('schema 6 is still read, and means what it meant: what operators do to activities', () => {
  const text = readFileSync(new URL('golden/history-journal-v6-activities.hex', import.meta.url), 'utf8');
  const value = Uint8Array.from(Buffer.from(text.trimEnd(), 'hex'));
  const record = historyCodec.decode(value, 6);
  expect(record).toEqual(activitiesRecord);
  expect(historyCodec.encode(record)).toMatchObject({ schema: 6, value });
});

const about = { namespaceId: '', namespace: '', workflowId: '', runId: '', runs: [], tasks: [] };

/** Whose trouble it looks like was not told then. */
const failureOfThen = { ...taskFailure, disposition: '' } as const;

const handedOverRecord: HistoryRecord = {
  ...about,
  schema: 4,
  timeMs: 1_700_000_004_000,
  type: 'TaskHandedOver',
  finishedTaskIds: [],
  tasksHandedOver: [
    {
      category: 'transfer',
      sequence: 2 ** 40,
      task: {
        kind: 'notifyParent',
        taskId: 2 ** 41,
        version: 0,
        key: { namespaceId: 'ns-id', workflowId: 'wf', runId: '00000000-0000-4000-8000-000000000001' },
        outcome: { kind: 'completed', result: Uint8Array.of(1, 2, 3) },
      },
      failure: failureOfThen,
      subject: unknownSubject,
    },
  ],
};

const acceptedRecord: HistoryRecord = {
  ...about,
  schema: 4,
  timeMs: 1_700_000_005_000,
  type: 'LettersAccepted',
  finishedTaskIds: [7],
  lettersAccepted: [{ category: 'transfer', sequence: 2 ** 40, messageIds: [0, 41, Number.MAX_SAFE_INTEGER] }],
};

const letter = { queue: 2, messageId: 2 ** 40, generation: 3 };

const begunRecord: HistoryRecord = {
  ...about,
  schema: 4,
  timeMs: 1_700_000_006_000,
  type: 'LetterExecutionBegun',
  finishedTaskIds: [],
  lettersBegun: [
    {
      letter,
      task: {
        kind: 'userTimer',
        taskId: 2 ** 41,
        fireTimeMs: 1_700_000_006_000,
        key: { namespaceId: 'ns-id', workflowId: 'wf', runId: '00000000-0000-4000-8000-000000000001' },
        timerId: 'timer',
        startedEventId: 5,
      },
    },
  ],
};

const endedRecord: HistoryRecord = {
  ...about,
  schema: 4,
  timeMs: 1_700_000_007_000,
  type: 'LetterExecuted',
  finishedTaskIds: [7],
  lettersEnded: [
    { letter, outcome: { kind: 'applied' } },
    { letter: { ...letter, generation: 0 }, outcome: { kind: 'noop', detail: 'the workflow is closed' } },
    { letter: { ...letter, messageId: 0 }, outcome: { kind: 'failed', failure: failureOfThen } },
  ],
};

const confirmedRecord: HistoryRecord = {
  ...about,
  schema: 4,
  timeMs: 1_700_000_008_000,
  type: 'LettersConfirmed',
  finishedTaskIds: [],
  lettersConfirmed: [letter, { queue: 1, messageId: 0, generation: 0 }],
};

/** Transfers before timers. */
function asRead(record: HistoryRecord): HistoryRecord {
  return { ...record, tasks: record.tasks.toSorted((one, other) => Number(isTimer(one)) - Number(isTimer(other))) };
}

const laterTasksRecord: HistoryRecord = asRead({
  ...about,
  schema: 5,
  timeMs: 1_700_000_006_000,
  type: 'WorkflowExecutionCompleted',
  namespaceId: 'ns-id',
  workflowId: 'wf',
  runId: 'run',
  tasks: laterTasks,
  finishedTaskIds: [],
});

type LaterFact = Extract<
  Fact,
  { readonly kind: 'activitiesPaused' | 'activityUnpaused' | 'activityReset' | 'activityOptionsUpdated' | 'activityRescheduled' }
>;

/** Their golden journal has a file of its own (golden-pause.test.ts). */
type PauseFact = Extract<Fact, { readonly kind: 'activitiesWithheld' | 'pauseInfoChanged' }>;

type ResetFact = Extract<Fact, { readonly kind: 'runReset' | 'runResetTo' | 'preparationBegun' | 'preparationEnded' }>;

const laterFacts: readonly LaterFact[] = [
  { kind: 'activitiesPaused', scheduledEventIds: [5, 2 ** 40], identity: 'operator', reason: 'why', requestId: 'request' },
  { kind: 'activityUnpaused', scheduledEventId: 5, resetAttempts: true, resetHeartbeat: false },
  { kind: 'activityUnpaused', scheduledEventId: 5, resetAttempts: false, resetHeartbeat: true },
  { kind: 'activityReset', scheduledEventId: 5, resetHeartbeat: true, keepPaused: false, restoreOptions: false },
  { kind: 'activityReset', scheduledEventId: 5, resetHeartbeat: false, keepPaused: true, restoreOptions: false },
  { kind: 'activityReset', scheduledEventId: 5, resetHeartbeat: false, keepPaused: false, restoreOptions: true },
  { kind: 'activityOptionsUpdated', scheduledEventId: 5, options: undefined },
  {
    kind: 'activityOptionsUpdated',
    scheduledEventId: 6,
    options: {
      taskQueue: { name: 'queue', kind: 1, normalName: '' },
      scheduleToCloseTimeoutMs: 4_000,
      scheduleToStartTimeoutMs: 3_000,
      startToCloseTimeoutMs: 2_000,
      heartbeatTimeoutMs: 1_000,
      retryPolicy: {
        initialIntervalMs: 500,
        backoffCoefficient: 1.5,
        maximumIntervalMs: 50_000,
        maximumAttempts: 7,
        nonRetryableErrorTypes: [],
      },
      priority: Uint8Array.of(8, 3),
      errorTypes: undefined,
    },
  },
  { kind: 'activityRescheduled', scheduledEventId: 6, scheduledTimeMs: 1_700_000_009_000 },
];

const activitiesRecord: HistoryRecord = {
  ...about,
  schema: 6,
  timeMs: 1_700_000_009_000,
  type: 'ActivitiesPaused',
  namespaceId: 'ns-id',
  workflowId: 'wf',
  runId: 'run',
  runs: [{ runId: 'run', events: [], facts: laterFacts.map((fact) => ({ afterEvents: 0, fact })) }],
  finishedTaskIds: [7],
};
