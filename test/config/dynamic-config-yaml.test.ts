/** Files of dynamic configuration: what they may say, and what an operator is told of the rest. */
import { describe, expect, test } from 'vitest';
import { readDynamicConfig } from '../../src/config/dynamic-config-yaml.ts';

/** As `perdure config validate --dynamic` shows them. */
const problemsOf = (source: string): readonly string[] =>
  readDynamicConfig(source).problems.map(
    ({ severity, line, column, path, message }) => `${severity} ${line}:${column} ${path}: ${message}`,
  );

test('keys are read in any case, with their entries', () => {
  const { entries, problems } = readDynamicConfig(`
history.taskdlqenabled:
  - value: false
History.TransferProcessorMaxRetryCount: [{ value: 100, constraints: {} }]
perdure.dlq.mergeTaskTimeout:
  - value: 2m
    constraints:
`);
  expect(problems).toEqual([]);
  expect(entries).toEqual(
    new Map([
      ['history.taskdlqenabled', [{ value: false, constraints: {} }]],
      ['history.transferprocessormaxretrycount', [{ value: 100, constraints: {} }]],
      ['perdure.dlq.mergetasktimeout', [{ value: '2m', constraints: {} }]],
    ]),
  );
});

test.each(['', '# nothing yet\n', '{}'])('a file may say nothing: %j', (source) => {
  expect(readDynamicConfig(source)).toEqual({ entries: new Map(), problems: [] });
});

test('the file of the guide is read as it is', () => {
  const source = `
history.transferProcessorMaxRetryCount:
  - value: 100
    constraints: {}
history.timerProcessorMaxRetryCount:
  - value: 100
    constraints: {}
history.dlqMaxMessageCount:
  - value: 1000
    constraints: {}
worker.dlqMetricsEmitterEnabled:
  - value: true
    constraints: {}
`;
  expect(problemsOf(source)).toEqual([]);
  expect(readDynamicConfig(source).entries?.size).toBe(4);
});

describe('refused, with the line:', () => {
  test.each([
    ['a:\n  - value: 1\n b: 2', 'error 3:1 : '],
    ['- value: 1', 'error 1:1 : expected keys, got a list'],
    ['history.TaskDLQEnabled: false', 'error 1:25 history.TaskDLQEnabled: expected a list of entries, such as "- value: false", got false'],
    ['any.key:\n  - 1', 'error 2:5 any.key[0]: expected value and constraints, got 1'],
    ['any.key:\n  - constraints: {}', 'error 2:5 any.key[0]: value is missing'],
    ['any.key:\n  - value: 1\n    constraint: {}', 'error 3:5 any.key[0].constraint: unknown key; an entry has value and constraints'],
    ['any.key:\n  - value: 1\n    constraints: orders', 'expected names and values, such as {namespace: orders}, got "orders"'],
    [
      'any.key:\n  - value: 1\n    constraints: {namespce: a}',
      'any.key[0].constraints.namespce: unknown constraint; there are namespace, ',
    ],
    ['any.key:\n  - value: 1\n    constraints: {shardID: 0}', 'expected the number of a shard, from 1 on, got 0'],
    ['any.key:\n  - value: 1\n    constraints: {namespace: [a]}', 'expected the name of a namespace, got a list'],
    ['any.key:\n  - value: 1\n    constraints: {taskType: Timer}', 'expected Workflow, Activity or Nexus, got "Timer"'],
    ['any.key:\n  - value: 1\n    constraints: {taskType: 4}', 'expected Workflow, Activity or Nexus, got 4'],
    ['any.key:\n  - value: 1\n    constraints: {shardId: 1, shardID: 2}', 'this constraint is already here'],
    ['any.key: &a [*a]', 'any.key[0]: expected value and constraints, got a list'],
  ])('%j', (source, problem) => {
    expect(readDynamicConfig(source).entries).toBeUndefined();
    expect(problemsOf(source).join('\n')).toContain(problem);
  });
});

describe('left out, with a warning:', () => {
  test.each([
    [
      'history.TaskDLQEnabled:\n  - value: 1',
      'warning 2:12 history.TaskDLQEnabled[0].value: this value is not used: expected true or false, got 1',
    ],
    ['history.TaskDLQErrorPattern:\n  - value: (?=a)', 'warning 2:12 history.TaskDLQErrorPattern[0].value: this value is not used: '],
    [
      'history.TaskDLQEnabled:\n  - value: false\n    constraints: {namespace: orders}',
      'warning 2:5 history.TaskDLQEnabled[0]: this entry is not used: the key is for the whole server and cannot have constraints',
    ],
    ['history.TaskDLQEnabled: []', 'warning 1:1 history.TaskDLQEnabled: no entries: the default applies'],
  ])('%j', (source, problem) => {
    const { entries } = readDynamicConfig(source);
    expect(entries?.get('history.taskdlqenabled') ?? []).toEqual([]);
    expect(problemsOf(source)).toEqual([expect.stringContaining(problem)]);
  });

  test('what stands in the file twice: the first holds', () => {
    const source = `
history.TaskDLQEnabled:
  - value: false
  - value: true
HISTORY.TASKDLQENABLED:
  - value: true
`;
    expect(problemsOf(source)).toEqual([
      'warning 4:5 history.TaskDLQEnabled[1]: this entry is not used: the key has one with the same constraints before it',
      'warning 5:1 HISTORY.TASKDLQENABLED: this key is in the file already, in another case: these entries are not used',
    ]);
    expect(readDynamicConfig(source).entries?.get('history.taskdlqenabled')).toEqual([{ value: false, constraints: {} }]);
  });

  test('keys of Temporal that mean nothing here, in one warning; a typo in one of ours, by name', () => {
    const source = `
frontend.rps: [{ value: 5 }]
history.TaskDLQEnabeld: [{ value: false }]
matching.priorityLevels: [{ value: 3, constraints: { namespace: a, taskQueueName: q, taskType: Activity } }]
constructor: [{ value: 1 }]
`;
    expect(problemsOf(source)).toEqual([
      'warning 2:1 : keys that have no effect in this server: frontend.rps (line 2), history.TaskDLQEnabeld (line 3), matching.priorityLevels (line 4), constructor (line 5)',
      'warning 3:1 history.TaskDLQEnabeld: unknown key; did you mean history.TaskDLQEnabled?',
    ]);
  });

  test('a limit that is raised holds as it is by default', () => {
    const source = 'limit.blobSize.error:\n  - value: 1000000000';
    expect(problemsOf(source)).toEqual([
      'warning 2:12 limit.blobSize.error[0].value: this limit can be lowered, not raised: the default applies',
    ]);
    expect(readDynamicConfig(source).entries?.size).toBe(1);
  });
});
