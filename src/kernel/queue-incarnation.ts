/**
 * One number for a queue of dead letters in one incarnation: from the first record of its topic until that is deleted. In the next one message ids are
 * given again, so whatever remembers a letter by its id remembers the incarnation as well.
 *
 *     incarnation · 1024 + number of the queue
 */

/** More than a cluster has queues. */
const QUEUES = 1_024;
/** An incarnation has 32 bits and is drawn at random: two in a row are the same in one case of four billion. */
const INCARNATION_MAX = 0xffff_ffff;

/** An incarnation from 1 on. `fraction`: from 0 up to 1. */
export function drawnIncarnation(fraction: number): number {
  return 1 + Math.floor(fraction * INCARNATION_MAX);
}

export function incarnatedQueue(number: number, incarnation: number): number {
  return incarnation * QUEUES + number;
}

/** The number of the queue, whatever the incarnation. */
export function queueNumberOf(queue: number): number {
  return queue % QUEUES;
}

/** Whether both name the same queue, in whatever incarnations. */
export function isSameQueue(one: number, other: number): boolean {
  return queueNumberOf(one) === queueNumberOf(other);
}
