import { describe, expect, test } from 'vitest';
import { check } from './checker.ts';
import type { CrashRun, Entry, FinalRun, ObservedEvent, Operation } from './recorded-history.ts';

const program = { kind: 'plain', signals: 1, updates: 0 } as const;

/** One workflow, one signal, one activity, all acknowledged. */
const goodEvents: readonly ObservedEvent[] = [
  { eventId: 1, timeMs: 10, type: 'WorkflowExecutionStarted', requestId: 'start-1' },
  { eventId: 2, timeMs: 10, type: 'WorkflowTaskScheduled' },
  { eventId: 3, timeMs: 11, type: 'WorkflowTaskStarted', scheduledEventId: 2 },
  { eventId: 4, timeMs: 12, type: 'WorkflowTaskCompleted', scheduledEventId: 2, startedEventId: 3 },
  { eventId: 5, timeMs: 12, type: 'ActivityTaskScheduled' },
  { eventId: 6, timeMs: 13, type: 'WorkflowExecutionSignaled', requestId: 'signal-1' },
  { eventId: 7, timeMs: 14, type: 'ActivityTaskStarted', scheduledEventId: 5 },
  { eventId: 8, timeMs: 15, type: 'ActivityTaskCompleted', scheduledEventId: 5, startedEventId: 7, result: 'r' },
  { eventId: 9, timeMs: 15, type: 'WorkflowTaskScheduled' },
  { eventId: 10, timeMs: 16, type: 'WorkflowTaskStarted', scheduledEventId: 9 },
  { eventId: 11, timeMs: 17, type: 'WorkflowTaskCompleted', scheduledEventId: 9, startedEventId: 10 },
  { eventId: 12, timeMs: 17, type: 'WorkflowExecutionCompleted' },
];

const paused: ObservedEvent = { eventId: 9, timeMs: 15, type: 'WorkflowExecutionPaused', requestId: 'pause-1' };
const unpaused: ObservedEvent = { eventId: 10, timeMs: 15, type: 'WorkflowExecutionUnpaused', requestId: 'unpause-1' };

const goodOperations: readonly Operation[] = [
  { f: 'start', workflowId: 'w', requestId: 'start-1', program, runId: 'run' },
  { f: 'deliver', task: 'workflow', runId: 'run', scheduledEventId: 2, attempt: 1, pollId: 'p1' },
  { f: 'completeWorkflowTask', workflowId: 'w', runId: 'run', startedEventId: 3, closes: false, changesNothing: false },
  { f: 'signal', workflowId: 'w', runId: 'run', requestId: 'signal-1' },
  { f: 'deliver', task: 'activity', runId: 'run', scheduledEventId: 5, attempt: 1, pollId: 'p2' },
  { f: 'completeActivity', workflowId: 'w', runId: 'run', scheduledEventId: 5, result: 'r' },
  { f: 'read', workflowId: 'w', runId: 'run', events: goodEvents.slice(0, 8) },
  { f: 'completeWorkflowTask', workflowId: 'w', runId: 'run', startedEventId: 10, closes: true, changesNothing: false },
];

function recorded(
  operations: readonly (readonly [Entry['type'], Operation])[],
  events: readonly ObservedEvent[],
  more: readonly FinalRun[] = [],
): CrashRun {
  const entries: Entry[] = [];
  for (const [type, operation] of operations) {
    for (const each of ['invoke', type] as const) {
      entries.push({
        type: each,
        process: operations.indexOf(operations.find(([, o]) => o === operation)!),
        timeMs: 0,
        index: entries.length,
        operation,
      });
    }
  }
  return { entries, finalRuns: [{ workflowId: 'w', runId: 'run', events }, ...more] };
}

const ok = (operations: readonly Operation[]): readonly (readonly ['ok', Operation])[] =>
  operations.map((operation) => ['ok', operation] as const);
const renumber = (events: readonly ObservedEvent[]): readonly ObservedEvent[] =>
  events.map((event, index) => ({ ...event, eventId: index + 1 }));
const without = (type: string): readonly ObservedEvent[] => goodEvents.filter((event) => event.type !== type);
const changed = (eventId: number, change: Partial<ObservedEvent>): readonly ObservedEvent[] =>
  goodEvents.map((event) => (event.eventId === eventId ? { ...event, ...change } : event));
const withOperation = (operation: Operation): readonly (readonly ['ok', Operation])[] => ok([...goodOperations, operation]);
const good = ok(goodOperations);

test('a good run passes, also when an unacknowledged signal did or did not arrive', () => {
  expect(check(recorded(good, goodEvents))).toEqual([]);
  const lost: Operation = { f: 'signal', workflowId: 'w', runId: 'run', requestId: 'signal-2' };
  expect(check(recorded([...good, ['info', lost]], goodEvents))).toEqual([]);
});

describe('bad histories are rejected', () => {
  const bad: readonly (readonly [name: string, invariant: string, run: CrashRun])[] = [
    [
      'an accepted start without a run',
      'I1',
      recorded(withOperation({ f: 'start', workflowId: 'x', requestId: 'start-2', program, runId: 'gone' }), goodEvents),
    ],
    ['one request, two runs', 'I1', recorded(good, goodEvents, [{ workflowId: 'w', runId: 'other', events: goodEvents }])],
    [
      'a start answered with another run id',
      'I1',
      recorded(ok([{ ...goodOperations[0]!, runId: 'wrong' } as Operation, ...goodOperations.slice(1)]), goodEvents),
    ],
    [
      'a refused start that ran',
      'I14',
      recorded(
        [['fail', goodOperations[0]!], ...good.slice(1), ['ok', { f: 'start', workflowId: 'v', requestId: 's', program, runId: 'v' }]],
        goodEvents,
        [
          {
            workflowId: 'v',
            runId: 'v',
            events: changed(1, { requestId: 's' }).map((e) => (e.requestId === 'signal-1' ? { ...e, requestId: 'signal-1b' } : e)),
          },
        ],
      ),
    ],
    [
      'a run that nobody asked for',
      'I1',
      recorded(good, goodEvents, [{ workflowId: 'g', runId: 'ghost', events: changed(1, { requestId: 'nobody' }) }]),
    ],
    [
      'a hole in the event ids',
      'I2',
      recorded(
        good,
        goodEvents.filter((event) => event.eventId !== 7),
      ),
    ],
    ['an event id twice', 'I2', recorded(good, [...goodEvents.slice(0, 6), goodEvents[5]!, ...goodEvents.slice(6)])],
    ['a history that does not begin with its start', 'I2', recorded(good, renumber(goodEvents.slice(1)))],
    [
      'an early read that differs',
      'I2',
      recorded(
        withOperation({ f: 'read', workflowId: 'w', runId: 'run', events: changed(2, { type: 'WorkflowExecutionSignaled' }).slice(0, 3) }),
        goodEvents,
      ),
    ],
    [
      'a read of events that vanished',
      'I2',
      recorded(
        withOperation({ f: 'read', workflowId: 'w', runId: 'run', events: [...goodEvents, { eventId: 13, timeMs: 18, type: 'X' }] }),
        goodEvents,
      ),
    ],
    [
      'an accepted pause lost',
      'I5',
      recorded(withOperation({ f: 'pause', workflowId: 'w', runId: 'run', requestId: 'pause-1' }), goodEvents),
    ],
    [
      'a pause that nobody asked for',
      'I5',
      recorded(good, renumber([...goodEvents.slice(0, 8), paused, unpaused, ...goodEvents.slice(8)])),
    ],
    ['a workflow task while it is paused', 'I24', recorded(good, renumber([...goodEvents.slice(0, 8), paused, ...goodEvents.slice(8)]))],
    ['an accepted signal lost', 'I5', recorded(good, renumber(without('WorkflowExecutionSignaled')))],
    ['a signal applied twice', 'I5', recorded(good, renumber([...goodEvents.slice(0, 6), goodEvents[5]!, ...goodEvents.slice(6)]))],
    [
      'a refused signal applied',
      'I14',
      recorded(
        good.map(([type, operation]) => (operation.f === 'signal' ? (['fail', operation] as const) : ([type, operation] as const))),
        goodEvents,
      ),
    ],
    [
      'a signal that nobody sent',
      'I5',
      recorded(
        good.filter(([, operation]) => operation.f !== 'signal'),
        goodEvents,
      ),
    ],
    ['an accepted activity completion lost', 'I5', recorded(good, changed(8, { type: 'ActivityTaskTimedOut' }))],
    ['an activity completed with another result', 'I5', recorded(good, changed(8, { result: 'other' }))],
    [
      'an activity that ended twice',
      'I6',
      recorded(good, renumber([...goodEvents.slice(0, 8), { ...goodEvents[7]!, type: 'ActivityTaskFailed' }, ...goodEvents.slice(8)])),
    ],
    [
      'a workflow task that ended twice',
      'I6',
      recorded(good, renumber([...goodEvents.slice(0, 4), goodEvents[3]!, ...goodEvents.slice(4)])),
    ],
    ['an activity that ended without having been scheduled', 'I6', recorded(good, changed(8, { scheduledEventId: 99 }))],
    [
      'events after the close',
      'I6',
      recorded(good, renumber([...goodEvents, { eventId: 13, timeMs: 18, type: 'WorkflowExecutionSignaled', requestId: 'signal-1' }])),
    ],
    ['two closes', 'I6', recorded(good, renumber([...goodEvents, { eventId: 13, timeMs: 18, type: 'WorkflowExecutionTerminated' }]))],
    ['a stuck workflow', 'I7', recorded(good, goodEvents.slice(0, 9))],
    ['an accepted workflow completion lost', 'I5', recorded(good, changed(11, { type: 'WorkflowTaskTimedOut' }))],
    [
      'an attempt handed out twice',
      'I8',
      recorded(withOperation({ f: 'deliver', task: 'activity', runId: 'run', scheduledEventId: 5, attempt: 1, pollId: 'p9' }), goodEvents),
    ],
    ['time that goes back', 'I9', recorded(good, changed(5, { timeMs: 5 }))],
    ['a run in which nothing happened', 'quiet', { entries: [], finalRuns: [] }],
  ];

  test.each(bad)('%s (%s)', (_name, invariant, run) => {
    expect(check(run).map((each) => each.invariant)).toContain(invariant);
  });
});
