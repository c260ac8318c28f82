/**
 * Plans and jobs over dead letters in this server: their topic is added once it serves, so that a cluster that was made without it gets it; then
 * their actor takes it over. Nothing waits for it.
 */
import { createHash } from 'node:crypto';
import { JOBS_ACTOR, type Router } from '../actors/asks/router.ts';
import { JobsHost, type JobsHostOptions } from '../actors/deadletters/jobs-host.ts';
import type { GrowingLog } from '../actors/log.ts';
import { NowAndThen } from '../actors/now-and-then.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import type { Timer } from '../actors/ports.ts';
import { backOffMs } from '../kernel/back-off.ts';
import { errorText } from '../kernel/error-text.ts';
import { dlqJobsTopic } from '../topics/catalogue.ts';
import { dlqJobsCodec } from '../topics/codec/dlq-jobs-codec.ts';

type OfEveryActor = Pick<JobsHostOptions, 'owner' | 'claims' | 'clock' | 'random' | 'logger' | 'budget' | 'turns' | 'settings'>;

export type DeadLetterJobsOptions = OfEveryActor & {
  readonly log: GrowingLog;
  readonly prefix: string;
  readonly router: Router;
};

const RETRY_DELAY_MS = 500;
const RETRY_DELAY_MS_MAX = 60_000;
const WARN_INTERVAL_MS = 60_000;

export class DeadLetterJobs {
  readonly #options: DeadLetterJobsOptions;
  readonly #topic: string;
  readonly #warnings: NowAndThen;
  #host: JobsHost | undefined;
  #status: PartitionStatus | undefined;
  #retry: Timer | undefined;
  #isStopped = false;
  /** Why its topic is not there; '' = nothing is wrong. */
  #trouble = '';

  constructor(options: DeadLetterJobsOptions) {
    this.#options = options;
    this.#topic = dlqJobsTopic(options.prefix);
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  /** Once. */
  open(): void {
    void this.#open(1);
  }

  /** For health. */
  get concerns(): readonly Concern[] {
    const { state, reason = '' } = this.#status ?? {};
    const why = state === 'failed' || state === 'unassigned' ? `it is ${state} (${reason})` : this.#trouble;
    if (why === '') return [];
    const message = `jobs over dead letters are not carried out: ${why}. Nothing else is concerned`;
    return [{ subject: this.#topic, severity: 'warning', message }];
  }

  /** Jobs that run go on with the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    await this.#host?.actor.drain();
  }

  async #open(attempt: number): Promise<void> {
    const { log, clock, logger } = this.#options;
    try {
      await log.addTopic({ name: this.#topic, partitions: 1, purpose: 'plans and jobs over dead letters' });
      if (!this.#isStopped) this.#serve();
      this.#trouble = '';
    } catch (error) {
      if (this.#isStopped) return;
      this.#trouble = errorText(error);
      if (this.#warnings.now())
        logger.warn('jobs over dead letters are not carried out yet', { topic: this.#topic, reason: this.#trouble });
      this.#retry = clock.after(backOffMs(attempt, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => void this.#open(attempt + 1));
    }
  }

  #serve(): void {
    const { prefix, router } = this.#options;
    this.#host = new JobsHost({
      ...this.#options,
      topic: this.#topic,
      codec: dlqJobsCodec(prefix),
      sink: router.jobs.sink(JOBS_ACTOR),
      asker: router,
      sha256: (text) => createHash('sha256').update(text).digest('hex'),
      onStatus: (status) => (this.#status = status),
    });
    router.jobs.attach(JOBS_ACTOR, this.#host.actor);
    this.#host.actor.start();
  }
}
