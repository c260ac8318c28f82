import { describe, expect, test } from 'vitest';
import type { StoredRecord } from '../../src/ports/log.ts';
import type { JobsRecord } from '../../src/deadletters/jobs/job.ts';
import { dlqJobsCodec } from '../../src/codec/dlq-jobs-codec.ts';

const timeMs = Date.UTC(2026, 4, 4, 10);
const common = {
  operation: 'merge',
  queue: { number: 3, category: 'transfer', sourceCluster: 'eu.west', incarnation: 7 },
  ids: [
    { from: 0, to: 4 },
    { from: 9, to: 9 },
  ],
  options: { rps: 0.5, concurrency: 8, taskTimeoutMs: 1_500, canary: true, maxFailures: 2, overridesLoopGuard: true },
  actor: 'anna',
  reason: 'the bug is mended ✓',
  query: "Cause = 'permanent-error'",
  groupId: 'group',
} as const;

const plan: JobsRecord = {
  kind: 'plan',
  timeMs,
  plan: {
    ...common,
    planId: 'job-1',
    hash: 'abc',
    requestHash: 'def',
    selected: 6,
    causes: [{ cause: 'permanent-error', errorType: 'DataLoss', count: 6 }],
    createdTimeMs: timeMs,
    expireTimeMs: timeMs + 3_600_000,
  },
};
const job: JobsRecord = {
  kind: 'job',
  timeMs,
  entry: {
    job: {
      ...common,
      jobId: 'job-1',
      planHash: 'abc',
      requestHash: 'def',
      state: 'paused',
      stateReason: 'failure-budget',
      createdTimeMs: timeMs,
      startTimeMs: timeMs,
      endTimeMs: undefined,
      counts: { selected: 6, merged: 2, mergedNoop: 1, purged: 0, restored: 0, failed: 1, skipped: 1, gone: 0, notTried: 0 },
      lastProcessedMessageId: 2,
      failures: [{ messageId: 1, taskId: '9007199254740993', taskType: 'T', errorType: 'E', errorMessage: 'm', sameCause: true }],
      skips: [{ messageId: 4, reason: 'loop-guard' }],
      noops: [{ messageId: 0, reason: 'the workflow is gone' }],
    },
    window: { end: 9, settled: [{ from: 4, to: 4 }], unknown: [{ from: 1, to: 1 }] },
    forgivenFailures: 1,
  },
};

const codec = dlqJobsCodec('perdure');

function withHoles(record: JobsRecord): JobsRecord {
  const ids = [{ from: 0, to: 99 }];
  if (record.kind === 'plan') return { ...record, plan: { ...record.plan, ids, comebacks: '17/0' } };
  if (record.kind !== 'job') return record;
  return { ...record, entry: { ...record.entry, job: { ...record.entry.job, ids, operation: 'restore', purgedBy: 'job-0' } } };
}

function stored(record: JobsRecord): StoredRecord {
  return { ...codec.encode(record), epoch: 1, sequence: 1, offset: 7 };
}

function read(record: StoredRecord): JobsRecord {
  return codec.decode(record.value, record.schema, record);
}

function valueOf(record: JobsRecord): unknown {
  return JSON.parse(new TextDecoder().decode(stored(record).value));
}

describe('a record of plans and jobs', () => {
  test.each([
    ['a plan', plan],
    ['a job', job],
    ['a job that has ended', { ...job, entry: { ...job.entry, job: { ...job.entry.job, state: 'completed', endTimeMs: timeMs } } }],
    ['a plan among whose ids others lie', withHoles(plan)],
    ['a restore among whose ids others lie', withHoles(job)],
    ['one that is forgotten', { kind: 'forgotten', timeMs, id: 'job-1' }],
    ['where a journal may begin', { kind: 'carried', timeMs, cut: 17 }],
  ] satisfies readonly (readonly [string, JobsRecord])[])('%s is read as it was written', (_, record) => {
    expect(read(stored(record))).toEqual(record);
  });

  test('of another version is not carried out', () => {
    expect(() => read({ ...stored(job), schema: 2 })).toThrow('has schema 2, written by another version; this one reads 1');
  });

  test('shows people what they look for, under the id of the job', () => {
    expect(stored(job)).toMatchObject({ key: 'job-1', type: 'DeadLetterJob' });
    expect(valueOf(job)).toMatchObject({
      jobId: 'job-1',
      queue: 'dlq.perdure.transfer.eu.west',
      state: 'paused',
      filter: "Cause = 'permanent-error'",
      ids: [
        [0, 4],
        [9, 9],
      ],
      maxMessageId: 9,
      createdTime: '2026-05-04T10:00:00.000Z',
      taskTimeout: '1.5s',
      counts: { merged: 2, failed: 1 },
    });
    expect(valueOf(plan)).toMatchObject({ jobId: 'job-1', state: 'planned', expireTime: '2026-05-04T11:00:00.000Z' });
  });

  test.each([
    ['no JSON', (): unknown => undefined],
    ['a state of a later version', (): unknown => ({ ...Object(valueOf(job)), state: 'dreaming' })],
    [
      'ids that fall',
      (): unknown => ({
        ...Object(valueOf(job)),
        ids: [
          [9, 9],
          [0, 4],
        ],
      }),
    ],
    ['no counts', (): unknown => ({ ...Object(valueOf(job)), counts: undefined })],
  ])('with %s stops its partition and is named', (_, value) => {
    const record = { ...stored(job), value: new TextEncoder().encode(JSON.stringify(value()) ?? '{') };
    expect(() => read(record)).toThrow('the job "job-1" at offset 7 cannot be read');
  });
});
