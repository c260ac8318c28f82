/** Questions about topics that were just made, or whose leaders just moved. */
import { setTimeout as pause } from 'node:timers/promises';
import { kafkaTypes } from './admin.ts';
import { rootOf } from './kafka-failure.ts';

const pollMs = 50;
const passing: ReadonlySet<string> = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION']);

/**
 * Not every broker knows yet what is there and who leads it, and each request may go to another one: asks again until `deadlineMs` by
 * `performance.now`.
 */
export async function onceKnown<T>(deadlineMs: number, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const types = [...kafkaTypes(error), ...kafkaTypes(rootOf(error))];
      if (performance.now() > deadlineMs || !types.some((type) => passing.has(type))) throw error;
      await pause(pollMs);
    }
  }
}
