/** The protobuf descriptors of the public API: every message, field and RPC that a client may send. */
import proto from '@temporalio/proto';
import { util, type Enum, type Root, type Type } from 'protobufjs';
import { operatorRpcs } from '../../src/grpc/rpcs/operator-rpcs.ts';
import type { Rpc as Row } from '../../src/grpc/rpcs/rpc.ts';
import { workflowRpcs } from '../../src/grpc/rpcs/workflow-rpcs.ts';

/** The package is a reflection root, though its types say otherwise. */
const reflection: unknown = proto;
const root = (reflection as Root).resolveAll();

export type Rpc = {
  readonly path: string;
  readonly service: string;
  readonly method: string;
  readonly requestType: Type;
  readonly responseType: Type;
  /** Of the server's table. */
  readonly row: Row;
};

const tables = new Map([workflowRpcs, operatorRpcs].map(({ name, rpcs }) => [name, new Map<string, Row>(rpcs)]));
export const publicServices: readonly string[] = [...tables.keys()];

export function rpcsOf(serviceName: string): readonly Rpc[] {
  return root.lookupService(serviceName).methodsArray.map((method) => ({
    path: `/${serviceName}/${method.name}`,
    service: serviceName,
    method: method.name,
    requestType: messageType(method.resolvedRequestType?.fullName ?? ''),
    responseType: messageType(method.resolvedResponseType?.fullName ?? ''),
    row: tables.get(serviceName)?.get(method.name) as Row,
  }));
}

/** Those that do some work. */
export function servedRpcs(): readonly Rpc[] {
  return publicServices.flatMap(rpcsOf).filter(({ row }) => row.missing === undefined);
}

export function messageType(name: string): Type {
  return root.lookupType(name);
}

export function enumType(name: string): Enum {
  return root.lookupEnum(name);
}

/** Also what is nested deeper than protobufjs would read. */
export function encodeMessage(type: Type, message: Readonly<Record<string, unknown>>): Uint8Array {
  const limits = util as unknown as { recursionLimit: number };
  const usual = limits.recursionLimit;
  limits.recursionLimit = 10_000;
  try {
    return type.encode(type.fromObject(message)).finish();
  } finally {
    limits.recursionLimit = usual;
  }
}

/** False when the bytes are not even one message of that type at the outermost level. */
export function decodes(type: Type, bytes: Uint8Array): boolean {
  try {
    type.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
