/**
 * Speculative workflow tasks on their way: to matching, which holds one for a poll and stores none, and back when their time is up. All of it is
 * in memory, and ends with the ownership of the shard.
 *
 *     offered ─▶ sticky queue ── nobody polls it ──▶ the normal queue ── nobody polls it either, or no answer ──┐
 *        └────────────── schedule-to-start timeout ────────────────────────────────────────────────────────────┼─▶ endSpeculative
 *     started ────────── start-to-close timeout ───────────────────────────────────────────────────────────────┘
 */
import type { EndSpeculative } from '../../history/update/update-commands.ts';
import type { SpeculativeEffect } from '../../history/workflow-task/speculative-effect.ts';
import { taskQueueKind } from '../../history/generated/enums.ts';
import type { TaskQueue } from '../../history/generated/public-api.ts';
import { matchingPartitionOf } from '../../matching/task-queue.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { Asker } from '../asks/router.ts';
import type { Clock, Random, Timer } from '../ports.ts';
import type { ClusterLayout } from './transfer/transfer-shard.ts';

export type SpeculativeTasksOptions = {
  readonly shard: number;
  readonly router: Pick<Asker, 'askMatching'>;
  readonly layout: Pick<ClusterLayout, 'matchingPartitions'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly submit: (command: EndSpeculative) => void;
};

type Offered = Extract<SpeculativeEffect, { readonly kind: 'speculativeOffered' }>;
type Started = Extract<SpeculativeEffect, { readonly kind: 'speculativeStarted' }>;

/** Matching answers when it has held the task for as long as it may; this long after it is not heard of any more. */
const ANSWER_TIMEOUT_MS = 1_000;

export class SpeculativeTasks {
  readonly #options: SpeculativeTasksOptions;
  /** By run id: a run has one task at a time. */
  readonly #timers = new Map<string, Timer>();

  constructor(options: SpeculativeTasksOptions) {
    this.#options = options;
  }

  act(effect: SpeculativeEffect): void {
    switch (effect.kind) {
      case 'speculativeOffered':
        this.#offer(effect, effect.taskQueue);
        return this.#arm(effect, effect.expiryTimeMs - this.#options.clock.wallMs(), () => this.#isNotPolled(effect));
      case 'speculativeStarted':
        return this.#arm(effect, effect.startToCloseTimeoutMs, () => this.#end(effect, effect.startedTimeMs, 'startToClose'));
      default:
        return unreachable(effect);
    }
  }

  close(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #offer(offered: Offered, { name, kind, normalName }: TaskQueue): void {
    const { clock, router, layout, shard } = this.#options;
    const { key, scheduledEventId, stamp, expiryTimeMs, priority } = offered;
    const isSticky = kind === taskQueueKind.sticky;
    // Polls of all its partitions come to the root while they wait.
    const queue = { namespaceId: key.namespaceId, name, taskType: 'workflow', partition: 0, kind: isSticky ? 'sticky' : 'normal' } as const;
    const task = { key, historyShard: shard, scheduledEventId, stamp, expiryTimeMs, taskId: 0, priority };
    const answeredByMs = clock.monoMs() + Math.max(0, expiryTimeMs - clock.wallMs()) + ANSWER_TIMEOUT_MS;
    router.askMatching(
      matchingPartitionOf(queue, layout.matchingPartitions),
      { kind: 'addWorkflowTask', queue, task, forwardedFrom: undefined, holdUntilMs: expiryTimeMs },
      answeredByMs,
      (answer) => {
        if (answer.kind === 'done') return;
        if (answer.kind === 'stickyUnavailable') this.#offer(offered, { name: normalName, kind: taskQueueKind.normal, normalName: '' });
        else this.#isNotPolled(offered);
      },
    );
  }

  #isNotPolled(offered: Offered): void {
    this.#end(offered, offered.scheduledTimeMs, 'scheduleToStart');
  }

  #end({ key, scheduledEventId }: Offered | Started, sinceMs: number, because: EndSpeculative['because']): void {
    this.#options.submit({ kind: 'endSpeculative', key, scheduledEventId, sinceMs, because, jitter: this.#options.random.fraction() });
  }

  #arm({ key: { runId } }: Offered | Started, delayMs: number, run: () => void): void {
    this.#timers.get(runId)?.cancel();
    const timer = this.#options.clock.after(Math.max(0, delayMs), () => {
      if (this.#timers.get(runId) === timer) this.#timers.delete(runId);
      run();
    });
    this.#timers.set(runId, timer);
  }
}
