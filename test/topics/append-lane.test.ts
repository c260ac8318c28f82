import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AppendLane, LaneSlot } from '../../src/topics/append-lane.ts';
import { record } from '../contract/log-writer.ts';
import type { AppendOutcome, LogRecord } from '../../src/ports/log.ts';
import type { SendBatches } from '../../src/topics/append-lane.ts';

type Answer = Exclude<AppendOutcome['kind'], 'failed'>;

/** A lane whose requests are answered by hand. */
function handLane(open: () => boolean = () => true): {
  readonly lane: AppendLane;
  readonly requests: { readonly partitions: readonly number[]; readonly answer: (kind: Answer) => void }[];
  readonly slot: (partition: number, records?: readonly LogRecord[]) => { readonly slot: LaneSlot; readonly settled: string[] };
} {
  const requests: ReturnType<typeof handLane>['requests'] = [];
  const send: SendBatches = (batches, settle) => {
    const outcome = (kind: Answer, generation: number): AppendOutcome =>
      kind === 'appended' ? { kind, generation, baseOffset: 0 } : { kind, generation, reason: 'by hand' };
    requests.push({
      partitions: batches.map(({ slot }) => slot.partition.partition),
      answer: (kind) => settle(batches.map(({ batch }) => outcome(kind, batch.generation))),
    });
  };
  const lane = new AppendLane(send, open);
  const slot = (partition: number, records: readonly LogRecord[] = [record(1)]): { slot: LaneSlot; settled: string[] } => {
    const settled: string[] = [];
    const source = { seal: () => ({ generation: 1, records }), settle: ({ kind }: AppendOutcome) => void settled.push(kind) };
    return { slot: new LaneSlot({ topic: 't', partition }, source, (one) => lane.enqueue(one)), settled };
  };
  return { lane, requests, slot };
}

test('what gathers while a request is out goes with the next one, in order', async () => {
  const { requests, slot } = handLane();
  const slots = [slot(0), slot(1), slot(2)];
  slots[0]?.slot.ready();
  await turn();
  for (const { slot: each } of slots) each.ready();
  await turn();
  expect(requests.map(({ partitions }) => partitions)).toEqual([[0]]);
  requests[0]?.answer('appended');
  await turn();
  expect(requests.map(({ partitions }) => partitions)).toEqual([[0], [1, 2, 0]]);
});

test.each(['unknown', 'refused'] as const)('after %s a partition goes alone until an append succeeds', async (failure) => {
  const { requests, slot } = handLane();
  const [bad, good] = [slot(0), slot(1)];
  const both = async (): Promise<void> => {
    bad.slot.ready();
    good.slot.ready();
    await turn();
  };
  bad.slot.ready();
  await turn();
  requests[0]?.answer(failure);
  await both();
  requests[1]?.answer('appended');
  await turn();
  requests[2]?.answer('appended');
  await both();
  expect(requests.map(({ partitions }) => partitions)).toEqual([[0], [0], [1], [0, 1]]);
  expect(bad.settled).toEqual([failure, 'appended']);
});

test('one partition never stands twice in one request', async () => {
  const { requests, slot } = handLane();
  const [zombie, owner, other] = [slot(0), slot(0), slot(1)];
  for (const { slot: each } of [zombie, owner, other]) each.ready();
  await turn();
  requests[0]?.answer('appended');
  await turn();
  expect(requests.map(({ partitions }) => partitions)).toEqual([[0, 1], [0]]);
});

test('a request carries 32 MiB; the rest keeps its place', async () => {
  const { requests, slot } = handLane();
  const large = [record(1, { value: new Uint8Array(6 * 1024 * 1024 - 1000) })];
  for (let partition = 0; partition < 8; partition++) slot(partition, large).slot.ready();
  await turn();
  requests[0]?.answer('appended');
  await turn();
  expect(requests.map(({ partitions }) => partitions)).toEqual([
    [0, 1, 2, 3, 4],
    [5, 6, 7],
  ]);
});

test('while the way is closed nothing is sealed', async () => {
  let open = false;
  const { lane, requests, slot } = handLane(() => open);
  const { slot: waiting } = slot(0);
  waiting.ready();
  await turn();
  expect(requests).toEqual([]);
  expect(waiting.wants && !waiting.underWay).toBe(true);
  open = true;
  lane.resume();
  await turn();
  expect(requests.map(({ partitions }) => partitions)).toEqual([[0]]);
});

test('who is ready again within settle, or detaches, is not called twice or at all', async () => {
  const { requests, slot } = handLane();
  const leaving = slot(0);
  leaving.slot.ready();
  await turn();
  leaving.slot.ready();
  leaving.slot.detach();
  requests[0]?.answer('appended');
  await turn();
  expect(leaving.settled).toEqual([]);
  expect(requests).toHaveLength(1);
});

test('idle comes when nothing is under way and nobody waits, also when those who waited have left', async () => {
  const { lane, requests, slot } = handLane();
  await lane.idle();
  const [first, second] = [slot(0), slot(1)];
  first.slot.ready();
  await turn();
  second.slot.ready();
  let idle = false;
  const waiting = lane.idle().then(() => (idle = true));
  second.slot.detach();
  await turn();
  expect(idle).toBe(false);
  requests[0]?.answer('appended');
  await waiting;
  expect(requests).toHaveLength(1);
});

/** A lane with three partitions, of which one cannot be sent: its batch breaks the request. */
function breakingLane(broken: 'thrown' | 'told'): { readonly settled: string[]; readonly sent: number[][] } {
  const sent: number[][] = [];
  const settled: string[] = [];
  const lane = new AppendLane((batches, settle, broke) => {
    const partitions = batches.map(({ slot }) => slot.partition.partition);
    sent.push(partitions);
    const bug = new RangeError('no such number');
    if (partitions.includes(1) && broken === 'thrown') throw bug;
    if (partitions.includes(1)) setImmediate(() => broke(bug));
    else setImmediate(() => settle(batches.map(({ batch: { generation } }) => ({ kind: 'appended', generation, baseOffset: 0 }))));
  });
  for (const partition of [0, 1, 2]) {
    const slot: LaneSlot = new LaneSlot(
      { topic: 't', partition },
      {
        seal: () => ({ generation: 1, records: [record(1)] }),
        settle: ({ kind }) => {
          settled.push(`${partition} ${kind}`);
          if (kind === 'unknown') slot.ready();
        },
      },
      (one) => lane.enqueue(one),
    );
    slot.ready();
  }
  return { settled, sent };
}

test.each(['thrown', 'told'] as const)('a bug on the way of one batch, %s, fails its partition; the others go on', async (broken) => {
  const { settled, sent } = breakingLane(broken);
  while (settled.length < 6) await turn();
  expect(sent).toEqual([[0, 1, 2], [0], [1], [2]]);
  expect(settled).toEqual(['0 unknown', '1 unknown', '2 unknown', '0 appended', '1 failed', '2 appended']);
});

test('a batch that cannot even be weighed fails its partition; the others go on', async () => {
  const { requests, slot } = handLane();
  const bad = slot(0, [record(1, { value: Reflect.get({}, 'none') })]);
  const good = slot(1);
  bad.slot.ready();
  good.slot.ready();
  while (bad.settled.length === 0) await turn();
  expect(bad.settled).toEqual(['failed']);
  expect(requests.map(({ partitions }) => partitions)).toEqual([[1]]);
});
