/** AdminService in plain objects: integers of 64 bits are numbers, enumerations their names, what was not sent is absent. */
import { loadServiceMessages, type ServiceMessages } from '../../src/wire/services.ts';
import type { Plain } from '../fuzz/mutate.ts';
import { RawClient } from './raw-client.ts';

type Class = {
  fromObject(message: Plain): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): Plain;
};

const path = '/temporal.server.api.adminservice.v1.AdminService';

export class AdminClient {
  readonly raw: RawClient;
  readonly messages: ServiceMessages;

  static async at(address: string): Promise<AdminClient> {
    return new AdminClient(address, await loadServiceMessages());
  }

  private constructor(address: string, messages: ServiceMessages) {
    this.raw = new RawClient(address);
    this.messages = messages;
  }

  async call(operation: string, request: Plain = {}): Promise<Plain> {
    const type = this.#classOf(`${operation}Response`);
    const answer = await this.raw.call(`${path}/${operation}`, this.#bytesOf(operation, request));
    return type.toObject(type.decode(answer), { longs: Number, enums: String }) as Plain;
  }

  /** Code and text. */
  async refused(operation: string, request: Plain): Promise<readonly [number, string]> {
    const { code, details } = await this.raw.refusal(`${path}/${operation}`, this.#bytesOf(operation, request));
    return [code, details];
  }

  #classOf(name: string): Class {
    // The classes differ in their types alone.
    return (this.messages.adminservice.v1 as unknown as Readonly<Record<string, Class>>)[name] as Class;
  }

  #bytesOf(operation: string, request: Plain): Uint8Array {
    const type = this.#classOf(`${operation}Request`);
    return type.encode(type.fromObject(request)).finish();
  }

  close(): void {
    this.raw.close();
  }
}
