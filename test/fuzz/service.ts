/** The public API by method name, in plain objects: for those who need a server that works, beside those who attack it. */
import { RawClient } from '../grpc/raw-client.ts';
import { encodeMessage, publicServices, rpcsOf } from './descriptors.ts';
import type { Plain } from './mutate.ts';

export const rpcs = new Map(publicServices.flatMap(rpcsOf).map((rpc) => [rpc.method, rpc]));

export class Service {
  readonly raw: RawClient;

  constructor(address: string) {
    this.raw = new RawClient(address);
  }

  /** Integers of 64 bits come as numbers, what was not sent is absent. */
  async call<Reply>(method: string, message: Plain, timeoutMs = 60_000): Promise<Partial<Reply>> {
    const rpc = rpcs.get(method);
    if (rpc === undefined) throw new Error(`no RPC ${method}`);
    const { requestType, responseType } = rpc;
    const reply = responseType.decode(await this.raw.call(rpc.path, encodeMessage(requestType, message), { timeoutMs }));
    return responseType.toObject(reply, { longs: Number }) as Partial<Reply>;
  }

  close(): void {
    this.raw.close();
  }
}
