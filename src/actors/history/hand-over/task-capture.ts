/**
 * How a shard's tasks that fail for good leave it: the parts, put together for one memory.
 *
 *     TransferQueue, OwnCommands ─▶ FailedTasks ─ handOverTask ─▶ HistoryCore ─ committed ─▶ TaskHandOver, one for each category
 *                                        └─ subjectOf ◀── TaskLetters ── letterOf ──────────────────┴─▶ the queue's owner
 */
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';
import type { CaptureSettings } from '../../../deadletters/capture-settings.ts';
import type { OwnHistoryCommand } from '../../../history/commands.ts';
import { lineOf } from '../../../history/hand-over/hand-over-lines.ts';
import { taskCategories, type TaskCategory } from '../../../history/hand-over/task-types.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';
import type { AskFailure } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';
import type { Tenure } from '../../partition/tenure.ts';
import type { Clock } from '../../ports.ts';
import { type CaptureSettingsOf, FailedTasks, type FaultOf } from './failed-tasks.ts';
import { TaskHandOver } from './hand-over.ts';
import { HandOverReports } from './hand-over-reports.ts';
import { type EncodeTask, TaskLetters } from './task-letters.ts';

/** Of a process. */
export type TaskCapture = {
  /** What the cluster's journal says now; undefined: there is no such queue yet. */
  readonly queueNumberOf: (category: TaskCategory) => number | undefined;
  /** The source of such letters, and their target. */
  readonly clusterName: () => string;
  readonly settingsOf: CaptureSettingsOf;
  readonly encodeTask: EncodeTask;
  /** As letters name who runs tasks, and as tools for Kafka do. */
  readonly node: string;
  readonly build: string;
  readonly group: string;
  readonly metrics?: Metrics;
  readonly faultOf?: FaultOf;
};

export type TaskCaptureOptions = {
  readonly capture?: TaskCapture;
  readonly shard: number;
  readonly topic: string;
  readonly core: HistoryCore;
  readonly offsetOf: (runId: string, eventId: number) => number | undefined;
  readonly registry: { readonly view: Pick<ClusterSnapshot, 'namespaceById' | 'registeredNameOf'> };
  readonly router: Pick<Asker, 'askDeadLetters'>;
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  /** A command of the shard's own. */
  readonly submit: (command: OwnHistoryCommand) => AskFailure | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
};

export type CapturedTasks = { readonly failed: FailedTasks; readonly handOvers: readonly TaskHandOver[] };

const ANSWER_TIMEOUT_MS = 10_000;

/** Where there are no dead letters. */
const neverLetters: CaptureSettings = {
  enabled: false,
  internalErrorsArePermanent: false,
  errorPattern: undefined,
  failuresMax: Infinity,
  transferFailuresMax: undefined,
  timerFailuresMax: undefined,
  replicationFailuresMax: Infinity,
};
const withoutLetters: TaskCapture = {
  queueNumberOf: () => undefined,
  clusterName: () => '',
  settingsOf: () => neverLetters,
  encodeTask: () => ({ valueType: '', value: new Uint8Array() }),
  node: '',
  build: '',
  group: '',
};

export function capturedTasks(options: TaskCaptureOptions): CapturedTasks {
  const { capture = withoutLetters, clock, submit, core, registry, router, logger, tenure } = options;
  const nowMs = (): number => clock.wallMs();
  const letters = new TaskLetters({ ...options, ...capture, nowMs });
  const failed = new FailedTasks({
    ...capture,
    shard: options.shard,
    subjectOf: (task) => letters.subjectOf(task),
    isLetter: (taskId) => core.isLetter(taskId),
    submit: (command) => void submit(command),
    nowMs,
  });
  const reports = new HandOverReports({ cluster: capture.clusterName, registry, logger, metrics: capture.metrics });
  const handOverOf = (category: TaskCategory): TaskHandOver =>
    new TaskHandOver({
      shard: options.shard,
      category,
      line: () => lineOf(core.handOvers, category),
      letterOf: (task) => letters.letterOf(task),
      ask: (command, answer) => {
        const queue = capture.queueNumberOf(category);
        // It is asked again after a pause, as one that is away.
        if (queue === undefined) answer({ kind: 'unavailable', message: `there is no queue of dead letters for ${category} tasks yet` });
        else router.askDeadLetters(queue, command, clock.monoMs() + ANSWER_TIMEOUT_MS, answer);
      },
      submit,
      tenure,
      reports,
      monoMs: () => clock.monoMs(),
      logger,
    });
  return { failed, handOvers: options.capture === undefined ? [] : taskCategories.map(handOverOf) };
}
