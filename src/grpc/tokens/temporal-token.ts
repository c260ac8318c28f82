import { isUuid } from '../../kernel/uuid.ts';
import { decodeTemporalTaskToken, type TemporalTaskToken } from '../../wire/generated/token/token.ts';
import { unlessMalformed } from '../../wire/wire-error.ts';

/**
 * Whoever moves workers here from Temporal, or asynchronous activities that others complete, still holds its tokens: their tasks are no mistake of
 * the caller, they are not here. Nothing is looked up for one, it is not signed. Ours begin with no field of protobuf, so none is taken for one.
 */
export function runOfTemporalToken(bytes: Uint8Array): TemporalTaskToken | undefined {
  const token = unlessMalformed(() => decodeTemporalTaskToken(bytes));
  if (token === undefined || token.workflowId === '') return undefined;
  return isUuid(token.namespaceId) && isUuid(token.runId) ? token : undefined;
}
