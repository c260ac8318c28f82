import { describe, expect, test, vi } from 'vitest';
import { loadKafkajs } from '../../src/topics/kafka/load-kafkajs.ts';
import { onceKnown } from '../../src/topics/kafka/admin.ts';

const { KafkaJSProtocolError, KafkaJSNumberOfRetriesExceeded } = loadKafkajs();
const far = Number.MAX_SAFE_INTEGER;

function answer(code: number, type: string): Error {
  return new KafkaJSProtocolError(Object.assign(new Error(`Kafka says ${type}`), { code, type, retriable: true }));
}

describe('a question about topics', () => {
  test.each([
    [3, 'UNKNOWN_TOPIC_OR_PARTITION'],
    [5, 'LEADER_NOT_AVAILABLE'],
    [6, 'NOT_LEADER_FOR_PARTITION'],
  ])('is asked again after %i %s: another broker, or the same one a moment later, knows', async (code, type) => {
    const answers: (() => Promise<string>)[] = [
      () => Promise.reject(answer(code, type)),
      () => Promise.reject(new KafkaJSNumberOfRetriesExceeded(answer(code, type), { retryCount: 5, retryTime: 1 })),
      () => Promise.resolve('known'),
    ];
    expect(await onceKnown(far, () => answers.shift()?.() ?? Promise.reject(new Error('asked too often')))).toBe('known');
  });

  test('is given up in time though the wall clock was set back', async () => {
    const wallClock = vi.spyOn(Date, 'now').mockReturnValue(0);
    const question = onceKnown(performance.now() + 100, () => Promise.reject(answer(6, 'NOT_LEADER_FOR_PARTITION')));
    await expect(question).rejects.toThrow('NOT_LEADER_FOR_PARTITION');
    wallClock.mockRestore();
  });

  test('is not asked again after what will not pass, nor when it is too late', async () => {
    for (const [deadlineMs, type] of [
      [far, 'TOPIC_AUTHORIZATION_FAILED'],
      [0, 'NOT_LEADER_FOR_PARTITION'],
    ] as const) {
      let asked = 0;
      const question = onceKnown(deadlineMs, () => {
        asked += 1;
        return Promise.reject(answer(6, type));
      });
      await expect(question).rejects.toThrow(type);
      expect(asked).toBe(1);
    }
  });
});
