import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/observability/logger.ts';
import { connectKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { record } from '../contract/log-writer.ts';
import { FakeBrokers, topic } from './fake-brokers.ts';
import type { AppendOutcome, Log } from '../../src/ports/log.ts';

let log: Log | undefined;
let brokers: FakeBrokers | undefined;
afterEach(async () => {
  await log?.close();
  brokers?.close();
});

/** The first led the partition and was cut off from the second: it goes on telling that it leads. The second does, and counts itself alone. */
function cutOff(appendError: number): Promise<FakeBrokers> {
  return FakeBrokers.play({
    partitions: 1,
    brokers: 2,
    metadata: (id) => ({ alive: id === 1 ? [1, 2] : [2], leader: id }),
    produce: (id) => ({
      outcomes: [{ partition: 0, ...(id === 1 ? { errorCode: appendError, baseOffset: -1 } : { errorCode: 0, baseOffset: 0 }) }],
    }),
  });
}

test.each([
  ['NOT_LEADER_OR_FOLLOWER', 6],
  ['REQUEST_TIMED_OUT', 7],
  ['NOT_ENOUGH_REPLICAS', 19],
])(
  'a leader that is cut off from the others and answers %s is not believed for ever: somebody else is asked who leads',
  async (_, code) => {
    brokers = await cutOff(code);
    const topics = [{ name: topic, partitions: 1, purpose: '' }];
    log = await connectKafkaLog({ kafka: brokers.options(1, 2), topics, logger: silentLogger });
    const outcomes: AppendOutcome['kind'][] = [];
    const appended = Promise.withResolvers<void>();
    const attachment = log.attach(
      { topic, partition: 0 },
      {
        seal: () => ({ generation: outcomes.length, records: [record(1)] }),
        settle: ({ kind }) => {
          outcomes.push(kind);
          if (kind === 'appended') appended.resolve();
          else attachment.ready();
        },
      },
    );
    attachment.ready();
    await appended.promise;
    expect(outcomes[0]).not.toBe('appended');
    expect(brokers.count('produce 2')).toBe(1);
  },
);
