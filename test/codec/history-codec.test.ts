/** Whatever is committed must be read again for ever, however much of it there is. Random records: test/history/shard-under-test.ts. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { HistoryEvent } from '../../src/history/run/events.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryRecord, RunChange } from '../../src/history/run/record.ts';
import { encodeEvent } from '../../src/codec/event-codec.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import * as journal from '../../src/wire/generated/journal/history.ts';
import { bytes, key, ShardUnderTest } from '../history/shard-under-test.ts';

const count = 100_001;
const runId = 'run';

function many<Item>(make: (index: number) => Item): readonly Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function record(change: Partial<HistoryRecord>): HistoryRecord {
  return {
    timeMs: 1_700_000_000_000,
    type: 'Test',
    namespaceId: 'ns-id',
    namespace: 'ns',
    workflowId: 'wf',
    runId,
    runs: [],
    tasks: [],
    finishedTaskIds: [],
    ...change,
  };
}

function run(change: Partial<RunChange>): HistoryRecord {
  return record({ runs: [{ runId, events: [], facts: [], ...change }] });
}

function eventOf(change: object): RunChange['events'] {
  const event = {
    type: 'markerRecorded',
    eventId: 5,
    eventTimeMs: 1_700_000_000_000,
    version: 0,
    taskId: 0,
    workerMayIgnore: false,
    userMetadata: undefined,
    links: [],
    eventGroupMarkers: [],
    attributes: { markerName: 'm', details: new Map(), workflowTaskCompletedEventId: 4, header: undefined, failure: undefined },
    ...change,
  } as HistoryEvent;
  return [{ event, bytes: encodeEvent(event) }];
}

const taskKey = { ...key, runId };
const marker = eventOf({})[0]!;
const manyBytes = many(() => bytes('x'));

describe(`${count} elements, many more than a request may have`, () => {
  test.each<[string, HistoryRecord]>([
    ['runs', record({ runs: many((index) => ({ runId: `run-${index}`, events: [], facts: [] })) })],
    ['events', run({ events: many(() => marker) })],
    ['facts', run({ facts: many(() => ({ afterEvents: 0, fact: { kind: 'bufferFlushed' } as const })) })],
    ['transfer tasks', record({ tasks: many((taskId) => ({ kind: 'notifyParent', taskId, key: taskKey, version: 0 }) as const) })],
    ['timers', record({ tasks: many((taskId) => ({ kind: 'retention', taskId, key: taskKey, fireTimeMs: 1 }) as const) })],
    ['finished tasks', record({ finishedTaskIds: many((index) => index) })],
    ['links of an event', run({ events: eventOf({ links: manyBytes }) })],
    ['group markers of an event', run({ events: eventOf({ eventGroupMarkers: manyBytes }) })],
    [
      'details of a marker',
      run({
        events: eventOf({
          attributes: { ...marker.event.attributes, details: new Map(many((index) => [`key-${index}`, bytes('x')] as const)) },
        }),
      }),
    ],
    [
      'reasons to continue as new',
      run({
        facts: [
          {
            afterEvents: 0,
            fact: {
              kind: 'workflowTaskStarted',
              requestId: '',
              identity: '',
              historySizeBytes: 1,
              suggestContinueAsNewReasons: many(() => 1),
            },
          },
        ],
      }),
    ],
  ])('%s', (_, written) => {
    const { value, schema } = historyCodec.encode(written);
    expect(isDeepStrictEqual(historyCodec.decode(value, schema), written)).toBe(true);
  });
});

test('memo and search attributes of any number of keys are merged and kept', () => {
  const shard = new ShardUnderTest();
  shard.checks = false;
  const payload = historyWire.encodePayloads(['1']).subarray(2);
  const memo = historyWire.encodeFields(new Map(many((index) => [`${index}`, payload] as const)));
  shard.start({ start: { memo } });
  expect(historyWire.decodeFields(shard.lastEvent('workflowExecutionStarted').attributes.memo!).size).toBe(count);
});

test('one hundred thousand markers in one completion are read again', () => {
  const shard = new ShardUnderTest({ historyEventsMax: 1_000_000 });
  shard.checks = false;
  shard.start();
  const command = {
    type: 'recordMarker',
    userMetadata: undefined,
    attributes: { markerName: 'm', details: new Map<string, Uint8Array>(), header: undefined, failure: undefined },
  } as const;
  shard.complete(
    shard.pollWorkflowTask(),
    many(() => command),
  );
  expect(shard.history()).toHaveLength(4 + count);
  const reopened = new HistoryCore({ wire: historyWire, limits: { historyEventsMax: 1_000_000 } });
  for (const written of shard.records) {
    const { value, schema } = historyCodec.encode(written);
    reopened.evolve(historyCodec.decode(value, schema));
  }
  expect(reopened.canonicalState()).toBe(shard.core.canonicalState());
});

describe('a number that no program has written is corrupt, not the likeliest of those that it could be (I18)', () => {
  const noTransfer = journal.emptyTransferTask();
  const noTimer = journal.emptyTimerTask();
  const target = { namespaceId: 'ns-id', workflowId: 'child', runId: 'child-run' };
  const { START_CHILD, CLOSE_CHILD } = journal.TransferTaskKind;
  const { ACTIVITY_TIMEOUT, WORKFLOW_TASK_TIMEOUT } = journal.TimerTaskKind;

  function read(change: Partial<journal.HistoryRecord>): HistoryRecord {
    const whole = { ...journal.emptyHistoryRecord(), namespaceId: 'ns-id', namespace: 'ns', workflowId: 'wf', runId, ...change };
    return historyCodec.decode(journal.encodeHistoryRecord(whole), 1);
  }

  const transfer = (kind: number, parentClosePolicy: number) =>
    read({ transferTasks: [{ ...noTransfer, taskId: 7, kind, target, parentClosePolicy }] });
  const timer = (kind: number, timeoutType: number) => read({ timerTasks: [{ ...noTimer, taskId: 7, kind, timeoutType }] });

  test.each([
    ['how a child is closed, ABANDON', () => transfer(CLOSE_CHILD, 2)],
    ['how a child is closed, unknown', () => transfer(CLOSE_CHILD, 4)],
    ['what becomes of a child that is started', () => transfer(START_CHILD, 4)],
    ['the timeout of an activity', () => timer(ACTIVITY_TIMEOUT, 5)],
    ['the timeout of an activity, not said', () => timer(ACTIVITY_TIMEOUT, 0)],
    ['the timeout of a workflow task', () => timer(WORKFLOW_TASK_TIMEOUT, 3)],
  ])('%s', (_name, decode) => {
    expect(decode).toThrow(expect.objectContaining({ code: 'corrupt', message: expect.stringMatching(/task 7 .*\d$/) as string }));
  });

  test('a child’s start without a policy is of a program that did not write it yet', () => {
    expect(transfer(START_CHILD, 0).tasks).toEqual([expect.not.objectContaining({ parentClosePolicy: expect.anything() as unknown })]);
  });
});
