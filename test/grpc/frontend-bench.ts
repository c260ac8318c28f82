/** A frontend on a stub, its client, and what every test of the services needs. */
import { startFrontend, type Frontend } from '../../src/grpc/frontend.ts';
import type { FrontendPorts } from '../../src/grpc/ports.ts';
import { RawClient } from './raw-client.ts';
import { StubServer } from './stub-ports.ts';

export type Bench = {
  readonly stub: StubServer;
  readonly frontend: Frontend;
  readonly client: RawClient;
  readonly address: string;
  close(): Promise<void>;
};

export async function openBench(overrides: Partial<FrontendPorts> = {}): Promise<Bench> {
  const stub = new StubServer(overrides);
  const frontend = await startFrontend({ host: '127.0.0.1', port: 0, ports: stub.ports });
  const address = `127.0.0.1:${frontend.port}`;
  const client = new RawClient(address);
  return {
    stub,
    frontend,
    client,
    address,
    close: async () => {
      client.close();
      await frontend.stop(0);
    },
  };
}

export const runId = '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55';
