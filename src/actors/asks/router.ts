/** All calls between actors, and from the edge to actors: a switchboard for each kind of actor, with the replies of each request. */
import { NOBODY, ownWork, type AskContext } from './asks.ts';
import { LoopTurns } from '../../ports/loop-turns.ts';
import { Switchboard, type AnswerTo } from './switchboard.ts';
import type { ClusterCommand, ClusterRejected } from '../../cluster/cluster-commands.ts';
import { clusterRequests, type ClusterReplyTo } from '../../cluster/command-table.ts';
import type { DeadLetterRequest } from '../../deadletters/letter-commands.ts';
import { deadLetterRequests, type DeadLetterRejected, type DeadLetterReplyTo } from '../../deadletters/letter-commands.ts';
import { auditRequests, type AuditRejected, type AuditReplyTo, type AuditRequest } from '../../deadletters/audit/audit-requests.ts';
import { jobsRequests, type JobsRejected, type JobsReplyTo, type JobsRequest } from '../../deadletters/jobs/job.ts';
import type { HistoryRequest } from '../../history/commands/history-commands.ts';
import { historyRequests, type HistoryReplyTo } from '../../history/command-table.ts';
import type { Rejected, StartedActivityTask, StartedWorkflowTask } from '../../history/run/history-replies.ts';
import type { MatchingRequest } from '../../matching/matching-commands.ts';
import type { MatchingRejected } from '../../matching/matching-replies.ts';
import { matchingRequests, type MatchingReplyTo } from '../../matching/command-table.ts';
import type { Clock } from '../../ports/machine.ts';

/** What a matching host hands out once history has recorded its start. */
export type StartedTask = StartedWorkflowTask | StartedActivityTask;

export type HistoryAnswer<Request extends HistoryRequest> = AnswerTo<HistoryReplyTo, Rejected, Request['kind']>;
export type MatchingAnswer<Request extends MatchingRequest> = AnswerTo<MatchingReplyTo<StartedTask>, MatchingRejected, Request['kind']>;
export type ClusterAnswer<Request extends ClusterCommand> = AnswerTo<ClusterReplyTo, ClusterRejected, Request['kind']>;

export type DeadLetterAnswer<Request extends DeadLetterRequest> = AnswerTo<DeadLetterReplyTo, DeadLetterRejected, Request['kind']>;
export type JobsAnswer<Request extends JobsRequest> = AnswerTo<JobsReplyTo, JobsRejected, Request['kind']>;

export type AuditAnswer<Request extends AuditRequest> = AnswerTo<AuditReplyTo, AuditRejected, Request['kind']>;

const SYNC_TIMEOUT_MS = 10_000;

/** Has the cluster's actor read on, behind its read barrier: what is folded of the registry here may lag behind. False: it is not known. */
export function clusterSynced(asker: Pick<Asker, 'askCluster'>, clock: Pick<Clock, 'monoMs'>): Promise<boolean> {
  return new Promise((resolve) => {
    asker.askCluster({ kind: 'syncCluster' }, ownWork(clock.monoMs() + SYNC_TIMEOUT_MS), ({ kind }) => resolve(kind === 'done'));
  });
}

/** What callers get: the router without its actors' side. */
export type Asker = Pick<Router, 'askHistory' | 'askMatching' | 'askCluster' | 'askDeadLetters' | 'cancel'>;
export type JobsAsker = Pick<Router, 'askJobs'>;
export type AuditAsker = Pick<Router, 'askAudit'>;

/** The cluster has one actor, one of jobs, and one of the audit. */
export const CLUSTER_ACTOR = 0;
export const JOBS_ACTOR = 0;
export const AUDIT_ACTOR = 0;

export class Router {
  readonly history: Switchboard<HistoryReplyTo, HistoryRequest, Rejected>;
  readonly matching: Switchboard<MatchingReplyTo<StartedTask>, MatchingRequest, MatchingRejected>;
  readonly cluster: Switchboard<ClusterReplyTo, ClusterCommand, ClusterRejected>;
  readonly deadLetters: Switchboard<DeadLetterReplyTo, DeadLetterRequest, DeadLetterRejected>;
  readonly jobs: Switchboard<JobsReplyTo, JobsRequest, JobsRejected>;
  readonly audit: Switchboard<AuditReplyTo, AuditRequest, AuditRejected>;
  readonly #all: readonly { cancel(askId: number): void; close(): void }[];

  /** `callbackFailed`: a caller threw out of its `onReply`. Default: loud, later. */
  constructor(
    clock: Clock,
    callbackFailed: (error: unknown) => void = (error) => clock.soon(() => rethrow(error)),
    turns: LoopTurns = new LoopTurns(clock),
  ) {
    let lastAskId = NOBODY;
    const options = { clock, turns, newAskId: () => ++lastAskId, callbackFailed };
    this.history = new Switchboard(options, historyRequests, (shard) => `history shard ${shard}`);
    this.matching = new Switchboard(options, matchingRequests, (partition) => `matching partition ${partition}`);
    this.cluster = new Switchboard(options, clusterRequests, () => 'the cluster actor');
    this.deadLetters = new Switchboard(options, deadLetterRequests, (queue) => `dead letter queue ${queue}`);
    this.jobs = new Switchboard(options, jobsRequests, () => 'the owner of dead letter jobs');
    this.audit = new Switchboard(options, auditRequests, () => 'the audit of dead letters');
    this.#all = [this.history, this.matching, this.cluster, this.deadLetters, this.jobs, this.audit];
  }

  askHistory<Request extends HistoryRequest>(
    shard: number,
    request: Request,
    context: AskContext,
    onReply: (answer: HistoryAnswer<Request>) => void,
  ): number {
    return this.history.ask(shard, request, context, onReply);
  }

  /** Partitions count from 0. */
  askMatching<Request extends MatchingRequest>(
    partition: number,
    request: Request,
    context: AskContext,
    onReply: (answer: MatchingAnswer<Request>) => void,
  ): number {
    return this.matching.ask(partition, request, context, onReply);
  }

  askCluster<Request extends ClusterCommand>(
    request: Request,
    context: AskContext,
    onReply: (answer: ClusterAnswer<Request>) => void,
  ): number {
    return this.cluster.ask(CLUSTER_ACTOR, request, context, onReply);
  }

  /** Queues by their numbers, from 1. */
  askDeadLetters<Request extends DeadLetterRequest>(
    queue: number,
    request: Request,
    context: AskContext,
    onReply: (answer: DeadLetterAnswer<Request>) => void,
  ): number {
    return this.deadLetters.ask(queue, request, context, onReply);
  }

  askJobs<Request extends JobsRequest>(request: Request, context: AskContext, onReply: (answer: JobsAnswer<Request>) => void): number {
    return this.jobs.ask(JOBS_ACTOR, request, context, onReply);
  }

  askAudit<Request extends AuditRequest>(request: Request, context: AskContext, onReply: (answer: AuditAnswer<Request>) => void): number {
    return this.audit.ask(AUDIT_ACTOR, request, context, onReply);
  }

  /** The callback is not called any more. Idempotent. */
  cancel(askId: number): void {
    for (const each of this.#all) each.cancel(askId);
  }

  close(): void {
    for (const each of this.#all) each.close();
  }
}

function rethrow(error: unknown): never {
  throw error;
}
