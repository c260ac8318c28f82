/**
 * All calls between actors, and from the edge to actors: a switchboard for each kind of actor, and the replies that each request may get.
 * An actor's own commands (timers, finished tasks, ticks) are no requests, so nobody can ask them.
 */
import { NOBODY } from './asks.ts';
import { LoopTurns } from '../loop-turns.ts';
import { Switchboard, type AnswerTo, type ReplyKinds } from './switchboard.ts';
import type { ClusterCommand } from '../../cluster/commands.ts';
import type { ClusterRejected, ClusterReplyTo } from '../../cluster/replies.ts';
import type { DeadLetterRequest } from '../../deadletters/commands.ts';
import type { DeadLetterRejected, DeadLetterReplyTo } from '../../deadletters/replies.ts';
import type { AuditRejected, AuditReplyTo, AuditRequest } from '../../deadletters/audit/audit-requests.ts';
import type { JobsRejected, JobsReplyTo, JobsRequest } from '../../deadletters/jobs/commands.ts';
import type { HistoryRequest } from '../../history/commands.ts';
import type { HistoryReplyTo, Rejected, StartedActivityTask, StartedWorkflowTask } from '../../history/replies.ts';
import type { MatchingRequest } from '../../matching/commands.ts';
import type { MatchingRejected, MatchingReplyTo } from '../../matching/replies.ts';
import type { Clock } from '../ports.ts';

/** What a matching host hands out once history has recorded its start. */
export type StartedTask = StartedWorkflowTask | StartedActivityTask;

export type HistoryAnswer<Request extends HistoryRequest> = AnswerTo<HistoryReplyTo, Rejected, Request['kind']>;
export type MatchingAnswer<Request extends MatchingRequest> = AnswerTo<MatchingReplyTo<StartedTask>, MatchingRejected, Request['kind']>;
export type ClusterAnswer<Request extends ClusterCommand> = AnswerTo<ClusterReplyTo, ClusterRejected, Request['kind']>;

export type DeadLetterAnswer<Request extends DeadLetterRequest> = AnswerTo<DeadLetterReplyTo, DeadLetterRejected, Request['kind']>;
export type JobsAnswer<Request extends JobsRequest> = AnswerTo<JobsReplyTo, JobsRejected, Request['kind']>;

export type AuditAnswer<Request extends AuditRequest> = AnswerTo<AuditReplyTo, AuditRejected, Request['kind']>;

/** What callers get: the router without its actors' side. `deadlineMs` is by the clock's `monoMs`, and finite. */
export interface Asker {
  /** Shards count from 1. */
  askHistory<Request extends HistoryRequest>(
    shard: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: HistoryAnswer<Request>) => void,
  ): number;
  /** Partitions count from 0. */
  askMatching<Request extends MatchingRequest>(
    partition: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: MatchingAnswer<Request>) => void,
  ): number;
  askCluster<Request extends ClusterCommand>(
    request: Request,
    deadlineMs: number,
    onReply: (answer: ClusterAnswer<Request>) => void,
  ): number;
  /** Queues by their numbers, from 1. */
  askDeadLetters<Request extends DeadLetterRequest>(
    queue: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: DeadLetterAnswer<Request>) => void,
  ): number;
  /** The callback is not called any more. Idempotent. */
  cancel(askId: number): void;
}

/** Of the audit of dead letters, likewise. */
export interface AuditAsker {
  askAudit<Request extends AuditRequest>(request: Request, deadlineMs: number, onReply: (answer: AuditAnswer<Request>) => void): number;
}

/** There is one, one of jobs, and one of the audit. */
export const CLUSTER_ACTOR = 0;
export const JOBS_ACTOR = 0;
export const AUDIT_ACTOR = 0;

const historyReplies: ReplyKinds<HistoryReplyTo> = {
  startWorkflow: { started: true },
  signalWithStartWorkflow: { started: true },
  signalWorkflow: { signaled: true },
  requestCancelWorkflow: { done: true },
  terminateWorkflow: { done: true },
  deleteWorkflow: { done: true },
  scheduleFirstWorkflowTask: { done: true },
  findChild: { childFound: true },
  startWorkflowTask: { workflowTask: true },
  completeWorkflowTask: { workflowTaskCompleted: true },
  failWorkflowTask: { done: true },
  resetStickyTaskQueue: { done: true },
  startActivityTask: { activityTask: true },
  withdrawActivityStart: { done: true },
  completeActivityTask: { done: true },
  failActivityTask: { done: true },
  cancelActivityTask: { done: true },
  recordActivityHeartbeat: { heartbeat: true },
  pauseActivity: { done: true },
  unpauseActivity: { done: true },
  resetActivity: { done: true },
  updateActivityOptions: { activityOptionsUpdated: true },
  resetWorkflow: { workflowReset: true },
  prepareReset: { workflowReset: true },
  dropReset: { done: true },
  pauseWorkflow: { done: true },
  unpauseWorkflow: { done: true },
  updateWorkflowOptions: { workflowOptionsUpdated: true },
  createSchedule: { scheduleChanged: true },
  updateSchedule: { scheduleChanged: true },
  patchSchedule: { scheduleChanged: true },
  deleteSchedule: { done: true },
  describeSchedule: { scheduleDescription: true },
  startBatch: { done: true },
  stopBatch: { done: true },
  describeBatch: { batchDescription: true },
  recordActionClosed: { done: true },
  queryWorkflow: { queryAnswered: true, queryRejected: true },
  updateWorkflow: { updateStage: true },
  pollUpdate: { updateStage: true },
  startAndUpdate: { updateStage: true, startRefused: true, updateRefused: true },
  describeWorkflow: { description: true },
  describeMutableState: { mutableState: true },
  getHistoryPosition: { historyPosition: true },
  readHistory: { historyPage: true },
  recordChildClosed: { done: true },
  executeLetter: { letterExecuted: true, lettersUnconfirmed: true },
  confirmLetter: { done: true },
  withdrawLetter: { letterWithdrawn: true, letterExecuted: true },
  listLetterMarks: { letterMarks: true },
  listTasks: { taskList: true },
  removeTask: { done: true },
  addTasks: { done: true },
};

const matchingReplies: ReplyKinds<MatchingReplyTo<StartedTask>> = {
  pollWorkflowTask: { emptyPoll: true, task: true, queryTask: true },
  pollActivityTask: { emptyPoll: true, task: true },
  addWorkflowTask: { done: true, stored: true, stickyUnavailable: true, noMatch: true },
  addActivityTask: { done: true, stored: true, noMatch: true },
  dispatchQuery: { queryAnswer: true, stickyUnavailable: true },
  answerQuery: { done: true },
  describeTaskQueue: { taskQueueDescription: true },
  updateTaskQueueConfig: { taskQueueConfigured: true },
  configurePartition: { done: true },
  forgetNamespace: { done: true },
  shutdownWorker: { done: true },
};

const clusterReplies: ReplyKinds<ClusterReplyTo> = {
  registerNamespace: { done: true },
  updateNamespace: { done: true },
  deleteNamespace: { done: true },
  endNamespace: { done: true },
  addSearchAttributes: { done: true },
  removeSearchAttributes: { done: true },
  purgeSearchAttributes: { done: true },
  addDeadLetterQueue: { done: true },
  initializeCluster: { done: true },
  syncCluster: { done: true },
};

const deadLetterReplies: ReplyKinds<DeadLetterReplyTo> = {
  acceptLetters: { accepted: true },
  claimLetters: { done: true },
  releaseClaim: { done: true },
  purgeLetters: { purged: true },
  findPurged: { purgedFound: true },
  findMerged: { mergedFound: true },
  restoreLetters: { restored: true },
  mergeLetter: { mergeEnded: true },
  countLetters: { counted: true },
  listLetters: { letters: true },
  readLetter: { letter: true },
  findLetters: { letterIds: true },
  countMatching: { matched: true },
  groupLetters: { groups: true },
};

const jobsReplies: ReplyKinds<JobsReplyTo> = {
  planLetters: { planned: true },
  applyPlan: { job: true },
  describeJob: { job: true },
  listJobs: { jobs: true },
  pauseJob: { job: true },
  resumeJob: { job: true },
  cancelJob: { canceled: true },
  updateJob: { job: true },
};

const auditReplies: ReplyKinds<AuditReplyTo> = {
  tellAudit: { auditTold: true },
  describeAudit: { auditTold: true },
  readAudit: { auditEntries: true },
};

export class Router implements Asker, AuditAsker {
  readonly history: Switchboard<HistoryReplyTo, HistoryRequest, Rejected>;
  readonly matching: Switchboard<MatchingReplyTo<StartedTask>, MatchingRequest, MatchingRejected>;
  readonly cluster: Switchboard<ClusterReplyTo, ClusterCommand, ClusterRejected>;
  readonly deadLetters: Switchboard<DeadLetterReplyTo, DeadLetterRequest, DeadLetterRejected>;
  readonly jobs: Switchboard<JobsReplyTo, JobsRequest, JobsRejected>;
  readonly audit: Switchboard<AuditReplyTo, AuditRequest, AuditRejected>;

  /** `callbackFailed`: a caller threw out of its `onReply`. Default: loud, later. */
  constructor(
    clock: Clock,
    callbackFailed: (error: unknown) => void = (error) => clock.soon(() => rethrow(error)),
    turns: LoopTurns = new LoopTurns(clock),
  ) {
    let lastAskId = NOBODY;
    const options = { clock, turns, newAskId: () => ++lastAskId, callbackFailed };
    this.history = new Switchboard(options, historyReplies, (shard) => `history shard ${shard}`);
    this.matching = new Switchboard(options, matchingReplies, (partition) => `matching partition ${partition}`);
    this.cluster = new Switchboard(options, clusterReplies, () => 'the cluster actor');
    this.deadLetters = new Switchboard(options, deadLetterReplies, (queue) => `dead letter queue ${queue}`);
    this.jobs = new Switchboard(options, jobsReplies, () => 'the actor of jobs over dead letters');
    this.audit = new Switchboard(options, auditReplies, () => 'the audit of dead letters');
  }

  askHistory<Request extends HistoryRequest>(
    shard: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: HistoryAnswer<Request>) => void,
  ): number {
    return this.history.ask(shard, request, deadlineMs, onReply);
  }

  askMatching<Request extends MatchingRequest>(
    partition: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: MatchingAnswer<Request>) => void,
  ): number {
    return this.matching.ask(partition, request, deadlineMs, onReply);
  }

  askCluster<Request extends ClusterCommand>(
    request: Request,
    deadlineMs: number,
    onReply: (answer: ClusterAnswer<Request>) => void,
  ): number {
    return this.cluster.ask(CLUSTER_ACTOR, request, deadlineMs, onReply);
  }

  askDeadLetters<Request extends DeadLetterRequest>(
    queue: number,
    request: Request,
    deadlineMs: number,
    onReply: (answer: DeadLetterAnswer<Request>) => void,
  ): number {
    return this.deadLetters.ask(queue, request, deadlineMs, onReply);
  }

  askJobs<Request extends JobsRequest>(request: Request, deadlineMs: number, onReply: (answer: JobsAnswer<Request>) => void): number {
    return this.jobs.ask(JOBS_ACTOR, request, deadlineMs, onReply);
  }

  askAudit<Request extends AuditRequest>(request: Request, deadlineMs: number, onReply: (answer: AuditAnswer<Request>) => void): number {
    return this.audit.ask(AUDIT_ACTOR, request, deadlineMs, onReply);
  }

  cancel(askId: number): void {
    this.audit.cancel(askId);
    this.jobs.cancel(askId);
    this.deadLetters.cancel(askId);
    this.history.cancel(askId);
    this.matching.cancel(askId);
    this.cluster.cancel(askId);
  }

  /** No deadline fires afterwards. */
  close(): void {
    this.audit.close();
    this.jobs.close();
    this.deadLetters.close();
    this.history.close();
    this.matching.close();
    this.cluster.close();
  }
}

function rethrow(error: unknown): never {
  throw error;
}
