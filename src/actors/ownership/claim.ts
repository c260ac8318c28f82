/** The record with which a new owner takes a partition, or an owner in doubt takes it again. */
import type { LogRecord } from '../log.ts';

export const CLAIM_KEY = '@claim';
const CLAIM_TYPE = 'Claim';
const CLAIM_SCHEMA = 1;

export type Claim = {
  /** Drawn anew for every claim: an owner whose reply was lost tells its own claim from a rival's by it (T1). */
  readonly ownerNonce: string;
  /** For people: host, port and process of the owner. */
  readonly owner: string;
};

export interface ClaimCodec {
  encode(claim: Claim): Uint8Array;
  /** Throws on what it cannot read. */
  decode(value: Uint8Array): Claim;
}

export function claimRecord(codec: ClaimCodec, claim: Claim, epoch: number, timeMs: number): LogRecord {
  return {
    key: CLAIM_KEY,
    schema: CLAIM_SCHEMA,
    epoch,
    sequence: 0,
    type: CLAIM_TYPE,
    namespace: '',
    workflowId: '',
    runId: '',
    timeMs,
    value: codec.encode(claim),
  };
}
