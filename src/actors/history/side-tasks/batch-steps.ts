/**
 * What takes the steps of batch jobs, for all shards of a process.
 *
 *     batchStep ─▶ describeBatch ─▶ step 0: count
 *                                   step n: a page ─▶ its executions, some at a time, at the job's rate, for two seconds ─▶ batchStepped
 *
 * Nothing of a step is kept but its record: so a step is short, and one that was cut off is taken again from where it began. Jobs of one namespace
 * have places of their own, and take turns with theirs alone.
 */
import { type AfterStep, type BatchStep, newBatch } from '../../../batches/batch.ts';
import { saidError, thrownError, type TaskFailure } from '../../../deadletters/task-failure.ts';
import type { BatchDescription } from '../../../history/commands/batch-commands.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import { historyShardOf } from '../../../kernel/shard.ts';
import { isAskFailure, ownWork } from '../../asks/asks.ts';
import type { Asker, HistoryAnswer } from '../../asks/router.ts';
import { type BatchOperations, BatchTrouble, type BatchTarget, type BatchWork } from '../../../ports/batch-operations.ts';
import { BatchPace } from '../../../ports/batch-pace.ts';
import type { Clock } from '../../../ports/machine.ts';
import { rejectedTask, unansweredTask } from '../hand-over/task-failures.ts';
import { SideRoom } from './side-room.ts';
import { type BatchStepTask, notReady, type SideAnswer, type SideRunner } from './side-tasks.ts';

export type BatchStepsOptions = {
  readonly router: Pick<Asker, 'askHistory'>;
  readonly historyShards: number;
  /** undefined: the edge is not there yet, or no more. */
  readonly operations: () => Promise<BatchOperations> | undefined;
  readonly clock: Pick<Clock, 'monoMs' | 'after'>;
};

export const batchStepLimits = {
  /** Jobs of a process that take a step at a time, and of one namespace. */
  placesMax: 64,
  placesPerNamespaceMax: 8,
  /** No execution is begun after that. */
  stepMsMax: 2_000,
  executionsMax: 1_000,
  /** Attempts at one execution, as in Temporal, and how long they may take. */
  attemptsMax: 50,
  attemptsMsMax: 60_000,
  pauseMsMin: 50,
  pauseMsMax: 2_000,
  /** After a start, shards are there before the frontend is. A step that has waited for longer gives up its place. */
  edgeMsMax: 60_000,
  edgePauseMs: 50,
} as const;

/** A step, its last executions with all their attempts, and some more. */
const ATTEMPT_MS_MAX = 180_000;
const ASK_TIMEOUT_MS = 10_000;

export function batchRunner(options: BatchStepsOptions): SideRunner<BatchStepTask> {
  const steps = new BatchSteps(options);
  const { placesMax, placesPerNamespaceMax: placesPerDestinationMax } = batchStepLimits;
  return {
    room: new SideRoom(() => ({ placesMax, placesPerDestinationMax })),
    placeOf: ({ key: { namespaceId } }) => ({ destination: namespaceId, namespaceId }),
    attemptMsMax: ATTEMPT_MS_MAX,
    // A job that is stopped wants to know what its last step did.
    answersWhenOver: true,
    attempt: (task, isWanted) => steps.take(task, isWanted),
  };
}

type IsWanted = () => boolean;

class BatchSteps {
  readonly #options: BatchStepsOptions;
  readonly #underWay = new Set<string>();

  constructor(options: BatchStepsOptions) {
    this.#options = options;
  }

  async take(task: BatchStepTask, isWanted: IsWanted): Promise<SideAnswer> {
    const { key, taskId } = task;
    if (this.#underWay.has(key.runId)) return notReady('an earlier step has not finished');
    this.#underWay.add(key.runId);
    try {
      const operations = await this.#operations(isWanted);
      if (operations === undefined) return notReady('batch jobs cannot run here now');
      const job = await this.#describe(task);
      if (isAskFailure(job)) return { kind: 'failed', failure: unansweredTask(job) };
      if (job.kind === 'rejected') return { kind: 'failed', failure: rejectedTask(job.rejection) };
      const step = await this.#step(job, operations, isWanted);
      return 'kind' in step ? { kind: 'failed', failure: step } : { kind: 'done', command: { kind: 'batchStepped', key, taskId, step } };
    } finally {
      this.#underWay.delete(key.runId);
    }
  }

  async #operations(isWanted: IsWanted): Promise<BatchOperations | undefined> {
    const { operations, clock } = this.#options;
    const { edgeMsMax, edgePauseMs } = batchStepLimits;
    const endMs = clock.monoMs() + edgeMsMax;
    let found = operations();
    while (found === undefined && isWanted() && clock.monoMs() < endMs) {
      await new Promise<void>((resolve) => void clock.after(edgePauseMs, resolve));
      found = operations();
    }
    return await found;
  }

  #describe({ key }: BatchStepTask): Promise<HistoryAnswer<{ readonly kind: 'describeBatch'; readonly key: typeof key }>> {
    const { router, historyShards, clock } = this.#options;
    const shard = historyShardOf(key.namespaceId, key.workflowId, historyShards);
    const request = { kind: 'describeBatch', key } as const;
    return new Promise((resolve) => router.askHistory(shard, request, ownWork(clock.monoMs() + ASK_TIMEOUT_MS), resolve));
  }

  async #step(job: BatchDescription, operations: BatchOperations, isWanted: IsWanted): Promise<BatchStep | TaskFailure> {
    const { namespace, definition, progress, key, startTimeMs } = job;
    try {
      const work = operations.open({ namespaceId: key.namespaceId, namespace, runId: key.runId, startTimeMs, definition });
      return await (progress.steps === 0 ? this.#first(work) : this.#next(job, work, isWanted));
    } catch (error) {
      if (!(error instanceof BatchTrouble)) return { kind: 'failed', by: 'bug', error: thrownError(error) };
      if (error.kind === 'passes') return { kind: 'notYet', why: 'away', error: saidError('Unavailable', error.message) };
      if (error.kind === 'mayPass') return { kind: 'failed', by: 'dependency', error: saidError('Unavailable', error.message) };
      const next: AfterStep = { kind: 'failed', message: error.message };
      return { number: progress.steps, total: undefined, completed: 0, failed: 0, position: progress.position, next };
    }
  }

  /** Who describes the job soon after its start sees what there is to do. */
  async #first(work: BatchWork): Promise<BatchStep> {
    const total = await work.count();
    const { position } = newBatch(total);
    return { number: 0, total, completed: 0, failed: 0, position, next: { kind: 'goesOn', pauseMs: 0 } };
  }

  async #next({ progress }: BatchDescription, work: BatchWork, isWanted: IsWanted): Promise<BatchStep> {
    const { clock } = this.#options;
    const { stepMsMax, executionsMax } = batchStepLimits;
    const inTime = Math.ceil((work.perSecondMax * stepMsMax) / 1_000) + work.concurrencyMax;
    const { targets, isLast } = await work.page(progress.position, Math.min(inTime, executionsMax));
    const endMs = clock.monoMs() + stepMsMax;
    const pace = new BatchPace(clock, work.perSecondMax);
    const counts = { begun: 0, completed: 0, failed: 0 };
    /** All targets before this one are over. */
    let cut = targets.length;
    const mayBegin = (): boolean => {
      const isInTime = counts.begun === 0 || clock.monoMs() + pace.pauseMs < endMs;
      return counts.begun < targets.length && isInTime && isWanted();
    };
    const worker = async (): Promise<void> => {
      while (mayBegin()) {
        const nth = counts.begun++;
        const placed = targets[nth];
        if (placed === undefined) return;
        await pace.turn();
        const outcome = await this.#performed(work, placed.target, pace, isWanted);
        if (outcome === 'cut') cut = Math.min(cut, nth);
        else counts[outcome === 'done' ? 'completed' : 'failed']++;
      }
    };
    await Promise.all(Array.from({ length: Math.min(work.concurrencyMax, targets.length) }, worker));
    const over = Math.min(counts.begun, cut);
    const position = targets[over - 1]?.position ?? progress.position;
    const isOver = isLast && over === targets.length;
    const next: AfterStep = isOver ? { kind: 'completed' } : { kind: 'goesOn', pauseMs: pace.pauseMs };
    return { number: progress.steps, total: undefined, completed: counts.completed, failed: counts.failed, position, next };
  }

  /** 'cut': the job was stopped, or another owner goes on with it. */
  async #performed(work: BatchWork, target: BatchTarget, pace: BatchPace, isWanted: IsWanted): Promise<'done' | 'failed' | 'cut'> {
    const { clock } = this.#options;
    const { attemptsMax, attemptsMsMax, pauseMsMin, pauseMsMax } = batchStepLimits;
    const endMs = clock.monoMs() + attemptsMsMax;
    for (let attempt = 1; attempt <= attemptsMax && clock.monoMs() < endMs; attempt++) {
      if (!isWanted()) return 'cut';
      const outcome = await work.perform(target);
      if (outcome !== 'again') return outcome;
      await pace.rest(backOffMs(attempt, pauseMsMin, pauseMsMax));
    }
    return 'failed';
  }
}
