/** DeadLetterService as its .proto file describes it: plain objects, through the front door, without the server's own codecs. */
import { fileURLToPath } from 'node:url';
import { status } from '@grpc/grpc-js';
import type { Type } from 'protobufjs';
import { loadProtos, publicApiFolders } from '../../../scripts/generate/public-api.ts';
import { turns } from '../../support/event-loop.ts';
import { RawClient, type CallOptions } from '../raw-client.ts';

export type Plain = Readonly<Record<string, unknown>>;

export const serviceName = 'perdure.api.deadletter.v1.DeadLetterService';
const protos = fileURLToPath(new URL('../../../proto', import.meta.url));
const root = loadProtos([protos, ...publicApiFolders()], ['perdure/api/deadletter/v1/service.proto']);
const { methods } = root.lookupService(serviceName);
export const methodNames = Object.keys(methods);

export class LetterClient {
  readonly #client: RawClient;

  constructor(address: string) {
    this.#client = new RawClient(address);
  }

  /** What is not set is absent; whole numbers are numbers, times their parts. */
  async call(method: string, request: Plain = {}, options: CallOptions = {}): Promise<Plain> {
    const { response } = typesOf(method);
    const answer = await this.#client.call(`/${serviceName}/${method}`, bytesOf(method, request), options);
    return response.toObject(response.decode(answer), { longs: Number, enums: String });
  }

  /** As clients do: again while it is not served, for queues and jobs come while the server serves. The test's own time limit bounds it. */
  async onceServed(method: string, request: Plain = {}): Promise<Plain> {
    for (;;) {
      try {
        return await this.call(method, request);
      } catch (error) {
        if ((error as { readonly code?: number }).code !== status.UNAVAILABLE) throw error;
        await turns();
      }
    }
  }

  /** [code, text] */
  async refused(method: string, request: Plain = {}): Promise<readonly [number, string]> {
    const { code, details } = await this.#client.refusal(`/${serviceName}/${method}`, bytesOf(method, request));
    return [code, details];
  }

  /** Why, for programs; '' = the server gives no reason but its text. */
  async reasonOfRefusal(method: string, request: Plain = {}): Promise<string> {
    const { metadata } = await this.#client.refusal(`/${serviceName}/${method}`, bytesOf(method, request));
    return String(metadata.get('x-perdure-reason')[0] ?? '');
  }

  close(): void {
    this.#client.close();
  }
}

export function bytesOf(method: string, request: Plain): Uint8Array {
  const { request: type } = typesOf(method);
  return type.encode(type.fromObject(request)).finish();
}

/** Of an answer that was read. */
export function bytesOfAnswer(method: string, answer: Plain): number {
  const { response: type } = typesOf(method);
  return type.encode(type.fromObject(answer)).finish().byteLength;
}

function typesOf(method: string): { readonly request: Type; readonly response: Type } {
  const rpc = methods[method];
  if (rpc?.resolvedRequestType === undefined || rpc.resolvedResponseType === undefined) throw new Error(`no RPC ${method}`);
  return { request: rpc.resolvedRequestType as Type, response: rpc.resolvedResponseType as Type };
}
