/** `perdure cluster health`: prints whether a server serves, and exits accordingly. */
import * as wire from '../../wire/generated/lean/health.ts';
import { describeCluster } from '../admin/admin-service.ts';
import { CliError } from '../cli-error.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';
import { withServer, type GrpcMethod } from '../grpc-client.ts';
import { printOne } from '../printed-list.ts';

const check: GrpcMethod<wire.HealthCheckRequest, wire.HealthCheckResponse> = {
  path: '/grpc.health.v1.Health/Check',
  encode: wire.encodeHealthCheckRequest,
  decode: wire.decodeHealthCheckResponse,
};

const service = 'temporal.api.workflowservice.v1.WorkflowService';

export async function runHealth(invocation: Invocation): Promise<ExitCode> {
  const clusterName = invocation.flags.one('cluster');
  try {
    const isServing = await withServer(invocation, async (client) => {
      // Only the server knows which clusters exist.
      if (clusterName !== undefined) await client.call(await describeCluster(), { clusterName });
      return (await client.call(check, { service })).status === wire.HealthCheckResponseServingStatus.SERVING;
    });
    return told(invocation, isServing);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === exitCodes.unreachable) told(invocation, false);
    throw error;
  }
}

function told(invocation: Invocation, isServing: boolean): ExitCode {
  const status = isServing ? 'SERVING' : 'NOT_SERVING';
  printOne(invocation, { status }, () => `${status}\n`);
  return isServing ? exitCodes.done : exitCodes.unreachable;
}
