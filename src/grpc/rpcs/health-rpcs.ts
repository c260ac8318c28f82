import { rpcService } from './rpc.ts';

const open = { scope: 'none', access: 'none' } as const;

export const healthRpcs = rpcService('grpc.health.v1.Health', { Check: open, Watch: { ...open, streamed: true } });
