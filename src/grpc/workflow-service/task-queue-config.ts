/** UpdateTaskQueueConfig: what operators say of a queue, and how it is shown. */
import type { ConfiguredRate, RateUpdate, TaskQueueConfig } from '../../matching/task-queue-config.ts';
import { encodeConfig, type RateConfig } from '../../wire/generated/api/taskqueue/description.ts';
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
  const taskType = request.taskQueueType === TaskQueueType.ACTIVITY ? 'activity' : 'workflow';
  const queue = { namespaceId: namespace.id, name: request.taskQueue, taskType, partition: 0, kind: 'normal' } as const;
  const { config } = await context.matching(call, queue, {
    kind: 'updateTaskQueueConfig',
    queue,
    identity: request.identity,
    queueRate: rateUpdate(request.updateQueueRateLimit),
    keyRate: rateUpdate(request.updateFairnessKeyRateLimitDefault),
    setWeights: Array.from(request.setFairnessWeightOverrides, ([key, weight]) => ({ key, weight })),
    unsetWeights: request.unsetFairnessWeightOverrides,
  });
  return { config: encodedConfig(config) };
}

type RateLimitUpdate = UpdateTaskQueueConfigRequest['updateQueueRateLimit'];

function rateUpdate(update: RateLimitUpdate): RateUpdate | undefined {
  return update && { perSecond: update.rateLimit?.requestsPerSecond, reason: update.reason };
}

function checkRates({ taskQueueType, ...request }: UpdateTaskQueueConfigRequest): void {
  const { updateQueueRateLimit: ofQueue, updateFairnessKeyRateLimitDefault: ofKeys } = request;
  const isWorkflow = taskQueueType === TaskQueueType.WORKFLOW;
  if (ofQueue?.rateLimit !== undefined && isWorkflow) throw invalidArgument('Setting rate limit on workflow task queues is not allowed.');
  checkRate(ofQueue, 'UpdateQueueRateLimit');
  if (ofKeys?.rateLimit !== undefined && isWorkflow)
    throw invalidArgument('Setting fairness key rate limit on workflow task queues is not allowed.');
  checkRate(ofKeys, 'UpdateFairnessKeyRateLimitDefault');
}

function checkRate(update: RateLimitUpdate, field: string): void {
  const problem = update?.rateLimit && bounds['RateLimit.requests_per_second'].problem(update.rateLimit.requestsPerSecond);
  if (problem !== undefined) throw invalidArgument(`RequestsPerSecond for ${field} rate limit ${problem}`);
  if (update !== undefined) checkText(`${field}.Reason`, update.reason, REASON_BYTES_MAX);
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
export function encodedConfig({ queueRate, keyRate, weights }: TaskQueueConfig): Uint8Array {
  return encodeConfig({
    queueRateLimit: queueRate && shownRate(queueRate),
    fairnessKeysRateLimitDefault: keyRate && shownRate(keyRate),
    fairnessWeightOverrides: weights.map(({ key, weight }) => ({ key, value: weight })),
  });
}

function shownRate({ perSecond, reason, identity, timeMs }: ConfiguredRate): RateConfig {
  return {
    rateLimit: perSecond === undefined ? undefined : { requestsPerSecond: perSecond },
    metadata: { reason, updateIdentity: identity, updateTimeMs: timeMs },
  };
}
