/** `TemporalReportedProblems`, as Temporal sets it: after five attempts in a row, and until one completes. */
import { describe, expect, test } from 'vitest';
import { decodeFields, encodeFields, payloadValue } from '../../src/wire/fields.ts';
import { encodePayload } from '../../src/wire/generated/lean/common.ts';
import { completeWorkflow, refOf, ShardUnderTest, startTimer, terminateWorkflow } from './shard-under-test.ts';

const utf8 = new TextEncoder();
const nonDeterministicError = 24;
const notDeterministic = ['category=WorkflowTaskFailed', 'cause=WorkflowTaskFailedCauseNonDeterministicError'];
const timedOut = ['category=WorkflowTaskTimedOut', 'cause=WorkflowTaskTimedOutCauseStartToClose'];

function reported(shard: ShardUnderTest): unknown {
  const payload = decodeFields(shard.describe().searchAttributes ?? new Uint8Array()).get('TemporalReportedProblems');
  return payload === undefined ? undefined : JSON.parse(payloadValue(payload).text);
}

function fail(shard: ShardUnderTest, times: number, cause = nonDeterministicError): void {
  for (let nth = 0; nth < times; nth++) {
    const task = refOf(shard.pollWorkflowTask());
    shard.expectDone({ kind: 'failWorkflowTask', task, cause, failure: undefined, identity: 'w', binaryChecksum: '', jitter: 0 });
  }
}

function timeOut(shard: ShardUnderTest, times: number): void {
  for (let nth = 0; nth < times; nth++) {
    shard.pollWorkflowTask();
    shard.advance(3_600_000);
    shard.fireDueTimers();
  }
}

function started(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  return shard;
}

describe('after five attempts in a row', () => {
  test('that failed, it says why; one that completes takes it back', () => {
    const shard = started();
    fail(shard, 4);
    expect(reported(shard)).toBeUndefined();
    fail(shard, 1);
    expect(reported(shard)).toEqual(notDeterministic);
    shard.complete(shard.pollWorkflowTask(), [startTimer('t', 1000)]);
    expect(reported(shard)).toBeUndefined();
    expect(shard.describe().searchAttributes).toBeUndefined();
  });

  test('that timed out', () => {
    const shard = started();
    timeOut(shard, 5);
    expect(reported(shard)).toEqual(timedOut);
  });

  test('the latest cause counts, and the same one is not written again', () => {
    const shard = started();
    fail(shard, 5);
    const facts = (): number =>
      shard.records.flatMap(({ runs }) => runs.flatMap((run) => run.facts)).filter(({ fact }) => fact.kind === 'problemsReported').length;
    fail(shard, 3);
    expect(facts()).toBe(1);
    timeOut(shard, 1);
    expect(reported(shard)).toEqual(timedOut);
    expect(facts()).toBe(2);
  });
});

test('a signal makes the next attempt the first again, but takes nothing back', () => {
  const shard = started();
  fail(shard, 5);
  shard.signal();
  expect(reported(shard)).toEqual(notDeterministic);
  fail(shard, 1);
  expect(reported(shard)).toEqual(notDeterministic);
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(reported(shard)).toBeUndefined();
});

test('what the workflow has set stays beside it, and stays when it goes', () => {
  const shard = new ShardUnderTest();
  const metadata = new Map([['encoding', utf8.encode('json/plain')]]);
  const own = encodeFields(new Map([['CustomIntField', encodePayload({ metadata, data: utf8.encode('7'), externalPayloads: [] })]]));
  shard.start({ start: { searchAttributes: own } });
  fail(shard, 5);
  expect([...decodeFields(shard.describe().searchAttributes!).keys()].toSorted()).toEqual(['CustomIntField', 'TemporalReportedProblems']);
  shard.complete(shard.pollWorkflowTask(), [startTimer('t', 1000)]);
  expect(shard.describe().searchAttributes).toEqual(own);
});

test('a workflow that ends while it is reported shows it for good', () => {
  const shard = started();
  fail(shard, 5);
  shard.expectDone(terminateWorkflow());
  expect(reported(shard)).toEqual(notDeterministic);
});

test.each([
  [0, 'Unspecified'],
  [14, 'WorkflowWorkerUnhandledFailure'],
  [4711, '4711'],
])('a worker may send any cause: %i', (cause, name) => {
  const shard = started();
  fail(shard, 5, cause);
  expect(reported(shard)).toEqual(['category=WorkflowTaskFailed', `cause=WorkflowTaskFailedCause${name}`]);
});
