/**
 * Beside the history shards of a process: the owners of two dead letter queues and the actor of jobs, in the production loop over the same log and
 * the same database. What they ask, and what shards ask them, goes over the network, to whoever seems to own it.
 *
 *     shard ── tasks that fail, as `faulty` says ──▶ queue `transfer`, queue `timer` ◀── jobs
 *       ▲───────────────── merge, confirmation ─────────────┘
 */
import { createHash } from 'node:crypto';
import { JOBS_ACTOR } from '../../../src/actors/asks/router.ts';
import type { Database } from '../../../src/projections/database-port.ts';
import type { CheckpointSchedule } from '../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { JobsHost } from '../../../src/actors/deadletters/jobs/jobs-host.ts';
import { QueueHost } from '../../../src/actors/deadletters/queue/queue-host.ts';
import { thereIs } from '../../support/simple-cluster.ts';
import type { TaskCapture } from '../../../src/actors/history/hand-over/task-capture.ts';
import type { CaptureSettings } from '../../../src/deadletters/capture-settings.ts';
import type { DeadLetterQueue } from '../../../src/deadletters/letter.ts';
import type { PartitionId } from '../../../src/ports/log.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import { deadLetterCodec } from '../../../src/codec/dead-letter-codec.ts';
import { deadLetterStateCodec } from '../../../src/codec/dead-letter-state-codec.ts';
import { dlqJobsCodec } from '../../../src/codec/dlq-jobs-codec.ts';
import { encodeLetterTask } from '../../../src/codec/letter-task-codec.ts';
import { decodeTaskInfo, encodeTaskInfo } from '../../../src/codec/task-info-codec.ts';
import { jsonClaims } from '../../actors/ledger.ts';
import { busyClock, checkpointLimits } from '../checkpointed-actors.ts';

import type { HistoryServer } from '../history/cluster.ts';

export type LetterPlan = {
  /** Of attempts at tasks that are not for good. */
  readonly failShare: number;
  /** Of the jobs; what is purged never happens, unless it is restored in time. */
  readonly purgeShare: number;
  readonly jobEveryMs: number;
  readonly undoWindowMs: number;
};

const own = { sourceCluster: 'active', targetCluster: 'active' };
export const queues: readonly DeadLetterQueue[] = [
  { number: 1, category: 'transfer', categoryId: 1, ...own },
  { number: 2, category: 'timer', categoryId: 2, ...own },
];
export const codecs = new Map(queues.map((queue) => [queue.number, deadLetterCodec(queue, 'sim')]));

export function queuePartition({ category }: Pick<DeadLetterQueue, 'category'>): PartitionId {
  return { topic: `dlq.sim.${category}.active`, partition: 0 };
}

export const jobsPartition: PartitionId = { topic: 'sim.dlq-jobs', partition: 0 };

/** In the order in which a server numbers them, behind its shards. */
export const letterPartitions: readonly PartitionId[] = [...queues.map(queuePartition), jobsPartition];

const settings: CaptureSettings = {
  enabled: true,
  internalErrorsArePermanent: false,
  errorPattern: undefined,
  failuresMax: 2,
  transferFailuresMax: undefined,
  timerFailuresMax: undefined,
  replicationFailuresMax: 2,
};

export function captureOf({ node, cluster }: HistoryServer): TaskCapture {
  const { world } = cluster;
  return {
    queueNumberOf: (category) => queues.find((queue) => queue.category === category)?.number,
    clusterName: () => own.sourceCluster,
    settingsOf: () => settings,
    encodeTask: encodeTaskInfo,
    node: node.name,
    build: 'sim',
    group: 'sim-history',
    faultOf: () => {
      const isHit = cluster.tasksFail && world.random.chance(cluster.options.letters?.failShare ?? 0);
      if (!isHit) return undefined;
      return { kind: world.random.chance(0.7) ? 'permanent' : 'failed', errorMessage: 'simulated: the task cannot be done' };
    },
  };
}

export function queueHost(server: HistoryServer, queue: DeadLetterQueue, schedule: CheckpointSchedule, database: Database): QueueHost {
  const { node, cluster, router, asker } = server;
  const { options, logger } = cluster;
  const host = new QueueHost({
    queue,
    ...actorOf(server, queuePartition(queue).topic, options.shards + queue.number - 1),
    codec: codecs.get(queue.number) ?? deadLetterCodec(queue, 'sim'),
    sink: router.deadLetters.sink(queue.number),
    undoWindowMs: () => options.letters?.undoWindowMs ?? 0,
    compactionTiming: { quietMs: 50, backgroundMs: 500, retryMs: 100 },
    execution: {
      registry: { view: { namespaceById: thereIs, namespaceByName: () => undefined } },
      router: asker,
      historyShards: options.shards,
      tasks: { decode: decodeTaskInfo, encode: encodeLetterTask },
      maxGeneration: () => 3,
      node: node.name,
      build: 'sim',
    },
    checkpoints: { database, schedule, stateWire: deadLetterStateCodec, limits: { ...checkpointLimits, recordsMax: options.recordsMax } },
    logger,
  });
  router.deadLetters.attach(queue.number, host);
  return host;
}

export function jobsHost(server: HistoryServer): JobsHost {
  const { cluster, router, asker } = server;
  const host = new JobsHost({
    ...actorOf(server, jobsPartition.topic, cluster.options.shards + queues.length),
    codec: dlqJobsCodec('sim'),
    sink: router.jobs.sink(JOBS_ACTOR),
    asker,
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    settings: () => ({ requiresReason: false, lettersPerStepMax: 3 }),
    logger: cluster.logger,
  });
  router.jobs.attach(JOBS_ACTOR, host.actor);
  return host;
}

function actorOf(server: HistoryServer, topic: string, number: number) {
  const { node, cluster, log } = server;
  return {
    topic,
    owner: node.name,
    log,
    claims: jsonClaims,
    clock: busyClock(node.clock),
    random: node.random,
    onStatus: (status: PartitionStatus): void => {
      const { state, epoch, sequence, offset, reason } = status;
      cluster.world.trace(`${node.name} ${topic} ${state} ${epoch}.${sequence}@${offset} ${reason}`);
      cluster.onStatus(server, number, status);
    },
  };
}
