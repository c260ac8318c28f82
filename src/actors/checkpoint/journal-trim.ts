/**
 * Trims a journal behind its checkpoints, to the last record that one has: it stays as the witness that the next restore compares.
 *
 *     records      … ●───────────●───────────● …       ●  ends of checkpoints
 *                    └ older than the retention: up to here it may go; what is younger stays, however durable it is elsewhere
 */
import { errorText } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import type { CheckpointPosition, TrimPoint } from '../database.ts';
import type { Log, PartitionId } from '../log.ts';
import type { Clock } from '../ports.ts';

/** So often at most, for each journal. */
const TRIM_EVERY_MS = 60_000;

/** As many ends of checkpoints are remembered, spread over the retention. */
const TRIM_POINTS_MAX = 64;

export type JournalTrimOptions = {
  readonly log: Pick<Log, 'truncate'>;
  readonly partition: PartitionId;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Nothing younger goes: how old a copy of the database may be that is restored. 0: the database alone is trusted. */
  readonly journalRetentionMs: number;
};

export class JournalTrim {
  readonly #options: JournalTrimOptions;
  #lastMs = -Infinity;
  #trimmedTo = 0;

  constructor(options: JournalTrimOptions) {
    this.#options = options;
  }

  /** The database holds that position for good. What fails is tried again behind a later checkpoint. */
  durable(position: CheckpointPosition): void {
    const { log, partition, clock, logger, journalRetentionMs } = this.#options;
    if (clock.monoMs() - this.#lastMs < TRIM_EVERY_MS) return;
    const offset = trimOffset(position, clock.wallMs(), journalRetentionMs);
    if (offset <= this.#trimmedTo) return;
    this.#lastMs = clock.monoMs();
    log.truncate(partition, offset).then(
      () => void (this.#trimmedTo = offset),
      (error: unknown) => logger.warn('the journal could not be trimmed', { beforeOffset: offset, reason: errorText(error) }),
    );
  }
}

/**
 * Records below it may go: those that a checkpoint of that age had. Without a retention no clock is asked: a journal's time may be ahead of it for
 * long, after a clock that was set back.
 */
export function trimOffset({ timeMs, lastOffset, trimPoints }: CheckpointPosition, nowMs: number, journalRetentionMs: number): number {
  if (journalRetentionMs === 0) return lastOffset;
  const untilMs = nowMs - journalRetentionMs;
  const ends = [...trimPoints, { timeMs, lastOffset }];
  return ends.findLast((end) => end.timeMs <= untilMs)?.lastOffset ?? 0;
}

/** With the end of the checkpoint before, unless one stands close by; of those that are older than the retention the newest is enough. */
export function nextTrimPoints(before: CheckpointPosition | undefined, nowMs: number, journalRetentionMs: number): readonly TrimPoint[] {
  if (before === undefined || journalRetentionMs === 0) return [];
  const { timeMs, lastOffset, trimPoints } = before;
  const last = trimPoints.at(-1);
  const isFar = last === undefined || timeMs - last.timeMs >= journalRetentionMs / (TRIM_POINTS_MAX - 2);
  const points = isFar ? [...trimPoints, { timeMs, lastOffset }] : trimPoints;
  const newestOld = points.findLastIndex((point) => point.timeMs <= nowMs - journalRetentionMs);
  return points.slice(Math.max(newestOld, points.length - TRIM_POINTS_MAX, 0));
}
