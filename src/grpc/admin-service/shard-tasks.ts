/** Pending tasks of a shard, as operators see, remove and add them: by shard and category, which is what Temporal's tools ask by. */
import type { TaskCategory } from '../../history/run/task-types.ts';
import type { ListedTask, TaskPlace } from '../../history/commands/shard-task-commands.ts';
import { Undecodable } from '../../kernel/undecodable.ts';
import { int64, type ServiceMessages, timestamp, timestampMs } from '../../wire/services.ts';
import { whoCalls } from '../deadletter-service/letter-asks.ts';
import { categoryOfId } from '../deadletter-service/queues.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument, statusCode, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import type { AdminContext, AdminHandlers, RequestOf } from './admin-context.ts';
import { existingShard, required } from './conventions.ts';

const tasksMax = 1_000;
export const addTasksBytesMax = 4 * 1024 * 1024;

type ListRequest = RequestOf<'ListHistoryTasks'>;

export const shardTaskHandlers: AdminHandlers = {
  ListHistoryTasks: async ({ context, messages }, request, call) => {
    const { shardId, category: categoryId, batchSize, nextPageToken } = request;
    const { server, adminSettings } = context.ports;
    if (!adminSettings().listsHistoryTasks) {
      throw new StatusError(statusCode.permissionDenied, 'ListHistoryTasks is turned off by admin.enableListHistoryTasks');
    }
    existingShard(shardId, server.historyShards);
    const category = categoryOf(categoryId);
    const { from, to } = rangeOf(request.taskRange, isByTime(categoryId));
    const max = batchSize <= 0 ? tasksMax : Math.min(batchSize, tasksMax);
    const page = { shardId, category: categoryId };
    const first = nextPageToken.length === 0 ? from : placeOf(context, nextPageToken, page);
    // A shard here has no tasks of the other categories.
    if (category === undefined) return {};
    const { tasks, next } = await tasksFrom(context, call, shardId, { category, from: first, to, max });
    return {
      tasks: tasks.map((task) => taskOf(messages, task)),
      nextPageToken: next === undefined ? new Uint8Array(0) : context.tokens.shardTaskPage.sign({ ...page, ...next }),
    };
  },
  RemoveTask: async ({ context }, request, call) => {
    await removed(context, call, request);
    return {};
  },
  AddTasks: async (admin, request, call) => {
    await added(admin, call, request);
    return {};
  },
};

// ── List ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const behindAll: TaskPlace = { fireTimeMs: Number.MAX_SAFE_INTEGER, taskId: Number.MAX_SAFE_INTEGER };
const beforeAll: TaskPlace = { fireTimeMs: 0, taskId: 0 };

type Wanted = { readonly category: TaskCategory; readonly from: TaskPlace; readonly to: TaskPlace; readonly max: number };

/** A page that is empty is the last: some tools end there, whatever token comes with it. */
async function tasksFrom(context: HandlerContext, call: Call, shardId: number, wanted: Wanted) {
  let { from } = wanted;
  for (;;) {
    const found = await context.historyShard(call, shardId, { kind: 'listTasks', ...wanted, from });
    if (found.tasks.length > 0 || found.next === undefined) return found;
    from = found.next;
  }
}

function taskOf({ enums }: ServiceMessages, { key, taskId, taskType, fireTimeMs, version }: ListedTask) {
  const types: Readonly<Record<string, unknown>> = enums.v1.TaskType;
  const type = types[taskType];
  return {
    ...key,
    taskId: int64(taskId),
    taskType: typeof type === 'number' ? type : enums.v1.TaskType.TASK_TYPE_UNSPECIFIED,
    fireTime: timestamp(fireTimeMs),
    version: int64(version),
  };
}

function placeOf(context: HandlerContext, token: Uint8Array, wanted: { readonly shardId: number; readonly category: number }) {
  const { fireTimeMs, taskId, ...given } = context.tokens.shardTaskPage.read(token);
  if (given.shardId !== wanted.shardId || given.category !== wanted.category)
    throw invalidArgument('NextPageToken was given for another request.');
  return { fireTimeMs, taskId };
}

/** The category of a number; undefined: a shard here never has tasks of it. */
function categoryOf(id: number): TaskCategory | undefined {
  const isKnown = Number.isInteger(id) && id >= 1 && id <= 7;
  if (!isKnown) throw invalidArgument(`Invalid task category id: ${id}`);
  const name = categoryOfId(id);
  return name !== undefined && isOfShards(name) ? name : undefined;
}

const categoriesOfShards: { readonly [category in TaskCategory]: true } = {
  transfer: true,
  timer: true,
  visibility: true,
  archival: true,
  outbound: true,
};

function isOfShards(category: string): category is TaskCategory {
  return Object.hasOwn(categoriesOfShards, category);
}

/** Timers, archival and memory timers stand in the order of their times. */
function isByTime(categoryId: number): boolean {
  return categoryId === 2 || categoryId === 5 || categoryId === 6;
}

/** A range goes from one task to before another; a bound that is not set is none. */
function rangeOf(range: ListRequest['taskRange'], byTime: boolean): { readonly from: TaskPlace; readonly to: TaskPlace } {
  const min = range?.inclusiveMinTaskKey ?? undefined;
  const max = range?.exclusiveMaxTaskKey ?? undefined;
  const from = min === undefined ? beforeAll : keyPlace(min, byTime);
  const to = max === undefined ? behindAll : keyPlace(max, byTime);
  if (min === undefined || max === undefined) return { from, to };
  const laterMs = from.fireTimeMs - to.fireTimeMs;
  if (laterMs > 0 || (laterMs === 0 && from.taskId > to.taskId)) {
    throw invalidArgument('Invalid task range: its first task is behind its last');
  }
  return { from, to };
}

type TaskKey = NonNullable<NonNullable<ListRequest['taskRange']>['inclusiveMinTaskKey']>;

function keyPlace({ taskId, fireTime }: TaskKey, byTime: boolean): TaskPlace {
  if (taskId?.isNegative() === true) throw invalidArgument(`Invalid task id: ${taskId.toString()}`);
  return { taskId: whole(taskId?.toNumber() ?? 0), fireTimeMs: byTime ? whole(timestampMs(fireTime)) : 0 };
}

/** No task is beyond what a number holds, and all fire at whole milliseconds. */
function whole(value: number): number {
  return Math.max(0, Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER));
}

// ── Remove ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whom the letter whose task it was tells of. */
function whoRemoves(call: Call): string {
  const { actor, caller } = whoCalls(call);
  const details = [caller.peer, caller.client].filter((part) => part !== '').join(', ');
  return `${actor}${details === '' ? '' : ` (${details})`} with RemoveTask`;
}

async function removed(context: HandlerContext, call: Call, request: RequestOf<'RemoveTask'>): Promise<void> {
  const { shardId, category: categoryId, taskId: id, visibilityTime } = request;
  existingShard(shardId, context.ports.server.historyShards);
  const category = categoryOf(categoryId);
  if (id.isNegative()) throw invalidArgument(`Invalid task id: ${id.toString()}`);
  const taskId = id.toNumber();
  const unknown = notFound(`task ${id.toString()} is not found: shard ${shardId} has no such task in category ${categoryId}`);
  if (category === undefined || !Number.isSafeInteger(taskId) || taskId === Number.MAX_SAFE_INTEGER) throw unknown;
  const isTimed = isByTime(categoryId) && (visibilityTime ?? undefined) !== undefined;
  const fireTimeMs = whole(timestampMs(visibilityTime));
  const task = isByTime(categoryId) && !isTimed ? await byIdAlone() : await at(isTimed ? fireTimeMs : 0);
  if (task === undefined) throw unknown;
  await context.historyShard(call, shardId, { kind: 'removeTask', taskId, taskType: task.taskType, by: whoRemoves(call) });

  async function at(timeMs: number): Promise<ListedTask | undefined> {
    const from = { fireTimeMs: timeMs, taskId };
    const to = { fireTimeMs: timeMs, taskId: taskId + 1 };
    return (await tasksFrom(context, call, shardId, { category: category as TaskCategory, from, to, max: 1 })).tasks[0];
  }

  /** Tasks with a time stand in its order, so all of them are looked through. */
  async function byIdAlone(): Promise<ListedTask | undefined> {
    for (let from: TaskPlace | undefined = beforeAll; from !== undefined;) {
      const page = await tasksFrom(context, call, shardId, { category: category as TaskCategory, from, to: behindAll, max: tasksMax });
      const found = page.tasks.find((each) => each.taskId === taskId);
      if (found !== undefined) return found;
      from = page.next;
    }
    return undefined;
  }
}

// ── Add ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Added = ReturnType<HandlerContext['ports']['taskToAdd']>;

/** All are read before any is added; those of one run are added together. */
async function added({ context, publicMessages }: AdminContext, call: Call, { shardId, tasks }: RequestOf<'AddTasks'>): Promise<void> {
  const { ports } = context;
  existingShard(shardId, ports.server.historyShards);
  if (tasks.length === 0) throw invalidArgument('Must specify at least one task');
  if (tasks.length > tasksMax) throw invalidArgument(`${tasks.length} tasks are more than ${tasksMax}`);
  const { ENCODING_TYPE_PROTO3 } = publicMessages.enums.v1.EncodingType;
  const runs = new Map<string, { readonly key: Added['key']; readonly tasks: Uint8Array[] }>();
  for (const [index, { categoryId = 0, blob }] of tasks.entries()) {
    const category = categoryOf(categoryId ?? 0);
    if (category === undefined) throw invalidArgument(`tasks[${index}]: no shard here executes tasks of category ${categoryId}`);
    const { data, encodingType } = required(blob, `tasks[${index}].blob`);
    if (encodingType !== ENCODING_TYPE_PROTO3) throw invalidArgument(`tasks[${index}].blob.encoding_type is not PROTO3`);
    const { key, task } = decoded(context, index, category, data ?? new Uint8Array(0));
    const shard = ports.historyShardOf(key.namespaceId, key.workflowId);
    if (shard !== shardId) throw invalidArgument(`tasks[${index}]: its workflow is in shard ${shard}`);
    const run = `${key.namespaceId}/${key.runId}/${key.workflowId}`;
    const ofRun = runs.get(run);
    if (ofRun === undefined) runs.set(run, { key, tasks: [task] });
    else ofRun.tasks.push(task);
  }
  await Promise.all([...runs.values()].map((run) => context.historyShard(call, shardId, { kind: 'addTasks', ...run })));
}

function decoded({ ports }: HandlerContext, index: number, category: TaskCategory, data: Uint8Array): Added {
  try {
    return ports.taskToAdd(category, data);
  } catch (error) {
    if (error instanceof Undecodable) throw invalidArgument(`tasks[${index}]: ${error.message}`);
    throw error;
  }
}
