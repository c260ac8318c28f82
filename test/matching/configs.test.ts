/** What operators say of a queue: it goes before what workers say, and outlives its host. */
import { beforeEach, expect, test } from 'vitest';
import type { ConfigurePartition, UpdateTaskQueueConfig } from '../../src/matching/matching-commands.ts';
import { MatchingCore } from '../../src/matching/matching-core.ts';
import type { TaskQueueDescription, TaskQueueConfigured } from '../../src/matching/matching-replies.ts';
import type { TaskQueuePartition } from '../../src/kernel/task-queue.ts';
import { matchingStateCodec } from '../../src/codec/matching-state-codec.ts';
import { coreWithTable, Table } from './checkpointed-backlog.ts';
import { activities, add, Host, poll, type Started, task } from './fixtures.ts';

let host: Host;
beforeEach(() => {
  host = new Host();
});

type Change = Partial<Omit<UpdateTaskQueueConfig, 'kind'>>;

function update(over: Change): UpdateTaskQueueConfig {
  const nothing = { identity: 'ops', queueRate: undefined, keyRate: undefined, setWeights: [], unsetWeights: [] };
  return { kind: 'updateTaskQueueConfig', queue: activities, ...nothing, ...over };
}

function rate(perSecond: number | undefined, reason = 'why'): Change {
  return { queueRate: { perSecond, reason } };
}

function weights(...entries: readonly (readonly [string, number])[]): Change {
  return { setWeights: entries.map(([key, weight]) => ({ key, weight })) };
}

function configured(over: Change): TaskQueueConfigured['config'] {
  const reply = host.replies.get(host.ask(update(over)));
  if (reply?.kind !== 'taskQueueConfigured') throw new Error(`${reply?.kind} is no configuration`);
  return reply.config;
}

function described(queue: TaskQueuePartition = activities): TaskQueueDescription {
  const reply = host.replies.get(host.ask({ kind: 'describeTaskQueue', queue }));
  if (reply?.kind !== 'taskQueueDescription') throw new Error(`${reply?.kind} is no description`);
  return reply;
}

/** How many of `count` tasks start at once. */
function startsOf(count: number): number {
  for (let i = 0; i < count; i++) host.ask(poll(`p${host.now}-${i}`));
  for (let i = 0; i < count; i++) host.ask(add(task(`t${host.now}-${i}`)));
  return host.takeStarts().length;
}

test('it is answered with who said it, when and why, and described', () => {
  const config = configured({ ...rate(2), ...weights(['b', 3], ['a', 0.5]) });
  expect(config).toEqual({
    version: 1,
    queueRate: { perSecond: 2, reason: 'why', identity: 'ops', timeMs: 1_000 },
    keyRate: undefined,
    weights: [
      { key: 'a', weight: 0.5 },
      { key: 'b', weight: 3 },
    ],
  });
  expect(described()).toMatchObject({ ratePerSecond: 2, config });
  expect(host.journal.at(-1)).toMatchObject({ configured: [{ queue: activities, config }] });
});

test('what an update does not name stays; a key is unset by its name, a rate by none', () => {
  configured({ ...rate(2), ...weights(['a', 2], ['b', 3]) });
  expect(configured({ unsetWeights: ['a', 'unknown'] })).toMatchObject({ queueRate: { perSecond: 2 }, weights: [{ key: 'b', weight: 3 }] });
  const unset = configured({ ...rate(undefined, 'over'), identity: 'other' });
  expect(unset.queueRate).toEqual({ perSecond: undefined, reason: 'over', identity: 'other', timeMs: 1_000 });
  expect(described().ratePerSecond).toBeUndefined();
});

test('an update of nothing answers what there is, and journals nothing', () => {
  expect(configured({})).toEqual({ version: 0, queueRate: undefined, keyRate: undefined, weights: [] });
  expect(host.journal).toEqual([]);
});

test('its rate goes before that of workers, which holds again when it is unset', () => {
  host.ask(poll('w', { maxTasksPerSecond: 50 }));
  configured(rate(2));
  host.ask(poll('w2', { maxTasksPerSecond: 70 }));
  expect(described().ratePerSecond).toBe(2);
  configured(rate(undefined));
  expect(described().ratePerSecond).toBe(70);
});

test('a rate of 0 stops a queue that is in use, and its end lets all go that wait', () => {
  configured(rate(0));
  expect(startsOf(3)).toBe(0);
  host.advanceTo(20_000);
  expect(host.takeStarts()).toHaveLength(0);
  configured(rate(undefined));
  expect(host.takeStarts()).toHaveLength(3);
});

test('rates over the highest count as the highest', () => {
  configured(rate(3e38));
  expect(described()).toMatchObject({ ratePerSecond: 100_000, config: { queueRate: { perSecond: 3e38 } } });
});

test('a queue that has left memory, and one of a new owner, has it still', () => {
  configured({ ...rate(0), ...weights(['a', 2]) });
  host.ask(poll('p', { deadlineMs: 2_000 }));
  host.advanceTo(1_000_000);
  expect(host.core.counts().queues).toBe(0);
  expect(startsOf(1)).toBe(0);
  host.restart();
  expect(described().config).toMatchObject({ version: 1, weights: [{ key: 'a', weight: 2 }] });
  expect(startsOf(1)).toBe(0);
});

test('a checkpoint has it, also where its record is all there was', () => {
  host = new Host({}, matchingStateCodec);
  const config = configured({ ...rate(3), ...weights(['a', 2]) });
  host.core.cut();
  configured(rate(4));
  const captured = host.core.capture(() => true);
  const table = new Table();
  table.write(captured!, 1);
  const restored = coreWithTable(0);
  table.installInto(restored);
  const { effects } = restored.handle({ kind: 'describeTaskQueue', queue: activities }, 2_000, 1);
  expect(effects).toMatchObject([{ reply: { ratePerSecond: 3, config } }]);
});

test('weights of keys go before those of tasks', () => {
  configured(weights(['light', 9]));
  for (let i = 0; i < 40; i++) {
    const [fairnessKey, fairnessWeight] = i < 20 ? ['heavy', 3] : ['light', 1];
    host.ask(
      add(
        task(`${fairnessKey}${i}`, {
          priority: { priorityKey: 3, fairnessKey: String(fairnessKey), fairnessWeight: Number(fairnessWeight) },
        }),
      ),
    );
  }
  for (let i = 0; i < 12; i++) host.ask(poll(`p${i}`));
  const light = host.takeStarts().filter((start) => start.task.priority?.fairnessKey === 'light');
  expect(light.length).toBeGreaterThanOrEqual(8);
});

test('too many weights are refused in the words of Temporal, and change nothing', () => {
  host = new Host({ fairnessWeightsPerQueueMax: 2 });
  configured(weights(['a', 1], ['b', 1]));
  const refused = host.ask(update({ ...rate(5), ...weights(['c', 1]) }));
  const message = 'fairness weight overrides update rejected: exceeding maximum key size';
  expect(host.replies.get(refused)).toEqual({ kind: 'rejected', rejection: { reason: 'too-many-weights', message } });
  expect(described()).toMatchObject({ ratePerSecond: undefined, config: { version: 1 } });
  expect(configured({ ...weights(['c', 1]), unsetWeights: ['a'] }).weights.map(({ key }) => key)).toEqual(['b', 'c']);
});

test('a full host takes what makes a configuration smaller, and of each namespace its share', () => {
  host = new Host({ configBytesPerHostMax: 3_000 });
  const at = (namespaceId: string, nth: number) => ({
    queue: { ...activities, namespaceId, name: `q${nth}` },
    ...rate(1, 'r'.repeat(200)),
  });
  const answers = [0, 1, 2, 3, 4].map((nth) => host.replies.get(host.ask(update(at('greedy', nth))))?.kind);
  expect(answers).toEqual(['taskQueueConfigured', 'taskQueueConfigured', 'taskQueueConfigured', 'rejected', 'rejected']);
  expect(host.replies.get(host.ask(update({ ...at('greedy', 0), ...rate(2, '') })))?.kind).toBe('taskQueueConfigured');
  expect(host.replies.get(host.ask(update(at('other', 0))))?.kind).toBe('taskQueueConfigured');
});

test('a full host takes the end of rates: a rate of 0 would keep the tasks of a namespace from being removed', () => {
  host = new Host({ configBytesPerHostMax: 500 });
  configured(rate(0, ''));
  const none = { perSecond: undefined, reason: '' };
  expect(configured({ queueRate: none, keyRate: none }).queueRate?.perSecond).toBeUndefined();
});

test('of a full host, what takes away from queues that nobody has configured leaves no record, and no name of who has said so', () => {
  host = new Host({ configBytesPerHostMax: 500 });
  configured(rate(0, ''));
  const none = { queueRate: { perSecond: undefined, reason: '' }, unsetWeights: ['x'] };
  for (let nth = 0; nth < 1_000; nth++) {
    const config = configured({ ...none, queue: { ...activities, name: `made-up-${nth}` } });
    expect(config).toEqual({ version: 0, queueRate: undefined, keyRate: undefined, weights: [] });
  }
  expect(host.journal).toHaveLength(1);
  expect(configured({ ...none, identity: 'i'.repeat(1_000) }).queueRate).toMatchObject({ perSecond: undefined, identity: '' });
});

// ── A removed namespace ───────────────────────────────────────────────────────────────────────────────────────────────────────

test('of a removed namespace nothing stays, also for a new owner, and its share is that of the others', () => {
  host = new Host({ configBytesPerHostMax: 3_000 });
  const at = (namespaceId: string, nth: number) => ({
    queue: { ...activities, namespaceId, name: `q${nth}` },
    ...rate(1, 'r'.repeat(200)),
  });
  const taken = (namespaceId: string, ...nths: readonly number[]) =>
    nths.map((nth) => host.replies.get(host.ask(update(at(namespaceId, nth))))?.kind);
  expect(taken('removed', 0, 1)).toEqual(['taskQueueConfigured', 'taskQueueConfigured']);
  expect(taken('ns', 0, 1, 2)).toEqual(['taskQueueConfigured', 'rejected', 'rejected']);
  const forget = { kind: 'forgetNamespace', namespaceId: 'removed' } as const;
  expect(host.replies.get(host.ask(forget))).toEqual({ kind: 'done' });
  expect(host.journal.at(-1)).toMatchObject({ configured: [], forgotten: ['removed'] });
  expect(described(at('removed', 0).queue).config).toBeUndefined();
  host.restart();
  expect(described(at('removed', 0).queue).config).toBeUndefined();
  expect(taken('ns', 1, 2)).toEqual(['taskQueueConfigured', 'taskQueueConfigured']);
  const records = host.journal.length;
  expect(host.replies.get(host.ask(forget))).toEqual({ kind: 'done' });
  expect(host.journal).toHaveLength(records);
});

test('that a namespace is forgotten is answered once what was removed before is committed, and never while it has stored tasks', () => {
  const core = new MatchingCore<Started>({ firstCorrelation: 0 });
  const forget = { kind: 'forgetNamespace', namespaceId: 'ns' } as const;
  expect(core.handle(forget, 1_000, 1)).toMatchObject({
    kind: 'wait',
    barrier: true,
    effects: [{ kind: 'reply', reply: { kind: 'done' } }, {}],
  });
  host.ask(add(task('a')));
  host.ask(update(rate(1)));
  const message = 'task queues of the namespace have 1 stored tasks: poll them empty first';
  expect(host.replies.get(host.ask(forget))).toEqual({ kind: 'rejected', rejection: { reason: 'tasks-left', message } });
  expect(described().config).toBeDefined();
});

// ── Other partitions ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function tellsOf(
  core: MatchingCore<Started>,
  ...commands: readonly Parameters<MatchingCore<Started>['handle']>[0][]
): readonly ConfigurePartition[] {
  return commands.flatMap((command) => {
    const handled = core.handle(command, 1_000, 1);
    if (handled.kind === 'commit') core.evolve(handled.record);
    return handled.effects.flatMap((effect) => (effect.kind === 'tellPartition' ? [effect.command] : []));
  });
}

const partitioned = (): MatchingCore<Started> => new MatchingCore<Started>({ firstCorrelation: 0, taskQueuePartitions: 3 });

test('the root tells the others of its rate, and so does its next owner; of weights it alone has to know', () => {
  const core = partitioned();
  const told = tellsOf(core, update({ ...rate(2), ...weights(['a', 2]) }));
  expect(told.map(({ queue }) => queue.partition)).toEqual([1, 2]);
  const shown = { perSecond: 2, reason: '', identity: '', timeMs: 1_000 };
  expect(told[0]?.config).toEqual({ version: 1, queueRate: shown, keyRate: undefined, weights: [] });
  expect(tellsOf(core, { kind: 'activate' })).toEqual(told);
  expect(tellsOf(core, update(weights(['b', 2])))).toEqual([]);
  expect(tellsOf(partitioned(), update(weights(['b', 2])), { kind: 'activate' })).toEqual([]);
});

test('a partition that has heard of a rate leaves its polls and tasks to the root, and news that is older changes nothing', () => {
  const queue = { ...activities, partition: 1 };
  const [told] = tellsOf(partitioned(), update(rate(2)));
  host.ask(poll('p', { queue }));
  host.ask(told!);
  host.ask(add(task('a'), { queue }));
  expect(host.takeStarts()).toEqual([]);
  expect(host.takeForwardedTasks()).toHaveLength(1);
  const older = host.ask({ ...told!, config: { ...told!.config, version: 0, queueRate: undefined } });
  expect(host.replies.get(older)).toEqual({ kind: 'done' });
  expect(described(queue).ratePerSecond).toBe(2);
});
