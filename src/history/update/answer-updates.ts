/**
 * What a worker says of updates, in the messages of a completed workflow task. A command places its message among the others; what no
 * command places comes last.
 *
 *   acceptance ─▶ UpdateAccepted, with the request        response ─▶ UpdateCompleted, with the outcome
 *   rejection  ─▶ no event, the update is forgotten       nothing  ─▶ likewise: this worker knows no updates
 *
 * An update that an event has admitted came with the history, and not as a message; it is answered in the same words.
 */
import { assert, unreachable } from '../../kernel/assert.ts';
import { invokeOfUpdate } from '../steps/invoke-callbacks.ts';
import { rejectionToKeep } from '../run/update-callbacks.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { isRunning, type RunView, type WorkflowUpdate } from '../run/state.ts';
import { bad, type CommandFailure, type Completion, exceedsBlob, exceedsId, tooLarge } from '../steps/completion.ts';
import type { CommandOfType } from '../steps/completion.ts';
import { attachAccepted } from './attach.ts';
import { answerUpdates, type UpdateEnd, type UpdateRejection, pendingUpdates } from '../steps/updates.ts';
import type { UpdateMessage } from '../commands/update-commands.ts';

const badMessage = 'badUpdateWorkflowExecutionMessage';

export function protocolMessage(completion: Completion, { attributes }: CommandOfType<'protocolMessage'>): CommandFailure | undefined {
  if (attributes === undefined) return bad(badMessage, 'ProtocolMessageCommandAttributes is not set on ProtocolMessageCommand.');
  const { messageId } = attributes;
  if (messageId === '') return bad(badMessage, 'MessageId is not set on ProtocolMessageCommand.');
  const message = completion.messages.get(messageId);
  if (message === undefined) return bad(badMessage, `ProtocolMessageCommand referenced absent message ID ${messageId}`);
  completion.messages.delete(messageId);
  return applyMessage(completion, message);
}

/** Messages that no command has placed. The run may be closed by now: then only refusals are left to be told. */
export function applyOtherMessages(completion: Completion): CommandFailure | undefined {
  for (const message of completion.messages.values()) {
    if (message.body.kind !== 'rejection' && !isRunning(completion.run.run)) continue;
    const failure = applyMessage(completion, message);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function applyMessage(completion: Completion, message: UpdateMessage): CommandFailure | undefined {
  const { body, updateId } = message;
  // A refusal of an update without an id refuses nothing.
  if (updateId === '' && body.kind !== 'rejection') return notFound(updateId);
  switch (body.kind) {
    case 'acceptance':
      return accept(completion, updateId, body);
    case 'rejection':
      return refuse(completion, updateId, body);
    case 'response':
      return complete(completion, updateId, body);
    default:
      return unreachable(body);
  }
}

type Body<Kind extends UpdateMessage['body']['kind']> = Extract<UpdateMessage['body'], { readonly kind: Kind }>;

function accept(completion: Completion, updateId: string, body: Body<'acceptance'>): CommandFailure | undefined {
  const { run, updateEnds } = completion;
  const known = run.run.updates.get(updateId);
  if (known !== undefined && known.acceptedEventId !== 0) return outOfTurn(updateId, 'Acceptance', acceptedState(known, updateEnds));
  if (body.requestSequencingEventId === 0) return notSet('Acceptance', 'accepted_request_sequencing_event_id');
  if (body.requestMessageId === '') return notSet('Acceptance', 'accepted_request_message_id');
  const { draft } = run;
  const { runId } = run.run.key;
  const update = pendingUpdates(draft, runId).get(updateId);
  // A worker may know of one that memory has lost; whoever asked for it asks again, and finds it accepted.
  // Callbacks that nobody has checked are not attached: who brought them asks again, and attaches them then.
  const request = known === undefined ? (update?.request ?? (body.request && draft.wire.withoutCallbacks(body.request))) : undefined;
  if (known === undefined) {
    if (request === undefined || updateEnds.get(updateId)?.kind === 'rejected') return notFound(updateId);
    if (update === undefined && exceedsId(completion, updateId)) return bad(badMessage, 'protocol_instance_id exceeds length limit.');
    if (run.run.updates.size >= draft.limits.updatesPerRunMax)
      return bad(badMessage, 'the limit on the total number of updates is reached');
  }
  const attributes = {
    protocolInstanceId: updateId,
    // The one that it was sent in, whatever the worker says.
    acceptedRequestMessageId: `${updateId}/request`,
    acceptedRequestSequencingEventId: body.requestSequencingEventId,
    acceptedRequest: request,
  };
  // Those of the callbacks that came with the request.
  const hasLinks = request !== undefined && update !== undefined && update.attachments.length > 0;
  run.add('workflowExecutionUpdateAccepted', attributes, { links: hasLinks ? draft.wire.attachmentOf(request).links : [] });
  if (update !== undefined) {
    attachAccepted(run, updateId, update.attachments);
    draft.stage({ kind: 'updateEnded', runId, updateId });
  }
  updateEnds.set(updateId, { kind: 'accepted' });
  return undefined;
}

function refuse({ run, updateEnds }: Completion, updateId: string, body: Body<'rejection'>): CommandFailure | undefined {
  const known = run.run.updates.get(updateId);
  if (known !== undefined) {
    if (known.acceptedEventId !== 0) return outOfTurn(updateId, 'Rejection', acceptedState(known, updateEnds));
    rejectAdmitted(run, updateEnds, updateId, body.failure);
    return undefined;
  }
  const isPending = pendingUpdates(run.draft, run.run.key.runId).has(updateId);
  if (!isPending && !body.hasRequest) return notFound(updateId);
  // Only of those that were here, which are few: each message looks through what is staged.
  if (isPending) run.draft.stage({ kind: 'updateEnded', runId: run.run.key.runId, updateId });
  updateEnds.set(updateId, rejectedWith(run.draft, body.failure));
  return undefined;
}

function complete(completion: Completion, updateId: string, body: Body<'response'>): CommandFailure | undefined {
  const { run, updateEnds } = completion;
  const known = run.run.updates.get(updateId);
  if (known === undefined || known.acceptedEventId === 0) {
    const pending = pendingUpdates(run.draft, run.run.key.runId).get(updateId);
    if (known === undefined && pending === undefined) return notFound(updateId);
    return outOfTurn(updateId, 'Response', pending?.sentWith === 0 ? 'Admitted' : 'Sent');
  }
  if (known.completedEventId !== 0) return outOfTurn(updateId, 'Response', acceptedState(known, updateEnds));
  const { metaUpdateId, outcome, identity } = body;
  if (metaUpdateId === undefined) return notSet('Response', 'meta');
  if (metaUpdateId === '') return notSet('Response', 'meta.update_id');
  if (metaUpdateId !== updateId) return bad(badMessage, `invalid *update.Response: meta.update_id != ${updateId}`);
  if (outcome === undefined) return notSet('Response', 'outcome');
  if (exceedsBlob(completion, outcome)) return tooLarge(badMessage, 'Workflow Update outcome exceeds size limit.');
  const { acceptedEventId } = known;
  run.add('workflowExecutionUpdateCompleted', { meta: { updateId, identity }, acceptedEventId, outcome });
  invokeOfUpdate(run, updateId);
  updateEnds.set(updateId, { kind: 'completed', outcome });
  return undefined;
}

function notSet(message: 'Acceptance' | 'Response', field: string): CommandFailure {
  return bad(badMessage, `invalid *update.${message}: ${field} is not set`);
}

function outOfTurn(updateId: string, message: string, state: string): CommandFailure {
  const found = `received *update.${message} message while in state ${state}`;
  return bad(badMessage, `invalid state transition attempted for Update ${updateId}: ${found}`);
}

/** Names the state as Temporal does, where it is provisional until the task is done. */
function acceptedState({ updateId, completedEventId }: WorkflowUpdate, ends: ReadonlyMap<string, UpdateEnd>): string {
  return `${ends.has(updateId) ? 'Provisionally' : ''}${completedEventId === 0 ? 'Accepted' : 'Completed'}`;
}

function notFound(updateId: string): CommandFailure {
  const likely = 'This is most likely a transient error which will be resolved automatically by retries';
  return bad(badMessage, `update ${updateId} wasn't found on the server. ${likely}`);
}

function rejectedWith({ wire }: Draft, failure: Uint8Array | undefined): UpdateRejection {
  return { kind: 'rejected', outcome: wire.encodeFailedUpdate(failure) };
}

function reject(draft: Draft, run: RunView, updateEnds: Map<string, UpdateEnd>, updateId: string, end: UpdateRejection): void {
  draft.stage({ kind: 'updateEnded', runId: run.key.runId, updateId });
  updateEnds.set(updateId, end);
}

/** History goes on saying that it was admitted, and no worker is asked again. */
function rejectAdmitted(run: RunDraft, updateEnds: Map<string, UpdateEnd>, updateId: string, failure: Uint8Array | undefined): void {
  const { draft } = run;
  const kept = rejectionToKeep(run.run, updateId, failure ?? new Uint8Array(), draft.wire);
  run.addFact({ kind: 'updateRejected', updateId, failure: kept });
  if (kept !== undefined) invokeOfUpdate(run, updateId);
  updateEnds.set(updateId, rejectedWith(draft, failure));
}

/** Updates that an event has admitted, and no worker has accepted. There are none but in a run that goes on from another one. */
function* admittedByEvent(run: RunView): Generator<WorkflowUpdate> {
  if (run.reset === undefined) return;
  for (const update of run.updates.values()) if (update.acceptedEventId === 0) yield update;
}

// ── Of a speculative task that is to be dropped ────────────────────────────────────────────────────────────────────────────────

/** Everything that the worker says is a refusal, of updates that are here or were, and that history tells nothing of. */
export function areRefusals(draft: Draft, run: RunView, messages: readonly UpdateMessage[]): boolean {
  const pending = pendingUpdates(draft, run.key.runId);
  for (const { updateId, body } of messages) {
    if (body.kind !== 'rejection' || run.updates.has(updateId) || !(body.hasRequest || pending.has(updateId))) return false;
  }
  return admittedByEvent(run).next().done === true;
}

export function refuseUpdates(draft: Draft, run: RunView, messages: readonly UpdateMessage[]): void {
  const ends = new Map<string, UpdateEnd>();
  for (const { updateId, body } of messages) {
    assert(body.kind === 'rejection', 'only refusals leave no trace');
    reject(draft, run, ends, updateId, rejectedWith(draft, body.failure));
  }
  refuseSent(draft, run, ends);
  answerUpdates(draft, run, ends);
}

/** What was with this worker, in messages or in its history, and it says nothing of: it knows no updates. */
export function refuseUnanswered(run: RunDraft, ends: Map<string, UpdateEnd>): void {
  refuseSent(run.draft, run.run, ends);
  for (const { updateId, admittedEventId } of [...admittedByEvent(run.run)]) {
    if (admittedEventId < run.run.previousStartedEventId) rejectAdmitted(run, ends, updateId, unprocessed(run.draft));
  }
}

function refuseSent(draft: Draft, run: RunView, ends: Map<string, UpdateEnd>): void {
  for (const { updateId, sentWith } of pendingUpdates(draft, run.key.runId).values()) {
    if (sentWith !== 0) reject(draft, run, ends, updateId, rejectedWith(draft, unprocessed(draft)));
  }
}

function unprocessed({ wire }: Draft): Uint8Array {
  return wire.encodeFailure({
    message: "Workflow Update is rejected because it wasn't processed by worker. Probably, Workflow Update is not supported by the worker.",
    cause: undefined,
    info: { kind: 'application', type: 'UnprocessedUpdate', nonRetryable: true },
  });
}
