/** The checker of updates accepts updates that are answered with their state, and rejects each kind of damage. */
import { describe, expect, test } from 'vitest';
import { check } from './checker.ts';
import type { CrashRun, Entry, FinalRun, ObservedEvent, Operation, UpdateAnswer, UpdateName } from './recorded-history.ts';

type Told = Omit<ObservedEvent, 'eventId' | 'timeMs'>;
type Calls = readonly (readonly [Entry['type'], Operation])[];

const workflowId = 'w';
const begun: Told = {
  type: 'WorkflowExecutionStarted',
  requestId: 'start-1',
  begun: { continuedRunId: '', firstRunId: 'r1', attempt: 1, initiator: 0, inputBytes: 9 },
};
const task = (about: number, ...ends: readonly string[]): readonly Told[] => [
  { type: 'WorkflowTaskScheduled' },
  { type: 'WorkflowTaskStarted', scheduledEventId: about },
  ...ends.map((type) => ({ type, scheduledEventId: about, startedEventId: about + 1 })),
];
const admitted = (updateId: string): Told => ({ type: 'WorkflowExecutionUpdateAdmitted', update: { updateId } });
const accepted = (updateId: string): Told => ({ type: 'WorkflowExecutionUpdateAccepted', update: { updateId } });
const completed = (updateId: string, acceptedEventId: number, value: string): Told => ({
  type: 'WorkflowExecutionUpdateCompleted',
  update: { updateId, acceptedEventId, value },
});
const done: Told = { type: 'WorkflowExecutionCompleted', nextRunId: '' };
const terminated: Told = { type: 'WorkflowExecutionTerminated' };

function run(runId: string, events: readonly Told[], change: Partial<FinalRun> = {}): FinalRun {
  return { workflowId, runId, events: events.map((event, index) => ({ ...event, eventId: index + 1, timeMs: index + 1 })), ...change };
}

function update(updateId: string, answer?: UpdateAnswer, name: UpdateName = 'now'): Operation {
  return { f: 'update', workflowId, updateId, name, ...(answer === undefined ? {} : { answer }) };
}

function found(finalRuns: readonly FinalRun[], calls: Calls): readonly string[] {
  const program = { kind: 'plain', signals: 0, updates: 1 } as const;
  const start: Operation = { f: 'start', workflowId, requestId: 'start-1', program, runId: 'r1' };
  const entries = [['ok', start] as const, ...calls].flatMap(([type, operation], process) =>
    (['invoke', type] as const).map((each, index) => ({ type: each, process, timeMs: 0, index, operation })),
  );
  const crashRun: CrashRun = { entries, finalRuns };
  return check(crashRun).map(({ invariant }) => invariant);
}

const first = [begun, ...task(2, 'WorkflowTaskCompleted')];
const played = run('r1', [...first, accepted('u'), completed('u', 5, 'x'), done]);
const inFirst = { runId: 'r1', stage: 'completed' } as const;
const answered = ['ok', update('u', { ...inFirst, value: 'x' })] as const;
const refused = ['ok', update('no', { ...inFirst, failure: 'Refused' }, 'refused')] as const;

describe('an update', () => {
  test('passes where its state is answered, whoever had to ask again', () => {
    const unanswered: Calls = [
      ['info', update('u')],
      ['ok', update('u', { runId: 'r1', stage: 'admitted' })],
      ['fail', update('u')],
      ['ok', update('u', { runId: 'r1', stage: 'accepted' })],
    ];
    expect(found([played], [...unanswered, answered, refused, ['fail', update('late')]])).toEqual([]);
  });

  test.each<readonly [string, string, readonly Told[], Calls]>([
    ['an answered one is lost', 'I27', [...first, done], [answered]],
    [
      'an accepted one is lost',
      'I27',
      [...first, done],
      [
        ['ok', update('u', { runId: 'r1', stage: 'accepted' })],
        ['fail', update('u')],
      ],
    ],
    ['it is accepted twice', 'I27', [...first, accepted('u'), accepted('u'), completed('u', 6, 'x'), done], [answered]],
    ['it is completed twice', 'I27', [...first, accepted('u'), completed('u', 5, 'y'), completed('u', 5, 'x'), done], [answered]],
    ['it is run again', 'I27', [...first, accepted('u'), completed('u', 5, 'y'), accepted('u'), completed('u', 7, 'x'), done], [answered]],
    ['it is completed, and was not accepted', 'I27', [...first, completed('u', 5, 'x'), done], [answered]],
    ['it names another acceptance', 'I27', [...first, accepted('u'), completed('u', 4, 'x'), done], [answered]],
    ['it is admitted behind its acceptance', 'I27', [...first, accepted('u'), completed('u', 5, 'x'), admitted('u'), done], [answered]],
    ['it has another outcome', 'I27', [...first, accepted('u'), completed('u', 5, 'y'), done], [answered]],
    ['two outcomes are told', 'I27', played.events, [answered, ['ok', update('u', { ...inFirst, value: 'y' })]]],
    ['the workflow closes before it is over', 'I27', [...first, accepted('u'), done], [['fail', update('u')]]],
    ['nobody asked for it', 'I27', played.events, []],
    ['a refused one is in history', 'I27', [...first, accepted('no'), completed('no', 5, 'x'), done], [refused]],
    ['one is refused that its worker takes', 'I27', [...first, done], [['ok', update('u', { ...inFirst, failure: 'Refused' })]]],
    ['its worker is said not to know it', 'I27', [...first, done], [['ok', update('u', { ...inFirst, failure: 'UnprocessedUpdate' })]]],
    [
      'it was cut off, and is completed',
      'I27',
      played.events,
      [['ok', update('u', { ...inFirst, failure: 'AcceptedUpdateCompletedWorkflow' })]],
    ],
    ['it was refused, and is there', 'I14', played.events, [['fail', update('u')]]],
    ['nobody was ever told', 'I7', played.events, [['ok', update('u', { runId: 'r1', stage: 'accepted' })]]],
    ['no call was ever answered', 'I7', [...first, done], [['info', update('u')]]],
  ])('does not where %s', (_, invariant, events, calls) => {
    expect(found([run('r1', events)], calls)).toContain(invariant);
  });
});

describe('an update of a workflow that is reset', () => {
  const [scheduled, started] = task(2);
  const failed: Told = { type: 'WorkflowTaskFailed', scheduledEventId: 2, startedEventId: 3, reset: { baseRunId: 'r1', newRunId: 'r2' } };
  const base = run('r1', [...first, accepted('u'), completed('u', 5, 'x'), terminated], { resetRunId: 'r2' });
  const kept = [begun, scheduled!, started!, failed];
  const reset: Operation = { f: 'reset', workflowId, runId: 'r1', requestId: 'reset-1', finishEventId: 4, newRunId: 'r2' };
  const goesOn = (...events: readonly Told[]): readonly FinalRun[] => [base, run('r2', [...kept, ...events, done])];
  const calls: Calls = [['ok', reset], answered];

  test('passes: it is brought along, and played again', () => {
    expect(found(goesOn(admitted('u'), accepted('u'), completed('u', 6, 'y')), calls)).toEqual([]);
    const again = ['ok', update('u', { runId: 'r2', stage: 'completed', value: 'y' })] as const;
    expect(found(goesOn(admitted('u'), accepted('u'), completed('u', 6, 'y')), [...calls, again])).toEqual([]);
  });

  test('passes where it was cut off by that, and is asked for again', () => {
    const cut = run('r1', [...first, accepted('u'), terminated], { resetRunId: 'r2' });
    const asked: Calls = [
      ['ok', reset],
      ['ok', update('u', { ...inFirst, failure: 'AcceptedUpdateCompletedWorkflow' })],
      ['ok', update('u', { runId: 'r2', stage: 'completed', value: 'y' })],
    ];
    expect(found([cut, goesOn(admitted('u'), accepted('u'), completed('u', 6, 'y'))[1]!], asked)).toEqual([]);
  });

  test.each<readonly [string, readonly FinalRun[]]>([
    ['it is not brought along', goesOn()],
    ['it is brought along twice', goesOn(admitted('u'), admitted('u'), accepted('u'), completed('u', 7, 'y'))],
    ['it is not played again', goesOn(admitted('u'))],
    ['it is played again without being told', goesOn(accepted('u'), completed('u', 5, 'y'))],
    ['one is told that the base was not', goesOn(admitted('u'), accepted('u'), completed('u', 6, 'y'), admitted('v'))],
  ])('does not where %s', (_, runs) => {
    const invariants = found(runs, calls);
    expect(
      invariants.some((each) => each === 'I27' || each === 'I5'),
      invariants.join(),
    ).toBe(true);
  });
});

describe('a workflow task that brings updates', () => {
  const deliver = (pollId: string, speculativeSinceMs?: number): Operation => ({
    ...{ f: 'deliver', task: 'workflow', runId: 'r1', scheduledEventId: 2, attempt: 1, pollId },
    ...(speculativeSinceMs === undefined ? {} : { speculativeSinceMs }),
  });
  const complete = (change: Partial<Operation>): Operation =>
    ({
      f: 'completeWorkflowTask',
      workflowId,
      runId: 'r1',
      startedEventId: 9,
      closes: false,
      changesNothing: true,
      ...change,
    }) as Operation;

  test('leaves its ids to another one if it leaves no trace', () => {
    expect(found([played], [answered, ['ok', deliver('a', 1)], ['ok', deliver('b', 3)]])).toEqual([]);
    expect(found([played], [answered, ['ok', deliver('a', 1)], ['ok', deliver('b')]])).toEqual([]);
    expect(found([played], [answered, ['ok', complete({ isDropped: true })]])).toEqual([]);
  });

  test('does not if it is written, and is not dropped with what its worker did', () => {
    expect(found([played], [answered, ['ok', deliver('a', 3)], ['ok', deliver('b', 3)]])).toContain('I8');
    expect(found([played], [answered, ['ok', deliver('a', 3)], ['ok', deliver('b')]])).toContain('I8');
    expect(found([played], [answered, ['ok', complete({ isDropped: true, changesNothing: false })]])).toContain('I5');
    expect(found([played], [answered, ['ok', complete({})]])).toContain('I5');
  });
});
