/** Why what a checkpoint has begun is not written, since when, and what people are told of it. */
import type { Logger } from '../../observability/logger.ts';
import type { Clock, Timer } from '../../ports/machine.ts';
import type { CheckpointTrouble } from './checkpoint-schedule.ts';

const noAnswer = 'the database does not answer';

export type WriteTroubleOptions = {
  readonly clock: Pick<Clock, 'monoMs' | 'after'>;
  readonly logger: Logger;
  /** How often it is said that nothing is written. */
  readonly reportEveryMs: number;
  readonly unwrittenBytes: () => number;
};

export class WriteTrouble {
  readonly #options: WriteTroubleOptions;
  #late: Timer | undefined;
  #now: CheckpointTrouble | undefined;
  /** Somebody has read of it. */
  #isSaid = false;

  constructor(options: WriteTroubleOptions) {
    this.#options = options;
  }

  /** The trouble there is; undefined: all goes well. */
  get now(): CheckpointTrouble | undefined {
    return this.#now;
  }

  /** The latest reason, since the first. */
  met(reason: string, sinceMs = this.#options.clock.monoMs()): void {
    this.#now = { sinceMs: this.#now?.sinceMs ?? sinceMs, reason };
  }

  /** A write begins. A database that answers nothing is in trouble as well. That one is away is told once for all partitions, where they ask it. */
  writing(sinceMs = this.#options.clock.monoMs()): void {
    const { clock, reportEveryMs, logger, unwrittenBytes } = this.#options;
    this.#late = clock.after(reportEveryMs, () => {
      const reason = this.#now?.reason ?? noAnswer;
      this.met(reason, sinceMs);
      this.writing(sinceMs);
      if (reason !== noAnswer) return;
      const seconds = Math.round((clock.monoMs() - sinceMs) / 1000);
      logger.warn('a checkpoint is still not written; workflows continue', { seconds, unwrittenBytes: unwrittenBytes() });
      this.#isSaid = true;
    });
  }

  /** Not away, but wrong. */
  refused(problem: Error): void {
    this.met(problem.message);
    this.#isSaid = true;
    const message = 'the database refused a checkpoint: it is tried again, and the journal keeps what is not written';
    this.#options.logger.error(message, { error: problem });
  }

  /** The checkpoint is written, up to that offset. */
  over(offset: number): void {
    this.stop();
    if (this.#isSaid) this.#options.logger.info('checkpoints can be written again', { offset });
    this.#isSaid = false;
    this.#now = undefined;
  }

  /** Nothing is said any more. */
  stop(): void {
    this.#late?.cancel();
  }
}
