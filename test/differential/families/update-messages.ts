/** What a worker says of updates: messages of a completion, and the commands that give them a place among the others. */
import type { Fields } from '../program.ts';
import { applicationFailure, command, payload, payloads } from './requests.ts';

export const updateRequest = (id: string): Fields => ({
  meta: { updateId: id, identity: 'client' },
  input: { header: { fields: { trace: payload('header') } }, name: 'change', args: payloads('by') },
});

export const updateCall = (id = 'u1', stage = 'COMPLETED'): Fields => ({
  workflowExecution: { workflowId: '$W0', runId: '$RUN0' },
  firstExecutionRunId: '$RUN0',
  waitPolicy: { lifecycleStage: `UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_${stage}` },
  request: updateRequest(id),
});

const body = (kind: string, fields: Fields): Fields => ({ '@type': `type.googleapis.com/temporal.api.update.v1.${kind}`, ...fields });

export const acceptance = (id: string): Fields => ({
  id: `${id}/accept`,
  protocolInstanceId: id,
  body: body('Acceptance', {
    acceptedRequestMessageId: `${id}/request`,
    acceptedRequestSequencingEventId: 3,
    acceptedRequest: updateRequest(id),
  }),
});

export const rejection = (id: string): Fields => ({
  id: `${id}/reject`,
  protocolInstanceId: id,
  body: body('Rejection', {
    rejectedRequestMessageId: `${id}/request`,
    rejectedRequestSequencingEventId: 3,
    rejectedRequest: updateRequest(id),
    failure: applicationFailure('Rejected'),
  }),
});

export const response = (id: string, failed = false): Fields => ({
  id: `${id}/complete`,
  protocolInstanceId: id,
  body: body('Response', {
    meta: { updateId: id, identity: 'client' },
    outcome: failed ? { failure: applicationFailure('Update') } : { success: payloads('changed') },
  }),
});

/** The command that stands where its message is to be read. */
export const place = (message: Fields): Fields => command('protocolMessage', { messageId: message['id'] });
