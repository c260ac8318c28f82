/** The front's ports on the actors of this process. Part of the composition root. */
import { randomUUID } from 'node:crypto';
import { isAskFailure } from './actors/asks.ts';
import type { AskFailure } from './actors/asks.ts';
import type { ClusterHost } from './actors/cluster-host.ts';
import type { HistoryPage } from './actors/history-store.ts';
import type { HistoryShard } from './actors/history-shard.ts';
import type { Clock } from './actors/ports.ts';
import type { Asker } from './actors/router.ts';
import type { ClusterLayout } from './actors/transfer-queue.ts';
import type { ClusterReply } from './cluster/replies.ts';
import type { AskOutcome, ClusterRequest, FrontPorts, ServerInfo } from './grpc/ports.ts';
import { assert } from './kernel/assert.ts';
import { historyShardOf } from './kernel/shard.ts';
import { matchingPartitionOf } from './matching/task-queue.ts';
import type { Logger } from './observability/logger.ts';

export type FrontPortsOptions = {
  readonly router: Asker;
  readonly clock: Clock;
  readonly layout: ClusterLayout;
  readonly cluster: ClusterHost;
  /** By shard, from 1. */
  readonly shards: readonly HistoryShard[];
  readonly server: ServerInfo;
  readonly logger: Logger;
};

export function frontPorts({ router, clock, layout, cluster, shards, server, logger }: FrontPortsOptions): FrontPorts {
  /** The edge thinks in wall time, as its callers' deadlines do; the router's clock cannot be set back. */
  const monotonic = (deadlineMs: number): number => clock.monoMs() + deadlineMs - clock.wallMs();
  return {
    nowMs: () => clock.wallMs(),
    newId: randomUUID,
    random: Math.random,
    logger,
    server,
    taskQueuePartitions: layout.taskQueuePartitions,
    tokenKey: () => {
      const { identity } = cluster.view;
      assert(identity !== undefined, 'the front opens after the cluster has its token key');
      return identity.tokenKey;
    },
    get cluster() {
      return cluster.view;
    },
    askHistory: ({ namespaceId, workflowId }, command, deadlineMs, settle) =>
      router.askHistory(historyShardOf(namespaceId, workflowId, layout.historyShards), command, monotonic(deadlineMs), (answer) =>
        settle(outcomeOf(answer)),
      ),
    askMatching: (queue, request, deadlineMs, settle) =>
      router.askMatching(matchingPartitionOf(queue, layout.matchingPartitions), request, monotonic(deadlineMs), (answer) =>
        settle(outcomeOf(answer)),
      ),
    askCluster: (request, deadlineMs, settle) =>
      router.ask<ClusterRequest, ClusterReply>({ kind: 'cluster' }, request, monotonic(deadlineMs), (answer) => {
        const outcome = outcomeOf(answer);
        settle(outcome.kind === 'reply' ? { kind: 'reply', reply: undefined } : outcome);
      }),
    cancel: (askId) => router.cancel(askId),
    historyEvents: (key, firstEventId, lastEventId, eventsMax, bytesMax) => {
      const shard = shards[historyShardOf(key.namespaceId, key.workflowId, layout.historyShards) - 1];
      const page = shard?.historyPage(key.runId, firstEventId, lastEventId, { eventsMax, bytesMax });
      if (page === undefined) return [];
      return page instanceof Promise ? page.then(({ events }: HistoryPage) => events) : page.events;
    },
  };
}

type Rejected<Rejection> = { readonly kind: 'rejected'; readonly rejection: Rejection };

function outcomeOf<Reply extends { readonly kind: string }, Rejection>(
  answer: Reply | Rejected<Rejection> | AskFailure,
): AskOutcome<Exclude<Reply, Rejected<unknown> | AskFailure>, Rejection> {
  if (isAskFailure(answer)) return answer.kind === 'deadline' ? { kind: 'deadlineExceeded' } : { kind: 'unavailable', message: answer.message };
  if (isRejected(answer)) return { kind: 'rejected', rejection: answer.rejection };
  return { kind: 'reply', reply: answer as Exclude<Reply, Rejected<unknown> | AskFailure> };
}

function isRejected<Rejection>(answer: { readonly kind: string } | Rejected<Rejection>): answer is Rejected<Rejection> {
  return answer.kind === 'rejected';
}
