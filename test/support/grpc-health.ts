/** `grpc.health.v1.Health/Check` of a running server. */
import { Client, credentials } from '@grpc/grpc-js';
import {
  decodeHealthCheckResponse,
  encodeHealthCheckRequest,
  HealthCheckResponseServingStatus as ServingStatus,
} from '../../src/wire/generated/lean/health.ts';

export async function healthOf(address: string, service = ''): Promise<'SERVING' | 'NOT_SERVING'> {
  const client = new Client(address, credentials.createInsecure());
  try {
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(
        '/grpc.health.v1.Health/Check',
        (request: Buffer) => request,
        (response: Buffer) => response,
        Buffer.from(encodeHealthCheckRequest({ service })),
        (error, answer) => (answer === undefined ? reject(error ?? new Error('no answer')) : resolve(answer)),
      );
    });
    return decodeHealthCheckResponse(bytes).status === ServingStatus.SERVING ? 'SERVING' : 'NOT_SERVING';
  } finally {
    client.close();
  }
}
