/** The calls of DeadLetterService. */
import * as wire from '../../../wire/generated/api/deadletter/service.ts';
import type { GrpcMethod } from '../../grpc-client.ts';

const path = (method: string): string => `/perdure.api.deadletter.v1.DeadLetterService/${method}`;

export const listDeadLetterQueues: GrpcMethod<wire.ListDeadLetterQueuesRequest, wire.ListDeadLetterQueuesResponse> = {
  path: path('ListDeadLetterQueues'),
  encode: wire.encodeListDeadLetterQueuesRequest,
  decode: wire.decodeListDeadLetterQueuesResponse,
};
export const listDeadLetters: GrpcMethod<wire.ListDeadLettersRequest, wire.ListDeadLettersResponse> = {
  path: path('ListDeadLetters'),
  encode: wire.encodeListDeadLettersRequest,
  decode: wire.decodeListDeadLettersResponse,
};
export const countDeadLetters: GrpcMethod<wire.CountDeadLettersRequest, wire.CountDeadLettersResponse> = {
  path: path('CountDeadLetters'),
  encode: wire.encodeCountDeadLettersRequest,
  decode: wire.decodeCountDeadLettersResponse,
};
export const getDeadLetter: GrpcMethod<wire.GetDeadLetterRequest, wire.GetDeadLetterResponse> = {
  path: path('GetDeadLetter'),
  encode: wire.encodeGetDeadLetterRequest,
  decode: wire.decodeGetDeadLetterResponse,
};
export const groupDeadLetters: GrpcMethod<wire.GroupDeadLettersRequest, wire.GroupDeadLettersResponse> = {
  path: path('GroupDeadLetters'),
  encode: wire.encodeGroupDeadLettersRequest,
  decode: wire.decodeGroupDeadLettersResponse,
};
