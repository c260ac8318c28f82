/**
 * One number for a queue of dead letters in one incarnation: from the first record of its topic until that is deleted. In the next one message ids are
 * given again, so whatever remembers a letter by its id remembers the incarnation as well.
 *
 *     incarnation · 1024 + number of the queue          0: its letters are older than incarnations are
 */

/** More than a cluster has queues. */
const QUEUES = 1_024;
/** In 32 bits: the next one of a queue is drawn, and not the same but for one case in four billion. */
const INCARNATION_MAX = 0xffff_ffff;

/** From 1 on. `fraction`: from 0 up to 1. */
export function drawnIncarnation(fraction: number): number {
  return 1 + Math.floor(fraction * INCARNATION_MAX);
}

export function incarnatedQueue(number: number, incarnation: number): number {
  return incarnation * QUEUES + number;
}

/** Its number, whatever the incarnation. */
export function queueNumberOf(queue: number): number {
  return queue % QUEUES;
}

/** Of the same queue, in whatever incarnations. */
export function isSameQueue(one: number, other: number): boolean {
  return queueNumberOf(one) === queueNumberOf(other);
}
