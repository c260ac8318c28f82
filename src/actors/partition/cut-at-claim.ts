/** A journal that was written again behind a claim begins there. */
import { isClaim } from '../ownership/effective.ts';
import { type Log, partitionName, type PartitionId } from '../log.ts';

const READ_BYTES = 1;

/**
 * Rejects where something else than a claim stands at that offset: records were numbered anew since it was written down, and others stand in front of it
 * than were meant. Where somebody has removed the claim, it is the one of before.
 */
export async function cutAtClaim(log: Pick<Log, 'read' | 'bounds' | 'truncate'>, partition: PartitionId, cut: number): Promise<void> {
  const { start, end } = await log.bounds(partition);
  if (cut <= start) return;
  const [record] = cut < end ? await log.read(partition, cut, READ_BYTES) : [];
  if (record === undefined || (record.offset === cut && !isClaim(record))) {
    throw new Error(
      `no claim stands at offset ${cut} of ${partitionName(partition)}: was the topic restored from a copy that numbers the records anew?`,
    );
  }
  await log.truncate(partition, cut);
}
