/** `perdure cluster health`: whether a server serves, as a word and as exit code. */
import {
  decodeHealthCheckResponse,
  encodeHealthCheckRequest,
  HealthCheckResponseServingStatus,
  type HealthCheckRequest,
  type HealthCheckResponse,
} from '../../wire/generated/lean/health.ts';
import { describeCluster } from '../admin/admin-service.ts';
import { CliError } from '../cli-error.ts';
import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { withServer, type GrpcMethod } from '../grpc-client.ts';
import { listFormat, type ListFormat } from '../output.ts';
import { printOne } from '../printed-list.ts';

const check: GrpcMethod<HealthCheckRequest, HealthCheckResponse> = {
  path: '/grpc.health.v1.Health/Check',
  encode: encodeHealthCheckRequest,
  decode: decodeHealthCheckResponse,
};

/** What clients call. */
const service = 'temporal.api.workflowservice.v1.WorkflowService';

export async function runHealth(invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const format = listFormat(flags.one('output'), 'text');
  const clusterName = flags.one('cluster');
  try {
    const isServing = await withServer(invocation, async (client) => {
      // The server knows which clusters there are.
      if (clusterName !== undefined) await client.call(await describeCluster(), { clusterName });
      return (await client.call(check, { service })).status === HealthCheckResponseServingStatus.SERVING;
    });
    return told(invocation, format, isServing);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === exitCodes.unreachable) told(invocation, format, false);
    throw error;
  }
}

function told({ io }: Invocation, format: ListFormat, isServing: boolean): ExitCode {
  const status = isServing ? 'SERVING' : 'NOT_SERVING';
  printOne(
    io,
    format,
    () => ({ status }),
    () => `${status}\n`,
  );
  return isServing ? exitCodes.done : exitCodes.unreachable;
}
