/** What the journal of plans and jobs tells: what people asked of them, and how each job has ended. How far a job is, its queue tells. */
import { idsOf } from '../bounds/id-ranges.ts';
import type { Job, JobAct, JobsRecord, Plan } from '../jobs/job.ts';
import { AUDIT_IDS_MAX, nobodyKnown, noDetails, type AuditEntry, type AuditStory } from './audit-entry.ts';

export type JobsStoryTopics = {
  /** The topic of plans and jobs. */
  readonly source: string;
  readonly queueTopic: (category: string, sourceCluster: string) => string;
};

export class JobsStory implements AuditStory<JobsRecord> {
  readonly #topics: JobsStoryTopics;
  readonly #entries: AuditEntry[] = [];

  constructor(topics: JobsStoryTopics) {
    this.#topics = topics;
  }

  tell(record: JobsRecord, offset: number): void {
    // Without an act it is what was, once more.
    if (record.kind === 'forgotten' || record.kind === 'carried' || record.act === undefined) return;
    const about = { timeMs: record.timeMs, offset, source: this.#topics.source };
    if (record.kind === 'plan') {
      const { plan, act } = record;
      this.#entries.push({ ...about, ...this.#of(plan, act), jobId: plan.planId, planHash: plan.hash, outcome: plan.operation });
    } else {
      const { act, entry } = record;
      const { job } = entry;
      const outcome = outcomeOf(job, act, record.timeMs);
      this.#entries.push({ ...about, ...this.#of(job, act), jobId: job.jobId, planHash: job.planHash, outcome });
    }
  }

  take(): readonly AuditEntry[] {
    return this.#entries.splice(0);
  }

  #of(item: Plan | Job, { action, actor, caller = nobodyKnown, reason }: JobAct) {
    const { queue, query, ids } = item;
    const letters = 'counts' in item ? item.counts.selected : item.selected;
    const topic = this.#topics.queueTopic(queue.category, queue.sourceCluster);
    const which = letters <= AUDIT_IDS_MAX ? { messageIds: [...idsOf(ids)] } : { messageIds: [], messageIdRanges: ids };
    return { ...noDetails, queue: topic, action, subject: actor, caller, reason, filter: query, ...which, letters };
  }
}

function outcomeOf(job: Job, { action }: JobAct, timeMs: number): string {
  const { operation, state, counts, options, stateReason, createdTimeMs, endTimeMs } = job;
  switch (action) {
    case 'apply':
      if (timeMs > createdTimeMs) return `${operation}: answered with this job, which was ${state}`;
      // Over no letters at all it has ended with that: an offset tells one act, so no `finish` follows.
      return endTimeMs === undefined ? operation : `${operation}: ${state}, there was no dead letter`;
    case 'update':
      return `${options.rps === 0 ? 'no limit' : `${options.rps} dead letters a second`}, ${options.concurrency} at a time`;
    case 'pause':
      return stateReason === '' ? state : `${state}: ${stateReason}`;
    case 'finish': {
      const told = ['merged', 'purged', 'restored', 'failed', 'skipped', 'gone', 'notTried'] as const;
      const some = told.filter((name) => counts[name] > 0).map((name) => `${name} ${counts[name]}`);
      return some.length === 0 ? state : `${state}: ${some.join(', ')}`;
    }
    case 'plan':
    case 'resume':
    case 'cancel':
      return state;
  }
}
