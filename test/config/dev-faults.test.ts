import { describe, expect, test } from 'vitest';
import { faultOf, faultyTaskTypes, parseDevFault } from '../../src/config/dev-faults.ts';
import { taskTypeOf } from '../../src/history/run/task-types.ts';
import { fullTasks } from '../codec/full-state.ts';

function parsed(text: string) {
  const read = parseDevFault(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.fault;
}

const task = { taskType: 'TASK_TYPE_USER_TIMER', namespace: 'orders', runId: 'run', taskId: 7 };

describe('a fault that somebody wants', () => {
  test('meets the tasks that it names, and no others', () => {
    const faults = [parsed('task=TASK_TYPE_USER_TIMER,namespace=orders,error=away')];
    expect(faultOf(faults, task)).toMatchObject({ kind: 'failed', errorMessage: 'away' });
    expect(faultOf(faults, { ...task, namespace: 'billing' })).toBeUndefined();
    expect(faultOf(faults, { ...task, taskType: 'TASK_TYPE_ACTIVITY_TIMEOUT' })).toBeUndefined();
  });

  test('meets a share of them: always the same', () => {
    const faults = [parsed('share=0.25,kind=permanent')];
    const met = Array.from({ length: 4_000 }, (_, taskId) => faultOf(faults, { ...task, taskId }) !== undefined);
    expect(met.filter(Boolean).length).toBeGreaterThan(800);
    expect(met.filter(Boolean).length).toBeLessThan(1_200);
    expect(Array.from({ length: 4_000 }, (_, taskId) => faultOf(faults, { ...task, taskId }) !== undefined)).toEqual(met);
  });

  test('may be of every kind of task that a shard attempts', () => {
    const attempted = fullTasks.filter(({ kind }) => kind !== 'retention').map(taskTypeOf);
    expect([...faultyTaskTypes].toSorted()).toEqual([...new Set<string>(attempted)].toSorted());
  });
});

test.each([
  ['', 'expected NAME=VALUE, got ""'],
  ['task', 'expected NAME=VALUE, got "task"'],
  ['task=TASK_TYPE_X', 'task: expected one of TASK_TYPE_TRANSFER_WORKFLOW_TASK, '],
  ['share=0', 'share: expected a number above 0, up to 1, got "0"'],
  ['share=2', 'share: expected a number above 0, up to 1, got "2"'],
  ['kind=maybe', 'kind: expected failed or permanent, got "maybe"'],
  ['after=3', 'expected task, namespace, error, kind or share, got "after"'],
])('%j is refused with the reason', (text, problem) => {
  expect(parseDevFault(text)).toEqual({ problem: expect.stringContaining(problem) });
});
