import { describe, expect, test } from 'vitest';
import { letterRow, type LetterRecord } from '../../src/deadletters/letter-records.ts';
import { letterOf } from './letters.ts';

const place = { sourceCluster: 'active', offset: 77 };
const letter = letterOf(3, 8, { generation: 2, state: 'quarantined' });
const record: LetterRecord = { kind: 'letter', timeMs: 1_770_000_700_000, messageId: 41, letter };

describe('the row of a dead letter', () => {
  test('says what is listed, counted, filtered and grouped by', () => {
    expect(letterRow(record, place)).toEqual({
      messageId: 41,
      offset: 77,
      taskId: 3_008,
      taskType: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
      shardId: 3,
      namespaceId: '32049b68-7872-4094-8e63-d0dd59896a83',
      namespace: 'default',
      workflowId: 'order-8',
      runId: '0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11',
      workflowType: 'Order',
      cause: 'retries-exhausted',
      disposition: 'exhausted',
      errorType: 'Unavailable',
      errorMessage: 'connection 8 refused',
      fingerprint: '0123456789abcdef',
      attempts: 70,
      generation: 2,
      state: 'quarantined',
      taskFireTimeMs: undefined,
      firstFailureTimeMs: 1_770_000_000_000,
      lastFailureTimeMs: 1_770_000_600_000,
      deadLetterTimeMs: 1_770_000_600_001,
      firstEventId: 5,
      nextEventId: undefined,
      version: undefined,
      sourceCluster: 'active',
      node: 'host:7233',
      build: '0.1.0',
      isDamaged: false,
    });
  });

  test('has no text that an index would refuse, and cuts between characters', () => {
    const workflowId = `${'x'.repeat(2_047)}é`;
    const errorMessage = '😀'.repeat(1_000);
    const long = { ...letter, task: { ...letter.task, workflowId }, failure: { ...letter.failure, errorMessage } };
    const row = letterRow({ ...record, letter: long }, place);
    expect(row.workflowId).toBe('x'.repeat(2_047));
    expect(row.errorMessage).toBe('😀'.repeat(512));
  });

  test('knows every number of 64 bits, and none beyond', () => {
    const wholes = (taskId: bigint, eventId: bigint) => {
      const row = letterRow({ ...record, letter: { ...letter, task: { ...letter.task, taskId, eventId } } }, place);
      return [row.taskId, row.firstEventId];
    };
    expect(wholes(2n ** 63n - 1n, -(2n ** 63n))).toEqual([2n ** 63n - 1n, -(2n ** 63n)]);
    expect(wholes(2n ** 63n, -(2n ** 63n) - 1n)).toEqual([undefined, undefined]);
  });

  test('of a dead letter that cannot be read: its place, and why', () => {
    const row = letterRow(
      { kind: 'damaged', timeMs: 1_770_000_000_123, messageId: 5, reason: 'schema 9', handOver: undefined, state: 'open' },
      place,
    );
    expect(row).toMatchObject({ messageId: 5, offset: 77, isDamaged: true, state: 'open', deadLetterTimeMs: 1_770_000_000_123 });
    expect([row.errorMessage, row.cause, row.taskId, row.workflowId]).toEqual(['schema 9', '', undefined, '']);
  });
});
