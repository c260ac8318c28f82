/** What schema 6 says of workflows that are paused, and of their options (golden.test.ts has the others). */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Fact, HistoryRecord } from '../../src/history/record.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import { historyCodec } from '../../src/topics/codec/history-codec.ts';
import { historyWire } from '../../src/topics/codec/history-wire.ts';
import { encodePriority } from '../../src/wire/generated/lean/common.ts';
import { key, scheduleActivity, ShardUnderTest } from './shard-under-test.ts';

const journal = 'golden/history-journal-v6-pause-zeros.hex';

/** With a task that waits, and with one that is with a worker, so that events are buffered. */
function pauses(): ShardUnderTest {
  const shard = new ShardUnderTest();
  const identity = 'operator';
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({})]);
  shard.signal();
  shard.ask({ kind: 'pauseWorkflow', key, identity, reason: 'why', requestId: 'pause' });
  shard.ask({ kind: 'unpauseWorkflow', key, identity, reason: 'why not', requestId: 'unpause' });
  const task = shard.pollWorkflowTask();
  const priority = encodePriority({ priorityKey: 2, fairnessKey: 'tenant', fairnessWeight: 0.5 });
  shard.ask({ kind: 'updateWorkflowOptions', key, fields: ['priority'], priority, identity });
  shard.ask({ kind: 'pauseWorkflow', key, identity, reason: '', requestId: '' });
  shard.complete(task, []);
  return shard;
}

/** Request ids were not remembered when these were written (answered-requests.test.ts). */
function asThen(records: readonly HistoryRecord[]): readonly HistoryRecord[] {
  return records.map((record) => ({
    ...record,
    schema: Math.min(record.schema, 6),
    runs: record.runs.map((run) => ({ ...run, facts: run.facts.filter(({ fact }) => fact.kind !== 'requestAnswered') })),
  }));
}

test('schema 6 is still read, and means what it meant: workflows that are paused, and their options', async () => {
  const records = asThen(pauses().records);
  const core = new HistoryCore({ wire: historyWire });
  for (const record of records) core.evolve(record);
  const text = records.map((record) => `${record.schema} ${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(text).toMatchFileSnapshot(journal);
  const read = new HistoryCore({ wire: historyWire });
  const lines = readFileSync(new URL(journal, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  for (const [schema = '', value = ''] of lines.map((line) => line.split(' '))) {
    read.evolve(historyCodec.decode(Uint8Array.from(Buffer.from(value, 'hex')), Number(schema)));
  }
  expect(read.canonicalState()).toBe(core.canonicalState());
  const facts = new Set(records.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind))));
  for (const kind of ['activitiesWithheld', 'pauseInfoChanged'] satisfies readonly Fact['kind'][]) expect(facts).toContain(kind);
});

test('programs that read up to schema 5 are told so by every record that they would not understand', () => {
  const records = asThen(pauses().records);
  const later = records.filter(({ schema }) => schema === 6).map(({ type }) => type);
  // The completion brings the buffered events.
  expect(later).toEqual(['WorkflowTaskFailed', 'WorkflowExecutionUnpaused', 'EventBuffered', 'EventBuffered', 'WorkflowTaskCompleted']);
});
