/** Operators of a run: they merge and purge what there is, now and then and all at once; in calm until nothing is left. */
import type { JobsAnswer } from '../../../src/actors/asks/router.ts';
import type { Job, JobsRequest } from '../../../src/deadletters/jobs/job.ts';
import { type LetterPlan, queues } from './actors.ts';
import type { HistoryCluster } from '../history/cluster.ts';
import { check } from '../oracle.ts';
import type { JobOperation } from '../../../src/kernel/letter-words.ts';

const all = [{ from: 0, to: 100_000 }];
const ASK_MS = 5_000;
const LOOK_EVERY_MS = 100;
const undecided: ReadonlySet<string> = new Set(['unavailable', 'notHere', 'deadline', 'busy', 'dataLoss']);

export class LetterLoad {
  readonly #cluster: HistoryCluster;
  readonly #plan: LetterPlan;
  /** Of all that anybody heard of. */
  readonly #jobIds = new Set<string>();
  readonly jobs = new Map<string, Job>();
  #isOver = false;

  constructor(cluster: HistoryCluster, plan: LetterPlan) {
    this.#cluster = cluster;
    this.#plan = plan;
  }

  operator(): void {
    const { world } = this.#cluster;
    world.at(world.random.int(1, this.#plan.jobEveryMs * 2), () => {
      if (this.#isOver) return;
      const { purgeShare, undoWindowMs } = this.#plan;
      const isUndone = undoWindowMs > 0 && world.random.chance(purgeShare);
      const operation = isUndone ? 'restore' : world.random.chance(purgeShare) ? 'purge' : 'merge';
      this.#job(operation, world.random.pick(queues).number);
      if (world.random.chance(0.2)) this.#disturb();
      this.operator();
    });
  }

  /** From now on each queue is merged, again and again. */
  calm(): void {
    this.#isOver = true;
    for (const { number } of queues) this.#mergeAll(number);
    this.#look();
  }

  get activeJobs(): number {
    return [...this.#jobIds].filter((jobId) => !isEnded(this.jobs.get(jobId))).length;
  }

  /** As far as somebody knows: what was selected has one fate each. */
  checkCounts(): void {
    for (const { jobId, state, counts } of this.jobs.values()) {
      const { selected, merged, purged, restored, failed, skipped, gone, notTried } = counts;
      const told = merged + purged + restored + failed + skipped + gone + notTried;
      const isRight = isEnded(this.jobs.get(jobId)) ? told === selected : told <= selected;
      check(isRight, 'I20 a job miscounts', () => `job ${jobId} is ${state}: ${JSON.stringify(counts)}`);
    }
  }

  #mergeAll(queue: number): void {
    this.#job('merge', queue);
    this.#cluster.world.at(2_000, () => this.#mergeAll(queue));
  }

  #job(operation: JobOperation, queue: number): void {
    const { random } = this.#cluster.world;
    const { category, sourceCluster } = queues.find(({ number }) => number === queue) ?? { category: '', sourceCluster: '' };
    const options = {
      rps: 0,
      concurrency: random.pick([1, 3, 8]),
      taskTimeoutMs: 1_000,
      canary: !this.#isOver && random.chance(0.2),
      maxFailures: 0,
      overridesLoopGuard: this.#isOver,
    };
    const by = { actor: 'operator', reason: 'because', query: '', groupId: '' };
    const selection = { ids: operation === 'restore' ? all : undefined, condition: undefined };
    this.#ask(
      { kind: 'planLetters', operation, queue: { number: queue, category, sourceCluster }, selection, options, ...by },
      (planned) => {
        if (planned.kind !== 'planned') return;
        const { planId, hash } = planned.plan;
        this.#jobIds.add(planId);
        this.#ask({ kind: 'applyPlan', planId, hash }, (answer) => {
          if (answer.kind === 'job') this.#heard(answer.job);
          // It overlaps with another, or was not applied; whoever heard nothing looks.
          else if (answer.kind === 'rejected') this.#jobIds.delete(planId);
        });
      },
    );
  }

  #disturb(): void {
    const { random } = this.#cluster.world;
    const active = [...this.#jobIds].filter((jobId) => !isEnded(this.jobs.get(jobId)));
    if (active.length === 0) return;
    const kind = random.pick(['cancelJob', 'pauseJob', 'resumeJob'] as const);
    this.#ask({ kind, jobId: random.pick(active), actor: 'operator', reason: 'changed my mind' }, () => {});
  }

  /** What became of each, and what was paused goes on: also one that nobody was told of, whose letters no other job may have. */
  #look(): void {
    this.#ask({ kind: 'listJobs', queue: undefined, activeOnly: true, afterJobId: undefined, max: 100 }, (answer) => {
      if (answer.kind === 'jobs') for (const job of answer.jobs) this.#heard(job);
    });
    for (const jobId of this.#jobIds) {
      if (isEnded(this.jobs.get(jobId))) continue;
      this.#ask({ kind: 'describeJob', jobId }, (answer) => {
        if (answer.kind === 'rejected') this.#jobIds.delete(jobId);
        if (answer.kind !== 'job') return;
        this.#heard(answer.job);
        if (answer.job.state === 'paused') this.#ask({ kind: 'resumeJob', jobId, actor: 'operator', reason: '' }, () => {});
      });
    }
    this.#cluster.world.at(LOOK_EVERY_MS * 5, () => this.#look());
  }

  #heard(job: Job): void {
    this.#jobIds.add(job.jobId);
    if (!isEnded(this.jobs.get(job.jobId))) this.jobs.set(job.jobId, job);
  }

  #ask<Request extends JobsRequest>(request: Request, onAnswer: (answer: JobsAnswer<Request>) => void): void {
    this.#cluster.askJobs(request, ASK_MS, (answer) => {
      if (answer.kind === 'internal') this.#cluster.onBug('I17 internal error', `${request.kind}: ${answer.message}`);
      else if (!undecided.has(answer.kind)) onAnswer(answer);
    });
  }
}

function isEnded(job: Job | undefined): boolean {
  return job !== undefined && job.state !== 'running' && job.state !== 'paused' && job.state !== 'cancelling';
}
