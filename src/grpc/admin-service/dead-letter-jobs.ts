/** Purge and merge of history tasks' letters: a plan and its job in one call. What comes back names the queue and the job. */
import type { IdRange } from '../../deadletters/letter-commands.ts';
import type { Job, JobFailure, JobSkip } from '../../deadletters/jobs/job.ts';
import { int64, timestamp, type ServiceMessages } from '../../wire/services.ts';
import { checkedReason } from '../deadletter-service/jobs.ts';
import { askJobs, whoCalls } from '../deadletter-service/letter-asks.ts';
import { beginOf } from '../deadletter-service/plans.ts';
import { categoryId } from '../deadletter-service/queues.ts';
import { notFound } from '../errors/details.ts';
import { hasCode, invalidArgument, statusCode } from '../errors/status-error.ts';
import type { Call } from '../transport/call.ts';
import type { AdminContext, AdminHandlers, RequestOf } from './admin-context.ts';
import { required } from './conventions.ts';
import { deadLetterQueueName, queueOfKey, thatIsThere } from './dead-letters.ts';
import type { JobOperation, JobState } from '../../kernel/letter-words.ts';

const batchSizeMax = 1_000;
const failureCausesMax = 100;
const jobPrefix = 'manage-dlq-tasks-';

type PurgeRequest = RequestOf<'PurgeDLQTasks'>;

export const deadLetterJobHandlers: AdminHandlers = {
  PurgeDLQTasks: async (admin, request, call) => ({ jobToken: await jobStarted(admin, call, 'purge', request) }),
  MergeDLQTasks: async (admin, request, call) => {
    if (request.batchSize < 0) throw invalidArgument('BatchSize must be positive or 0 to use the default');
    if (request.batchSize > batchSizeMax) throw invalidArgument('BatchSize too large');
    return { jobToken: await jobStarted(admin, call, 'merge', request) };
  },
  DescribeDLQJob: async (admin, { jobToken }, call) => described(admin, await jobOfToken(admin, call, jobToken)),
  CancelDLQJob: async (admin, { jobToken, reason: given }, call) => {
    const reason = checkedReason(given);
    const { jobId } = await jobOfToken(admin, call, jobToken);
    const { wasActive } = await askJobs(admin.context, call, { kind: 'cancelJob', jobId, ...whoCalls(call), reason });
    return { canceled: wasActive };
  },
};

/** These requests say neither who asks nor why. */
async function jobStarted(
  { context, messages }: AdminContext,
  call: Call,
  operation: JobOperation,
  request: PurgeRequest,
): Promise<Uint8Array> {
  const ids = [idsOf(request)];
  const named = queueOfKey(context, request.dlqKey);
  const { jobId } = await beginOf(context, call, operation, '')(thatIsThere(named), { ids, condition: undefined });
  return messages.adminservice.v1.DLQJobToken.encode({ workflowId: `${jobPrefix}${named.name}`, runId: jobId }).finish();
}

/** The largest of 64 bits stands for all: no letter has an id beyond what a number holds. */
function idsOf({ inclusiveMinTaskMetadata, inclusiveMaxTaskMetadata }: PurgeRequest): IdRange {
  const to = messageIdOf(required(inclusiveMaxTaskMetadata, 'inclusive_max_task_metadata'));
  const from = messageIdOf(inclusiveMinTaskMetadata ?? {});
  if (from > to) throw invalidArgument(`Invalid range of message ids: ${from} to ${to}`);
  return { from, to };
}

function messageIdOf({ messageId }: NonNullable<PurgeRequest['inclusiveMaxTaskMetadata']>): number {
  if (messageId?.isNegative() === true) throw invalidArgument(`Invalid message id: ${messageId.toString()}`);
  return Math.min(messageId?.toNumber() ?? 0, Number.MAX_SAFE_INTEGER);
}

/** Throws NOT_FOUND for a token of no job, also where the job is one of another queue. */
async function jobOfToken({ context, messages }: AdminContext, call: Call, token: Uint8Array): Promise<Job> {
  const { workflowId, runId } = namesOfJob(messages, token);
  const unknown = notFound(`DLQ job not found: ${workflowId} ${runId}`);
  try {
    const { job } = await askJobs(context, call, { kind: 'describeJob', jobId: runId });
    const { category, sourceCluster } = job.queue;
    const name = deadLetterQueueName(categoryId(category), sourceCluster, context.ports.server.clusterName);
    if (workflowId === `${jobPrefix}${name}`) return job;
  } catch (error) {
    if (!hasCode(error, statusCode.notFound)) throw error;
  }
  throw unknown;
}

function namesOfJob({ adminservice }: ServiceMessages, token: Uint8Array): { readonly workflowId: string; readonly runId: string } {
  try {
    const { workflowId, runId } = adminservice.v1.DLQJobToken.decode(token);
    if (workflowId.startsWith(jobPrefix) && runId !== '') return { workflowId, runId };
  } catch {
    // Said below.
  }
  throw invalidArgument('Invalid DLQ job token.');
}

function described({ context, messages }: AdminContext, job: Job) {
  const { DLQOperationType, DLQOperationState } = messages.enums.v1;
  const { queue, counts, operation, state, ids, startTimeMs, endTimeMs, lastProcessedMessageId, failures, skips } = job;
  return {
    dlqKey: {
      taskCategory: categoryId(queue.category),
      sourceCluster: queue.sourceCluster,
      targetCluster: context.ports.server.clusterName,
    },
    operationType: DLQOperationType[operationTypes[operation]],
    operationState: DLQOperationState[operationStates[state]],
    startTime: timestamp(startTimeMs),
    endTime: timestamp(endTimeMs ?? 0),
    maxMessageId: int64(ids.at(-1)?.to ?? -1),
    lastProcessedMessageId: int64(lastProcessedMessageId),
    messagesProcessed: int64(counts.merged + counts.purged),
    // What was left as it was is in the queue still, as what has failed is: the state FAILED is for both.
    messagesFailed: int64(counts.failed + counts.skipped),
    failureCauses: [...failures, ...skips.map(asFailure)]
      .toSorted((one, other) => one.messageId - other.messageId)
      .slice(0, failureCausesMax)
      .map(({ messageId, errorType, errorMessage }) => ({ messageId: int64(messageId), errorType, errorMessage })),
  };
}

function asFailure({ messageId, reason }: JobSkip): Pick<JobFailure, 'messageId' | 'errorType' | 'errorMessage'> {
  return { messageId, errorType: 'Skipped', errorMessage: reason === 'loop-guard' ? loopGuard : reason };
}

/** These clients know no other words, and cannot override it. */
const loopGuard =
  'loop-guard: it is quarantined, for its merges failed too often. Merge it with: perdure admin queue dlq merge --override-loop-guard --reason';

const operationTypes: Readonly<Record<JobOperation, keyof ServiceMessages['enums']['v1']['DLQOperationType']>> = {
  merge: 'DLQ_OPERATION_TYPE_MERGE',
  purge: 'DLQ_OPERATION_TYPE_PURGE',
  restore: 'DLQ_OPERATION_TYPE_UNSPECIFIED',
};

/** COMPLETED says that nothing of the selection is left. */
const operationStates: Readonly<Record<JobState, keyof ServiceMessages['enums']['v1']['DLQOperationState']>> = {
  running: 'DLQ_OPERATION_STATE_RUNNING',
  paused: 'DLQ_OPERATION_STATE_RUNNING',
  cancelling: 'DLQ_OPERATION_STATE_RUNNING',
  completed: 'DLQ_OPERATION_STATE_COMPLETED',
  cancelled: 'DLQ_OPERATION_STATE_FAILED',
  'completed-with-failures': 'DLQ_OPERATION_STATE_FAILED',
  failed: 'DLQ_OPERATION_STATE_FAILED',
};
