/** A run that is prepared for a reset, in a shard in its real loop: it is nobody's, and survives takeovers, checkpoints and its own absence from memory. */
import { expect, test } from 'vitest';
import type { RunKey } from '../../../../src/kernel/run-key.ts';
import { defaultHistoryLimits } from '../../../../src/history/run/history-limits.ts';
import type { PrepareReset, ResetWorkflow } from '../../../../src/history/commands/operation-commands.ts';
import { historyWire } from '../../../../src/codec/history-wire.ts';
import { partsOf, scheduleActivity, startTimer } from '../../../history/shard-under-test.ts';
import { World } from './checkpointed-world.ts';

const newRunId = '01930000-0000-7000-8000-00000000beef';

type Prepared = { readonly world: World; readonly base: RunKey; readonly parts: readonly PrepareReset[]; readonly last: ResetWorkflow };

/** A workflow with a large activity under way, behind its first workflow task; and what the edge sends to reset it to the end of its second. */
async function prepared(): Promise<Prepared> {
  const world = new World();
  await world.start();
  await world.startWorkflow('wf');
  await world.work(0, [startTimer('t', 3_600_000), scheduleActivity({ input: new Uint8Array(6_000) })]);
  await world.signal('wf');
  await world.work(1, []);
  const current = { ...world.execution('wf'), runId: '' };
  const position = await world.ask({ kind: 'getHistoryPosition', key: current, waitBeyondEventId: -1, waitForClose: false });
  if (position.kind !== 'historyPosition') throw new Error(`no position: ${JSON.stringify(position)}`);
  const { key: base, lastEventId } = position;
  const range = { firstEventId: 1, lastEventId, eventsMax: 100, bytesMax: 1_000_000 };
  const page = await world.ask({ kind: 'readHistory', key: base, ...range });
  if (page.kind !== 'historyPage') throw new Error('no page');
  const finishEventId = page.events.findLastIndex((event) => historyWire.decodeEvent(event).type === 'workflowTaskCompleted') + 1;
  const reset: ResetWorkflow = {
    kind: 'resetWorkflow',
    key: base,
    newRunId,
    requestId: 'reset',
    reason: 'why',
    isPrepared: false,
    keptEvents: page.events.slice(0, finishEventId - 1),
    laterEvents: [],
    readTo: { runId: base.runId, lastEventId },
    reappliesSignals: true,
    priorityChanges: [],
  };
  return { world, base, parts: partsOf(reset, 3), last: { ...reset, isPrepared: true, keptEvents: [] } };
}

async function expectNobodys({ world, base }: Prepared): Promise<void> {
  const key = { ...base, runId: newRunId };
  expect(await world.ask({ kind: 'describeWorkflow', key })).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
  await expectNobodyMinds({ world, base });
}

async function expectNobodyMinds({ world, base }: Pick<Prepared, 'world' | 'base'>): Promise<void> {
  expect(await world.ask({ kind: 'describeWorkflow', key: { ...base, runId: '' } })).toMatchObject({ key: base, status: 1 });
  expect((await world.listed()).map(({ runId }) => runId)).toEqual([base.runId]);
}

type Step = (world: World) => Promise<void>;

const checkpoint: Step = (world) => world.checkpointed();
const takeover: Step = (world) => world.takeOver();
const away: Step = async (world) => {
  await world.checkpointed();
  world.evict();
};

test.each<[string, Step]>([
  ['a checkpoint', checkpoint],
  ['a takeover', takeover],
  [
    'a checkpoint and a takeover',
    async (world) =>
      takeover(world)
        .then(() => checkpoint(world))
        .then(() => takeover(world)),
  ],
  ['its leaving memory', away],
  ['its leaving memory, and a takeover', async (world) => away(world).then(() => takeover(world))],
])('between any two of its parts, %s changes nothing', async (_, step) => {
  const all = await prepared();
  const { world, base, parts, last } = all;
  for (const part of parts) {
    expect(await world.ask(part)).toEqual({ kind: 'workflowReset', runId: newRunId });
    await step(world);
    await expectNobodys(all);
  }
  expect(await world.ask(last)).toEqual({ kind: 'workflowReset', runId: newRunId });
  await step(world);
  expect(await world.ask({ kind: 'describeWorkflow', key: { ...base, runId: '' } })).toMatchObject({ key: { runId: newRunId }, status: 1 });
  // Longer than a preparation lives, and than the base run is kept.
  await world.pass(defaultHistoryLimits.resetPreparationMsMax + 60_000, 10_000);
  expect((await world.listed()).map(({ runId }) => runId)).toEqual([newRunId]);
  await world.checkpointed();
  world.checkMemory();
  world.checkRows();
  await world.checkHistories();
  await world.checkList();
});

test.each<[string, Step]>([
  ['in memory', async () => {}],
  ['in the table alone', away],
  ['behind a takeover', takeover],
])('nobody goes on with it: %s it is dropped when its time is over, with its events', async (_, step) => {
  const all = await prepared();
  const { world, parts } = all;
  for (const part of parts) await world.ask(part);
  await step(world);
  await world.pass(defaultHistoryLimits.resetPreparationMsMax - 60_000, 10_000);
  expect([...world.folded().runs.keys()]).toContain(newRunId);
  await world.pass(120_000, 5_000);
  await world.checkpointed();
  expect([...world.folded().runs.keys()]).not.toContain(newRunId);
  await expectNobodys(all);
  const { runs, history } = world.tables.journal({ kind: 'history', partition: 0 });
  expect([...runs.keys()].filter((id) => id === newRunId)).toEqual([]);
  expect([...history.values()].filter(({ runId }) => runId === newRunId)).toEqual([]);
  world.checkMemory();
  world.checkRows();
  await world.checkList();
});

test('its row cannot be read: it is in nobody’s way, and goes when its time is over', async () => {
  const all = await prepared();
  const { world, parts, last } = all;
  for (const part of parts.slice(0, -1)) await world.ask(part);
  await away(world);
  const { runs } = world.tables.journal({ kind: 'history', partition: 0 });
  const row = runs.get(newRunId)!;
  runs.set(newRunId, { ...row, state: row.state.map((byte, at) => (at === row.state.length - 1 ? byte ^ 1 : byte)) });
  expect(await world.ask(parts.at(-1)!)).toMatchObject({ kind: 'dataLoss' });
  expect(await world.ask(last)).toMatchObject({ kind: 'dataLoss' });
  await expectNobodyMinds(all);
  await world.pass(defaultHistoryLimits.resetPreparationMsMax + 60_000, 10_000);
  await world.checkpointed();
  expect(runs.has(newRunId)).toBe(false);
});
