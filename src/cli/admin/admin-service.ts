/** The calls of AdminService. Its messages are loaded by the first command that needs one. */
import { loadServiceMessages, type ServiceMessages } from '../../wire/services.ts';
import type { GrpcMethod } from '../grpc-client.ts';

type V1 = ServiceMessages['adminservice']['v1'];

type MessageClass<Message> = {
  readonly encode: (message: never) => { readonly finish: () => Uint8Array };
  readonly decode: (bytes: Uint8Array) => Message;
  readonly fromObject: (fields: Record<string, unknown>) => object;
};

export type ShardInfo = NonNullable<InstanceType<V1['GetShardResponse']>['shardInfo']>;
export type ClusterDescription = InstanceType<V1['DescribeClusterResponse']>;

export async function getShard(): Promise<GrpcMethod<{ readonly shardId: number }, { readonly shardInfo?: ShardInfo | null }>> {
  const { GetShardRequest, GetShardResponse } = (await loadServiceMessages()).adminservice.v1;
  return methodOf('GetShard', GetShardRequest, GetShardResponse);
}

export async function describeCluster(): Promise<GrpcMethod<{ readonly clusterName: string }, ClusterDescription>> {
  const { DescribeClusterRequest, DescribeClusterResponse } = (await loadServiceMessages()).adminservice.v1;
  return methodOf('DescribeCluster', DescribeClusterRequest, DescribeClusterResponse);
}

function methodOf<Request extends Record<string, unknown>, Response>(
  name: string,
  request: MessageClass<unknown>,
  response: MessageClass<Response>,
): GrpcMethod<Request, Response> {
  return {
    path: `/temporal.server.api.adminservice.v1.AdminService/${name}`,
    encode: (fields) => request.encode(request.fromObject(fields) as never).finish(),
    decode: (bytes) => response.decode(bytes),
  };
}
