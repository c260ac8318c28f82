/**
 * Records of `<prefix>.dlq-jobs`: plans and jobs as JSON, under their ids. Times are RFC 3339; what this version does not know it leaves alone, and
 * what it needs and cannot find stops the partition.
 */
import { LogError, type StoredRecord } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { IdRange } from '../../deadletters/commands.ts';
import type { CauseCount, Job, JobCounts, JobFailure, JobNoop, JobOptions, JobSkip, JobState, Plan } from '../../deadletters/jobs/job.ts';
import type { JobAct, JobEntry, JobsRecord } from '../../deadletters/jobs/jobs-records.ts';
import type { Caller } from '../../deadletters/audit/audit-entry.ts';
import { unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { deadLetterTopic } from '../catalogue.ts';

/** 2: ids among which others lie. Written is the lowest that says it. */
const schemas = { plain: 1, withHoles: 2 } as const;
const nothing = new Uint8Array();
/** As in queues: it is no job's. */
const headKey = '@head';

export function dlqJobsCodec(prefix: string): RecordCodec<JobsRecord> {
  return { encode: (record) => encode(record, prefix), decode };
}

function encode(record: JobsRecord, prefix: string): EncodedRecord {
  const { timeMs } = record;
  switch (record.kind) {
    case 'plan':
      return {
        ...plain(record.plan.planId, 'DeadLetterPlan', timeMs, schemaOf(record.plan.ids, record.plan.selected)),
        value: json({ ...planValue(record.plan, prefix), act: record.act }),
      };
    case 'job':
      return {
        ...plain(record.entry.job.jobId, 'DeadLetterJob', timeMs, schemaOf(record.entry.job.ids, record.entry.job.counts.selected)),
        value: json({ ...jobValue(record.entry, prefix), act: record.act }),
      };
    case 'forgotten':
      return { ...plain(record.id, '', timeMs), isTombstone: true };
    case 'carried':
      return { ...plain(headKey, 'DeadLetterJobsHead', timeMs), value: json({ cut: record.cut }) };
    default:
      return unreachable(record);
  }
}

function schemaOf(ids: readonly IdRange[], selected: number): number {
  return ids.reduce((count, { from, to }) => count + to - from + 1, 0) === selected ? schemas.plain : schemas.withHoles;
}

function plain(key: string, type: string, timeMs: number, schema: number = schemas.plain): EncodedRecord {
  return { key, schema, type, namespace: '', workflowId: '', runId: '', timeMs, value: nothing };
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
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
    ...{
      operation,
      queue: deadLetterTopic(prefix, category, sourceCluster),
      queueNumber: number,
      queueIncarnation: incarnation,
      category,
      sourceCluster,
    },
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

function decode(value: Uint8Array, recordSchema: number, { key, timeMs, offset, isTombstone }: StoredRecord): JobsRecord {
  if (isTombstone === true) return { kind: 'forgotten', timeMs, id: key };
  try {
    if (recordSchema < schemas.plain || recordSchema > schemas.withHoles) {
      throw new Error(`this version reads schemas ${schemas.plain} to ${schemas.withHoles}, found ${recordSchema}`);
    }
    const fields = new Fields(JSON.parse(new TextDecoder().decode(value)));
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
    requestHash: requestHashOf(fields),
    selected: fields.number('selected'),
    ...(fields.has('comebacks') ? { comebacks: fields.text('comebacks') } : {}),
    causes: fields
      .list('causes')
      .map((item): CauseCount => ({ cause: item.text('cause'), errorType: item.text('errorType'), count: item.number('count') })),
    createdTimeMs: fields.time('createdTime'),
    expireTimeMs: fields.time('expireTime'),
  };
}

const states: readonly JobState[] = ['running', 'paused', 'cancelling', 'cancelled', 'completed', 'completed-with-failures', 'failed'];
const countNames = ['selected', 'merged', 'mergedNoop', 'purged', 'restored', 'failed', 'skipped', 'gone', 'notTried'] as const;

function entryOf(fields: Fields): JobEntry {
  const window = fields.object('window');
  const job: Job = {
    ...commonOf(fields),
    jobId: fields.text('jobId'),
    planHash: fields.text('planHash'),
    requestHash: requestHashOf(fields),
    state: fields.oneOf('state', states),
    stateReason: fields.text('stateReason'),
    createdTimeMs: fields.time('createdTime'),
    startTimeMs: fields.time('startTime'),
    endTimeMs: fields.has('endTime') ? fields.time('endTime') : undefined,
    counts: countsOf(fields.object('counts')),
    lastProcessedMessageId: fields.number('lastProcessedMessageId'),
    failures: fields.list('failures').map(failureOf),
    skips: fields.list('skips').map((item): JobSkip => ({ messageId: item.number('messageId'), reason: item.text('reason') })),
    // Absent in old journals.
    noops: fields.has('noops')
      ? fields.list('noops').map((item): JobNoop => ({ messageId: item.number('messageId'), reason: item.text('reason') }))
      : [],
  };
  const forgivenFailures = fields.number('forgivenFailures');
  const unknown = window.has('unknown') ? window.ranges('unknown') : [];
  return { job, window: { end: window.number('end'), settled: window.ranges('settled'), unknown }, forgivenFailures };
}

/** Absent in old journals. */
function requestHashOf(fields: Fields): string {
  return fields.has('requestHash') ? fields.text('requestHash') : '';
}

function countsOf(fields: Fields): JobCounts {
  const [selected = 0, merged = 0, mergedNoop = 0, purged = 0, restored = 0, failed = 0, skipped = 0, gone = 0, notTried = 0] =
    countNames.map((name) => fields.number(name));
  return { selected, merged, mergedNoop, purged, restored, failed, skipped, gone, notTried };
}

function failureOf(item: Fields): JobFailure {
  return {
    messageId: item.number('messageId'),
    taskId: item.text('taskId'),
    taskType: item.text('taskType'),
    errorType: item.text('errorType'),
    errorMessage: item.text('errorMessage'),
    sameCause: item.flag('sameCause'),
  };
}

function commonOf(fields: Fields): Pick<Plan, Common> {
  return {
    operation: fields.oneOf('operation', ['merge', 'purge', 'restore'] as const),
    queue: {
      ...{ number: fields.number('queueNumber'), category: fields.text('category'), sourceCluster: fields.text('sourceCluster') },
      // Absent in old journals.
      ...(fields.has('queueIncarnation') ? { incarnation: fields.number('queueIncarnation') } : {}),
    },
    ids: fields.ranges('ids'),
    ...(fields.has('purgedBy') ? { purgedBy: fields.text('purgedBy') } : {}),
    options: optionsOf(fields),
    actor: fields.text('actor'),
    ...callerOf(fields),
    reason: fields.text('reason'),
    query: fields.text('filter'),
    groupId: fields.text('groupId'),
  };
}

const actions = ['plan', 'apply', 'pause', 'resume', 'cancel', 'update', 'finish'] as const;

function actOf(fields: Fields): JobAct {
  const known = { action: fields.oneOf('action', actions), actor: fields.text('actor'), reason: fields.text('reason') };
  return { ...known, ...callerOf(fields) };
}

function callerOf(fields: Fields): { readonly caller?: Caller } {
  if (!fields.has('caller')) return {};
  const caller = fields.object('caller');
  const [authType, peer] = [caller.text('authType'), caller.text('peer')];
  return { caller: { authType, peer, client: caller.text('client'), requestId: caller.text('requestId') } };
}

function optionsOf(fields: Fields): JobOptions {
  return {
    rps: fields.number('rps'),
    concurrency: fields.number('concurrency'),
    taskTimeoutMs: Math.round(1_000 * Number(/^([\d.]+)s$/.exec(fields.text('taskTimeout'))?.[1])),
    canary: fields.flag('canary'),
    maxFailures: fields.number('maxFailures'),
    overridesLoopGuard: fields.flag('overridesLoopGuard'),
  };
}

/** Of a JSON object; throws what is not there. */
class Fields {
  readonly #value: object;

  constructor(value: unknown) {
    if (typeof value !== 'object' || value === null) throw new Error('an object is missing');
    this.#value = value;
  }

  has(name: string): boolean {
    return this.#at(name) !== undefined;
  }

  text(name: string): string {
    const value = this.#at(name);
    if (typeof value !== 'string') throw new Error(`${name} is no text`);
    return value;
  }

  number(name: string): number {
    const value = this.#at(name);
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`${name} is no number`);
    return value;
  }

  flag(name: string): boolean {
    const value = this.#at(name);
    if (typeof value !== 'boolean') throw new Error(`${name} is neither true nor false`);
    return value;
  }

  time(name: string): number {
    const timeMs = Date.parse(this.text(name));
    if (Number.isNaN(timeMs)) throw new Error(`${name} is no time`);
    return timeMs;
  }

  oneOf<Name extends string>(name: string, names: readonly Name[]): Name {
    const found = names.find((known) => known === this.text(name));
    if (found === undefined) throw new Error(`this version does not know the ${name} ${this.text(name)}`);
    return found;
  }

  object(name: string): Fields {
    return new Fields(this.#at(name));
  }

  list(name: string): readonly Fields[] {
    return this.#items(name).map((item) => new Fields(item));
  }

  ranges(name: string): readonly IdRange[] {
    let last = -1;
    return this.#items(name).map((item): IdRange => {
      const [from, to]: readonly unknown[] = Array.isArray(item) ? item : [];
      const isRange = Number.isSafeInteger(from) && Number.isSafeInteger(to) && last < Number(from) && Number(from) <= Number(to);
      if (!isRange) throw new Error(`${name} are no ranges that rise`);
      last = Number(to);
      return { from: Number(from), to: last };
    });
  }

  #items(name: string): readonly unknown[] {
    const value = this.#at(name);
    if (!Array.isArray(value)) throw new Error(`${name} is no list`);
    return value;
  }

  #at(name: string): unknown {
    return Reflect.get(this.#value, name);
  }
}
