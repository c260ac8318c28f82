/** kafkajs 2.2.4, loaded when the first client is built and repaired for Node 24. Nothing else imports it at run time. */
import { createRequire } from 'node:module';
import { assert } from '../../kernel/assert.ts';
import type * as kafkajs from 'kafkajs';

let loaded: typeof kafkajs | undefined;

export function loadKafkajs(): typeof kafkajs {
  if (loaded === undefined) {
    const require = createRequire(import.meta.url);
    repairRequestQueue(require('kafkajs/src/network/requestQueue'));
    loaded = require('kafkajs') as typeof kafkajs;
  }
  return loaded;
}

type RequestQueue = {
  readonly pending: readonly unknown[];
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
};

const throttleCheckMsMin = 10;

/**
 * After every response kafkajs arms a timer for `throttledUntil - now`, even when nothing waits. Unthrottled that is a hugely negative
 * delay: Node 24 warns, takes 1 ms, and the timer arms itself again for ever, on every connection (3-4 % of a core when idle).
 * Now it is armed only while requests wait. Nothing is missed: every push and every response comes by here again.
 */
function repairRequestQueue(queue: { readonly prototype: RequestQueue }): void {
  assert(typeof queue.prototype.scheduleCheckPendingRequests === 'function', 'kafkajs is the version that the repair was made for');
  queue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
    const waitMs = Math.max(throttleCheckMsMin, this.throttledUntil - Date.now());
    this.throttleCheckTimeoutId = setTimeout(() => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    }, waitMs);
  };
}
