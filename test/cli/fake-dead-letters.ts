/**
 * DeadLetterService over dead letters that a test hands in, for what the command line asks and prints. It keeps to the order of queues and ids and
 * to selections; of filters it knows `Field = 'text'`.
 */
import { Metadata, Server, ServerCredentials, status, type handleUnaryCall, type ServiceDefinition } from '@grpc/grpc-js';
import { refusalReasonTrailer, type RefusalReason } from '../../src/kernel/refusal-reasons.ts';
import * as wire from '../../src/wire/generated/api/deadletter/service.ts';

export const deadLetterService = '/perdure.api.deadletter.v1.DeadLetterService/';

export type Refusal = { readonly code: status; readonly details: string; readonly metadata: Metadata };
type Codec = { readonly decode: (bytes: Uint8Array) => unknown; readonly encode: (message: never) => Uint8Array };

/** `reason`: for programs, beside the text. */
export function refusal(code: status, details: string, reason?: RefusalReason): Refusal {
  const metadata = new Metadata();
  if (reason !== undefined) metadata.set(refusalReasonTrailer, reason);
  return { code, details, metadata };
}

/** A letter of `transfer/active`, but for what is said. */
export function letter(messageId: number, more: Partial<wire.DeadLetter> = {}): wire.DeadLetter {
  return {
    ...wire.emptyDeadLetter(),
    queue: { category: 'transfer', sourceCluster: 'active' },
    messageId,
    taskId: String(1_000 + messageId),
    taskType: 'TASK_TYPE_TRANSFER_ACTIVITY_TASK',
    shardId: 1 + (messageId % 4),
    namespaceId: 'namespace-id',
    namespace: 'orders',
    workflowId: `order-${messageId}`,
    runId: `run-${messageId}`,
    workflowType: 'Order',
    targetCluster: 'active',
    cause: 'retries-exhausted',
    disposition: 'exhausted',
    errorType: 'Internal',
    errorMessage: `attempt of ${messageId} failed`,
    fingerprint: '00c0ffee00c0ffee',
    attempts: 70,
    state: 'open',
    firstFailureTimeMs: Date.UTC(2024, 0, 1),
    lastFailureTimeMs: Date.UTC(2024, 0, 1, 1),
    deadLetterTimeMs: Date.UTC(2024, 0, 1, 1),
    node: 'history-0',
    build: '0.1.0',
    ...more,
  };
}

export class FakeDeadLetters {
  readonly letters: wire.DeadLetter[] = [];
  /** What each call was asked, in order. */
  readonly asked: { readonly method: string; readonly request: unknown; readonly metadata: Readonly<Record<string, unknown>> }[] = [];
  /** Looked at before a method answers; `nth` counts its calls from 1. */
  refuse: (method: string, nth: number) => Refusal | undefined = () => undefined;
  /** It does what it is asked, and its answer never comes. */
  losesAnswer: (method: string, nth: number) => boolean = () => false;
  readonly jobs: wire.Job[] = [];
  /** What a merge makes of a letter: '' = merged. */
  outcome: (letter: wire.DeadLetter) => '' | 'failed' | `skipped: ${string}` | `noop: ${string}` = () => '';
  /** Letters that a job has worked on when it is made; then it runs until `finish`. */
  runsUntil: number | undefined;
  readonly #plans: wire.Plan[] = [];
  /** Of plans; those of the server have the ids of their plans. */
  readonly #jobIds = new Map<string, string>();
  readonly #changed = new Map<() => void, string>();
  readonly #server = new Server();
  address = '';

  constructor() {
    const methods: Record<string, readonly [Codec, (request: never) => unknown]> = {
      ListDeadLetterQueues: [
        { decode: wire.decodeListDeadLetterQueuesRequest, encode: wire.encodeListDeadLetterQueuesResponse },
        () => this.#queues(),
      ],
      ListDeadLetters: [
        { decode: wire.decodeListDeadLettersRequest, encode: wire.encodeListDeadLettersResponse },
        (request: wire.ListDeadLettersRequest) => this.#list(request),
      ],
      CountDeadLetters: [
        { decode: wire.decodeCountDeadLettersRequest, encode: wire.encodeCountDeadLettersResponse },
        (request: wire.CountDeadLettersRequest) => this.#count(request),
      ],
      GetDeadLetter: [
        { decode: wire.decodeGetDeadLetterRequest, encode: wire.encodeGetDeadLetterResponse },
        (request: wire.GetDeadLetterRequest) => this.#get(request),
      ],
      GroupDeadLetters: [
        { decode: wire.decodeGroupDeadLettersRequest, encode: wire.encodeGroupDeadLettersResponse },
        (request: wire.GroupDeadLettersRequest) => this.#groups(request),
      ],
    };
    const ofJob = (change: (job: wire.Job) => Partial<wire.Job>) => (request: { readonly jobId: string }) =>
      this.#changeJob(request, change);
    Object.assign(methods, {
      PlanDeadLetters: [
        { decode: wire.decodePlanDeadLettersRequest, encode: wire.encodePlanDeadLettersResponse },
        (request: wire.PlanDeadLettersRequest) => this.#plan(request),
      ],
      ApplyPlan: [
        { decode: wire.decodeApplyPlanRequest, encode: wire.encodeApplyPlanResponse },
        (request: wire.ApplyPlanRequest) => this.#apply(request),
      ],
      DescribeJob: [
        { decode: wire.decodeDescribeJobRequest, encode: wire.encodeDescribeJobResponse },
        (request: wire.DescribeJobRequest) => this.#describe(request),
      ],
      ListJobs: [
        { decode: wire.decodeListJobsRequest, encode: wire.encodeListJobsResponse },
        () => ({ jobs: this.jobs.toReversed(), nextPageToken: new Uint8Array(0) }),
      ],
      PauseJob: [
        { decode: wire.decodePauseJobRequest, encode: wire.encodePauseJobResponse },
        ofJob(() => ({ state: 'paused', stateReason: 'operator' })),
      ],
      ResumeJob: [{ decode: wire.decodeResumeJobRequest, encode: wire.encodeResumeJobResponse }, ofJob(() => ({ state: 'running' }))],
      CancelJob: [
        { decode: wire.decodeCancelJobRequest, encode: wire.encodeCancelJobResponse },
        (request: wire.CancelJobRequest) => {
          const hasEnded = this.jobs.some(({ jobId, state }) => jobId === request.jobId && state !== 'running');
          return { ...this.#changeJob(request, () => (hasEnded ? {} : { state: 'cancelled' })), canceled: !hasEnded };
        },
      ],
      UpdateJob: [
        { decode: wire.decodeUpdateJobRequest, encode: wire.encodeUpdateJobResponse },
        (request: wire.UpdateJobRequest) =>
          this.#changeJob(request, ({ options = wire.emptyJobOptions() }) => ({
            options: { ...options, rps: request.rps ?? options.rps },
          })),
      ],
      // A page of one entry, and always another.
      ListAuditEntries: [
        { decode: wire.decodeListAuditEntriesRequest, encode: wire.encodeListAuditEntriesResponse },
        () => ({ entries: [{ ...wire.emptyAuditEntry(), action: 'purge', messageIds: [41] }], nextPageToken: Uint8Array.of(1) }),
      ],
      RestoreDeadLetters: [
        { decode: wire.decodeRestoreDeadLettersRequest, encode: wire.encodeRestoreDeadLettersResponse },
        ({ queue, messageIds }: wire.RestoreDeadLettersRequest) => {
          const counts = { ...wire.emptyCounts(), selected: messageIds.length, restored: messageIds.length };
          const restored = { ...wire.emptyJob(), jobId: 'restore-1', operation: wire.Operation.RESTORE, queue, state: 'completed', counts };
          this.jobs.push(restored);
          return { job: restored };
        },
      ],
    });
    for (const [method, [{ decode, encode }, answer]] of Object.entries(methods)) this.#serve(method, decode, encode, answer);
  }

  async listen(): Promise<void> {
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, given) =>
        error === null ? resolve(given) : reject(error),
      );
    });
    this.address = `127.0.0.1:${port}`;
  }

  close(): void {
    this.#server.forceShutdown();
  }

  requestsOf<Request>(method: string): readonly Request[] {
    return this.asked.filter((each) => each.method === method).map(({ request }) => request as Request);
  }

  #serve(method: string, decode: Codec['decode'], encode: Codec['encode'], answer: (request: never) => unknown): void {
    const handler: handleUnaryCall<Buffer, Buffer> = (call, callback) => {
      const request = decode(call.request);
      this.asked.push({ method, request, metadata: call.metadata.getMap() });
      const refused = this.refuse(method, this.requestsOf(method).length);
      const reply = async (): Promise<void> => {
        const isLost = this.losesAnswer(method, this.requestsOf(method).length);
        const answered = refused ?? (await answer(request as never));
        if (isLost) return callback(refusal(status.UNAVAILABLE, 'the owner of the journal was lost'));
        if (isRefusal(answered)) callback(answered);
        else callback(null, Buffer.from(encode(answered as never)));
      };
      void reply();
    };
    const same = (bytes: Buffer): Buffer => bytes;
    const definition: ServiceDefinition = {
      [method]: {
        path: deadLetterService + method,
        requestStream: false,
        responseStream: false,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    };
    this.#server.addService(definition, { [method]: handler });
  }

  #queues(): wire.ListDeadLetterQueuesResponse {
    const byQueue = Map.groupBy(this.letters, ({ queue }) => `${queue?.category}/${queue?.sourceCluster}`);
    const queues = [...byQueue.values()].map((letters): wire.DeadLetterQueue => {
      const name = letters[0]?.queue;
      return {
        ...wire.emptyDeadLetterQueue(),
        name,
        targetCluster: 'active',
        topic: `dlq.perdure.${name?.category}.${name?.sourceCluster}`,
        categoryId: Math.max(0, ['', 'transfer', 'timer', 'replication', 'visibility'].indexOf(name?.category ?? '-')),
        open: letters.filter(({ state }) => state === 'open').length,
        quarantined: letters.filter(({ state }) => state === 'quarantined').length,
        oldestTimeMs: Math.min(...letters.map(({ deadLetterTimeMs }) => deadLetterTimeMs)),
        nextMessageId: 1 + Math.max(...letters.map(({ messageId }) => messageId)),
        topErrors: [{ errorType: letters[0]?.errorType ?? '', count: letters.length }],
      };
    });
    return { queues, nextPageToken: new Uint8Array(0) };
  }

  #list({ queues, selection, pageSize, nextPageToken, withPayload }: wire.ListDeadLettersRequest) {
    const all = this.matching(queues, selection);
    const from = nextPageToken.length === 0 ? 0 : Number(Buffer.from(nextPageToken).toString());
    const end = from + (pageSize || 1_000);
    const letters = all.slice(from, end).map((each) => (withPayload ? each : { ...each, payload: undefined }));
    return { letters, nextPageToken: end < all.length ? Buffer.from(String(end)) : new Uint8Array(0) };
  }

  #count({ queues, selection }: wire.CountDeadLettersRequest): wire.CountDeadLettersResponse {
    return { count: this.matching(queues, selection).length };
  }

  #get({ queue, messageId }: wire.GetDeadLetterRequest): wire.GetDeadLetterResponse | Refusal {
    const [found] = queue === undefined ? [] : this.matching([queue], { ...wire.emptySelection(), messageIds: [messageId] });
    if (found === undefined) return refusal(status.NOT_FOUND, `message ${messageId} is already merged`);
    return {
      letter: found,
      headers: [{ name: 'perdure.message-id', value: String(messageId) }],
      errorStack: 'Internal: boom\n    at first (a.ts:1:1)\n    at second (b.ts:2:2)',
      errorChain: [{ errorType: 'Cause', errorMessage: 'the disk is full' }],
      history: [{ timeMs: Date.UTC(2024, 0, 2), kind: 'merge-failed', errorType: 'Internal', jobId: 'job-1' }],
      jobId: 'job-1',
    };
  }

  #groups({ queues, selection, by, maxGroups }: wire.GroupDeadLettersRequest): wire.GroupDeadLettersResponse {
    const keyOf = (each: wire.DeadLetter): string =>
      by === 'cause' ? each.cause : by === 'error-type' ? each.errorType : each.fingerprint;
    const groups = [...Map.groupBy(this.matching(queues, selection), keyOf)].map(([key, letters]) => ({
      key,
      count: letters.length,
      lowestMessageId: letters[0]?.messageId ?? 0,
      oldestTimeMs: letters[0]?.deadLetterTimeMs ?? 0,
      newestTimeMs: letters.at(-1)?.deadLetterTimeMs ?? 0,
      errorType: letters[0]?.errorType ?? '',
      errorMessage: letters[0]?.errorMessage ?? '',
      taskType: letters[0]?.taskType ?? '',
    }));
    return { groups: groups.toSorted((a, b) => b.count - a.count).slice(0, maxGroups || 100) };
  }

  #plan({ operation, queue, selection, options, reason, groupId }: wire.PlanDeadLettersRequest): wire.PlanDeadLettersResponse {
    const letters = queue === undefined ? [] : this.matching([queue], selection);
    const plan: wire.Plan = {
      ...wire.emptyPlan(),
      planId: `plan-${this.#plans.length + 1}`,
      hash: 'abcd',
      operation,
      queue: letters[0]?.queue ?? queue,
      ids: letters.map(({ messageId }) => ({ from: messageId, to: messageId })),
      selected: letters.length,
      causes: [...Map.groupBy(letters, ({ errorType }) => errorType)].map(([errorType, those]) => ({
        cause: those[0]?.cause ?? '',
        errorType,
        count: those.length,
      })),
      expireTimeMs: Date.UTC(2024, 0, 1, 2),
      options: options ?? wire.emptyJobOptions(),
      reason: reason || groupId,
    };
    this.#plans.push(plan);
    return { plan };
  }

  #apply({ planId }: wire.ApplyPlanRequest): wire.ApplyPlanResponse | Refusal {
    const plan = this.#plans.find((each) => each.planId === planId);
    if (plan?.queue === undefined) return refusal(status.NOT_FOUND, `no plan ${planId}`);
    const { operation, queue, ids, hash } = plan;
    const counts = { ...wire.emptyCounts(), selected: ids.length, remaining: ids.length };
    const jobId = `job-${this.jobs.length + 1}`;
    const job = { ...wire.emptyJob(), jobId, planHash: hash, operation, queue, ids, options: plan.options, counts, state: 'running' };
    this.jobs.push(job);
    this.#jobIds.set(planId, jobId);
    this.#work(jobId, this.runsUntil ?? ids.length);
    return { job: this.#job(jobId) };
  }

  #job(jobId: string): wire.Job | undefined {
    return this.jobs.find((each) => each.jobId === (this.#jobIds.get(jobId) ?? jobId));
  }

  /** To its end. */
  finish(jobId: string): void {
    this.#work(jobId, Infinity);
  }

  /** The first letters of the job. */
  #work(jobId: string, until: number): void {
    const job = this.#job(jobId);
    if (job?.queue === undefined) return;
    const letters = job.ids
      .slice(0, until)
      .flatMap(({ from }) => this.letters.filter((each) => each.messageId === from && isOfQueue(each, job.queue)));
    const isPurge = job.operation === wire.Operation.PURGE;
    const [failures, skips, noops]: [wire.JobFailure[], wire.JobSkip[], wire.JobNoop[]] = [[], [], []];
    for (const { messageId, taskId, taskType, errorType, ...each } of letters) {
      const outcome = isPurge ? '' : this.outcome({ messageId, taskId, taskType, errorType, ...each });
      if (outcome === 'failed') failures.push({ messageId, taskId, taskType, errorType, errorMessage: 'again', sameCause: true });
      else if (outcome.startsWith('noop: ')) noops.push({ messageId, reason: outcome.slice('noop: '.length) });
      else if (outcome !== '') skips.push({ messageId, reason: outcome.slice('skipped: '.length) });
    }
    const done = letters.length - failures.length - skips.length;
    const selected = job.ids.length;
    const counts = {
      ...wire.emptyCounts(),
      selected,
      [isPurge ? 'purged' : 'merged']: done,
      failed: failures.length,
      skipped: skips.length,
      mergedNoop: noops.length,
      remaining: selected - done,
    };
    const state = until < selected ? 'running' : done === selected ? 'completed' : 'completed-with-failures';
    this.change(jobId, { counts, state, failures: failures.slice(0, 100), skips, noops });
  }

  change(jobId: string, change: Partial<wire.Job>): void {
    const index = this.jobs.findIndex((each) => each.jobId === jobId);
    const job = this.jobs[index];
    if (job !== undefined) this.jobs[index] = { ...job, ...change };
    for (const [wake, awaited] of this.#changed) if (awaited === jobId) wake();
  }

  #changeJob({ jobId }: { readonly jobId: string }, change: (job: wire.Job) => Partial<wire.Job>) {
    const job = this.#job(jobId);
    if (job === undefined) return refusal(status.NOT_FOUND, `no job ${jobId}`);
    this.change(jobId, change(job));
    return { job: this.#job(jobId) };
  }

  async #describe({ jobId, unlessState, waitMs }: wire.DescribeJobRequest): Promise<wire.DescribeJobResponse | Refusal> {
    if (this.#job(jobId)?.state === unlessState && waitMs > 0) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#changed.delete(wake);
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(wake, waitMs);
        this.#changed.set(wake, jobId);
      });
    }
    const job = this.#job(jobId);
    return job === undefined ? refusal(status.NOT_FOUND, `no job ${jobId}`) : { job };
  }

  matching(queues: readonly wire.QueueName[], selection: wire.Selection | undefined): readonly wire.DeadLetter[] {
    return queues.flatMap((queue) =>
      this.letters.filter((each) => isOfQueue(each, queue) && (selection === undefined || isSelected(each, selection))),
    );
  }
}

function isRefusal(answered: unknown): answered is Refusal {
  return typeof answered === 'object' && answered !== null && 'code' in answered && 'details' in answered;
}

function isOfQueue({ queue }: wire.DeadLetter, wanted: wire.QueueName | undefined): boolean {
  const { category, sourceCluster } = wanted ?? wire.emptyQueueName();
  return queue?.category === category && queue.sourceCluster === (sourceCluster || 'active');
}

function isSelected(each: wire.DeadLetter, wanted: wire.Selection): boolean {
  const [, field, text] = /^(\w+) = '?([^']*)'?$/.exec(wanted.query) ?? [];
  const valueOf: Readonly<Record<string, string>> = { ErrorType: each.errorType, Cause: each.cause };
  return (
    (wanted.messageIds.length === 0 || wanted.messageIds.includes(each.messageId)) &&
    each.messageId >= (wanted.minMessageId ?? 0) &&
    each.messageId <= (wanted.maxMessageId ?? Infinity) &&
    (wanted.taskId === '' || each.taskId === wanted.taskId) &&
    (wanted.workflowId === '' || each.workflowId === wanted.workflowId) &&
    (wanted.runId === '' || each.runId === wanted.runId) &&
    (wanted.namespace === '' || each.namespace === wanted.namespace) &&
    (wanted.shardId === 0 || each.shardId === wanted.shardId) &&
    (field === undefined || valueOf[field] === text)
  );
}
