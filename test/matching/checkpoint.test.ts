/** What a checkpoint of a matching host writes, and what it does not. That rows are the state at the cut: matching-model.test.ts. */
import { expect, test } from 'vitest';
import type { BacklogCheckpoint } from '../../src/matching/checkpoint/rows.ts';
import type { MatchingCore } from '../../src/matching/matching-core.ts';
import { matchingStateCodec } from '../../src/codec/matching-state-codec.ts';
import { matchingQueuesOf } from '../support/memory-database.ts';
import { coreWithTable, Table } from './checkpointed-backlog.ts';
import { taskBytes } from '../../src/matching/matching-tasks.ts';
import { activities, add, Host, poll, task, workflows, type Started } from './fixtures.ts';

/** A host whose removals are journaled at once. */
function hostWithTable(): Host {
  return new Host({ removalsFlushMs: 0 }, matchingStateCodec);
}

function checkpoint(core: MatchingCore<Started>): BacklogCheckpoint {
  core.cut();
  const captured = core.capture(() => true);
  if (captured === undefined) throw new Error('all of it is captured at once');
  core.durable();
  return captured;
}

function startAll(host: Host, count: number): void {
  for (let i = 0; i < count; i++) {
    host.ask(poll(`p${host.now}-${i}`));
    for (const start of host.takeStarts()) host.answerStart(start);
  }
  host.advanceTo(host.now + 1);
}

test('a task that came and went between two checkpoints is in neither', () => {
  const host = hostWithTable();
  for (const name of ['a', 'b', 'c']) host.ask(add(task(name)));
  startAll(host, 3);
  expect(host.journal.flatMap(({ removed }) => removed)).toEqual([1, 2, 3]);
  expect(host.core.unwrittenBytes).toBe(0);
  expect(checkpoint(host.core).delta).toEqual({ tasks: [], goneTasks: [] });
  host.ask(add(task('d')));
  expect(
    checkpoint(host.core).delta.tasks.map(({ taskId }) => taskId),
    'ids go on',
  ).toEqual([4]);
});

test('a task that the last checkpoint has is gone from the next, once', () => {
  const host = hostWithTable();
  for (const name of ['a', 'b']) host.ask(add(task(name)));
  host.ask(add(task('w'), { queue: workflows }));
  const { tasks } = checkpoint(host.core).delta;
  expect(tasks.map(({ taskId, queue }) => [taskId, queue])).toEqual([
    [1, 'ns/na/0/orders'],
    [2, 'ns/na/0/orders'],
    [3, 'ns/nw/0/orders'],
  ]);
  startAll(host, 1);
  host.ask(add(task('c')));
  const second = checkpoint(host.core).delta;
  expect(second.goneTasks).toEqual([1]);
  expect(second.tasks.map(({ taskId }) => taskId)).toEqual([4]);
  expect(checkpoint(host.core).delta).toEqual({ tasks: [], goneTasks: [] });
});

test('what goes while a checkpoint is written is in that one, and gone from the next', () => {
  const host = hostWithTable();
  for (const name of ['a', 'b']) host.ask(add(task(name)));
  host.core.cut();
  expect(host.core.capture(() => false)).toBeUndefined();
  startAll(host, 2);
  const captured = host.core.capture(() => true);
  expect(captured?.delta.tasks.map(({ taskId }) => taskId)).toEqual([1, 2]);
  host.core.durable();
  expect(checkpoint(host.core).delta).toEqual({ tasks: [], goneTasks: [1, 2] });
});

test('ids go on behind those of tasks that are gone, and history finds what it offers again', () => {
  const host = hostWithTable();
  for (const name of ['a', 'b', 'c']) host.ask(add(task(name)));
  startAll(host, 1);
  const table = new Table();
  table.write(checkpoint(host.core), host.journal.length);
  const restored = coreWithTable(0);
  table.installInto(restored);
  restored.handle({ kind: 'activate' }, host.now, 0);
  const again = restored.handle(add(task('b')), host.now, 1);
  expect(again.kind, 'it is stored already').toBe('wait');
  const next = restored.handle(add(task('d')), host.now, 2);
  expect(next.kind === 'commit' && next.record.spilled.map(({ id }) => id)).toEqual([4]);
  const describe = restored.handle({ kind: 'describeTaskQueue', queue: activities }, 1_500, 3);
  expect(describe.effects).toMatchObject([{ reply: { backlogCountHint: 3, backlogAgeMs: 500, ackLevel: 1, readLevel: 3 } }]);
});

test('after the last checkpoint nothing is kept for another', () => {
  const host = hostWithTable();
  host.ask(add(task('a')));
  expect(host.core.unwrittenBytes).toBe(taskBytes(task('a')));
  host.core.abandonCheckpoints();
  host.ask(add(task('b')));
  expect(host.core.unwrittenBytes).toBe(0);
  expect(host.core.counts().storedTasks).toBe(2);
});

test('counters of an earlier checkpoint are refused', () => {
  const table = tableOfTwo();
  table.counters = { timeMs: 1, counters: matchingStateCodec.encodeCounters({ lastId: 1, configs: [] }) };
  expect(() => table.installInto(coreWithTable(0))).toThrow('the last stored task was 1, and there is a row of task 2');
});

test.each<[string, (table: Table) => void, number, string]>([
  [
    'a row that holds another task',
    ({ rows }) => rows.set(2, { ...rows.get(2)!, task: rows.get(1)!.task }),
    2,
    'the row of stored task 2 holds task 1',
  ],
  ['a row at another queue', ({ rows }) => rows.set(1, { ...rows.get(1)!, queue: 'ns/na/7/orders' }), 1, 'stands at queue ns/na/7/orders'],
])('is left out: %s', (_what, spoil, taskId, problem) => {
  const table = tableOfTwo();
  spoil(table);
  const core = coreWithTable(0);
  const unread = core.install(matchingQueuesOf(table.rows.values()));
  expect(unread).toMatchObject([{ taskId, error: { message: expect.stringContaining(problem) } }]);
  expect(core.counts().storedTasks).toBe(1);
});

function tableOfTwo(): Table {
  const host = hostWithTable();
  for (const name of ['a', 'b']) host.ask(add(task(name)));
  const table = new Table();
  table.write(checkpoint(host.core), host.journal.length);
  return table;
}
