/** What the audit says of the records of a queue and of jobs, and in which form. */
import { expect, test } from 'vitest';
import { AuditCore } from '../../src/deadletters/audit/audit-core.ts';
import type { AuditEntry } from '../../src/deadletters/audit/audit-entry.ts';
import { JobsStory } from '../../src/deadletters/audit/jobs-story.ts';
import { QueueStory } from '../../src/deadletters/audit/queue-story.ts';
import { noWindow } from '../../src/deadletters/jobs/job.ts';
import type { DeadLetterRecord } from '../../src/deadletters/letter-records.ts';
import { auditCodec } from '../../src/codec/audit-codec.ts';
import { job } from '../grpc/deadletter-service/jobs.ts';
import { letterOf } from './letters.ts';

const queue = 'dlq.test.transfer.active';
const by = { jobId: 'job-1', who: 'anna', why: 'duplicates' } as const;

function letter(messageId: number, more: Parameters<typeof letterOf>[2] = {}): DeadLetterRecord {
  return { kind: 'letter', timeMs: 1_000, messageId, letter: letterOf(1, messageId + 1, more) };
}

function head(nextId: number, act?: Extract<DeadLetterRecord, { kind: 'head' }>['act']): DeadLetterRecord {
  return {
    kind: 'head',
    timeMs: 1_000,
    nextId,
    lowestOpen: 0,
    cut: 0,
    uncutPurges: 0,
    incarnation: 7,
    ...(act === undefined ? {} : { act }),
  };
}

function purged(messageId: number, how: 'purged' | 'merged' = 'purged'): DeadLetterRecord {
  return { kind: 'resolved', timeMs: 2_000, messageId, how, ...by, generation: 0 };
}

function told(...records: readonly DeadLetterRecord[]): readonly AuditEntry[] {
  const story = new QueueStory(queue);
  for (const [offset, record] of records.entries()) story.tell(record, offset);
  return story.take();
}

test('dead letters of a hand-over are one entry; so is what one job purges, and what it merges is another', () => {
  const entries = told(letter(0), letter(1), letter(2), head(3), purged(0), head(3), purged(2), head(3), purged(1, 'merged'), head(3));
  expect(entries).toMatchObject([
    { action: 'dead-letter', messageIds: [0, 1, 2], letters: 3, offset: 2, subject: 'system:history', outcome: 'retries-exhausted' },
    { action: 'purge', messageIds: [0, 2], offset: 6, subject: 'anna', reason: 'duplicates', jobId: 'job-1', outcome: 'purged' },
    { action: 'merge-outcome', messageIds: [1], outcome: 'merged', jobId: 'job-1' },
  ]);
});

test('a merge that had nothing left to do says why', () => {
  const detail = 'its task was removed by anonymous (10.0.0.7:50122) with RemoveTask';
  const removed = { kind: 'resolved', timeMs: 2_000, messageId: 3, how: 'merged-noop', generation: 0, detail, ...by } as const;
  expect(told(removed, head(9))).toMatchObject([{ action: 'merge-outcome', outcome: `merged-noop: ${detail}`, subject: 'anna' }]);
});

test('a merge that fails, a quarantine and a dead letter that comes back are reported with who asked; one that is carried is not reported', () => {
  const entries = told(
    ...[letter(4, { generation: 1 }), head(9, { kind: 'mergeFailed', ...by })],
    ...[letter(5, { generation: 5, state: 'quarantined' }), head(9, { kind: 'mergeFailed', ...by })],
    ...[letter(8, { generation: 1 }), letter(7), head(9, { kind: 'carried' })],
    ...[letter(6), head(9, { kind: 'restored', ...by })],
  );
  expect(entries).toMatchObject([
    { action: 'merge-outcome', outcome: 'failed', errorType: 'Unavailable', messageIds: [4], generation: 1, subject: 'anna' },
    { action: 'quarantine', outcome: 'failed', messageIds: [5], generation: 5 },
    { action: 'restore', messageIds: [6], reason: 'duplicates' },
  ]);
});

test('dead letters whose head is not there yet are reported with it', () => {
  const story = new QueueStory(queue);
  story.tell(letter(0), 0);
  expect(story.take()).toEqual([]);
  story.tell(head(1), 1);
  expect(story.take()).toMatchObject([{ action: 'dead-letter', messageIds: [0] }]);
});

function entry(offset: number, more: Partial<AuditEntry> = {}): AuditEntry {
  const [told0] = told(purged(7));
  if (told0 === undefined) throw new Error('a purge is told');
  return { ...told0, offset, ...more };
}

test('what was reported before is left out, source by source; a source that was lost counts again', () => {
  const core = new AuditCore();
  const tell = (entries: readonly AuditEntry[], source = queue, isAnew = false) => {
    const handled = core.handle({ kind: 'tellAudit', source, isAnew, entries }, 5_000, 1);
    core.accept(handled);
    return handled.kind === 'commit' ? [...(handled.before ?? []), handled.record].map((record) => record.entry.offset) : handled;
  };
  expect(tell([entry(3), entry(5)])).toEqual([3, 5]);
  expect(tell([entry(3), entry(5), entry(6)])).toEqual([6]);
  expect(tell([entry(6)])).toMatchObject({ kind: 'answer', reply: { kind: 'auditTold', offset: 6 } });
  expect(tell([entry(1, { source: 'test.dlq-jobs' })], 'test.dlq-jobs')).toEqual([1]);
  expect(tell([entry(0)], queue, true)).toEqual([0]);
  expect(core.handle({ kind: 'describeAudit', source: queue }, 0, 1)).toMatchObject({ reply: { offset: 0 } });
  expect(tell([entry(9)], 'another')).toMatchObject({ reply: { kind: 'rejected' } });
});

test('an entry is JSON under the topic of the dead letters, and is read again as it was', () => {
  const caller = { authType: 'mtls', peer: '10.0.0.7:50122', client: 'perdure-cli 0.1.0', requestId: 'r-1' };
  const given = entry(41, { caller, planHash: '00ff', filter: "ErrorType = 'Internal'", errorType: 'Internal' });
  const encoded = auditCodec.encode({ kind: 'entry', timeMs: 9_000, entry: given });
  expect(encoded).toMatchObject({ key: queue, type: 'DeadLetterAudit', timeMs: 9_000 });
  expect(JSON.parse(new TextDecoder().decode(encoded.value))).toEqual({
    time: '1970-01-01T00:00:02.000Z',
    queue,
    action: 'purge',
    source: queue,
    offset: 41,
    actor: { subject: 'anna', authType: 'mtls', peer: '10.0.0.7:50122' },
    client: 'perdure-cli 0.1.0',
    requestId: 'r-1',
    reason: 'duplicates',
    jobId: 'job-1',
    planHash: '00ff',
    filter: "ErrorType = 'Internal'",
    messageIds: [7],
    messageIdRanges: [],
    letters: 1,
    outcome: 'purged',
    errorType: 'Internal',
    generation: 0,
  });
  const stored = { ...encoded, epoch: 1, sequence: 1, offset: 0 };
  expect(auditCodec.decode(encoded.value, encoded.schema, stored).entry).toEqual(given);
});

test('of a plan over more than a thousand dead letters the ranges of its ids are reported, and read again', () => {
  const story = new JobsStory({ source: 'test.dlq-jobs', queueTopic: () => queue });
  const { jobId: planId, planHash: hash, options } = job;
  const ids = [
    { from: 0, to: 999 },
    { from: 2_000, to: 2_001 },
  ];
  const { actor, reason, query, groupId, operation } = job;
  const author = { actor, reason, query, groupId, operation, queue: job.queue };
  const plan = { ...author, planId, hash, requestHash: '', ids, selected: 1_002, causes: [], options, createdTimeMs: 1, expireTimeMs: 2 };
  story.tell({ kind: 'plan', timeMs: 1, plan, act: { action: 'plan', actor: 'anna', reason: '' } }, 3);
  const [planned] = story.take();
  if (planned === undefined) return expect.unreachable();
  expect(planned).toMatchObject({ action: 'plan', letters: 1_002, messageIds: [], messageIdRanges: ids });
  const encoded = auditCodec.encode({ kind: 'entry', timeMs: 1, entry: planned });
  const stored = { ...encoded, epoch: 1, sequence: 1, offset: 0 };
  expect(auditCodec.decode(encoded.value, encoded.schema, stored).entry).toEqual(planned);
});

test('a job over no dead letters ends as it starts, and says so', () => {
  const story = new JobsStory({ source: 'test.dlq-jobs', queueTopic: () => queue });
  const act = { action: 'apply', actor: 'anna', reason: '' } as const;
  const entry = {
    job: { ...job, operation: 'merge', ids: [], counts: { ...job.counts, selected: 0 }, state: 'completed', endTimeMs: 5 },
    window: noWindow,
    forgivenFailures: 0,
  } as const;
  story.tell({ kind: 'job', timeMs: 5, entry, act }, 3);
  expect(story.take()).toMatchObject([{ action: 'apply', letters: 0, outcome: 'merge: completed, there was no dead letter' }]);
});
