/** Empties the task queues of a namespace without workflows: somebody polls, history knows none of the tasks, and matching drops them. */
import { ownWork, refusalMessage } from '../asks/asks.ts';
import { taskTypes, type QueueWithTasks, type TaskQueuePartition } from '../../kernel/task-queue.ts';
import type { Asker, MatchingAnswer } from '../asks/router.ts';
import type { MatchingRequest } from '../../matching/matching-commands.ts';
import type { Clock } from '../../ports/machine.ts';
import { someAtATime } from '../asks/some-at-a-time.ts';

export type DrainOptions = {
  /** Of the matching topic, from 0: each hosts partitions of task queues. */
  readonly matchingPartitions: number;
  readonly asker: Pick<Asker, 'askMatching'>;
  readonly clock: Pick<Clock, 'monoMs' | 'wallMs'>;
  readonly hostOf: (queue: TaskQueuePartition) => number;
  readonly newId: () => string;
  readonly isOver: () => boolean;
};

const IDENTITY = 'perdure-namespace-purge';
const POLL_MS = 1_000;
const ANSWER_TIMEOUT_MS = 30_000;
const QUEUES_AT_A_TIME = 16;
const POLLED_PER_SECOND_MAX = 100_000;
/** So many polls may show no fewer tasks. */
const VAIN_POLLS_MAX = 5;

/** All of a namespace. False: tasks are left, or a host that is not served may have some. */
export async function drainQueues(namespaceId: string, options: DrainOptions): Promise<boolean> {
  const queues = await Promise.all(hostsOf(options).map((host) => storedQueues(host, namespaceId, options)));
  if (queues.includes(undefined)) return false;
  let isDone = true;
  await someAtATime(
    queues.flatMap((stored) => stored ?? []),
    QUEUES_AT_A_TIME,
    async ({ queue, stored }) => {
      const isDrained = await drainQueue(queue, stored, options);
      // Perhaps somebody has said that no task leaves it; the next try finds out.
      if (!isDrained && taskTypes[queue.taskType].hasRate && !options.isOver()) await forgetRate(queue, options);
      isDone = isDrained && isDone;
    },
  );
  return isDone;
}

/** Each host forgets what is configured for its queues, and commits what was drained. Answers what is in the way; undefined: nothing. */
export async function forgetNamespace(
  namespaceId: string,
  options: Pick<DrainOptions, 'asker' | 'clock' | 'matchingPartitions'>,
  answerMsMax = ANSWER_TIMEOUT_MS,
): Promise<string | undefined> {
  const forget = async (host: number): Promise<string | undefined> => {
    const answer = await ask(host, { kind: 'forgetNamespace', namespaceId }, options, answerMsMax);
    return answer.kind === 'done' ? undefined : refusalMessage(answer);
  };
  return (await Promise.all(hostsOf(options).map(forget))).find((problem) => problem !== undefined);
}

/** False: tasks are left. */
async function drainQueue(queue: TaskQueuePartition, first: number, options: DrainOptions): Promise<boolean> {
  let stored = first;
  for (let vain = 0; stored > 0 && vain < VAIN_POLLS_MAX && !options.isOver();) {
    // A task that is given out has a workflow.
    if (!(await polledInVain(queue, options))) return false;
    const now = await storedIn(queue, options);
    if (now === undefined) return false;
    vain = now < stored ? 0 : vain + 1;
    stored = now;
  }
  return stored === 0;
}

/** undefined: its host does not answer now. */
async function storedIn(of: TaskQueuePartition, options: DrainOptions): Promise<number | undefined> {
  const queues = await storedQueues(options.hostOf(of), of.namespaceId, options, of);
  return queues && (queues[0]?.stored ?? 0);
}

/** Those of the namespace that have stored tasks, or `only` that one. undefined: their host does not answer now. */
async function storedQueues(
  host: number,
  namespaceId: string,
  options: AskOptions,
  only?: TaskQueuePartition,
): Promise<readonly QueueWithTasks[] | undefined> {
  const answer = await ask(host, { kind: 'listStoredQueues', namespaceId, only }, options);
  return answer.kind === 'storedQueues' ? answer.queues : undefined;
}

function hostsOf({ matchingPartitions }: Pick<DrainOptions, 'matchingPartitions'>): readonly number[] {
  return Array.from({ length: matchingPartitions }, (_, partition) => partition);
}

async function polledInVain(queue: TaskQueuePartition, options: DrainOptions): Promise<boolean> {
  const { poll: kind, hasRate } = taskTypes[queue.taskType];
  // A worker may have said that none leaves it.
  const maxTasksPerSecond = hasRate ? POLLED_PER_SECOND_MAX : undefined;
  const by = { pollRequestId: options.newId(), identity: IDENTITY, deadlineMs: options.clock.wallMs() + POLL_MS, workerInstanceKey: '' };
  const poll = { kind, queue, ...by, maxTasksPerSecond, workerVersion: undefined, forwardedFrom: undefined };
  return (await ask(options.hostOf(queue), poll, options)).kind !== 'task';
}

/** What its root tells all partitions of the queue. */
async function forgetRate(of: TaskQueuePartition, options: DrainOptions): Promise<void> {
  const queue = { ...of, partition: 0 };
  const none = { perSecond: undefined, reason: '' };
  const config = { identity: IDENTITY, queueRate: none, keyRate: none, setWeights: [], unsetWeights: [] };
  await ask(options.hostOf(queue), { kind: 'updateTaskQueueConfig', queue, ...config }, options);
}

type AskOptions = Pick<DrainOptions, 'asker' | 'clock'>;

function ask<Request extends MatchingRequest>(
  host: number,
  request: Request,
  { asker, clock }: AskOptions,
  answerMsMax = ANSWER_TIMEOUT_MS,
): Promise<MatchingAnswer<Request>> {
  return new Promise((resolve) => asker.askMatching(host, request, ownWork(clock.monoMs() + answerMsMax), resolve));
}
