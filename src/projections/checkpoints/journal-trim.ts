/**
 * Trims a journal behind its checkpoints, to the last record that one has: it stays as the witness that the next restore compares.
 *
 *     records      … ●───────────●───────────● …       ●  ends of checkpoints
 *                    └ older than the retention: up to here it may go; what is younger stays, however durable it is elsewhere
 */
import { errorText } from '../../kernel/error-text.ts';
import type { CheckpointPosition, TrimPoint } from '../database-port.ts';
import type { Log, PartitionId } from '../../ports/log.ts';
import type { ClockAndLogger } from '../../ports/machine.ts';

/** Each journal is trimmed so often at most. */
const TRIM_EVERY_MS = 60_000;

/** The retention is divided into as many parts, by time and by bytes: at the most one part stays that might go. */
const RETENTION_PARTS = 62;
/** How many ends of checkpoints are remembered. */
const TRIM_POINTS_MAX = 2 * RETENTION_PARTS + 4;

/** What a journal keeps though the database has it: how old a copy of the database may be that is restored. What is over one of the two may go. */
export type JournalRetention = {
  /** 0: nothing, the database alone is trusted. */
  readonly journalRetentionMs: number;
  /** Bytes of records that one journal keeps, roughly; absent: however many. */
  readonly journalRetentionBytes?: number;
};

export type JournalTrimOptions = ClockAndLogger & {
  readonly log: Pick<Log, 'truncate'>;
  readonly partition: PartitionId;
  readonly retention: JournalRetention;
};

/** Called with each position that the database holds for good. What fails is tried again behind a later checkpoint. */
export function journalTrim({ log, partition, clock, logger, retention }: JournalTrimOptions): (position: CheckpointPosition) => void {
  let lastMs = -Infinity;
  let trimmedTo = 0;
  return (position) => {
    if (clock.monoMs() - lastMs < TRIM_EVERY_MS) return;
    const offset = trimOffset(position, clock.wallMs(), retention);
    if (offset <= trimmedTo) return;
    lastMs = clock.monoMs();
    log.truncate(partition, offset).then(
      () => void (trimmedTo = offset),
      (error: unknown) => logger.warn('the journal could not be trimmed', { beforeOffset: offset, reason: errorText(error) }),
    );
  };
}

/** Records below it may go, by age, or by the bytes behind them. Without a retention no clock is asked: one that was set back may lag. */
export function trimOffset({ timeMs, lastOffset, trimPoints }: CheckpointPosition, nowMs: number, retention: JournalRetention): number {
  const { journalRetentionMs } = retention;
  if (journalRetentionMs === 0 || timeMs <= nowMs - journalRetentionMs) return lastOffset;
  return trimPoints[newestOver(trimPoints, nowMs, retention)]?.lastOffset ?? 0;
}

/** With the end of the checkpoint before, unless one is close; of those over the retention the newest. `bytes`: of the records between. */
export function nextTrimPoints(
  before: CheckpointPosition | undefined,
  bytes: number,
  nowMs: number,
  retention: JournalRetention,
): readonly TrimPoint[] {
  const { journalRetentionMs, journalRetentionBytes = Infinity } = retention;
  if (before === undefined || journalRetentionMs === 0) return [];
  const { timeMs, lastOffset, trimPoints } = before;
  const last = trimPoints.at(-1);
  const isFar =
    last === undefined ||
    timeMs - last.timeMs >= journalRetentionMs / RETENTION_PARTS ||
    last.bytes >= journalRetentionBytes / RETENTION_PARTS;
  const points = isFar
    ? [...trimPoints, { timeMs, lastOffset, bytes }]
    : [...trimPoints.slice(0, -1), { ...last, bytes: last.bytes + bytes }];
  return points.slice(Math.max(newestOver(points, nowMs, retention), points.length - TRIM_POINTS_MAX, 0));
}

/** The newest whose time is over, or behind which there is enough. -1: none. */
function newestOver(points: readonly TrimPoint[], nowMs: number, retention: JournalRetention): number {
  const { journalRetentionMs, journalRetentionBytes = Infinity } = retention;
  let bytesBehind = 0;
  return points.findLastIndex((point) => {
    bytesBehind += point.bytes;
    return point.timeMs <= nowMs - journalRetentionMs || bytesBehind >= journalRetentionBytes;
  });
}
