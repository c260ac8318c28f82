/** What an overlap policy makes of starts that wait, as Temporal's scheduler decides it. */
import { type BufferedStart, overlapPolicy } from './schedule.ts';

export type OverlapDecision = {
  /** They wait for no other: all of them may start. */
  readonly overlapping: readonly BufferedStart[];
  /** The one of the others that may start now. */
  readonly next: BufferedStart | undefined;
  readonly buffered: readonly BufferedStart[];
  readonly cancelsRunning: boolean;
  readonly terminatesRunning: boolean;
  readonly skipped: number;
};

/** `policyOfSchedule`: of starts that have none of their own. */
export function decideOverlap(waiting: readonly BufferedStart[], isRunning: boolean, policyOfSchedule: number): OverlapDecision {
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
  const endsRunning = cancelsRunning || terminatesRunning;
  // They would be ended with the one that runs.
  return { overlapping: endsRunning ? [] : overlapping, next, buffered, cancelsRunning, terminatesRunning, skipped };
}
