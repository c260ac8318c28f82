/** UpdateTaskQueueConfig: what operators say of a queue, and how it is shown. */
import type { TaskQueueConfig } from '../../matching/task-queue-config.ts';
import { encodeConfig } from '../../wire/generated/api/taskqueue/description.ts';
import { TaskQueueKind, TaskQueueType } from '../../wire/generated/lean/enums.ts';
import type { UpdateTaskQueueConfigRequest, UpdateTaskQueueConfigResponse } from '../../wire/generated/lean/workflow_service.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { bounds, checkBound } from '../validation/bounds.ts';
import { checkTaskQueue } from '../validation/task-queue.ts';

const REASON_BYTES_MAX = 1_000;
const FAIRNESS_KEY_BYTES_MAX = 64;
const WEIGHTS_PER_REQUEST_MAX = 1_000;

/** The root partition keeps it, and tells the others. */
export async function updateConfig(
  context: HandlerContext,
  request: UpdateTaskQueueConfigRequest,
  call: Call,
): Promise<UpdateTaskQueueConfigResponse> {
  const namespace = await context.namespace(call, request.namespace);
  checkRates(request);
  checkText('Identity', request.identity, context.limits.idBytesMax);
  checkWeights(request);
  checkTaskQueue({ name: request.taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' }, context.limits);
  checkBound('UpdateTaskQueueConfigRequest.task_queue_type', request.taskQueueType);
  if (request.taskQueueType === TaskQueueType.NEXUS) throw notBuilt('task_queue_type NEXUS');
  if (request.updateFairnessKeyRateLimitDefault !== undefined) throw notBuilt('update_fairness_key_rate_limit_default');
  const taskType = request.taskQueueType === TaskQueueType.ACTIVITY ? 'activity' : 'workflow';
  const queue = { namespaceId: namespace.id, name: request.taskQueue, taskType, partition: 0, kind: 'normal' } as const;
  const update = request.updateQueueRateLimit;
  const { config } = await context.matching(call, queue, {
    kind: 'updateTaskQueueConfig',
    queue,
    identity: request.identity,
    queueRate: update && { perSecond: update.rateLimit?.requestsPerSecond, reason: update.reason },
    setWeights: Array.from(request.setFairnessWeightOverrides, ([key, weight]) => ({ key, weight })),
    unsetWeights: request.unsetFairnessWeightOverrides,
  });
  return { config: encodedConfig(config) };
}

function checkRates({ taskQueueType, ...request }: UpdateTaskQueueConfigRequest): void {
  const { updateQueueRateLimit: ofQueue, updateFairnessKeyRateLimitDefault: ofKeys } = request;
  const isWorkflow = taskQueueType === TaskQueueType.WORKFLOW;
  if (ofQueue?.rateLimit !== undefined) {
    if (isWorkflow) throw invalidArgument('Setting rate limit on workflow task queues is not allowed.');
    checkBound('RateLimit.requests_per_second', ofQueue.rateLimit.requestsPerSecond);
  }
  if (ofQueue !== undefined) checkText('UpdateQueueRateLimit.Reason', ofQueue.reason, REASON_BYTES_MAX);
  if (ofKeys?.rateLimit !== undefined && isWorkflow) {
    throw invalidArgument('Setting fairness key rate limit on workflow task queues is not allowed.');
  }
}

function checkText(field: string, value: string, bytesMax: number): void {
  if (Buffer.byteLength(value) > bytesMax) throw invalidArgument(`${field} field too long (max ${bytesMax} characters).`);
}

function checkWeights({ setFairnessWeightOverrides: set, unsetFairnessWeightOverrides: unset }: UpdateTaskQueueConfigRequest): void {
  const max = WEIGHTS_PER_REQUEST_MAX;
  const count = set.size + unset.length;
  if (count > max) throw invalidArgument(`too many fairness weight overrides in request: got ${count}, maximum ${max}`);
  for (const [key, weight] of set) {
    checkKey(key);
    checkWeight(key, weight);
  }
  for (const key of unset) checkKey(key);
  for (const key of unset) {
    if (set.has(key)) throw invalidArgument(`fairness weight override key ${JSON.stringify(key)} present in both set and unset lists`);
  }
}

function checkKey(key: string): void {
  if (key === '') throw invalidArgument('fairness weight override key must not be empty');
  if (Buffer.byteLength(key) > FAIRNESS_KEY_BYTES_MAX) throw invalidArgument('fairness key length exceeds limit');
}

function checkWeight(key: string, weight: number): void {
  const problem = bounds['UpdateTaskQueueConfigRequest.set_fairness_weight_overrides'].problem(weight);
  if (problem !== undefined) throw invalidArgument(`invalid fairness weight weight for key ${JSON.stringify(key)}: ${problem}`);
}

/** As `temporal.api.taskqueue.v1.TaskQueueConfig`. */
export function encodedConfig({ queueRate, weights }: TaskQueueConfig): Uint8Array {
  return encodeConfig({
    queueRateLimit: queueRate && {
      rateLimit: queueRate.perSecond === undefined ? undefined : { requestsPerSecond: queueRate.perSecond },
      metadata: { reason: queueRate.reason, updateIdentity: queueRate.identity, updateTimeMs: queueRate.timeMs },
    },
    fairnessWeightOverrides: weights.map(({ key, weight }) => ({ key, value: weight })),
  });
}
