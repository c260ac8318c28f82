/** What updates that no worker has accepted take of their namespace's room. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PendingUpdate, pendingUpdateBytes } from '../../../src/history/commands/pending-update.ts';
import { changeVolatile, emptyVolatile } from '../../../src/history/run/volatile.ts';

const runs = ['run 1', 'run 2'];
const step = fc.record({
  runId: fc.constantFrom(...runs),
  updateId: fc.constantFrom('u1', 'u2', 'u3'),
  namespaceId: fc.constant('ns'),
  requestBytes: fc.nat(2_000),
  callbackBytes: fc.array(fc.nat(1_000_000), { maxLength: 3 }),
  ends: fc.boolean(),
});

test('is what they hold, also of one that has grown by callbacks, and nothing once they have ended', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const volatile = emptyVolatile();
      for (const { runId, updateId, namespaceId, requestBytes, callbackBytes, ends } of steps) {
        const before: PendingUpdate | undefined = volatile.updates.get(runId)?.get(updateId);
        const callbacks = callbackBytes.map((length) => new Uint8Array(length));
        const attachment = { requestId: 'r', callbacks, callbacksMax: 2_000, updateCallbacksMax: 32 };
        if (ends) changeVolatile(volatile, { kind: 'updateEnded', runId, updateId });
        else {
          const request = before?.request ?? new Uint8Array(requestBytes);
          const attachments = [...(before?.attachments ?? []), attachment];
          changeVolatile(volatile, { kind: 'updatePending', runId, update: { updateId, namespaceId, request, sentWith: 0, attachments } });
        }
        const held = [...volatile.updates.values()].flatMap((ofRun) => [...ofRun.values()]);
        expect(volatile.updateBytes.get('ns') ?? 0).toBe(held.reduce((sum, update) => sum + pendingUpdateBytes(update), 0));
      }
    }),
  );
});
