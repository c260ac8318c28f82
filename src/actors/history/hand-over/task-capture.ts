/**
 * How a shard's tasks that fail for good leave it: the parts, put together for one memory.
 *
 *     TransferQueue, OwnCommands ─▶ FailedTasks ─ handOverTask ─▶ HistoryCore ─ committed ─▶ TaskHandOver, one for each category
 *                                        └─ subjectOf ◀── TaskLetters ── letterOf ──────────────────┴─▶ the queue's owner
 */
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';
import type { OwnHistoryCommand } from '../../../history/commands/history-commands.ts';
import { lineOf, type HandedOverTask } from '../../../history/run/hand-over-lines.ts';
import { taskCategories, taskTypeOf, type TaskCategory } from '../../../history/run/task-types.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';
import { ownWork, type AskFailure } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import type { ClockAndLogger } from '../../../ports/machine.ts';
import { FailedTasks, type CaptureSettingsOf, type FaultOf } from './failed-tasks.ts';
import { HandOverReports, TaskHandOver } from './hand-over.ts';
import type { Letter } from '../../../deadletters/letter.ts';
import type { TaskSubject } from '../../../history/commands/hand-over-commands.ts';
import { isTimer, type PendingTask, type Sender, type Task } from '../../../history/run/tasks.ts';

export type TaskCapture = {
  /** What the cluster's journal says now; undefined: there is no such queue yet. */
  readonly queueNumberOf: (category: TaskCategory) => number | undefined;
  readonly clusterName: () => string;
  readonly settingsOf: CaptureSettingsOf;
  readonly encodeTask: EncodeTask;
  /** How letters, and Kafka tools, name what runs tasks. */
  readonly node: string;
  readonly build: string;
  readonly group: string;
  readonly metrics?: Metrics;
  readonly faultOf?: FaultOf;
};

export type TaskCaptureOptions = ClockAndLogger & {
  readonly capture: TaskCapture;
  readonly shard: number;
  readonly topic: string;
  readonly core: HistoryCore;
  readonly offsetOf: (runId: string, eventId: number) => number | undefined;
  readonly registry: { readonly view: Pick<ClusterSnapshot, 'namespaceById' | 'registeredNameOf'> };
  readonly router: Pick<Asker, 'askDeadLetters'>;
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly submit: (command: OwnHistoryCommand) => AskFailure | undefined;
};

const ANSWER_TIMEOUT_MS = 10_000;

export function capturedTasks(options: TaskCaptureOptions) {
  const { capture, clock, submit, core, registry, router, logger, tenure } = options;
  const nowMs = (): number => clock.wallMs();
  const letters = new TaskLetters({ ...options, ...capture, nowMs });
  const failed = new FailedTasks({
    ...capture,
    shard: options.shard,
    subjectOf: (task) => letters.subjectOf(task),
    isLetter: (taskId) => core.shard.letterMarks?.pendingOf(taskId) !== undefined,
    submit: (command) => void submit(command),
    nowMs,
  });
  const reports = new HandOverReports({ cluster: capture.clusterName, registry, logger, metrics: capture.metrics });
  const handOverOf = (category: TaskCategory): TaskHandOver =>
    new TaskHandOver({
      shard: options.shard,
      category,
      line: () => lineOf(core.shard.handOvers, category),
      letterOf: (task) => letters.letterOf(task),
      ask: (command, answer) => {
        const queue = capture.queueNumberOf(category);
        // It is asked again after a pause, as one that is away.
        if (queue === undefined) answer({ kind: 'unavailable', message: `there is no dead letter queue for ${category} tasks yet` });
        else router.askDeadLetters(queue, command, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), answer);
      },
      submit,
      tenure,
      reports,
      monoMs: () => clock.monoMs(),
      logger,
    });
  return { failed, handOvers: taskCategories.map(handOverOf) };
}

/** A task as a letter: `subjectOf` is noted when it fails, so that `letterOf` makes the same letter whoever makes it. */

/** The bytes of a letter's value, and what message they are (src/codec/task-info-codec.ts). */
type EncodeTask = (task: PendingTask) => { readonly valueType: string; readonly value: Uint8Array };

type TaskLettersOptions = Pick<TaskCaptureOptions, 'shard' | 'topic' | 'core' | 'offsetOf' | 'registry'> &
  Pick<TaskCapture, 'group' | 'encodeTask'> & { readonly nowMs: () => number };

type Target = { readonly namespaceId: string; readonly namespace: string };

/** Of a letter that nobody has looked at yet. */
const untouched = { traceparent: '', generation: 0, state: 'open', history: [], jobId: '' } as const;

class TaskLetters {
  readonly #options: TaskLettersOptions;

  constructor(options: TaskLettersOptions) {
    this.#options = options;
  }

  subjectOf(task: Task): TaskSubject {
    const { core, offsetOf } = this.#options;
    const { namespaceId, runId } = task.key;
    const pending = isTimer(task) ? undefined : core.shard.transfers.get(task.taskId);
    const sender = pending !== undefined && 'sender' in pending ? pending.sender : undefined;
    const run = core.shard.runs.get(runId) ?? sender;
    const target = this.#targetOf(task, run);
    const isElsewhere = target !== undefined && target.namespaceId !== namespaceId;
    const eventId = bringingEventOf(task);
    return {
      namespace: run?.namespace ?? this.#nameOf(namespaceId),
      targetNamespaceId: isElsewhere ? target.namespaceId : '',
      targetNamespace: isElsewhere ? target.namespace : '',
      workflowType: run?.start.workflowType ?? '',
      originOffset: eventId === undefined ? undefined : offsetOf(runId, eventId),
    };
  }

  letterOf({ sequence, task, failure, subject }: HandedOverTask): Letter {
    const { shard, topic, group, encodeTask, nowMs } = this.#options;
    const { originOffset, ...about } = subject;
    return {
      handOver: { shard, sequence, clusterId: '' },
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
      deadLetterTimeMs: nowMs(),
      ...untouched,
    };
  }

  #targetOf(task: Task, run: Pick<Sender, 'start'> | undefined): Target | undefined {
    if (task.kind === 'notifyParent') return run?.start.parent;
    const key = 'target' in task ? task.target : 'child' in task ? task.child : undefined;
    return key === undefined ? undefined : { namespaceId: key.namespaceId, namespace: this.#nameOf(key.namespaceId) };
  }

  /** The name under which the namespace was registered, by which a deleted namespace is found again. */
  #nameOf(namespaceId: string): string {
    return this.#options.registry.view.registeredNameOf(namespaceId) ?? '';
  }
}

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
