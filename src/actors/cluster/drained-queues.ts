/**
 * Empties the task queues of a namespace whose workflows are gone: somebody polls, history knows none of its tasks any more, and matching drops each that is refused.
 */
import type { QueueWithTasks, TaskQueuePartition } from '../../matching/task-queue.ts';
import type { Asker } from '../asks/router.ts';
import type { Clock } from '../ports.ts';
import { someAtATime } from '../asks/some-at-a-time.ts';

/** One that hosts partitions of task queues. */
export type TaskHost = {
  /** From 0. */
  readonly partition: number;
  /** Those of the wanted namespaces that have stored tasks. undefined: it is not served now. */
  readonly queuesOf: (isWanted: (namespaceId: string) => boolean) => readonly QueueWithTasks[] | undefined;
};

export type DrainOptions = {
  readonly asker: Pick<Asker, 'askMatching'>;
  readonly clock: Pick<Clock, 'monoMs' | 'wallMs'>;
  /** Which partition hosts that one of a task queue. */
  readonly hostOf: (queue: TaskQueuePartition) => number;
  /** A new UUID. */
  readonly newId: () => string;
  readonly isOver: () => boolean;
};

/** What is refused is journaled a moment later. */
const POLL_MS = 1_000;
const ANSWER_TIMEOUT_MS = 30_000;
const QUEUES_AT_A_TIME = 16;
const POLLED_PER_SECOND_MAX = 100_000;
/** Polls with which nothing has become less. */
const VAIN_POLLS_MAX = 5;

/** All of a namespace. False: tasks are left, or a host that is not served may have some. */
export async function drainQueues(namespaceId: string, hosts: readonly TaskHost[], options: DrainOptions): Promise<boolean> {
  const queues: { readonly host: TaskHost; readonly queue: TaskQueuePartition }[] = [];
  for (const host of hosts) {
    const stored = host.queuesOf((id) => id === namespaceId);
    if (stored === undefined) return false;
    for (const { queue } of stored) queues.push({ host, queue });
  }
  let isDone = true;
  await someAtATime(queues, QUEUES_AT_A_TIME, async ({ host, queue }) => {
    const isDrained = await drainQueue(host, queue, options);
    // Perhaps somebody has said that no task leaves it; the next try finds out.
    if (!isDrained && queue.taskType === 'activity' && !options.isOver()) await forgetRate(queue, options);
    isDone = isDrained && isDone;
  });
  return isDone;
}

/**
 * What is configured for its queues goes, on each host, and what was drained is committed there: whoever takes a host over finds none of it. Answers
 * what is in the way; undefined: nothing.
 */
export async function forgetNamespace(
  namespaceId: string,
  hosts: readonly TaskHost[],
  { asker, clock }: Pick<DrainOptions, 'asker' | 'clock'>,
  answerMsMax = ANSWER_TIMEOUT_MS,
): Promise<string | undefined> {
  const forget = ({ partition }: TaskHost): Promise<string | undefined> =>
    new Promise((resolve) => {
      asker.askMatching(partition, { kind: 'forgetNamespace', namespaceId }, clock.monoMs() + answerMsMax, (answer) =>
        resolve(answer.kind === 'done' ? undefined : answer.kind === 'rejected' ? answer.rejection.message : answer.message),
      );
    });
  return (await Promise.all(hosts.map(forget))).find((problem) => problem !== undefined);
}

/** False: tasks are left. */
async function drainQueue(host: TaskHost, queue: TaskQueuePartition, options: DrainOptions): Promise<boolean> {
  let stored = storedIn(host, queue);
  for (let vain = 0; stored !== undefined && stored > 0 && vain < VAIN_POLLS_MAX && !options.isOver();) {
    // A task that is given out has a workflow.
    if (!(await polledInVain(host, queue, options))) return false;
    const now = storedIn(host, queue);
    if (now === undefined) return false;
    vain = now < stored ? 0 : vain + 1;
    stored = now;
  }
  return stored === 0;
}

function storedIn({ queuesOf }: TaskHost, { namespaceId, name, taskType, partition, kind }: TaskQueuePartition): number | undefined {
  const same = (of: TaskQueuePartition): boolean =>
    of.name === name && of.taskType === taskType && of.partition === partition && of.kind === kind;
  const queues = queuesOf((id) => id === namespaceId);
  return queues && (queues.find(({ queue }) => same(queue))?.stored ?? 0);
}

function polledInVain({ partition }: TaskHost, queue: TaskQueuePartition, { asker, clock, newId }: DrainOptions): Promise<boolean> {
  const poll = {
    queue,
    pollRequestId: newId(),
    identity: 'perdure-namespace-purge',
    deadlineMs: clock.wallMs() + POLL_MS,
    workerInstanceKey: '',
    // A worker may have said that none leaves it.
    maxTasksPerSecond: queue.taskType === 'activity' ? POLLED_PER_SECOND_MAX : undefined,
    workerVersion: undefined,
    forwardedFrom: undefined,
  };
  const kind = queue.taskType === 'workflow' ? 'pollWorkflowTask' : 'pollActivityTask';
  return new Promise((resolve) => {
    asker.askMatching(partition, { kind, ...poll }, clock.monoMs() + ANSWER_TIMEOUT_MS, (answer) => resolve(answer.kind !== 'task'));
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
    asker.askMatching(hostOf(queue), command, clock.monoMs() + ANSWER_TIMEOUT_MS, () => resolve());
  });
}
