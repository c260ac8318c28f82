/** The checker of chains accepts those that are whole, and rejects each kind of damage. */
import { describe, expect, test } from 'vitest';
import { ContinueAsNewInitiator } from '../../src/wire/generated/lean/enums.ts';
import { check } from './checker.ts';
import type { Program } from './crash-program.ts';
import type { Begun, CrashRun, Entry, FinalRun, ObservedEvent, Operation } from './recorded-history.ts';

const workflowId = 'w';
const { RETRY, CRON_SCHEDULE } = ContinueAsNewInitiator;

function begun(change: Partial<Begun> = {}): ObservedEvent {
  const first = { continuedRunId: '', firstRunId: 'r1', attempt: 1, initiator: 0, inputBytes: 9, ...change };
  const requestId = first.continuedRunId === '' ? 'start-1' : 'nobody';
  return { eventId: 1, timeMs: 1, type: 'WorkflowExecutionStarted', requestId, begun: first };
}

function run(runId: string, events: readonly Omit<ObservedEvent, 'eventId' | 'timeMs'>[], change: Partial<FinalRun> = {}): FinalRun {
  return { workflowId, runId, events: events.map((event, index) => ({ ...event, eventId: index + 1, timeMs: index + 1 })), ...change };
}

function recorded(program: Program, finalRuns: readonly FinalRun[], more: readonly (readonly [Entry['type'], Operation])[] = []): CrashRun {
  const start: Operation = { f: 'start', workflowId, requestId: 'start-1', program, runId: 'r1' };
  const told: readonly (readonly [Entry['type'], Operation])[] = [['ok', start], ...more];
  const entries = told.flatMap(([type, operation], process) =>
    (['invoke', type] as const).map((each, index) => ({ type: each, process, timeMs: 0, index, operation })),
  );
  return { entries, finalRuns };
}

const found = (run: CrashRun): readonly string[] => check(run).map(({ invariant }) => invariant);

// ── Retried, and on a schedule ───────────────────────────────────────────────────────────────────────────────────────────────────

const twice: Program = { kind: 'retried', failures: 1, maximumAttempts: 2 };
const failed = run('r1', [begun(), { type: 'WorkflowExecutionFailed', nextRunId: 'r2' }]);
const again = begun({ continuedRunId: 'r1', attempt: 2, initiator: RETRY });
const completed = run('r2', [again, { type: 'WorkflowExecutionCompleted', nextRunId: '' }]);

describe('a workflow that is retried', () => {
  test('passes, and so does one whose attempts are used up', () => {
    expect(found(recorded(twice, [failed, completed]))).toEqual([]);
    const last = run('r2', [again, { type: 'WorkflowExecutionFailed', nextRunId: '' }]);
    expect(found(recorded({ ...twice, failures: 9 }, [failed, last]))).toEqual([]);
  });

  test.each<readonly [string, readonly FinalRun[]]>([
    ['the next run is lost', [failed]],
    ['the next run is begun twice', [failed, completed, { ...completed, runId: 'r3' }]],
    ['it names none', [run('r1', [begun(), { type: 'WorkflowExecutionFailed', nextRunId: '' }]), completed]],
    ['the next run does not know it', [failed, run('r2', [begun({ attempt: 2, initiator: RETRY }), ...completed.events.slice(1)])]],
    [
      'an attempt is counted twice',
      [failed, run('r2', [begun({ continuedRunId: 'r1', attempt: 1, initiator: RETRY }), ...completed.events.slice(1)])],
    ],
    [
      'it forgets with which run it began',
      [failed, run('r2', [{ ...again, begun: { ...again.begun!, firstRunId: 'r2' } }, ...completed.events.slice(1)])],
    ],
    ['it loses its input', [failed, run('r2', [{ ...again, begun: { ...again.begun!, inputBytes: 0 } }, ...completed.events.slice(1)])]],
    [
      'an attempt too many',
      [
        failed,
        run('r2', [again, { type: 'WorkflowExecutionFailed', nextRunId: 'r3' }]),
        run('r3', [begun({ continuedRunId: 'r2', attempt: 3, initiator: RETRY }), ...completed.events.slice(1)]),
      ],
    ],
  ])('does not where %s', (_, runs) => {
    expect(found(recorded(twice, runs))).toContain('I25');
  });

  test('does not where List has lost a run', () => {
    expect(found(recorded(twice, [failed, { ...completed, isUnlisted: true }]))).toEqual(['T12']);
  });
});

describe('a workflow on a schedule', () => {
  const scheduled: Program = { kind: 'scheduled', runs: 2 };
  const first = run('r1', [begun({ initiator: CRON_SCHEDULE }), { type: 'WorkflowExecutionCompleted', result: '1', nextRunId: 'r2' }]);
  const second = run('r2', [begun({ continuedRunId: 'r1', initiator: CRON_SCHEDULE }), { type: 'WorkflowExecutionCanceled' }]);

  test('passes', () => expect(found(recorded(scheduled, [first, second]))).toEqual([]));

  test('does not where a run is not told the result of the one before', () => {
    const third = run('r1', [...first.events.slice(0, 1), { type: 'WorkflowExecutionCompleted', result: '2', nextRunId: 'r2' }]);
    expect(found(recorded(scheduled, [third, second]))).toContain('I25');
  });
});

describe('a workflow that is timed out', () => {
  const timedOut: Program = { kind: 'timedOut', attempts: 2 };
  const over = (runId: string, start: ObservedEvent, nextRunId: string, afterMs: number): FinalRun => {
    const [begin, end] = run(runId, [start, { type: 'WorkflowExecutionTimedOut', nextRunId }]).events;
    return { workflowId, runId, events: [begin!, { ...end!, timeMs: begin!.timeMs + afterMs }] };
  };
  const last = over('r2', again, '', 700);

  test('passes, as often as its attempts are', () => {
    expect(found(recorded(timedOut, [over('r1', begun(), 'r2', 700), last]))).toEqual([]);
  });

  test('does not before its time, nor where it never ends, nor without its next attempt', () => {
    expect(found(recorded(timedOut, [over('r1', begun(), 'r2', 699), last]))).toEqual(['I9']);
    expect(found(recorded(timedOut, [over('r1', begun(), 'r2', 700), run('r2', [again])]))).toContain('I7');
    expect(found(recorded(timedOut, [over('r1', begun(), '', 700)]))).toEqual(['I25']);
  });
});

// ── Resets ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const plain: Program = { kind: 'plain', signals: 2, updates: 0 };
const task = (about: number, ...types: readonly string[]): readonly Omit<ObservedEvent, 'eventId' | 'timeMs'>[] =>
  types.map((type) => ({ type, ...(type.endsWith('Scheduled') ? {} : { scheduledEventId: about }) }));
const signaled = (requestId: string) => ({ type: 'WorkflowExecutionSignaled', requestId });
const kept = [begun(), signaled('s1'), ...task(3, 'WorkflowTaskScheduled', 'WorkflowTaskStarted')];
const done = { type: 'WorkflowExecutionCompleted', nextRunId: '' };

const base = run('r1', [...kept, ...task(3, 'WorkflowTaskCompleted'), signaled('s2'), { type: 'WorkflowExecutionTerminated' }], {
  resetRunId: 'r2',
});
const failure = { ...task(3, 'WorkflowTaskFailed')[0]!, reset: { baseRunId: 'r1', newRunId: 'r2' } };
const made = run('r2', [...kept, failure, signaled('s2'), done]);
const asked: Operation = { f: 'reset', workflowId, runId: 'r1', requestId: 'reset-1', finishEventId: 5, newRunId: 'r2' };
const signals: readonly (readonly [Entry['type'], Operation])[] = ['s1', 's2'].map((requestId) => [
  'ok',
  { f: 'signal', workflowId, runId: '', requestId },
]);

describe('a workflow that is reset', () => {
  test('passes, whether its reset is answered or not', () => {
    expect(found(recorded(plain, [base, made], [...signals, ['ok', asked]]))).toEqual([]);
    expect(found(recorded(plain, [base, made], [...signals, ['info', asked]]))).toEqual([]);
  });

  test.each<readonly [string, string, readonly FinalRun[], Entry['type']]>([
    ['the new run is lost', 'I5', [{ ...base, resetRunId: '' }], 'ok'],
    [
      'it is reset twice',
      'I25',
      [base, made, run('r3', [...kept, { ...failure, reset: { baseRunId: 'r1', newRunId: 'r3' } }, signaled('s2'), done])],
      'ok',
    ],
    ['a refused reset has made a run', 'I25', [base, made], 'fail'],
    ['the base does not know of it', 'I25', [{ ...base, resetRunId: 'other' }, made], 'ok'],
    ['an event that is kept differs', 'I25', [base, run('r2', [begun(), signaled('s2'), ...kept.slice(2), failure, done])], 'ok'],
    ['an event is kept too many', 'I25', [base, run('r2', [...kept, signaled('s2'), failure, done])], 'ok'],
    ['a signal is lost by it', 'I5', [base, run('r2', [...kept, failure, done])], 'ok'],
    ['a signal is brought along twice', 'I5', [base, run('r2', [...kept, failure, signaled('s2'), signaled('s2'), done])], 'ok'],
    [
      'a signal that was kept is brought along as well',
      'I5',
      [base, run('r2', [...kept, failure, signaled('s1'), signaled('s2'), done])],
      'ok',
    ],
  ])('does not where %s', (_, invariant, runs, outcome) => {
    expect(found(recorded(plain, runs, [...signals, [outcome, asked]]))).toContain(invariant);
  });
});

describe('a workflow that is reset while a later run of it is open', () => {
  const start = [begun(), ...task(2, 'WorkflowTaskScheduled', 'WorkflowTaskStarted')];
  const ofReset = { ...task(2, 'WorkflowTaskFailed')[0]!, reset: { baseRunId: 'r1', newRunId: 'r3' } };
  const attempt = [...start, ...task(2, 'WorkflowTaskCompleted'), { type: 'WorkflowExecutionFailed', nextRunId: 'r2' }];
  const left = run('r2', [again, signaled('s2'), { type: 'WorkflowExecutionTerminated' }]);
  const last = run('r4', [begun({ continuedRunId: 'r3', attempt: 2, initiator: RETRY }), done]);
  const told = (...signals: readonly string[]): readonly FinalRun[] => [
    run('r1', attempt, { resetRunId: 'r3' }),
    left,
    run('r3', [...start, ofReset, ...signals.map(signaled), { type: 'WorkflowExecutionFailed', nextRunId: 'r4' }]),
    last,
  ];
  const calls: readonly (readonly [Entry['type'], Operation])[] = [
    ['ok', { f: 'signal', workflowId, runId: '', requestId: 's2' }],
    ['ok', { ...asked, newRunId: 'r3', finishEventId: 4 }],
  ];

  test('passes: it starts again from there, and gets what the later run got', () => {
    expect(found(recorded(twice, told('s2'), calls))).toEqual([]);
  });

  test('does not where it does not get it', () => {
    expect(found(recorded(twice, told(), calls))).toEqual(['I5']);
  });
});
