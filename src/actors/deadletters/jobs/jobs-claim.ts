/** The letters of a job are nobody else's from its claim to its release. The queue's owner forgets claims when it is another. */
import type { Job } from '../../../deadletters/jobs/job.ts';
import type { AskFailure } from '../../asks/asks.ts';
import { isAskFailure } from '../../asks/asks.ts';
import type { Asker } from '../../asks/router.ts';

export type JobsClaimOptions = {
  readonly asker: Pick<Asker, 'askDeadLetters'>;
  readonly isActive: (jobId: string) => boolean;
  readonly deadlineMs: () => number;
};

export type Claimed =
  | { readonly kind: 'claimed' }
  /** It is tried again. */
  | { readonly kind: 'notNow'; readonly failure: AskFailure }
  | { readonly kind: 'never'; readonly reason: string };

export type Released =
  | 'released'
  /** Some of its letters are being merged still. */
  | 'under-way'
  | 'unreachable';

export class JobClaim {
  readonly #options: JobsClaimOptions;
  readonly #job: Pick<Job, 'jobId' | 'ids' | 'queue'>;

  constructor(job: Pick<Job, 'jobId' | 'ids' | 'queue'>, options: JobsClaimOptions) {
    this.#job = job;
    this.#options = options;
  }

  claim(then: (claimed: Claimed) => void): void {
    const { asker, deadlineMs } = this.#options;
    const { jobId, ids, queue } = this.#job;
    asker.askDeadLetters(
      queue.number,
      { kind: 'claimLetters', jobId, ranges: ids, incarnation: queue.incarnation ?? 0 },
      deadlineMs(),
      (answer) => {
        if (answer.kind === 'done') return then({ kind: 'claimed' });
        if (isAskFailure(answer)) return then({ kind: 'notNow', failure: answer });
        const { reason, message, holders = [] } = answer.rejection;
        if (reason === 'invalid-argument' || reason === 'began-anew') return then({ kind: 'never', reason: message });
        this.#releaseEnded(holders);
        then({ kind: 'notNow', failure: { kind: 'busy', message } });
      },
    );
  }

  release(then: (released: Released) => void): void {
    this.#release(this.#job.jobId, then);
  }

  /** Of jobs that have ended, whose releases were lost. */
  #releaseEnded(holders: readonly string[]): void {
    for (const holder of holders) if (!this.#options.isActive(holder)) this.#release(holder, () => {});
  }

  #release(jobId: string, then: (released: Released) => void): void {
    const { asker, deadlineMs } = this.#options;
    asker.askDeadLetters(this.#job.queue.number, { kind: 'releaseClaim', jobId }, deadlineMs(), (answer) => {
      switch (answer.kind) {
        case 'done':
          return then('released');
        case 'rejected':
          return then('under-way');
        default:
          return then('unreachable');
      }
    });
  }
}
