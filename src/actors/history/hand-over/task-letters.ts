/**
 * A task that has failed for good as a letter: what it is about is noted when it fails (`subjectOf`), and the letter is made of that, of the
 * failure and of the task itself (`letterOf`), so that it is the same whoever makes it.
 */
import type { Letter } from '../../../deadletters/letter.ts';
import type { TaskSubject } from '../../../history/hand-over/hand-over-commands.ts';
import type { HandedOverTask } from '../../../history/hand-over/hand-over-lines.ts';
import { taskTypeOf } from '../../../history/hand-over/task-types.ts';
import type { AboutRun, HistoryCore } from '../../../history/history-core.ts';
import { isTimer, type PendingTask, type Task } from '../../../history/tasks.ts';
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';

/** The bytes of a letter's value, and what message they are (src/topics/codec/task-info-codec.ts). */
export type EncodeTask = (task: PendingTask) => { readonly valueType: string; readonly value: Uint8Array };

export type TaskLettersOptions = {
  readonly shard: number;
  /** The journal of the shards. */
  readonly topic: string;
  /** Whoever works on it, as tools for Kafka call such: `perdure-history`. */
  readonly group: string;
  readonly core: Pick<HistoryCore, 'aboutRun' | 'transferTask'>;
  readonly offsetOf: (runId: string, eventId: number) => number | undefined;
  readonly registry: { readonly view: Pick<ClusterSnapshot, 'registeredNameOf'> };
  readonly encodeTask: EncodeTask;
  readonly nowMs: () => number;
};

type Target = { readonly namespaceId: string; readonly namespace: string };

export class TaskLetters {
  readonly #options: TaskLettersOptions;

  constructor(options: TaskLettersOptions) {
    this.#options = options;
  }

  subjectOf(task: Task): TaskSubject {
    const { core, offsetOf } = this.#options;
    const { namespaceId, runId } = task.key;
    const pending = isTimer(task) ? undefined : core.transferTask(task.taskId);
    const sender = pending !== undefined && 'sender' in pending ? pending.sender : undefined;
    const run = core.aboutRun(runId) ?? (sender === undefined ? undefined : { namespace: sender.namespace, ...sender.start });
    const target = this.#targetOf(task, run);
    const isElsewhere = target !== undefined && target.namespaceId !== namespaceId;
    const eventId = bringingEventOf(task);
    return {
      namespace: run?.namespace ?? this.#nameOf(namespaceId),
      targetNamespaceId: isElsewhere ? target.namespaceId : '',
      targetNamespace: isElsewhere ? target.namespace : '',
      workflowType: run?.workflowType ?? '',
      originOffset: eventId === undefined ? undefined : offsetOf(runId, eventId),
    };
  }

  letterOf({ sequence, task, failure, subject }: HandedOverTask): Letter {
    const { shard, topic, group, encodeTask, nowMs } = this.#options;
    const { originOffset, ...about } = subject;
    return {
      handOver: { shard, sequence },
      task: {
        taskId: task.taskId,
        taskType: taskTypeOf(task),
        taskVersion: isTimer(task) ? undefined : task.version,
        fireTimeMs: isTimer(task) ? task.fireTimeMs : undefined,
        createdTimeMs: undefined,
        shardId: shard,
        sourceShardId: undefined,
        ...task.key,
        ...about,
        eventId: eventOf(task),
        nextEventId: undefined,
        ...encodeTask(task),
      },
      failure,
      origin: originOffset === undefined ? undefined : { topic, partition: shard - 1, offset: originOffset, group },
      traceparent: '',
      deadLetterTimeMs: nowMs(),
      generation: 0,
      state: 'open',
      history: [],
      jobId: '',
    };
  }

  #targetOf(task: Task, run: Pick<AboutRun, 'parent'> | undefined): Target | undefined {
    if (task.kind === 'notifyParent') return run?.parent;
    const key = 'target' in task ? task.target : 'child' in task ? task.child : undefined;
    return key === undefined ? undefined : { namespaceId: key.namespaceId, namespace: this.#nameOf(key.namespaceId) };
  }

  /** As it was registered: by that name a namespace is found again that is deleted now. */
  #nameOf(namespaceId: string): string {
    return this.#options.registry.view.registeredNameOf(namespaceId) ?? '';
  }
}

/** What the task is about. */
function eventOf(task: Task): number | undefined {
  if ('scheduledEventId' in task) return task.scheduledEventId;
  if ('initiatedEventId' in task) return task.initiatedEventId;
  return task.kind === 'userTimer' ? task.startedEventId : undefined;
}

/** The event in whose record the task stands; other tasks come with what happens later. */
function bringingEventOf(task: Task): number | undefined {
  switch (task.kind) {
    case 'startChild':
    case 'signalExternal':
    case 'cancelExternal':
      return task.initiatedEventId;
    case 'userTimer':
      return task.startedEventId;
    default:
      return undefined;
  }
}
