/** More doublings than this change nothing: whatever a limit is, it is reached. */
const DOUBLINGS_MAX = 30;

/** The pause after an attempt that failed; the first is number 1. Twice as long from attempt to attempt, and never longer than `delayMsMax`. */
export function backOffMs(attempt: number, delayMs: number, delayMsMax: number): number {
  return Math.min(delayMs * 2 ** Math.min(attempt - 1, DOUBLINGS_MAX), delayMsMax);
}
