import { afterEach, expect, test, vi } from 'vitest';
import { AssertionError } from '../../src/kernel/assert.ts';
import { BrokerLine } from '../../src/topics/kafka/broker-line.ts';
import type { InnerBroker } from '../../src/topics/kafka/broker-line.ts';
import { until } from '../support/event-loop.ts';

const hourMs = 3_600_000;
const request = { apiKey: 1, apiVersion: 11, apiName: 'Fetch', body: Buffer.alloc(0) };

afterEach(() => void vi.useRealTimers());

/** Only the wall clock is in our hands; nothing in here waits. */
function setWallClock(nowMs: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: nowMs });
}

/** A connection that answers with `answer`, or never. */
function lineTo(answer: Buffer | undefined): BrokerLine {
  const send = async (call: { readonly response: { decode(payload: Buffer): Promise<unknown> } }): Promise<unknown> =>
    answer === undefined ? await new Promise(() => {}) : await call.response.decode(answer);
  const connection = { connectionStatus: 'connected', send };
  const broker: unknown = { connect: async () => {}, connectionPool: { pool: [connection] } };
  return new BrokerLine({
    create: async () => broker as InnerBroker,
    describe: () => 'the broker',
    heard: () => {},
    timedOut: () => {},
    throttled: () => {},
  });
}

/** Longer than the test can take on any machine. */
const quotaMs = 60_000;

test('a quota ends when it does, though the wall clock was set back meanwhile', async () => {
  const startMs = Date.now();
  setWallClock(startMs);
  const throttled = Buffer.alloc(4);
  throttled.writeInt32BE(quotaMs);
  const line = lineTo(throttled);
  await line.send(request);
  expect(line.throttledForMs()).toBeGreaterThan(0);
  setWallClock(startMs - hourMs);
  expect(line.throttledForMs()).toBeLessThanOrEqual(quotaMs);
});

test.each([
  ['back', -hourMs],
  ['forward', hourMs],
])('how long an answer is owed is not a matter of the wall clock: set %s', async (_, stepMs) => {
  const startMs = Date.now();
  setWallClock(startMs);
  const line = lineTo(undefined);
  const beganMs = performance.now();
  const sent = line.send(request).catch(() => {});
  await until(() => performance.now() - beganMs >= 20);
  setWallClock(startMs + stepMs);
  expect(line.waitingMs()).toBeGreaterThanOrEqual(15);
  expect(line.waitingMs()).toBeLessThan(hourMs / 2);
  line.close('the test is over');
  await sent;
});

test('a bug of ours on the way to a broker fails who asked: nobody waits for ever, and the process goes on', async () => {
  const line = new BrokerLine({
    create: () => Promise.reject(new AssertionError('planted')),
    describe: () => 'the broker',
    heard: () => {},
    timedOut: () => {},
    throttled: () => {},
  });
  await expect(line.send(request)).rejects.toThrow('planted');
  await expect(line.open()).rejects.toThrow('planted');
  expect(line.waitingMs()).toBe(0);
});
