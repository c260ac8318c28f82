/**
 * The calls of crash runs, all through the front door and, where they are worth judging, all recorded. They go on while servers die under them: each
 * server is tried in turn, and a call without an answer is for its caller to make again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { decodeHistoryEvent, type HistoryEvent } from '../../src/wire/generated/lean/history.ts';
import * as lists from '../../src/wire/generated/lean/visibility_service.ts';
import * as messages from '../../src/wire/generated/lean/workflow_service.ts';
import { type CallOutcome, type Method, ServiceClient } from '../support/service-client.ts';
import { observe, storedEvents } from './crash-workflow.ts';
import { type ObservedEvent, type Operation, Recorder } from './recorded-history.ts';

export const methods = {
  start: {
    name: 'StartWorkflowExecution',
    encode: messages.encodeStartWorkflowExecutionRequest,
    decode: messages.decodeStartWorkflowExecutionResponse,
  },
  signal: {
    name: 'SignalWorkflowExecution',
    encode: messages.encodeSignalWorkflowExecutionRequest,
    decode: messages.decodeSignalWorkflowExecutionResponse,
  },
  update: {
    name: 'UpdateWorkflowExecution',
    encode: messages.encodeUpdateWorkflowExecutionRequest,
    decode: messages.decodeUpdateWorkflowExecutionResponse,
  },
  reset: {
    name: 'ResetWorkflowExecution',
    encode: messages.encodeResetWorkflowExecutionRequest,
    decode: messages.decodeResetWorkflowExecutionResponse,
  },
  list: {
    name: 'ListWorkflowExecutions',
    encode: lists.encodeListWorkflowExecutionsRequest,
    decode: lists.decodeListWorkflowExecutionsResponse,
  },
  describe: {
    name: 'DescribeWorkflowExecution',
    encode: messages.encodeDescribeWorkflowExecutionRequest,
    decode: messages.decodeDescribeWorkflowExecutionResponse,
  },
  history: {
    name: 'GetWorkflowExecutionHistory',
    encode: messages.encodeGetWorkflowExecutionHistoryRequest,
    decode: messages.decodeGetWorkflowExecutionHistoryResponse,
  },
  pollWorkflow: {
    name: 'PollWorkflowTaskQueue',
    encode: messages.encodePollWorkflowTaskQueueRequest,
    decode: messages.decodePollWorkflowTaskQueueResponse,
  },
  completeWorkflow: {
    name: 'RespondWorkflowTaskCompleted',
    encode: messages.encodeRespondWorkflowTaskCompletedRequest,
    decode: messages.decodeRespondWorkflowTaskCompletedResponse,
  },
  pause: {
    name: 'PauseWorkflowExecution',
    encode: messages.encodePauseWorkflowExecutionRequest,
    decode: messages.decodePauseWorkflowExecutionResponse,
  },
  unpause: {
    name: 'UnpauseWorkflowExecution',
    encode: messages.encodeUnpauseWorkflowExecutionRequest,
    decode: messages.decodeUnpauseWorkflowExecutionResponse,
  },
  pollActivity: {
    name: 'PollActivityTaskQueue',
    encode: messages.encodePollActivityTaskQueueRequest,
    decode: messages.decodePollActivityTaskQueueResponse,
  },
  completeActivity: {
    name: 'RespondActivityTaskCompleted',
    encode: messages.encodeRespondActivityTaskCompletedRequest,
    decode: messages.decodeRespondActivityTaskCompletedResponse,
  },
} as const;

const CALL_TIMEOUT_MS = 3_000;
export const RETRY_PAUSE_MS = 50;

export class CrashCalls {
  readonly recorder = new Recorder();
  readonly namespace: string;
  readonly #clients: readonly ServiceClient[];
  /** For polls alone: in the end they are given up, and nothing else is. */
  readonly #polling: readonly ServiceClient[];
  readonly #pollTimeoutMs: number;
  /** A process that does not answer is left for the next. */
  #current = 0;
  #abandoned = false;

  constructor(addresses: readonly string[], namespace: string, pollTimeoutMs: number) {
    this.namespace = namespace;
    this.#clients = addresses.map((address) => new ServiceClient(address));
    this.#polling = addresses.map((address) => new ServiceClient(address));
    this.#pollTimeoutMs = pollTimeoutMs;
  }

  call<Request, Response>(method: Method<Request, Response>, request: Request): Promise<CallOutcome<Response>> {
    return this.#call(method, request, CALL_TIMEOUT_MS, this.#clients);
  }

  poll<Request, Response>(method: Method<Request, Response>, request: Request): Promise<CallOutcome<Response>> {
    return this.#call(method, request, this.#pollTimeoutMs, this.#polling);
  }

  async recorded<Request, Response>(
    process: number,
    operation: Operation,
    method: Method<Request, Response>,
    request: Request,
    completed: (response: Response) => Operation = () => operation,
  ): Promise<CallOutcome<Response>> {
    this.recorder.add('invoke', process, operation);
    const outcome = await this.call(method, request);
    if (outcome.kind === 'ok') this.recorder.add('ok', process, completed(outcome.response));
    else this.recorder.add(outcome.kind === 'fail' ? 'fail' : 'info', process, operation);
    return outcome;
  }

  async readHistory(workflowId: string, runId: string): Promise<CallOutcome<readonly ObservedEvent[]>> {
    const events: HistoryEvent[] = [];
    let nextPageToken: Uint8Array = new Uint8Array();
    do {
      const request = {
        ...messages.emptyGetWorkflowExecutionHistoryRequest(),
        namespace: this.namespace,
        execution: { workflowId, runId },
        nextPageToken,
      };
      const page = await this.call(methods.history, request);
      if (page.kind !== 'ok') return page;
      events.push(...(page.response.history?.events ?? []).map((bytes) => decodeHistoryEvent(bytes)));
      nextPageToken = page.response.nextPageToken;
    } while (nextPageToken.length > 0);
    return { kind: 'ok', response: storedEvents(events).map(observe) };
  }

  /** Nobody waits for tasks any longer. */
  giveUpPolls(): void {
    for (const client of this.#polling) client.giveUp();
  }

  /** Whatever is asked from now on is refused. */
  abandon(): void {
    this.#abandoned = true;
    this.close();
  }

  close(): void {
    for (const client of [...this.#clients, ...this.#polling]) client.close();
  }

  async #call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    timeoutMs: number,
    clients: readonly ServiceClient[],
  ): Promise<CallOutcome<Response>> {
    if (this.#abandoned) return { kind: 'fail', code: 1, message: 'abandoned' };
    const index = this.#current;
    const outcome = await clients[index]!.call(method, request, timeoutMs);
    if (outcome.kind === 'unknown') {
      if (this.#current === index) this.#current = (index + 1) % clients.length;
      await delay(RETRY_PAUSE_MS);
    }
    return outcome;
  }
}
