import type { DeclaredMethods } from '../../wire/generated/declared-methods.ts';
import { nexus, remoteClusters } from './missing.ts';
import { rowsOf, rpcService, type Row } from './rpc.ts';

const name = 'temporal.api.operatorservice.v1.OperatorService';
const read = { scope: 'namespace', namespaceIn: ['namespace'], access: 'read' } as const;
const admin = { ...read, access: 'admin' } as const;
const ofCluster = { scope: 'cluster', access: 'admin' } as const;
const each = rowsOf<DeclaredMethods[typeof name]>();

const rows = {
  ...each(admin, 'AddSearchAttributes', 'RemoveSearchAttributes'),
  ListSearchAttributes: read,
  DeleteNamespace: { ...admin, namespaceIn: ['namespace', 'namespaceId'] },
  ...each({ ...ofCluster, missing: remoteClusters }, 'AddOrUpdateRemoteCluster', 'RemoveRemoteCluster'),
  ListClusters: ofCluster,
  GetNexusEndpoint: { ...ofCluster, missing: nexus },
  CreateNexusEndpoint: { ...ofCluster, innerNamespaces: ['spec.target.worker.namespace'], missing: nexus },
  UpdateNexusEndpoint: { ...ofCluster, innerNamespaces: ['spec.target.worker.namespace'], missing: nexus },
  ...each({ ...ofCluster, missing: nexus }, 'DeleteNexusEndpoint', 'ListNexusEndpoints'),
} as const satisfies Record<DeclaredMethods[typeof name], Row>;

export const operatorRpcs = rpcService(name, rows, { needsServing: true, operationPrefix: 'Operator' });
