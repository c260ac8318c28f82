/** Clocks differ from process to process: a moment by the wall clock travels as the time that is left until then. */
import { WireError } from '../../wire/wire-error.ts';

/** Negative once the moment has passed. */
export function timeLeftMs(momentMs: number, nowMs: number): number {
  return momentMs - nowMs;
}

export function momentMs(leftMs: number, nowMs: number): number {
  const moment = nowMs + leftMs;
  if (!Number.isSafeInteger(moment)) throw new WireError(`${leftMs} ms from now is outside ±2^53`);
  return moment;
}
