/**
 * Dead letter plans and jobs: the actor around JobsCore, owner of the one partition of `<prefix>.dlq-jobs`.
 *
 *     router ─▶ PartitionActor ─▶ JobsCore ─▶ a record ─▶ committed ─▶ JobsMemory ┬─ selects letters for a plan
 *                                     ▲                                          └─ a JobRunner for each active job ─▶ owners of queues
 *                                     └──────────── how far it is ─────────────────────┘
 */
import { unreachable } from '../../../kernel/assert.ts';
import { asError, errorText } from '../../../kernel/error-text.ts';
import { uuidAt } from '../../../kernel/uuid.ts';
import { JobsStory } from '../../../deadletters/audit/jobs-story.ts';
import type { DeadLetterRequest } from '../../../deadletters/letter-commands.ts';
import { countIds } from '../../../deadletters/bounds/id-ranges.ts';
import type { ApplyPlan, Job, JobsCommand, JobsReply, JobsRequest } from '../../../deadletters/jobs/job.ts';
import type { JobEntry, JobsEffect, JobsRecord, SelectLetters } from '../../../deadletters/jobs/job.ts';
import { JobsCore, type JobsSettings } from '../../../deadletters/jobs/jobs-core.ts';
import { isActive } from '../../../deadletters/jobs/jobs-state.ts';
import { internalError, isAskFailure, NOBODY, ownWork, type AskFailure } from '../../asks/asks.ts';
import type { Asker, AuditAsker, DeadLetterAnswer } from '../../asks/router.ts';
import type { Endpoint } from '../../asks/switchboard.ts';
import type { OffsetRange } from '../../../ports/log.ts';
import { JournalCompaction } from '../../partition/journal-compaction.ts';
import { PartitionActor, type ActorOptions } from '../../partition/partition-actor.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import type { ShellMemory, Tenure } from '../../partition/partition-core.ts';
import { AuditTeller } from '../audit/audit-teller.ts';
import { JobRunner } from './jobs-runner.ts';
import { SelectionFailure, SelectionRefused, selectLetters, type AskQueue } from './jobs-selection.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';
import { jobOperations, jobStates } from '../../../kernel/letter-words.ts';

export type JobsHostOptions = ActorOptions<JobsReply, JobsRecord> & {
  readonly asker: Pick<Asker, 'askDeadLetters'>;
  readonly sha256: (text: string) => string;
  readonly settings: () => JobsSettings & { readonly lettersPerStepMax: number };
  /** Absent: nobody audits. */
  readonly audit?: { readonly asker: AuditAsker; readonly queueTopic: (category: string, sourceCluster: string) => string };
};

const COMMAND_BYTES = 4_096;
const RANGE_BYTES = 16;
const DEAD_RECORDS_MIN = 1_000;

export class JobsHost implements Endpoint<JobsRequest> {
  readonly actor: PartitionActor<JobsCommand, JobsReply, JobsRecord, JobsEffect, JobsMemory>;
  readonly #options: JobsHostOptions;

  constructor(options: JobsHostOptions) {
    this.#options = options;
    this.actor = new PartitionActor(options, {
      partition: 0,
      logFields: {},
      create: (tenure) => new JobsMemory(options, tenure),
      mayLack: 'anything',
      scale: { bytesOf: commandBytes, namespaceOf: () => '', finishesWork: ({ kind }) => kind === 'cancelJob' || kind === 'pauseJob' },
    });
  }

  /** What changes letters has to be in the audit. What stops a job is never refused for that: it is told of later. */
  submit(askId: number, request: JobsRequest): AskFailure | undefined {
    const reason = changesLetters[request.kind] ? (this.actor.memory?.teller?.trouble ?? '') : '';
    if (reason === '') return request.kind === 'applyPlan' ? this.#apply(askId, request) : this.actor.submit(askId, request);
    const message = `dead letters cannot be changed while the audit cannot be written: ${reason}. Nothing was changed`;
    return { kind: 'unavailable', message };
  }

  cancel(askId: number): void {
    this.actor.cancel(askId);
  }

  /** Adds the incarnation in which the queue is now: message ids of an earlier one belong to other letters. */
  #apply(askId: number, request: ApplyPlan): AskFailure | undefined {
    const { asker, clock, sink } = this.#options;
    const plan = this.actor.memory?.core.state.plan(request.planId);
    if (plan === undefined) return this.actor.submit(askId, request);
    asker.askDeadLetters(plan.queue.number, { kind: 'countLetters' }, ownWork(clock.monoMs() + INCARNATION_TIMEOUT_MS), (answer) => {
      const known = answer.kind === 'counted' ? { incarnation: answer.incarnation, comebacks: answer.comebacks } : {};
      const failure = this.actor.submit(askId, { ...request, ...known });
      if (failure !== undefined) sink.fail(askId, failure);
    });
    return undefined;
  }

  get jobs(): readonly Job[] | undefined {
    return this.#served && Array.from(this.#served.core.state.jobs(), ({ job }) => job);
  }

  /** Where its journal may begin: what stands before that was written again. Infinity: nobody knows now. */
  get journalStartMax(): number {
    return this.#served === undefined ? Infinity : Math.max(this.#served.core.state.cut, this.#served.lostBefore);
  }

  get #served(): JobsMemory | undefined {
    return this.actor.status().state === 'active' ? this.actor.memory : undefined;
  }
}

const changesLetters: Readonly<Record<JobsRequest['kind'], boolean>> = {
  planLetters: false,
  applyPlan: true,
  describeJob: false,
  listJobs: false,
  pauseJob: false,
  resumeJob: true,
  cancelJob: false,
  updateJob: true,
};

function tellerOf(options: JobsHostOptions, tenure: Tenure<JobsCommand>): AuditTeller<JobsRecord> | undefined {
  const { audit, topic } = options;
  if (audit === undefined) return undefined;
  const story = (): JobsStory => new JobsStory({ source: topic, queueTopic: audit.queueTopic });
  return new AuditTeller({ ...options, partition: { topic, partition: 0 }, audit: audit.asker, story, tenure });
}

function commandBytes(command: JobsCommand): number {
  switch (command.kind) {
    case 'planLetters':
      return COMMAND_BYTES + RANGE_BYTES * (command.selection.ids?.length ?? 0);
    case 'storePlan':
      return COMMAND_BYTES + RANGE_BYTES * command.plan.ids.length;
    default:
      return COMMAND_BYTES;
  }
}

/** Whoever applies a plan waits no longer for a queue that is away: its job waits then. */
const INCARNATION_TIMEOUT_MS = 5_000;
const SELECTION_TIMEOUT_MS = 30_000;
const FORGET_INTERVAL_MS = 600_000;
const UNDECIDED_DELAY_MS = 1_000;

class JobsMemory implements ShellMemory<JobsCommand, JobsReply, JobsRecord, JobsEffect> {
  readonly core: JobsCore;
  readonly shell = this;
  readonly subscribers: readonly CommitSubscriber<JobsRecord>[];
  readonly teller: AuditTeller<JobsRecord> | undefined;
  readonly #options: JobsHostOptions;
  readonly #tenure: Tenure<JobsCommand>;
  readonly #compaction: JournalCompaction<JobsCommand, JobsRecord>;
  readonly #runners = new Map<string, JobRunner>();
  /** Jobs that begin once the audit knows of them, in their latest state. */
  readonly #untold = new Map<string, JobEntry>();
  readonly #selections = new Set<number>();
  lostBefore = 0;

  constructor(options: JobsHostOptions, tenure: Tenure<JobsCommand>) {
    this.#options = options;
    this.#tenure = tenure;
    const core = new JobsCore({
      get requiresReason() {
        return options.settings().requiresReason;
      },
    });
    const teller = tellerOf(options, tenure);
    this.core = core;
    this.teller = teller;
    // Each step of a job writes all of it again, and the last record of each is what counts.
    this.#compaction = new JournalCompaction<JobsCommand, JobsRecord>({
      ...options,
      ...(teller === undefined ? {} : { audited: (offset: number) => teller.toldUpTo(offset) }),
      partition: { topic: options.topic, partition: 0 },
      tenure,
      journal: 'dead letter jobs',
      cut: () => core.state.cut,
      weigh: () => 1,
      kept: async () => core.state.size,
      deadMin: DEAD_RECORDS_MIN,
      carry: (cut, isFirst) => ({ kind: 'carryJobs', cut, isFirst }),
    });
    this.subscribers = [...(teller === undefined ? [] : [teller]), this.#compaction];
  }

  /** What stood there was written again, as the head says, or is lost. */
  recordsLost(lost: readonly OffsetRange[]): void {
    const { logger, topic } = this.#options;
    this.lostBefore = (lost[0]?.to ?? -1) + 1;
    const gone = lost.filter(({ to }) => to >= this.core.state.cut);
    if (gone.length === 0) return;
    logger.error(
      'records of dead letter plans and jobs are gone: were they deleted, or is there a retention limit? Plans and jobs that were only there are ' +
        'lost: their dead letters are still in their queues, and another job can merge or purge them',
      { topic, offsets: gone.map(({ from, to }) => `${from} to ${to}`).join(', ') },
    );
  }

  activated(): void {
    this.teller?.activated();
    for (const entry of this.core.state.active) this.#begin(entry);
    this.#forgetOld();
    this.#compaction.activated();
  }

  deactivated(): void {
    for (const runner of this.#runners.values()) runner.stop();
    this.#runners.clear();
    this.#untold.clear();
    this.#selections.clear();
  }

  accepted(): void {}

  undecided(askId: number, command: JobsCommand, error: unknown): void {
    if (command.kind === 'carryJobs') return this.#compaction.failed(errorText(error));
    if (command.kind === 'storePlan') return this.#options.sink.fail(command.askId, internalError('the plan could not be stored'));
    if (askId === NOBODY) this.#tenure.after(UNDECIDED_DELAY_MS, () => this.#tenure.submit(command));
  }

  answer(askId: number, reply: JobsReply): void {
    this.#options.sink.answer(askId, reply);
  }

  act(effect: JobsEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'selectLetters':
        return void this.#select(effect);
      case 'giveUpSelection':
        return void this.#selections.delete(effect.askId);
      case 'jobChanged':
        return this.#changed(effect.entry);
      case 'carried':
        return this.#compaction.carried(effect.cut, effect.isAll);
      default:
        return unreachable(effect);
    }
  }

  #forgetOld(): void {
    this.#tenure.submit({ kind: 'forgetOldJobs' });
    this.#tenure.after(FORGET_INTERVAL_MS, () => this.#forgetOld());
  }

  // ── Jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Who ordered it is in the audit before any letter is touched. */
  #begin(entry: JobEntry): void {
    const { jobId } = entry.job;
    // Nothing of one that is cancelled was begun.
    if (this.teller === undefined || entry.job.state === 'cancelling') {
      this.#untold.delete(jobId);
      return this.#run(entry);
    }
    const isWaiting = this.#untold.has(jobId);
    this.#untold.set(jobId, entry);
    if (isWaiting) return;
    void this.teller.toldAll().then(() => {
      const told = this.#untold.get(jobId);
      this.#untold.delete(jobId);
      if (told !== undefined) this.#run(told);
    });
  }

  #run(entry: JobEntry): void {
    const { asker, clock, settings } = this.#options;
    const runner = new JobRunner(entry, {
      asker,
      clock,
      lettersPerStepMax: () => settings().lettersPerStepMax,
      isActive: (jobId) => {
        const other = this.core.state.job(jobId);
        return other !== undefined && isActive(other.job);
      },
      tell: (command) => void this.#tenure.submit(command),
    });
    this.#runners.set(entry.job.jobId, runner);
  }

  #changed(entry: JobEntry): void {
    const { jobId } = entry.job;
    const runner = this.#runners.get(jobId);
    if (isActive(entry.job)) {
      if (runner === undefined) this.#begin(entry);
      else runner.changed(entry);
      return;
    }
    this.#untold.delete(jobId);
    runner?.stop();
    this.#runners.delete(jobId);
  }

  // ── Plans ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #select({ askId, request }: SelectLetters): Promise<void> {
    const { clock, random, sha256 } = this.#options;
    this.#selections.add(askId);
    try {
      const planId = uuidAt(clock.wallMs(), random.nonce());
      const ask: AskQueue = (question) => this.#ask(askId, request.queue.number, question);
      const purge = this.core.state.job(request.selection.purgedBy ?? '')?.job;
      const isAmongOthers = purge !== undefined && countIds(purge.ids) > purge.counts.selected;
      const plan = await selectLetters(request, { planId, sha256, ask, isAmongOthers });
      if (this.#selections.has(askId)) this.#tenure.submit({ kind: 'storePlan', askId, plan });
    } catch (error) {
      this.#notSelected(askId, error);
    }
    this.#selections.delete(askId);
  }

  #notSelected(askId: number, error: unknown): void {
    const { sink, logger } = this.#options;
    if (error instanceof SelectionRefused) {
      return void sink.answer(askId, { kind: 'rejected', rejection: { reason: 'failed-precondition', message: error.message } });
    }
    const failure = error instanceof SelectionFailure ? error.answer : undefined;
    if (failure === undefined) logger.error('the dead letters of a plan could not be selected', { error: asError(error) });
    if (failure !== undefined && isAskFailure(failure)) sink.fail(askId, failure);
    else sink.fail(askId, internalError('the dead letters of a plan could not be selected'));
  }

  #ask<Request extends DeadLetterRequest>(askId: number, queue: number, request: Request): Promise<DeadLetterAnswer<Request>> {
    const { asker, clock } = this.#options;
    return new Promise((resolve, reject) => {
      if (!this.#selections.has(askId))
        return reject(new SelectionFailure({ kind: 'unavailable', message: 'nobody waits for it any more' }));
      asker.askDeadLetters(queue, request, ownWork(clock.monoMs() + SELECTION_TIMEOUT_MS), resolve);
    });
  }
}

/** `perdure_dlq_jobs`, also of states that no job is in. Undefined: they are not served now, and nothing is told. */
export function tellJobs(metrics: Metrics, jobs: readonly Job[] | undefined): void {
  for (const operation of jobOperations.all) {
    for (const state of jobStates.all) {
      const count = jobs?.filter((job) => job.operation === operation && job.state === state).length;
      if (count === undefined) metrics.endGauge('perdure_dlq_jobs', { operation, state });
      else metrics.gauge('perdure_dlq_jobs', { operation, state }).value = count;
    }
  }
}
