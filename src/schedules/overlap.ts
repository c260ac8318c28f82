/** What an overlap policy makes of starts that wait, as Temporal's scheduler decides it. */
import { type BufferedStart, overlapPolicy } from './schedule.ts';

export type OverlapDecision = {
  /** Starts that wait for no other, and make way for none: all of them may start. */
  readonly overlapping: readonly BufferedStart[];
  /** The one of the others that may start now. */
  readonly next: BufferedStart | undefined;
  readonly buffered: readonly BufferedStart[];
  readonly cancelsRunning: boolean;
  readonly terminatesRunning: boolean;
  readonly skipped: number;
};

export type OverlapSituation = {
  readonly isRunning: boolean;
  /** The policy for starts that have none of their own. */
  readonly policyOfSchedule: number;
  /** How many more may be in starting: others wait. */
  readonly room: number;
};

export function decideOverlap(waiting: readonly BufferedStart[], { isRunning, policyOfSchedule, room }: OverlapSituation): OverlapDecision {
  const overlapping: BufferedStart[] = [];
  const buffered: BufferedStart[] = [];
  let next: BufferedStart | undefined;
  let cancelsRunning = false;
  let terminatesRunning = false;
  let skipped = 0;
  for (const start of waiting) {
    const policy = start.overlapPolicy === overlapPolicy.unspecified ? policyOfSchedule : start.overlapPolicy;
    if (policy === overlapPolicy.allowAll) {
      overlapping.push(start);
      continue;
    }
    if (!isRunning && next === undefined) {
      next = start;
      continue;
    }
    switch (policy) {
      case overlapPolicy.bufferOne:
        if (buffered.length === 0) buffered.push(start);
        else skipped++;
        break;
      case overlapPolicy.bufferAll:
        buffered.push(start);
        break;
      case overlapPolicy.cancelOther:
      case overlapPolicy.terminateOther:
        // One that has not begun makes way by never beginning.
        if (!isRunning) {
          next = start;
          break;
        }
        if (policy === overlapPolicy.cancelOther) cancelsRunning = true;
        else terminatesRunning = true;
        buffered.push(start);
        break;
      default:
        skipped++;
    }
  }
  return { ...withinRoom({ overlapping, next, buffered }, waiting, room), cancelsRunning, terminatesRunning, skipped };
}

type Starts = Pick<OverlapDecision, 'overlapping' | 'next' | 'buffered'>;

function withinRoom(starts: Starts, waiting: readonly BufferedStart[], room: number): Starts {
  const { overlapping, next } = starts;
  const held = overlapping.slice(room);
  const hasNext = next !== undefined && overlapping.length < room;
  if (next !== undefined && !hasNext) held.push(next);
  if (held.length === 0) return starts;
  const kept = new Set([...starts.buffered, ...held]);
  return { overlapping: overlapping.slice(0, room), next: hasNext ? next : undefined, buffered: waiting.filter((one) => kept.has(one)) };
}
