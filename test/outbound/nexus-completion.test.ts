import { describe, expect, test } from 'vitest';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import { encodePayload, encodePayloads } from '../../src/wire/generated/lean/common.ts';
import { EventType } from '../../src/wire/generated/lean/enums.ts';
import { emptyHistoryEvent, encodeHistoryEvent, type HistoryEvent } from '../../src/wire/generated/lean/history.ts';
import { loadPublicMessages } from '../../src/wire/services.ts';
import { completionRequest, type CompletionRequest } from '../../src/outbound/nexus-completion.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

function payload(metadata: Readonly<Record<string, string>>, data = ''): Uint8Array {
  const fields = Object.entries(metadata).map(([name, value]): [string, Uint8Array] => [name, bytes(value)]);
  return encodePayload({ metadata: new Map(fields), data: bytes(data), externalPayloads: [] });
}

function requestOf(
  event: Partial<HistoryEvent>,
  header: Readonly<Record<string, string>> = {},
  attachedBy = '',
): Promise<CompletionRequest> {
  return completionRequest({
    callback: encodeCallback({ nexus: { url: 'https://example.com/done', header: new Map(Object.entries(header)) }, links: [] }),
    namespace: 'orders',
    workflowId: 'order/ 17',
    runId: 'run-1',
    startTimeMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    attachedBy,
    closeEvent: encodeHistoryEvent({ ...emptyHistoryEvent(), eventTimeMs: Date.UTC(2026, 0, 2, 3, 5, 0, 250), ...event }),
  });
}

function completed(...payloads: readonly Uint8Array[]): Partial<HistoryEvent> {
  const workflowExecutionCompletedEventAttributes = {
    result: payloads.length === 0 ? undefined : encodePayloads({ payloads }),
    workflowTaskCompletedEventId: 4,
    newExecutionRunId: '',
  };
  return { eventType: EventType.WORKFLOW_EXECUTION_COMPLETED, workflowExecutionCompletedEventAttributes };
}

describe('a workflow that completed', () => {
  test('tells its state, its times and where it began', async () => {
    const { headers, url } = await requestOf(completed());
    expect(url).toBe('https://example.com/done');
    expect(Object.fromEntries(headers)).toEqual({
      'user-agent': 'perdure',
      'nexus-operation-state': 'succeeded',
      'nexus-operation-start-time': 'Fri, 02 Jan 2026 03:04:05 GMT',
      'nexus-operation-close-time': '2026-01-02T03:05:00.250Z',
      'nexus-link':
        '<temporal:///namespaces/orders/workflows/order%2F%2017/run-1/history?eventID=1&eventType=WorkflowExecutionStarted&referenceType=EventReference>; ' +
        'type="temporal.api.common.v1.Link.WorkflowEvent"',
    });
  });

  test('names the request that attached the callback', async () => {
    const { headers } = await requestOf(completed(), {}, 'request 1');
    expect(headers.get('nexus-link')).toContain(
      'eventType=WorkflowExecutionOptionsUpdated&referenceType=RequestIdReference&requestID=request%201>',
    );
  });

  test.each([
    [{ encoding: 'json/plain' }, 'application/json'],
    [{ encoding: 'binary/plain' }, 'application/octet-stream'],
    [{ encoding: 'json/protobuf', messageType: 'a.B' }, 'application/json; format=protobuf; message-type="a.B"'],
    [{ encoding: 'binary/protobuf', messageType: 'a.B' }, 'application/x-protobuf; message-type="a.B"'],
    [{ encoding: 'binary/null' }, undefined],
    [{ encoding: 'unknown/nexus-content', type: 'text/plain' }, 'text/plain'],
  ])('with a result of %j', async (metadata, contentType) => {
    const { headers, body } = await requestOf(completed(payload(metadata, '{"a":1}')));
    expect(headers.get('content-type')).toBe(contentType);
    expect(Buffer.from(body).toString()).toBe('{"a":1}');
  });

  test.each([{}, { encoding: 'json/plain', more: 'x' }, { encoding: 'json/protobuf' }, { encoding: 'binary/encrypted' }])(
    'sends the whole payload where headers cannot say what it is: %j',
    async (metadata) => {
      const result = payload(metadata, 'data');
      const { headers, body } = await requestOf(completed(result, payload({ encoding: 'json/plain' }, '2')));
      expect(headers.get('content-type')).toBe('application/x-temporal-payload');
      expect(Buffer.from(body)).toEqual(Buffer.from(result));
    },
  );

  test.each([
    { encoding: 'unknown/nexus-content', type: 'text/plain\r\nx-more: 1' },
    { encoding: 'unknown/nexus-content', type: 'text/plain; name=\u{1f600}' },
    { encoding: 'unknown/nexus-content', 'a name': 'x' },
    { encoding: 'unknown/nexus-content', type: 'x'.repeat(10_000) },
    { encoding: 'json/protobuf', messageType: 'a.\u{1f600}' },
  ])('sends the whole payload where a header cannot be sent: %#', async (metadata) => {
    const result = payload(metadata, 'data');
    const { headers, body } = await requestOf(completed(result));
    expect([...headers].filter(([name]) => name.startsWith('content-'))).toEqual([['content-type', 'application/x-temporal-payload']]);
    expect(Buffer.from(body)).toEqual(Buffer.from(result));
  });

  test('sends the header of the callback, but for what HTTP needs itself', async () => {
    const { headers } = await requestOf(completed(payload({ encoding: 'json/plain' }, '1')), {
      'x-token': 'abc',
      'nexus-operation-token': 'op',
      'user-agent': 'theirs',
      host: 'evil.example',
      'content-length': '9999',
      'transfer-encoding': 'chunked',
      connection: 'upgrade',
    });
    expect(Object.fromEntries(headers)).toMatchObject({ 'x-token': 'abc', 'nexus-operation-token': 'op', 'user-agent': 'theirs' });
    for (const name of ['host', 'content-length', 'transfer-encoding', 'connection']) expect(headers.has(name)).toBe(false);
  });
});

describe('a workflow that did not', () => {
  const json = ({ body }: CompletionRequest): unknown => JSON.parse(Buffer.from(body).toString());
  const type = 'temporal.api.failure.v1.Failure';

  test('failed: its failure, with its causes', async () => {
    const { Failure } = (await loadPublicMessages()).failure.v1;
    const failure = Failure.encode(
      Failure.fromObject({
        message: 'no stock',
        stackTrace: 'at order',
        source: 'TypeScriptSDK',
        applicationFailureInfo: {
          type: 'OutOfStock',
          nonRetryable: true,
          details: { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('1') }] },
          nextRetryDelay: { seconds: 1, nanos: 500_000_000 },
        },
        cause: { message: 'inner', timeoutFailureInfo: { timeoutType: 1 } },
      }),
    ).finish();
    const attributes = { failure, retryState: 0, workflowTaskCompletedEventId: 4, newExecutionRunId: '' };
    const request = await requestOf({
      eventType: EventType.WORKFLOW_EXECUTION_FAILED,
      workflowExecutionFailedEventAttributes: attributes,
    });
    expect(request.headers.get('nexus-operation-state')).toBe('failed');
    expect(request.headers.get('content-type')).toBe('application/json');
    expect(json(request)).toEqual({
      message: 'no stock',
      stackTrace: 'at order',
      metadata: { type },
      details: {
        source: 'TypeScriptSDK',
        applicationFailureInfo: {
          type: 'OutOfStock',
          nonRetryable: true,
          details: { payloads: [{ metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: 'MQ==' }] },
          nextRetryDelay: '1.5s',
        },
      },
      cause: { message: 'inner', metadata: { type }, details: { timeoutFailureInfo: { timeoutType: 'TIMEOUT_TYPE_START_TO_CLOSE' } } },
    });
  });

  test.each([
    [{ seconds: 0, nanos: -500_000_000 }, '-0.5s'],
    [{ seconds: -1, nanos: -5_000_000 }, '-1.005s'],
    [{ seconds: -1, nanos: 0 }, '-1s'],
    [{}, '0s'],
  ])('failed, to be retried after %j', async (nextRetryDelay, text) => {
    const { Failure } = (await loadPublicMessages()).failure.v1;
    const failure = Failure.encode(Failure.fromObject({ applicationFailureInfo: { nextRetryDelay } })).finish();
    const attributes = { failure, retryState: 0, workflowTaskCompletedEventId: 4, newExecutionRunId: '' };
    const request = await requestOf({
      eventType: EventType.WORKFLOW_EXECUTION_FAILED,
      workflowExecutionFailedEventAttributes: attributes,
    });
    expect(json(request)).toMatchObject({ details: { applicationFailureInfo: { nextRetryDelay: text } } });
  });

  test('was canceled: with the details', async () => {
    const details = encodePayloads({ payloads: [payload({ encoding: 'json/plain' }, '1')] });
    const request = await requestOf({
      eventType: EventType.WORKFLOW_EXECUTION_CANCELED,
      workflowExecutionCanceledEventAttributes: { details, workflowTaskCompletedEventId: 4 },
    });
    expect(request.headers.get('nexus-operation-state')).toBe('canceled');
    expect(json(request)).toEqual({
      message: 'operation canceled',
      metadata: { type },
      details: { canceledFailureInfo: { details: { payloads: [{ metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: 'MQ==' }] } } },
    });
  });

  test.each([
    [EventType.WORKFLOW_EXECUTION_TERMINATED, 'operation terminated', { terminatedFailureInfo: {} }],
    [EventType.WORKFLOW_EXECUTION_TIMED_OUT, 'operation exceeded internal timeout', { timeoutFailureInfo: {} }],
  ])('ended by event %i', async (eventType, message, details) => {
    const request = await requestOf({ eventType });
    expect(request.headers.get('nexus-operation-state')).toBe('failed');
    expect(json(request)).toEqual({ message, metadata: { type }, details });
  });

  test('an event that closes nothing cannot be told', async () => {
    await expect(requestOf({ eventType: EventType.WORKFLOW_TASK_STARTED })).rejects.toThrow('does not close with an event of type');
  });
});
