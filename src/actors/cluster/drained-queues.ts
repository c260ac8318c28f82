/** Empties the task queues of a namespace without workflows: somebody polls, history knows none of the tasks, and matching drops them. */
import { ownWork, refusalMessage } from '../asks/asks.ts';
import { taskTypes, type QueueWithTasks, type TaskQueuePartition } from '../../kernel/task-queue.ts';
import type { Asker } from '../asks/router.ts';
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
  const { asker, clock } = options;
  const forget = (host: number): Promise<string | undefined> =>
    new Promise((resolve) => {
      asker.askMatching(host, { kind: 'forgetNamespace', namespaceId }, ownWork(clock.monoMs() + answerMsMax), (answer) =>
        resolve(answer.kind === 'done' ? undefined : refusalMessage(answer)),
      );
    });
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
function storedQueues(
  host: number,
  namespaceId: string,
  { asker, clock }: Pick<DrainOptions, 'asker' | 'clock'>,
  only?: TaskQueuePartition,
): Promise<readonly QueueWithTasks[] | undefined> {
  return new Promise((resolve) => {
    asker.askMatching(host, { kind: 'listStoredQueues', namespaceId, only }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), (answer) =>
      resolve(answer.kind === 'storedQueues' ? answer.queues : undefined),
    );
  });
}

function hostsOf({ matchingPartitions }: Pick<DrainOptions, 'matchingPartitions'>): readonly number[] {
  return Array.from({ length: matchingPartitions }, (_, partition) => partition);
}

function polledInVain(queue: TaskQueuePartition, { asker, clock, newId, hostOf }: DrainOptions): Promise<boolean> {
  const poll = {
    queue,
    pollRequestId: newId(),
    identity: 'perdure-namespace-purge',
    deadlineMs: clock.wallMs() + POLL_MS,
    workerInstanceKey: '',
    // A worker may have said that none leaves it.
    maxTasksPerSecond: taskTypes[queue.taskType].hasRate ? POLLED_PER_SECOND_MAX : undefined,
    workerVersion: undefined,
    forwardedFrom: undefined,
  };
  const kind = taskTypes[queue.taskType].poll;
  return new Promise((resolve) => {
    asker.askMatching(hostOf(queue), { kind, ...poll }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), (answer) =>
      resolve(answer.kind !== 'task'),
    );
  });
}

/** What its root tells all partitions of the queue. */
function forgetRate(of: TaskQueuePartition, { asker, clock, hostOf }: DrainOptions): Promise<void> {
  const queue = { ...of, partition: 0 };
  const command = {
    kind: 'updateTaskQueueConfig',
    queue,
    identity: 'perdure-namespace-purge',
    queueRate: { perSecond: undefined, reason: '' },
    keyRate: { perSecond: undefined, reason: '' },
    setWeights: [],
    unsetWeights: [],
  } as const;
  return new Promise((resolve) => {
    asker.askMatching(hostOf(queue), command, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), () => resolve());
  });
}
