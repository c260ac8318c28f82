import { FieldReader, bytes, duration, join, message, text, varint } from './protobuf.ts';

/** The requests and answers of the driver, field numbers as in temporalio/api `workflowservice/v1/request_response.proto`. */

export type Queues = { readonly namespace: string; readonly normal: string; readonly sticky: string };

const identity = 'bench';
const stickyKind = 2;
const [scheduleActivity, startTimerCommand, completeWorkflowCommand, recordMarkerCommand, protocolMessageCommand] = [1, 3, 4, 9, 14];
const jsonPayload = message(1, message(1, text(1, 'encoding'), text(2, 'json/plain')), text(2, '"Hello, Perdure!"'));

export function startRequest(queues: Queues, workflowId: string, workflowType: string): Uint8Array {
  return join([
    text(1, queues.namespace),
    text(2, workflowId),
    message(3, text(1, workflowType)),
    message(4, text(1, queues.normal)),
    message(5, jsonPayload),
    text(9, identity),
    text(10, workflowId),
  ]);
}

export function signalRequest(queues: Queues, workflowId: string, requestId: string): Uint8Array {
  return join([
    text(1, queues.namespace),
    message(2, text(1, workflowId)),
    text(3, 'go'),
    message(4, jsonPayload),
    text(5, identity),
    text(6, requestId),
  ]);
}

/** Its fields are those of a start, and the signal's. */
export function signalWithStartRequest(queues: Queues, workflowId: string, workflowType: string): Uint8Array {
  return join([startRequest(queues, workflowId, workflowType), text(12, 'go'), message(13, jsonPayload)]);
}

type Reset = { readonly workflowId: string; readonly runId: string; readonly finishEventId: number; readonly requestId: string };

export function resetRequest(queues: Queues, { workflowId, runId, finishEventId, requestId }: Reset): Uint8Array {
  return join([
    text(1, queues.namespace),
    message(2, text(1, workflowId), text(2, runId)),
    text(3, 'bench'),
    varint(4, finishEventId),
    text(5, requestId),
  ]);
}

export function updateRequest(queues: Queues, workflowId: string, updateId: string): Uint8Array {
  const input = message(2, text(2, 'add'), message(3, jsonPayload));
  return join([
    text(1, queues.namespace),
    message(2, text(1, workflowId)),
    message(5, message(1, text(1, updateId), text(2, identity)), input),
  ]);
}

/** What a worker says that accepts an update and has completed it, and the commands that place it. */
export function completedUpdate(updateId: string): readonly Uint8Array[] {
  const [accepted, completed] = [`${updateId}/accepted`, `${updateId}/completed`];
  const acceptance = join([text(1, `${updateId}/request`), varint(2, 1)]);
  const response = join([message(1, text(1, updateId)), message(2, message(1, jsonPayload))]);
  return [
    placedMessage(accepted),
    placedMessage(completed),
    updateMessage(accepted, updateId, 'Acceptance', acceptance),
    updateMessage(completed, updateId, 'Response', response),
  ];
}

function placedMessage(id: string): Uint8Array {
  return message(2, varint(1, protocolMessageCommand), message(15, text(1, id)));
}

function updateMessage(id: string, updateId: string, type: string, body: Uint8Array): Uint8Array {
  return message(
    11,
    text(1, id),
    text(2, updateId),
    message(5, text(1, `type.googleapis.com/temporal.api.update.v1.${type}`), bytes(2, body)),
  );
}

export function terminateRequest(queues: Queues, workflowId: string): Uint8Array {
  return join([text(1, queues.namespace), message(2, text(1, workflowId)), text(3, 'the bench is over')]);
}

/** Waits for the close event alone: what a client does that wants a result. */
export function resultRequest(queues: Queues, workflowId: string): Uint8Array {
  return join([text(1, queues.namespace), message(2, text(1, workflowId)), varint(5, 1), varint(6, 2)]);
}

export function listRequest(queues: Queues, query: string, pageSize: number): Uint8Array {
  return join([text(1, queues.namespace), varint(2, pageSize), text(4, query)]);
}

export function countRequest(queues: Queues, query: string): Uint8Array {
  return join([text(1, queues.namespace), text(2, query)]);
}

export function pollNormal(queues: Queues): Uint8Array {
  return join([text(1, queues.namespace), message(2, text(1, queues.normal)), text(3, identity)]);
}

export function pollSticky(queues: Queues): Uint8Array {
  return join([
    text(1, queues.namespace),
    message(2, text(1, queues.sticky), varint(2, stickyKind), text(3, queues.normal)),
    text(3, identity),
  ]);
}

/** The parts of a completed workflow task that never change; the token is put in front. */
export type Completion = readonly Uint8Array[];

export function completionOf(queues: Queues, ...commands: readonly Uint8Array[]): Completion {
  const worker = message(1, text(1, queues.sticky), varint(2, stickyKind), text(3, queues.normal));
  return [...commands, text(3, identity), message(4, worker, duration(2, 10_000)), text(9, queues.namespace)];
}

/** Of a worker without a cache: the next task comes through the normal queue, with all events. */
export function completionWithoutSticky(queues: Queues, ...commands: readonly Uint8Array[]): Completion {
  return [...commands, text(3, identity), text(9, queues.namespace)];
}

export function completeTask(token: Uint8Array, completion: Completion): Uint8Array {
  return join([bytes(1, token), ...completion]);
}

export function activityCommand(queues: Queues): Uint8Array {
  return message(
    2,
    varint(1, scheduleActivity),
    message(
      2,
      text(1, '1'),
      message(2, text(1, 'greet')),
      message(4, text(1, queues.normal)),
      message(6, jsonPayload),
      duration(9, 10_000),
    ),
  );
}

export function timerCommand(milliseconds: number): Uint8Array {
  return message(2, varint(1, startTimerCommand), message(3, text(1, '1'), duration(2, milliseconds)));
}

/** With so many bytes of details; 0 = a few. */
export function markerCommand(detailBytes = 0): Uint8Array {
  const payload = detailBytes === 0 ? jsonPayload : message(1, text(2, 'x'.repeat(detailBytes)));
  const details = message(2, text(1, 'data'), message(2, payload));
  return message(2, varint(1, recordMarkerCommand), message(10, text(1, 'bench'), details));
}

/** Of a completed workflow task: the server is to make another one at once. */
export function anotherTask(): Uint8Array {
  return varint(6, 1);
}

export function completeCommand(): Uint8Array {
  return message(2, varint(1, completeWorkflowCommand), message(4, message(1, jsonPayload)));
}

export function completeActivity(queues: Queues, token: Uint8Array): Uint8Array {
  return join([bytes(1, token), message(2, jsonPayload), text(3, identity), text(4, queues.namespace)]);
}

export type WorkflowTask = { readonly token: Buffer; readonly workflowId: string; readonly isFirst: boolean; readonly body: Buffer };

/** Undefined when the poll ended without a task. */
export function readWorkflowTask(body: Buffer): WorkflowTask | undefined {
  let token: Buffer | undefined;
  let workflowId = '';
  let previousStartedEventId = 0;
  const fields = new FieldReader(body);
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) token = fields.bytes();
    else if (field === 2) workflowId = firstText(fields.message());
    else if (field === 4) previousStartedEventId = fields.varint();
    else if (field > 4) break;
    else fields.skip();
  }
  return token === undefined ? undefined : { token, workflowId, isFirst: previousStartedEventId === 0, body };
}

/** Of the answer to a start. */
export function readRunId(body: Buffer): string {
  const fields = new FieldReader(body);
  return fields.next() === 1 ? fields.text() : '';
}

export function readActivityToken(body: Buffer): Buffer | undefined {
  const fields = new FieldReader(body);
  return fields.next() === 1 ? fields.bytes() : undefined;
}

export type EventTime = { readonly type: number; readonly time: number };

/** Types and times (milliseconds) of the events that came with a workflow task. */
export function readEvents(body: Buffer): readonly EventTime[] {
  const events: EventTime[] = [];
  const fields = new FieldReader(body);
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field !== 8) {
      fields.skip();
      continue;
    }
    const history = fields.message();
    while (history.next() === 1) events.push(readEvent(history.message()));
  }
  return events;
}

function readEvent(event: FieldReader): EventTime {
  let [type, time] = [0, 0];
  for (let field = event.next(); field !== 0; field = event.next()) {
    if (field === 2) time = readTimestamp(event.message());
    else if (field === 3) type = event.varint();
    else event.skip();
  }
  return { type, time };
}

function readTimestamp(timestamp: FieldReader): number {
  let [seconds, nanos] = [0, 0];
  for (let field = timestamp.next(); field !== 0; field = timestamp.next()) {
    if (field === 1) seconds = timestamp.varint();
    else if (field === 2) nanos = timestamp.varint();
    else timestamp.skip();
  }
  return seconds * 1000 + nanos / 1e6;
}

function firstText(execution: FieldReader): string {
  return execution.next() === 1 ? execution.text() : '';
}
