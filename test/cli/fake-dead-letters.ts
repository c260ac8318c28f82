/**
 * DeadLetterService over letters that a test hands in, for what the command line asks and prints. It keeps to the order of queues and ids and
 * to selections; of filters it knows `Field = 'text'`, and `TaskId = digits`.
 */
import { Server, ServerCredentials, status, type handleUnaryCall, type ServiceDefinition } from '@grpc/grpc-js';
import * as wire from '../../src/wire/generated/api/deadletter/service.ts';

export const deadLetterService = '/perdure.api.deadletter.v1.DeadLetterService/';

export type Refusal = { readonly code: status; readonly details: string };
type Codec = { readonly decode: (bytes: Uint8Array) => unknown; readonly encode: (message: never) => Uint8Array };

export function refusal(code: status, details: string): Refusal {
  return { code, details };
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
      const answered = refused ?? answer(request as never);
      if (isRefusal(answered)) callback(answered);
      else callback(null, Buffer.from(encode(answered as never)));
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
        categoryId: ['', 'transfer', 'timer', 'replication', 'visibility'].indexOf(name?.category ?? '-') || 0,
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
    }));
    return { groups: groups.toSorted((a, b) => b.count - a.count).slice(0, maxGroups || 100) };
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

function isOfQueue({ queue }: wire.DeadLetter, { category, sourceCluster }: wire.QueueName): boolean {
  return queue?.category === category && queue.sourceCluster === (sourceCluster || 'active');
}

function isSelected(each: wire.DeadLetter, wanted: wire.Selection): boolean {
  const [, field, text] = /^(\w+) = '?([^']*)'?$/.exec(wanted.query) ?? [];
  const valueOf: Readonly<Record<string, string>> = { ErrorType: each.errorType, TaskId: each.taskId, Cause: each.cause };
  return (
    (wanted.messageIds.length === 0 || wanted.messageIds.includes(each.messageId)) &&
    each.messageId >= (wanted.minMessageId ?? 0) &&
    each.messageId <= (wanted.maxMessageId ?? Infinity) &&
    (wanted.taskId === undefined || each.taskId === String(wanted.taskId)) &&
    (wanted.workflowId === '' || each.workflowId === wanted.workflowId) &&
    (wanted.runId === '' || each.runId === wanted.runId) &&
    (wanted.namespace === '' || each.namespace === wanted.namespace) &&
    (wanted.shardId === 0 || each.shardId === wanted.shardId) &&
    (field === undefined || valueOf[field] === text)
  );
}
