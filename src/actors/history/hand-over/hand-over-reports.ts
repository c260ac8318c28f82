/** What people and dashboards hear of tasks that become dead letters. */
import type { Letter } from '../../../deadletters/letter.ts';
import type { HandedOverTask } from '../../../history/hand-over/hand-over-lines.ts';
import { taskTypeOf } from '../../../history/hand-over/task-types.ts';
import type { Logger, LogFields } from '../../../observability/logger.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';
import type { ClusterSnapshot } from '../../../cluster/cluster-state.ts';

export type HandOverReportsOptions = {
  /** The source of such letters, and their target. */
  readonly cluster: () => string;
  readonly registry: { readonly view: Pick<ClusterSnapshot, 'namespaceById'> };
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
};

export class HandOverReports {
  readonly #options: HandOverReportsOptions;

  constructor(options: HandOverReportsOptions) {
    this.#options = options;
  }

  /** That is in the journal. */
  marked({ category, task, failure, subject: { namespace } }: HandedOverTask): void {
    const { logger, metrics } = this.#options;
    const taskType = taskTypeOf(task);
    metrics?.counter('task_terminal_failures', tagsOf(taskType, namespace)).add();
    const { workflowId, runId } = task.key;
    logger.warn('Marking task as terminally failed, will send to DLQ', {
      'task-category': category,
      'queue-task-type': taskType,
      'task-id': task.taskId,
      namespace,
      workflowID: workflowId,
      runID: runId,
      attempt: failure.attempts,
      cause: failure.cause,
      error: `${failure.errorType}: ${failure.errorMessage}`,
    });
  }

  /** Nobody has taken them. */
  refused(letters: readonly Letter[]): void {
    const { metrics } = this.#options;
    if (metrics === undefined) return;
    for (const { task } of letters) metrics.counter('task_dlq_failures', tagsOf(task.taskType, task.namespace)).add();
  }

  /** They have ids, and that is in the journal. */
  enqueued(category: string, letters: readonly Letter[], messageIds: readonly number[], latencyMs: number): void {
    for (const [nth, letter] of letters.entries()) this.#enqueued(category, letter, messageIds[nth], latencyMs);
  }

  #enqueued(category: string, { task, failure }: Letter, messageId: number | undefined, latencyMs: number): void {
    const { logger, metrics, registry } = this.#options;
    const { namespace, taskType } = task;
    logger.warn('Task enqueued to DLQ', { 'dlq-message-id': messageId, ...this.#fieldsOf(category, task), cause: failure.cause });
    if (metrics === undefined) return;
    const state = registry.view.namespaceById(task.namespaceId)?.state ?? 'unknown';
    const tags = { task_category: category, namespace_state: state, operation: taskType, task_type: taskType, namespace };
    metrics.counter('dlq_writes', { ...tags, cause: failure.cause }).add();
    metrics.timer('task_dlq_latency', tagsOf(taskType, namespace)).record(latencyMs);
  }

  #fieldsOf(category: string, { taskType, namespace, workflowId, runId }: Letter['task']): LogFields {
    const cluster = this.#options.cluster();
    return {
      'task-category': category,
      'queue-task-type': taskType,
      'xdc-source-cluster': cluster,
      'xdc-target-cluster': cluster,
      namespace,
      workflowID: workflowId,
      runID: runId,
    };
  }
}

/** As of its own word for what is done with it. */
function tagsOf(taskType: string, namespace: string) {
  return { operation: taskType, task_type: taskType, namespace };
}
