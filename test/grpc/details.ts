/** What a client reads out of an error: the first detail, by the public API's own codecs. */
import type { ServiceError } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import type { Root } from 'protobufjs';
import { decodeStatus } from '../../src/wire/generated/lean/error_details.ts';

export type FirstDetail = { readonly type: string; readonly fields: Record<string, unknown> };

/** `{ type: '', fields: {} }` when there are no details. The status inside must repeat code and message. */
export function firstDetail(error: ServiceError): FirstDetail {
  const [raw] = error.metadata.get('grpc-status-details-bin');
  if (raw === undefined) return { type: '', fields: {} };
  const status = decodeStatus(raw as Buffer);
  if (status.code !== error.code || status.message !== error.details) throw new Error(`details say ${status.code} ${status.message}`);
  const any = status.details[0];
  if (any === undefined) throw new Error('grpc-status-details-bin without details');
  const root: unknown = proto;
  const type = (root as Root).lookupType(any.typeUrl.replace('type.googleapis.com/', ''));
  return { type: type.name, fields: type.decode(any.value).toJSON() };
}
