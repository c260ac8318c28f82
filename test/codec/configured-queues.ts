/** Configurations of task queues, for codecs of records and of rows. */
import fc from 'fast-check';
import type { ConfiguredQueue, ConfiguredRate, TaskQueueConfig } from '../../src/matching/task-queue-config.ts';

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: 'binary', maxLength: 20 });
const number = fc.double({ min: 0, noNaN: true });

const rates: fc.Arbitrary<ConfiguredRate> = fc.record({
  perSecond: fc.option(number, { nil: undefined }),
  reason: text,
  identity: text,
  timeMs: count,
});

export const configs: fc.Arbitrary<TaskQueueConfig> = fc.record({
  version: count,
  queueRate: fc.option(rates, { nil: undefined }),
  keyRate: fc.option(rates, { nil: undefined }),
  weights: fc.array(fc.record({ key: text, weight: number }), { maxLength: 3 }),
});

export const configuredQueues: fc.Arbitrary<ConfiguredQueue> = fc.record({
  queue: fc.record({
    namespaceId: text,
    name: text,
    taskType: fc.constantFrom('workflow' as const, 'activity' as const),
    partition: fc.nat(100),
    kind: fc.constant('normal' as const),
  }),
  config: configs,
});

/** Frozen: golden files hold it. */
export const configuredQueue: ConfiguredQueue = {
  queue: { namespaceId: 'ns', name: 'orders', taskType: 'activity', partition: 0, kind: 'normal' },
  config: {
    version: 3,
    queueRate: { perSecond: 0, reason: 'paused', identity: 'ops', timeMs: 1_700_000_000_000 },
    keyRate: undefined,
    weights: [{ key: 'tenant', weight: 2.5 }],
  },
};

/** Likewise. */
export const keyRatedQueue: ConfiguredQueue = {
  ...configuredQueue,
  config: { ...configuredQueue.config, keyRate: { perSecond: 2.5, reason: 'fair', identity: 'ops', timeMs: 1_700_000_000_001 } },
};
