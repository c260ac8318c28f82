/** A journal that holds what no version should have written: a timer that cannot be decided, ever. */
import { expect } from 'vitest';
import { PartitionLoop } from '../../src/actors/partition/partition-loop.ts';
import { systemClock, systemRandom } from '../../src/ports/system-ports.ts';
import { defaults } from '../../src/config/defaults.ts';
import type { HistoryRecord } from '../../src/history/run/record.ts';
import { historyShardOf } from '../../src/kernel/shard.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { claimsOf } from '../../src/start/server-contact.ts';
import { topicCatalogue } from '../../src/topics/catalogue.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { scheduleActivity, ShardUnderTest } from '../history/shard-under-test.ts';

type Execution = { readonly namespaceId: string; readonly workflowId: string };

const historyShards = defaults.embedded.historyShards;

/** Of a workflow of the namespace `default`, into the file of a server that is stopped. */
export async function appendUndecidableTimer(database: string, execution: Execution): Promise<void> {
  await append(database, historyShardOf(execution.namespaceId, execution.workflowId, historyShards), poisoned(execution));
}

/** A workflow with an activity that has no deadline, and a timer for that deadline: no decision is possible when it fires. */
function poisoned({ namespaceId, workflowId }: Execution): readonly HistoryRecord[] {
  const shard = new ShardUnderTest();
  shard.nowMs = Date.now() - 60_000;
  shard.start({ key: { namespaceId, workflowId, runId: '' }, namespace: 'default' });
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
  const { key, scheduledEventId, stamp } = shard.pendingTask('activityTask');
  const taskId = 1 + Math.max(...shard.records.flatMap(({ tasks }) => tasks.map((task) => task.taskId)));
  const timer = {
    kind: 'activityTimeout',
    taskId,
    fireTimeMs: shard.nowMs,
    key,
    scheduledEventId,
    stamp,
    timeout: 'scheduleToStart',
  } as const;
  return shard.records.map((record, at) => (at === shard.records.length - 1 ? { ...record, tasks: [...record.tasks, timer] } : record));
}

/** Behind what the journal holds, by an owner as any other. */
async function append(database: string, shard: number, records: readonly HistoryRecord[]): Promise<void> {
  const topics = topicCatalogue({
    prefix: 'perdure',
    historyPartitions: historyShards,
    matchingPartitions: defaults.embedded.matchingPartitions,
  });
  const log = await openEmbeddedLog({ filename: database, topics });
  const active = Promise.withResolvers<void>();
  const loop = new PartitionLoop<HistoryRecord, never, HistoryRecord, never>({
    partition: { topic: 'perdure.history', partition: shard - 1 },
    log,
    codec: historyCodec,
    claims: claimsOf({ instance: '', addresses: [] }),
    owner: 'a version with a bug',
    create: () => ({
      core: {
        handle: (record) => ({ kind: 'commit', record, reply: undefined, effects: [] }),
        tooLarge: () => undefined,
        idsOf: () => ({ command: 'append' }),
        accept: () => {},
        evolve: () => {},
        cancel: () => ({ kind: 'wait', barrier: false, effects: [] }),
      },
      shell: {
        answer: () => {},
        act: () => {},
        activated: () => active.resolve(),
        accepted: () => {},
        undecided: () => {},
        deactivated: () => {},
      },
      subscribers: [],
    }),
    asks: { fail: () => {}, failAll: () => {}, abandon: () => {} },
    scale: { bytesOf: () => 0, namespaceOf: () => '', finishesWork: () => false },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  loop.start();
  await active.promise;
  for (const [index, record] of records.entries()) expect(loop.submit(index + 1, record)).toBeUndefined();
  await loop.drain();
  await log.close();
}
