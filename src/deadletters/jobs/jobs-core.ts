/**
 * The pure core of plans and jobs: which there are, in which state, and who may have which letters.
 *
 *     planLetters ─▶ selectLetters ─▶ storePlan ─▶ plan ── applyPlan ─▶ job: running ◀─▶ paused
 *                                                   │                        │  ╲          │
 *                                                expires                     │   cancelling ◀
 *                                                                            ▼      ▼
 *                                                        completed, failed, …    cancelled
 *
 * No letter belongs to two jobs that are active. So whatever becomes of a letter of a job while that is active, once it was seen in its queue, is
 * this job's doing: that is how a job is counted right after a crash. A job's progress is told by `noteProgress` and `endJob`, from its runner.
 */
import { unreachable } from '../../kernel/assert.ts';
import { answer, type CommandIds, type Handled, invalid, later, nothing, type OfKind, recordsOf, rejected } from '../../kernel/handled.ts';
import { shownId } from '../../kernel/shown-id.ts';
import { nobodyKnown } from '../audit/audit-entry.ts';
import { overlapMessage } from '../claims.ts';
import { beganAnew } from '../letter-commands.ts';
import { idsAreAmong, idsOverlap } from '../bounds/id-ranges.ts';
import { jobLimits, paceProblem, planProblem, reasonProblem } from '../bounds/job-limits.ts';
import { noWindow, type Job, type JobAct, type JobEntry, type JobsRecord, type JobsReply, type Plan } from './job.ts';
import type { JobProgress, JobsCommand, JobsEffect } from './job.ts';
import { handled, isActive, isOverBudget, JobsState } from './jobs-state.ts';
import type { JobState } from '../../kernel/letter-words.ts';

type Command = OfKind<JobsCommand>;

export type JobsHandled = Handled<JobsRecord, JobsReply, JobsEffect>;

export type JobsSettings = {
  /** Whoever changes letters has to say why. */
  readonly requiresReason: boolean;
};

export class JobsCore {
  readonly #state = new JobsState();
  readonly #settings: JobsSettings;
  /** Written since the journal is to begin later; undefined: it is not. */
  #carried: Set<string> | undefined;
  /** What the command that was decided last changes beside its records. */
  #staged: (() => void) | undefined;

  constructor(settings: JobsSettings) {
    this.#settings = settings;
  }

  get state(): Pick<JobsState, 'active' | 'job' | 'jobs' | 'plan' | 'canonical' | 'size' | 'cut'> {
    return this.#state;
  }

  handle(command: JobsCommand, nowMs: number, askId: number): JobsHandled {
    this.#staged = undefined;
    switch (command.kind) {
      case 'planLetters':
        return plan(command, askId);
      case 'storePlan':
        return this.#storePlan(command, nowMs);
      case 'applyPlan':
        return this.#apply(command, nowMs);
      case 'describeJob':
        return this.#of(command.jobId, ({ job }) => answer({ kind: 'job', job }));
      case 'listJobs':
        return this.#list(command);
      case 'pauseJob':
        return this.#change(command, 'pause', nowMs, pauseJob);
      case 'resumeJob':
        return this.#change(command, 'resume', nowMs, resumeJob);
      case 'updateJob':
        return this.#change(command, 'update', nowMs, (entry) => updateJob(entry, command));
      case 'cancelJob':
        return this.#cancel(command, nowMs);
      case 'noteProgress':
        return this.#note(command, nowMs);
      case 'haltJob':
        return this.#halt(command, nowMs);
      case 'endJob':
        return this.#end(command, nowMs);
      case 'forgetOldJobs':
        return this.#forget(nowMs);
      case 'carryJobs':
        return this.#carry(command, nowMs);
      default:
        return unreachable(command);
    }
  }

  idsOf(command: JobsCommand): CommandIds {
    const job = 'jobId' in command ? { jobId: command.jobId } : {};
    return { command: command.kind, ...job, ...('planId' in command ? { planId: command.planId } : {}) };
  }

  accept(decided: JobsHandled): void {
    this.#staged?.();
    this.#staged = undefined;
    for (const record of recordsOf(decided)) this.evolve(record);
  }

  evolve(record: JobsRecord): void {
    this.#state.evolve(record);
    if (record.kind === 'plan') this.#carried?.add(record.plan.planId);
    else if (record.kind === 'job') this.#carried?.add(record.entry.job.jobId);
  }

  cancel(askId: number): JobsHandled {
    return { kind: 'wait', barrier: false, effects: [{ kind: 'giveUpSelection', askId }] };
  }

  #storePlan({ askId, plan: selected }: Command['storePlan'], timeMs: number): JobsHandled {
    const { rangesMax, planExpiryMs } = jobLimits;
    if (selected.ids.length > rangesMax) {
      const message = `the selection has more than ${rangesMax} ranges of consecutive message ids: make several plans, by range or filter`;
      return later([{ kind: 'reply', askId, reply: { kind: 'rejected', rejection: { reason: 'too-many-stretches', message } } }]);
    }
    const stored: Plan = { ...selected, createdTimeMs: timeMs, expireTimeMs: timeMs + planExpiryMs };
    const effects: readonly JobsEffect[] = [{ kind: 'reply', askId, reply: { kind: 'planned', plan: stored } }];
    const before = this.#forgotten(timeMs);
    const act: JobAct = { action: 'plan', ...whoOf(stored), reason: stored.reason };
    return { kind: 'commit', before, record: { kind: 'plan', timeMs, plan: stored, act }, reply: undefined, effects };
  }

  // ── A plan becomes a job ───────────────────────────────────────────────────────────────────────────────────────────────────

  #apply({ planId, hash, by, isDirect = false, incarnation, comebacks }: Command['applyPlan'], timeMs: number): JobsHandled {
    const before = this.#state.job(planId);
    if (before !== undefined) return appliedBefore(before, timeMs, hash, by);
    const found = this.#state.plan(planId);
    if (found === undefined) return rejected({ reason: 'plan-not-found', message: `there is no plan ${shownId(planId)}` });
    if (hash !== undefined && hash !== found.hash) return otherHash(planId);
    if (timeMs >= found.expireTimeMs) return rejected({ reason: 'plan-expired', message: `plan ${planId} has expired: make it again` });
    if (this.#settings.requiresReason && found.reason === '') {
      return rejected({ reason: 'invalid-argument', message: 'this cluster requires a reason for changes: make a plan that has one' });
    }
    if (incarnation !== undefined && found.ids.length > 0 && incarnation !== found.queue.incarnation) {
      return refused(`plan ${planId} cannot be applied: ${beganAnew}. Make the plan again`);
    }
    if (found.comebacks !== undefined && found.comebacks !== comebacks) {
      return refused(`plan ${planId} cannot be applied: dead letters that were resolved may have come back since. Make the plan again`);
    }
    // Letters of an incarnation before are gone: whoever has them has nothing of this one.
    const ofQueue = [...this.#state.active].filter(
      ({ job: { queue } }) => queue.number === found.queue.number && queue.incarnation === found.queue.incarnation,
    );
    const same = ofQueue.find(({ job }) => isSameRequest(job, found, isDirect));
    if (same !== undefined) return joined(same, timeMs, { ...(by ?? whoOf(found)), reason: found.reason });
    const holder = ofQueue.find(({ job }) => idsOverlap(job.ids, found.ids))?.job.jobId;
    if (holder !== undefined) return rejected({ reason: 'overlap', message: overlapMessage(holder), jobId: holder });
    if (ofQueue.length >= jobLimits.activeJobsMax) {
      return rejected({ reason: 'too-many-jobs', message: `${jobLimits.activeJobsMax} jobs work on this queue, its limit` });
    }
    const act: JobAct = { action: 'apply', ...(by ?? whoOf(found)), reason: found.reason };
    return commit(newJob(found, timeMs), timeMs, act, (job) => ({ kind: 'job', job }));
  }

  // ── What people ask of a job ───────────────────────────────────────────────────────────────────────────────────────────────

  #list({ queue, activeOnly, afterJobId, max }: Command['listJobs']): JobsHandled {
    if (!Number.isSafeInteger(max) || max < 1) return invalid('a page has one job at least');
    const fitting = [...this.#state.jobs()]
      .map(({ job }) => job)
      .filter(
        (job) => (queue === undefined || job.queue.number === queue) && (!activeOnly || isActive(job)) && isFurtherOn(job, afterJobId),
      )
      .sort(newestFirst);
    const jobs = fitting.slice(0, Math.min(max, jobLimits.listedMax));
    return answer({ kind: 'jobs', jobs, isLast: jobs.length === fitting.length });
  }

  #change(
    command: Command['pauseJob'] | Command['resumeJob'] | Command['updateJob'],
    action: JobAct['action'],
    timeMs: number,
    change: (entry: JobEntry, reason: string) => JobEntry | string,
  ): JobsHandled {
    const problem = this.#reasonProblem(command.reason);
    if (problem !== undefined) return invalid(problem);
    if (command.kind === 'updateJob') {
      const pace = paceProblem(command.rps, command.concurrency);
      if (pace !== undefined) return invalid(pace);
    }
    return this.#of(command.jobId, (entry) => {
      const changed = change(entry, command.reason);
      if (typeof changed === 'string') return refused(changed);
      if (changed === entry) return answer({ kind: 'job', job: entry.job });
      return commit(changed, timeMs, { action, ...whoOf(command), reason: command.reason }, (job) => ({ kind: 'job', job }));
    });
  }

  #cancel(command: Command['cancelJob'], timeMs: number): JobsHandled {
    const { jobId, reason } = command;
    const problem = this.#reasonProblem(reason);
    if (problem !== undefined) return invalid(problem);
    return this.#of(jobId, (entry) => {
      const { job } = entry;
      if (job.state !== 'running' && job.state !== 'paused') {
        return answer({ kind: 'canceled', job, wasActive: isActive(job) });
      }
      const act: JobAct = { action: 'cancel', ...whoOf(command), reason };
      return commit(inState(entry, 'cancelling', reason), timeMs, act, (changed) => ({ kind: 'canceled', job: changed, wasActive: true }));
    });
  }

  #reasonProblem(reason: string): string | undefined {
    if (this.#settings.requiresReason && reason === '') return 'this cluster requires a reason for changes';
    return reasonProblem(reason);
  }

  // ── What its runner tells ──────────────────────────────────────────────────────────────────────────────────────────────────

  #note({ jobId, progress }: Command['noteProgress'], timeMs: number): JobsHandled {
    const entry = this.#active(jobId);
    if (entry === undefined || isBehind(progress, entry)) return nothing;
    const further = withProgress(entry, progress);
    const { job, forgivenFailures } = further;
    const stops = job.state === 'running' && isOverBudget(job, job.counts.failed, forgivenFailures);
    return stops ? commit(inState(further, 'paused', 'failure-budget'), timeMs, byItself('pause')) : commit(further, timeMs);
  }

  #halt({ jobId, reason }: Command['haltJob'], timeMs: number): JobsHandled {
    const entry = this.#active(jobId);
    return entry?.job.state === 'running' ? commit(inState(entry, 'paused', reason), timeMs, byItself('pause')) : nothing;
  }

  #end({ jobId, progress, failedBecause }: Command['endJob'], timeMs: number): JobsHandled {
    const entry = this.#active(jobId);
    if (entry === undefined) return nothing;
    const before = this.#forgotten(timeMs);
    return commit(ended(withProgress(entry, progress), timeMs, failedBecause), timeMs, byItself('finish'), undefined, before);
  }

  /** What is kept no longer. */
  #forgotten(timeMs: number): readonly JobsRecord[] {
    return this.#state.old(timeMs).map((id) => ({ kind: 'forgotten', timeMs, id }));
  }

  #forget(timeMs: number): JobsHandled {
    const records = [...this.#forgotten(timeMs)];
    const record = records.pop();
    return record === undefined ? nothing : { kind: 'commit', before: records, record, reply: undefined, effects: [] };
  }

  // ── The journal begins later ───────────────────────────────────────────────────────────────────────────────────────────────

  #carry({ cut, isFirst }: Command['carryJobs'], timeMs: number): JobsHandled {
    const written = isFirst ? new Set<string>() : (this.#carried ?? new Set());
    const records = [...this.#state.toCarry(written, timeMs)];
    const isAll = records.length === 0;
    this.#staged = () => (this.#carried = isAll ? undefined : written);
    const record = records.pop() ?? { kind: 'carried', timeMs, cut };
    return { kind: 'commit', before: records, record, reply: undefined, effects: [{ kind: 'carried', cut, isAll }] };
  }

  #active(jobId: string): JobEntry | undefined {
    const entry = this.#state.job(jobId);
    return entry !== undefined && isActive(entry.job) ? entry : undefined;
  }

  #of(jobId: string, then: (entry: JobEntry) => JobsHandled): JobsHandled {
    const entry = this.#state.job(jobId);
    return entry === undefined ? rejected({ reason: 'not-found', message: `there is no job ${shownId(jobId)}` }) : then(entry);
  }
}

// ── Plans ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function plan(request: Command['planLetters'], askId: number): JobsHandled {
  const problem = planProblem(request);
  if (problem !== undefined) return invalid(problem);
  return later([{ kind: 'selectLetters', askId, request }]);
}

/** The same caller wants the same letters. Unless the request is direct, the plan may select no letters but those of the job. */
function isSameRequest(job: Job, { actor, hash, requestHash, ids }: Plan, isDirect: boolean): boolean {
  if (job.actor !== actor) return false;
  if (job.planHash === hash) return true;
  return job.requestHash === requestHash && (isDirect || idsAreAmong(ids, job.ids));
}

/** Answers with the job again, as long as it is active. */
function appliedBefore(entry: JobEntry, timeMs: number, hash: string | undefined, by: Command['applyPlan']['by']): JobsHandled {
  const { job } = entry;
  if (hash !== undefined && hash !== job.planHash) return otherHash(job.jobId);
  if (!isActive(job)) return refused(`plan ${job.jobId} was applied before: its job is ${job.state}`);
  return joined(entry, timeMs, { ...(by ?? whoOf(job)), reason: job.reason });
}

/** Whoever wants what a job does already gets that job. That another wanted it, or why, is in the audit all the same. */
function joined(entry: JobEntry, timeMs: number, by: Omit<JobAct, 'action'>): JobsHandled {
  const { job } = entry;
  if (by.reason === job.reason && isSameCaller(by, job)) return answer({ kind: 'job', job });
  return commit(entry, timeMs, { action: 'apply', ...by }, (joint) => ({ kind: 'job', job: joint }));
}

function isSameCaller(one: Pick<JobAct, 'actor' | 'caller'>, other: Pick<JobAct, 'actor' | 'caller'>): boolean {
  const [caller, otherCaller] = [one.caller ?? nobodyKnown, other.caller ?? nobodyKnown];
  const names = ['authType', 'peer', 'client', 'requestId'] as const;
  return one.actor === other.actor && names.every((name) => caller[name] === otherCaller[name]);
}

function otherHash(planId: string): JobsHandled {
  return refused(`plan ${planId} has another hash: it is not the one that was looked at`);
}

const noCounts = { merged: 0, mergedNoop: 0, purged: 0, restored: 0, failed: 0, skipped: 0, gone: 0, notTried: 0 } as const;

function newJob(plan: Plan, timeMs: number): JobEntry {
  const { planId, hash, requestHash, operation, queue, ids, purgedBy, options, reason, query, groupId, selected } = plan;
  const job: Job = {
    ...whoOf(plan),
    ...{ reason, query, groupId },
    jobId: planId,
    planHash: hash,
    ...{ requestHash, operation, queue, ids, purgedBy, options },
    state: 'running',
    stateReason: '',
    createdTimeMs: timeMs,
    startTimeMs: timeMs,
    endTimeMs: undefined,
    counts: { ...noCounts, selected },
    lastProcessedMessageId: -1,
    failures: [],
    skips: [],
    noops: [],
  };
  const entry: JobEntry = { job, window: noWindow, forgivenFailures: 0 };
  return ids.length === 0 ? ended(entry, timeMs, undefined) : entry;
}

// ── Changes of a job: another one, the same one where nothing changes, or why not ────────────────────────────────────────────

function pauseJob(entry: JobEntry, reason: string): JobEntry | string {
  const { jobId, state } = entry.job;
  if (state === 'paused') return entry;
  return state === 'running' ? inState(entry, 'paused', reason) : `job ${jobId} is ${state} and cannot be paused`;
}

/** The failures so far are known to whoever resumes it. */
function resumeJob(entry: JobEntry, reason: string): JobEntry | string {
  const { jobId, state, counts } = entry.job;
  if (state !== 'paused') return `job ${jobId} is ${state}, only a paused job can be resumed`;
  return { ...inState(entry, 'running', reason), forgivenFailures: counts.failed };
}

function updateJob(entry: JobEntry, { rps, concurrency }: Command['updateJob']): JobEntry | string {
  const { job } = entry;
  if (!isActive(job)) return `job ${job.jobId} is ${job.state} and cannot be changed`;
  const { options } = job;
  return { ...entry, job: { ...job, options: { ...options, rps: rps ?? options.rps, concurrency: concurrency ?? options.concurrency } } };
}

function inState(entry: JobEntry, state: JobState, stateReason: string): JobEntry {
  return { ...entry, job: { ...entry.job, state, stateReason } };
}

/** One that was told before comes behind one that was told later, which is committed: it is no news. */
function isBehind({ counts, lastProcessedMessageId, window }: JobProgress, { job, window: known }: JobEntry): boolean {
  return window.end < known.end || lastProcessedMessageId < job.lastProcessedMessageId || handled(counts) < handled(job.counts);
}

function withProgress(entry: JobEntry, { counts: told, lastProcessedMessageId, window, failures, skips, noops }: JobProgress): JobEntry {
  const { job } = entry;
  const { failuresTold, skipsTold, noopsTold } = jobLimits;
  const counts = { ...told, selected: job.counts.selected, notTried: 0 };
  const first = { failures: failures.slice(0, failuresTold), skips: skips.slice(0, skipsTold), noops: noops.slice(0, noopsTold) };
  return { ...entry, window, job: { ...job, ...first, counts, lastProcessedMessageId } };
}

function ended(entry: JobEntry, timeMs: number, failedBecause: string | undefined): JobEntry {
  const { job } = entry;
  const notTried = job.counts.selected - handled(job.counts);
  const state = stateAtEnd(job, notTried, failedBecause);
  const counts = { ...job.counts, notTried };
  const stateReason = failedBecause ?? job.stateReason;
  return { ...entry, window: noWindow, job: { ...job, counts, state, stateReason, endTimeMs: timeMs } };
}

function stateAtEnd({ state, counts }: Job, notTried: number, failedBecause: string | undefined): JobState {
  if (failedBecause !== undefined) return 'failed';
  if (state === 'cancelling') return 'cancelled';
  return notTried + counts.failed + counts.skipped === 0 ? 'completed' : 'completed-with-failures';
}

// ── Lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Ids of jobs begin with the time of their plan (UUID version 7), so a page goes on behind a job that is forgotten meanwhile. */
function newestFirst({ jobId: one }: Job, { jobId: other }: Job): number {
  if (one === other) return 0;
  return one > other ? -1 : 1;
}

function isFurtherOn({ jobId }: Job, afterJobId: string | undefined): boolean {
  return afterJobId === undefined || jobId < afterJobId;
}

// ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function commit(
  entry: JobEntry,
  timeMs: number,
  act?: JobAct,
  reply?: (job: Job) => JobsReply,
  before: readonly JobsRecord[] = [],
): JobsHandled {
  const record: JobsRecord = { kind: 'job', timeMs, entry, act };
  return { kind: 'commit', before, record, reply: reply?.(entry.job), effects: [{ kind: 'jobChanged', entry }] };
}

function whoOf({ actor, caller }: Pick<JobAct, 'actor' | 'caller'>): Pick<JobAct, 'actor' | 'caller'> {
  return { actor, caller };
}

/** Nobody asked for it. */
function byItself(action: JobAct['action']): JobAct {
  return { action, actor: 'system:jobs', reason: '' };
}

function refused(message: string): JobsHandled {
  return rejected({ reason: 'failed-precondition', message });
}
