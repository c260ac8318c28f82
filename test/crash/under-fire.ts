/** What campaigns have in common whose servers are killed again and again: how they wait, and what their clients may hear. */
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';

export type Until = (what: string, isSo: () => Promise<boolean>) => Promise<void>;

export function untilWithin(patienceMs: number): Until {
  return async (what, isSo) => {
    const endMs = performance.now() + patienceMs;
    while (!(await isSo())) {
      if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
      await delay(20);
    }
  };
}

/** What somebody hears whose server dies, whose letters are others now, or who meets another. */
export const heardUnderFire: ReadonlySet<number | undefined> = new Set([
  status.UNAVAILABLE,
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.FAILED_PRECONDITION,
  status.NOT_FOUND,
  status.ABORTED,
  status.RESOURCE_EXHAUSTED,
]);
