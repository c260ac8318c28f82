/** Records of `<prefix>.dlq-jobs`: plans and jobs as JSON, times RFC 3339. Unknown fields stay unread; missing ones stop the partition. */
import { LogError, type StoredRecord } from '../ports/log.ts';
import type { EncodedRecord, RecordCodec } from '../actors/partition/partition-core.ts';
import type { IdRange } from '../deadletters/letter-commands.ts';
import type { CauseCount, Job, JobFailure, JobOptions, JobSkip, Plan } from '../deadletters/jobs/job.ts';
import type { JobAct, JobEntry, JobsRecord } from '../deadletters/jobs/job.ts';
import type { Caller } from '../deadletters/audit/audit-entry.ts';
import { unreachable } from '../kernel/assert.ts';
import { errorText } from '../kernel/error-text.ts';
import { deadLetterTopic } from '../topics/catalogue.ts';
import { type Fields, fieldsOf, jsonBytes } from './json-fields.ts';
import { checkRecordSchema, recordSchema } from './record-schema.ts';
import { jobActions, jobOperations, jobStates } from '../kernel/letter-words.ts';

const nothing = new Uint8Array();
/** The key of the head, as in queues: it is no job's. */
const headKey = '@head';

export function dlqJobsCodec(prefix: string): RecordCodec<JobsRecord> {
  return { encode: (record) => encode(record, prefix), decode };
}

function encode(record: JobsRecord, prefix: string): EncodedRecord {
  const { timeMs } = record;
  switch (record.kind) {
    case 'plan': {
      const value = jsonBytes({ ...planValue(record.plan, prefix), act: record.act });
      return { ...plain(record.plan.planId, 'DeadLetterPlan', timeMs), value };
    }
    case 'job': {
      const value = jsonBytes({ ...jobValue(record.entry, prefix), act: record.act });
      return { ...plain(record.entry.job.jobId, 'DeadLetterJob', timeMs), value };
    }
    case 'forgotten':
      return { ...plain(record.id, '', timeMs), isTombstone: true };
    case 'carried':
      return { ...plain(headKey, 'DeadLetterJobsHead', timeMs), value: jsonBytes({ cut: record.cut }) };
    default:
      return unreachable(record);
  }
}

function plain(key: string, type: string, timeMs: number): EncodedRecord {
  return { key, schema: recordSchema, type, namespace: '', workflowId: '', runId: '', timeMs, value: nothing };
}

function planValue(plan: Plan, prefix: string): object {
  const { planId, hash, requestHash, createdTimeMs, expireTimeMs, selected, causes } = plan;
  return {
    ...commonValue(plan, prefix),
    ...{ jobId: planId, planHash: hash, requestHash, state: 'planned', selected, causes, comebacks: plan.comebacks },
    createdTime: timeText(createdTimeMs),
    expireTime: timeText(expireTimeMs),
  };
}

function jobValue({ job, window, forgivenFailures }: JobEntry, prefix: string): object {
  const { jobId, planHash, requestHash, state, stateReason, createdTimeMs, startTimeMs, endTimeMs } = job;
  const { counts, lastProcessedMessageId, failures, skips, noops } = job;
  return {
    ...commonValue(job, prefix),
    ...{ jobId, planHash, requestHash, state, stateReason, counts, lastProcessedMessageId, failures, skips, noops, forgivenFailures },
    createdTime: timeText(createdTimeMs),
    startTime: timeText(startTimeMs),
    ...(endTimeMs === undefined ? {} : { endTime: timeText(endTimeMs) }),
    window: { end: window.end, settled: pairsOf(window.settled), unknown: pairsOf(window.unknown) },
  };
}

type Common = 'operation' | 'queue' | 'ids' | 'purgedBy' | 'options' | 'actor' | 'caller' | 'reason' | 'query' | 'groupId';

function commonValue({ operation, queue, ids, purgedBy, options, ...author }: Pick<Plan, Common>, prefix: string): object {
  const { actor, caller, reason, query, groupId } = author;
  const { number, category, sourceCluster, incarnation } = queue;
  const { taskTimeoutMs, ...others } = options;
  return {
    ...{ operation, queue: deadLetterTopic(prefix, category, sourceCluster), queueNumber: number, queueIncarnation: incarnation },
    ...{ category, sourceCluster },
    ...{ actor, caller, reason, filter: query, groupId, ids: pairsOf(ids), maxMessageId: ids.at(-1)?.to ?? -1, purgedBy },
    ...others,
    taskTimeout: `${taskTimeoutMs / 1_000}s`,
  };
}

function pairsOf(ranges: readonly IdRange[]): readonly (readonly [number, number])[] {
  return ranges.map(({ from, to }) => [from, to]);
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

// ── Back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function decode(value: Uint8Array, schema: number, { key, timeMs, offset, isTombstone }: StoredRecord): JobsRecord {
  if (isTombstone === true) return { kind: 'forgotten', timeMs, id: key };
  try {
    checkRecordSchema(schema);
    const fields = fieldsOf(value);
    if (key === headKey) return { kind: 'carried', timeMs, cut: fields.number('cut') };
    const act = fields.has('act') ? { act: actOf(fields.object('act')) } : {};
    if (fields.text('state') === 'planned') return { kind: 'plan', timeMs, plan: planOf(fields), ...act };
    return { kind: 'job', timeMs, entry: entryOf(fields), ...act };
  } catch (error) {
    throw new LogError('corrupt', `the job "${key}" at offset ${offset} cannot be read: ${errorText(error)}`, { cause: error });
  }
}

function planOf(fields: Fields): Plan {
  const common = commonOf(fields);
  return {
    ...common,
    planId: fields.text('jobId'),
    hash: fields.text('planHash'),
    requestHash: fields.text('requestHash'),
    selected: fields.number('selected'),
    ...(fields.has('comebacks') ? { comebacks: fields.text('comebacks') } : {}),
    causes: fields.list('causes').map((item): CauseCount => ({ ...item.texts('cause', 'errorType'), count: item.number('count') })),
    createdTimeMs: fields.time('createdTime'),
    expireTimeMs: fields.time('expireTime'),
  };
}

const countNames = ['selected', 'merged', 'mergedNoop', 'purged', 'restored', 'failed', 'skipped', 'gone', 'notTried'] as const;

function entryOf(fields: Fields): JobEntry {
  const window = fields.object('window');
  const job: Job = {
    ...commonOf(fields),
    ...fields.texts('jobId', 'planHash', 'requestHash', 'stateReason'),
    state: fields.oneOf('state', jobStates),
    createdTimeMs: fields.time('createdTime'),
    startTimeMs: fields.time('startTime'),
    endTimeMs: fields.has('endTime') ? fields.time('endTime') : undefined,
    counts: fields.object('counts').numbers(...countNames),
    lastProcessedMessageId: fields.number('lastProcessedMessageId'),
    failures: fields.list('failures').map(failureOf),
    skips: fields.list('skips').map(reasonOf),
    noops: fields.list('noops').map(reasonOf),
  };
  return {
    job,
    window: { end: window.number('end'), settled: window.ranges('settled'), unknown: window.ranges('unknown') },
    forgivenFailures: fields.number('forgivenFailures'),
  };
}

function reasonOf(item: Fields): JobSkip {
  return { messageId: item.number('messageId'), reason: item.text('reason') };
}

function failureOf(item: Fields): JobFailure {
  const texts = item.texts('taskId', 'taskType', 'errorType', 'errorMessage');
  return { messageId: item.number('messageId'), ...texts, sameCause: item.flag('sameCause') };
}

function commonOf(fields: Fields): Pick<Plan, Common> {
  return {
    operation: fields.oneOf('operation', jobOperations),
    queue: {
      ...fields.texts('category', 'sourceCluster'),
      ...{ number: fields.number('queueNumber'), incarnation: fields.number('queueIncarnation') },
    },
    ids: fields.ranges('ids'),
    ...(fields.has('purgedBy') ? { purgedBy: fields.text('purgedBy') } : {}),
    options: optionsOf(fields),
    ...callerOf(fields),
    ...fields.texts('actor', 'reason', 'groupId'),
    query: fields.text('filter'),
  };
}

function actOf(fields: Fields): JobAct {
  return { action: fields.oneOf('action', jobActions), ...fields.texts('actor', 'reason'), ...callerOf(fields) };
}

function callerOf(fields: Fields): { readonly caller?: Caller } {
  if (!fields.has('caller')) return {};
  return { caller: fields.object('caller').texts('authType', 'peer', 'client', 'requestId') };
}

function optionsOf(fields: Fields): JobOptions {
  return {
    ...fields.numbers('rps', 'concurrency'),
    taskTimeoutMs: Math.round(1_000 * Number(/^([\d.]+)s$/.exec(fields.text('taskTimeout'))?.[1])),
    canary: fields.flag('canary'),
    maxFailures: fields.number('maxFailures'),
    overridesLoopGuard: fields.flag('overridesLoopGuard'),
  };
}
