import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/observability/logger.ts';
import { connectKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { record } from '../contract/log-writer.ts';
import { FakeBrokers, topic } from './fake-brokers.ts';
import type { Log, LogAttachment, LogRecord } from '../../src/ports/log.ts';

let log: Log | undefined;
let brokers: FakeBrokers | undefined;
afterEach(async () => {
  await log?.close();
  brokers?.close();
});

const topics = [{ name: topic, partitions: 2, purpose: '' }];
const notLeader = 6;

/** What the log does to one attachment, in order; `settled` is told of each outcome. */
function attach(to: Log, partition: number, what: LogRecord, settled: (kind: string, again: () => void) => void): Attached {
  const seen: string[] = [];
  const attachment: LogAttachment = to.attach(
    { topic, partition },
    {
      seal: () => {
        seen.push('seal');
        return { generation: 1, records: [what] };
      },
      settle: ({ kind }) => {
        seen.push(kind);
        settled(kind, () => attachment.ready());
      },
      reconnected: () => void seen.push('reconnected'),
    },
  );
  return { seen, ready: () => attachment.ready() };
}

type Attached = { readonly seen: string[]; readonly ready: () => void };

test('who waits for the end of a quota looks at its tail when the connection is another one by then (T6)', async () => {
  let requests = 0;
  const done = Promise.withResolvers<void>();
  brokers = await FakeBrokers.play({
    partitions: 2,
    brokers: 1,
    produce: (_, partitions, socket) => {
      requests += 1;
      if (requests > 2) return { outcomes: partitions.map((partition) => ({ partition, errorCode: 0, baseOffset: 1 })) };
      if (requests === 1) return { outcomes: partitions.map((partition) => ({ partition, errorCode: 0, baseOffset: 0 })) };
      // Partition 0 looks for its leader again, over a connection that is made anew, while partition 1 waits in the lane.
      setImmediate(() => socket.destroySoon());
      return { outcomes: partitions.map((partition) => ({ partition, errorCode: notLeader, baseOffset: -1 })), throttleMs: 300 };
    },
  });
  log = await connectKafkaLog({ kafka: brokers.options(1), topics, logger: silentLogger });
  const first = Promise.withResolvers<void>();
  const waiting: Attached = attach(log, 1, record(1), () => {
    if (waiting.seen.filter((what) => what === 'appended').length === 2) done.resolve();
    else first.resolve();
  });
  waiting.ready();
  await first.promise;
  const searching = attach(log, 0, record(1), (kind, again) => {
    if (kind === 'appended') return;
    waiting.ready();
    again();
  });
  searching.ready();
  await done.promise;
  expect(waiting.seen).toEqual(['seal', 'appended', 'reconnected', 'seal', 'appended']);
});

test('a leader that was replaced is left, and its successor found, though nobody asks for anything', async () => {
  let leader = 2;
  const alive = (): { readonly alive: readonly number[]; readonly leader: number } => ({ alive: [leader], leader });
  brokers = await FakeBrokers.play({
    partitions: 2,
    brokers: 3,
    metadata: alive,
    produce: (_, partitions) => ({ outcomes: partitions.map((partition) => ({ partition, errorCode: 0, baseOffset: 0 })) }),
  });
  log = await connectKafkaLog({ kafka: brokers.options(1), topics, logger: silentLogger, metadataAgeMsMax: 1 });
  let appended = Promise.withResolvers<void>();
  const owner = attach(log, 0, record(1), () => appended.resolve());
  const append = async (): Promise<void> => {
    appended = Promise.withResolvers<void>();
    owner.ready();
    await appended.promise;
  };
  const left = async (id: number): Promise<void> => {
    while (brokers?.connections.get(id)?.size !== 0) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await append();
  leader = 3;
  await left(2);
  await append();
  // The first one again, at its old address: over a connection that is none of its earlier ones.
  leader = 2;
  await left(3);
  await append();
  expect(owner.seen).toEqual(['seal', 'appended', 'reconnected', 'seal', 'appended', 'reconnected', 'seal', 'appended']);
  expect([brokers.count('produce 2'), brokers.count('produce 3')]).toEqual([2, 1]);
});

test('a batch that cannot be encoded fails its partition; the others of its broker go on', async () => {
  brokers = await FakeBrokers.play({
    partitions: 2,
    brokers: 1,
    produce: (_, partitions) => ({ outcomes: partitions.map((partition) => ({ partition, errorCode: 0, baseOffset: 0 })) }),
  });
  log = await connectKafkaLog({ kafka: brokers.options(1), topics, logger: silentLogger });
  const both = Promise.withResolvers<void>();
  let ended = 0;
  const settled = (kind: string, again: () => void): void => {
    if (kind === 'unknown') again();
    else if (++ended === 2) both.resolve();
  };
  const unwritable = record(1, { key: JSON.parse('{"length":1}') });
  const attached = [attach(log, 0, unwritable, settled), attach(log, 1, record(1), settled)];
  for (const { ready } of attached) ready();
  await both.promise;
  expect(attached.map(({ seen }) => seen)).toEqual([
    ['seal', 'unknown', 'seal', 'failed'],
    ['seal', 'unknown', 'seal', 'appended'],
  ]);
});
