/** All commands of a matching host, a row each. A new one is a type (matching-commands.ts) and a row; less does not compile. */
import { assert } from '../kernel/assert.ts';
import type { ReplyTo } from '../kernel/handled.ts';
import type { TaskQueuePartition } from '../kernel/task-queue.ts';
import type { BacklogWire } from './checkpoint/backlog-wire.ts';
import { isUnread, readRow } from './checkpoint/read-rows.ts';
import type { ColdCount, Windows } from './windows.ts';
import type { Configs } from './configs.ts';
import type { Forwarding } from './forwarding.ts';
import type { HostParts } from './loaded-queue.ts';
import type { AddTask, MatchingCommand, MatchingRequest, PollTask } from './matching-commands.ts';
import { done, type MatchingReply, stickyUnavailable } from './matching-replies.ts';
import type { Offers } from './offers.ts';
import type { Polls } from './polls.ts';
import type { Queries } from './queries.ts';
import { type QueueTable, storedQueue, storedQueues } from './queue-table.ts';
import { tasksLeft, tooManyQueues } from './rejections.ts';
import type { StartAnswers } from './start-answers.ts';
import type { Starts } from './starts.ts';

/** The host whose lives commands are about. */
export type Host<T> = HostParts<T> & {
  /** undefined: there is no database. */
  readonly wire: BacklogWire | undefined;
  readonly windows: Windows<T>;
  readonly forwarding: Forwarding<T>;
  readonly starts: Starts<T>;
  readonly offers: Offers<T>;
  readonly queries: Queries<T>;
  readonly polls: Polls<T>;
  readonly startAnswers: StartAnswers<T>;
  readonly queues: QueueTable<T>;
  readonly coldCount: ColdCount<T>;
  readonly configs: Configs<T>;
};

type CommandKind = MatchingCommand<unknown>['kind'];
type CommandOf<Kind extends CommandKind, T> = Extract<MatchingCommand<T>, { readonly kind: Kind }>;
type Of<Kind extends CommandKind> = CommandOf<Kind, unknown>;

type CommandRow<Kind extends CommandKind> = {
  /** The namespace whose share of what waits the command takes; '' = the host's own. Cheap. */
  readonly namespaceOf: (command: Of<Kind>) => string;
  /** What the command takes in memory while it waits, beyond its ids: only queries, their answers and rows that were read can be large. Cheap. */
  readonly bytes: (command: Of<Kind>) => number;
  /** Refused last when memory is short. */
  readonly finishesWork: boolean;
  /** Which replies its asker may get besides MatchingRejected. None: nobody asks, the shell commands it. */
  readonly replies: readonly MatchingReply<unknown>['kind'][];
  readonly decide: <T>(host: Host<T>, command: CommandOf<Kind, T>, askId: number) => void;
};

const little = (): number => 0;
const common = { bytes: little, finishesWork: false };
const ofQueue = { ...common, namespaceOf: ({ queue }: { readonly queue: TaskQueuePartition }) => queue.namespaceId };
/** What the shell commands. */
const own = { ...common, namespaceOf: () => '', replies: [] };
const ownOfQueue = { ...ofQueue, replies: [] };

const overheadBytes = 1024;
const rowBytes = 512;

/** What others may ask of a host, with the replies that each may get. */
export const matchingRequests = {
  pollWorkflowTask: { ...ofQueue, replies: ['emptyPoll', 'task', 'queryTask'], decide: poll },
  pollActivityTask: { ...ofQueue, replies: ['emptyPoll', 'task'], decide: poll },
  addWorkflowTask: { ...ofQueue, replies: ['done', 'stored', 'stickyUnavailable', 'noMatch'], decide: add },
  addActivityTask: { ...ofQueue, replies: ['done', 'stored', 'noMatch'], decide: add },
  dispatchQuery: { ...ofQueue, bytes: ({ query }) => query.length, replies: ['queryAnswer', 'stickyUnavailable'], decide: dispatchQuery },
  answerQuery: {
    ...ofQueue,
    bytes: ({ result: { answer, errorMessage, failure } }) => (answer?.length ?? 0) + errorMessage.length + (failure?.length ?? 0),
    finishesWork: true,
    replies: ['done'],
    decide: ({ queries }, command, askId) => queries.answer(command, askId),
  },
  describeTaskQueue: { ...ofQueue, replies: ['taskQueueDescription'], decide: describe },
  updateTaskQueueConfig: { ...ofQueue, replies: ['taskQueueConfigured'], decide: reconfigure },
  configurePartition: { ...ofQueue, replies: ['done'], decide: reconfigure },
  forgetNamespace: { ...common, namespaceOf: ({ namespaceId }) => namespaceId, replies: ['done'], decide: forgetNamespace },
  listStoredQueues: { ...common, namespaceOf: ({ namespaceId }) => namespaceId, replies: ['storedQueues'], decide: listStoredQueues },
  shutdownWorker: { ...ofQueue, finishesWork: true, replies: ['done'], decide: shutdownWorker },

  taskStartAnswered: { ...own, decide: ({ startAnswers }, command) => startAnswers.settle(command) },
  forwardedPollAnswered: { ...own, decide: ({ polls }, command) => polls.parentAnswered(command) },
  forwardedTaskAnswered: { ...own, decide: ({ offers }, command) => offers.parentAnswered(command) },
  storedTasksLoaded: { ...ownOfQueue, bytes: ({ rows = [] }) => rows.length * rowBytes, decide: storedTasksLoaded },
  storedTasksCounted: { ...ownOfQueue, decide: ({ coldCount, queues }, command) => coldCount.counted(command, queues.find(command.queue)) },
  tick: { ...own, decide: tick },
  flushRemovals: { ...own, decide: ({ removals, decision }) => removals.hasten(decision.nowMs) },
  endPolls: { ...own, decide: ({ polls, queues }) => polls.endAll(queues.values()) },
  activate: { ...own, decide: activate },
} satisfies { readonly [Kind in CommandKind]: CommandRow<Kind> };

export type MatchingReplyTo<T> = ReplyTo<typeof matchingRequests, MatchingRequest['kind'], MatchingReply<T>>;

const rows: { readonly [Kind in CommandKind]: CommandRow<Kind> } = matchingRequests;

/** A command and its own kind belong to one row: TypeScript does not follow that through a union, and takes the row for one of all kinds. */
function rowOf<Kind extends CommandKind>(kind: Kind): CommandRow<Kind> {
  return rows[kind];
}

export function decide<T>(host: Host<T>, command: MatchingCommand<T>, askId: number): void {
  rowOf(command.kind).decide(host, command, askId);
}

/** What the queue of a host wants to know of a command that waits. */
export const commandScale = {
  bytesOf: (command: MatchingCommand<unknown>): number => overheadBytes + rowOf(command.kind).bytes(command),
  namespaceOf: (command: MatchingCommand<unknown>): string => rowOf(command.kind).namespaceOf(command),
  finishesWork: ({ kind }: MatchingCommand<unknown>): boolean => rowOf(kind).finishesWork,
};

function poll<T>({ queues, polls, decision, limits }: Host<T>, command: PollTask, askId: number): void {
  const queue = queues.load(command.queue);
  if (queue === undefined) decision.reply(askId, tooManyQueues(limits));
  else polls.open(queue, command, askId);
}

function add<T>({ queues, offers, decision, limits }: Host<T>, command: AddTask, askId: number): void {
  if (command.queue.kind === 'sticky' && !queues.isPolled(command.queue)) return decision.reply(askId, stickyUnavailable);
  const queue = queues.load(command.queue);
  if (queue === undefined) decision.reply(askId, tooManyQueues(limits));
  else offers.add(queue, command, askId);
}

function dispatchQuery<T>({ queues, queries, polls, decision }: Host<T>, command: Of<'dispatchQuery'>, askId: number): void {
  if (command.queue.kind === 'sticky' && !queues.isPolled(command.queue)) return decision.reply(askId, stickyUnavailable);
  const query = queries.open(queues.find(command.queue), command, askId);
  const waiting = query?.queue.waitingPolls.shift();
  if (query !== undefined && waiting !== undefined) polls.answer(waiting, queries.give(query));
}

function describe<T>({ queues, decision }: Host<T>, command: Of<'describeTaskQueue'>, askId: number): void {
  decision.barrier = true;
  decision.reply(askId, queues.describe(command.queue));
}

function reconfigure<T>(host: Host<T>, command: Of<'updateTaskQueueConfig' | 'configurePartition'>, askId: number): void {
  const { queues, configs, polls } = host;
  const isNews = command.kind === 'configurePartition' ? configs.hear(command, askId) : configs.update(command, askId);
  const queue = isNews ? queues.find(command.queue) : undefined;
  if (queue !== undefined && configs.apply(queue)) polls.rateChanged(queue);
}

/** Offers and reads of its tasks may be under way: whoever removes it polls them away first. */
function forgetNamespace<T>(host: Host<T>, { namespaceId }: Of<'forgetNamespace'>, askId: number): void {
  const { backlog, removals, configs, decision, limits } = host;
  const left = storedQueues(backlog, namespaceId).reduce((sum, { stored }) => sum + stored, 0);
  if (left > 0) return decision.reply(askId, tasksLeft(left));
  const unread = backlog.unreadOf(namespaceId);
  for (const id of unread.slice(0, limits.removalsPerRecordMax)) removals.add(id, decision.nowMs);
  removals.hasten(decision.nowMs);
  if (unread.length > limits.removalsPerRecordMax) decision.reply(askId, tasksLeft(unread.length - limits.removalsPerRecordMax));
  else configs.forget(namespaceId, askId);
}

function listStoredQueues<T>({ backlog, decision }: Host<T>, { namespaceId, only }: Of<'listStoredQueues'>, askId: number): void {
  decision.barrier = true;
  const queues = only === undefined ? storedQueues(backlog, namespaceId) : storedQueue(backlog, only);
  decision.reply(askId, { kind: 'storedQueues', queues });
}

function shutdownWorker<T>(host: Host<T>, { queue: partition, workerInstanceKey }: Of<'shutdownWorker'>, askId: number): void {
  const { queues, polls, offers, queries, decision } = host;
  const queue = queues.find(partition);
  if (workerInstanceKey !== '') polls.endOfWorker(partition, queue, workerInstanceKey);
  if (queue?.sticky === true) {
    queue.shutDown = true;
    queue.shutDownBy = workerInstanceKey;
    offers.sendStickyAway(queue);
    queries.sendAway(queue);
  }
  decision.reply(askId, done);
}

function storedTasksLoaded<T>(host: Host<T>, { queue: partition, key, rows: found }: Of<'storedTasksLoaded'>): void {
  const { queues, windows, coldCount, offers, forwarding, decision, wire } = host;
  const queue = queues.find(partition);
  if (found === undefined) {
    if (queue !== undefined) windows.notLoaded(queue, key);
    return coldCount.goOn();
  }
  if (queue === undefined) return;
  assert(wire !== undefined, 'a core without a database has no rows');
  const read = found.map((row) => readRow({ ...row, queue: key }, wire));
  const unread = read.filter(isUnread);
  if (unread.length > 0) decision.act({ kind: 'tasksUnread', unread });
  windows.loaded(queue, key, read);
  coldCount.goOn();
  offers.startWaiting(queue);
  forwarding.offerBacklog(queue);
}

function tick<T>({ windows, coldCount, queues }: Host<T>): void {
  windows.shedMore();
  coldCount.goOn();
  queues.loadMore();
}

function activate<T>({ coldCount, configs, queues }: Host<T>): void {
  coldCount.goOn();
  configs.tellAll();
  queues.loadStored();
}
