/**
 * The life of one task-queue partition on its host.
 *
 *   unloaded ──demand──▶ loading ──loaded──▶ active ──idle──▶ unloading ──released──▶ unloaded
 *                           ▲                                     │
 *                           └───────────────demand────────────────┘
 *
 * Today loading and unloading take no time, because every stored task is in memory; a request never sees those two states.
 */
import { assert } from '../kernel/assert.ts';

export type QueueStatus = 'unloaded' | 'loading' | 'active' | 'unloading';
export type QueueEvent = 'demand' | 'loaded' | 'idle' | 'released';

/** `undefined`: a bug of ours. */
const transitions: Readonly<Record<QueueStatus, Readonly<Record<QueueEvent, QueueStatus | undefined>>>> = {
  unloaded: { demand: 'loading', loaded: undefined, idle: undefined, released: undefined },
  loading: { demand: 'loading', loaded: 'active', idle: undefined, released: undefined },
  active: { demand: 'active', loaded: undefined, idle: 'unloading', released: undefined },
  unloading: { demand: 'loading', loaded: undefined, idle: 'unloading', released: 'unloaded' },
};

export function nextQueueStatus(status: QueueStatus, event: QueueEvent): QueueStatus {
  const next = transitions[status][event];
  assert(next !== undefined, `a task queue that is ${status} cannot be ${event}`);
  return next;
}
