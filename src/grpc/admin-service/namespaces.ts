import { timestamp } from '../../wire/services.ts';
import type { NamedMethod } from '../method.ts';
import { namespaceDescription } from '../workflow-service/namespaces.ts';
import { operation, type AdminContext } from './admin-context.ts';
import { required } from './conventions.ts';

export function namespaceMethods({ api, context }: AdminContext): readonly NamedMethod[] {
  return [
    operation('GetNamespace', api.GetNamespaceRequest, api.GetNamespaceResponse, async ({ namespace, id }, call) => {
      const given = id ?? '';
      const found =
        given === '' ? await context.anyNamespace(call, required(namespace, 'namespace')) : await context.anyNamespaceById(call, given);
      const { namespaceInfo, config, replicationConfig } = namespaceDescription(context, found);
      return {
        info: {
          id: found.id,
          name: found.name,
          state: namespaceInfo?.state ?? 0,
          description: found.description,
          ownerEmail: found.ownerEmail,
          data: Object.fromEntries(found.data),
        },
        config: {
          workflowExecutionRetentionTtl: timestamp(found.retentionMs),
          historyArchivalState: config?.historyArchivalState ?? 0,
          visibilityArchivalState: config?.visibilityArchivalState ?? 0,
        },
        replicationConfig: {
          activeClusterName: replicationConfig?.activeClusterName ?? '',
          clusters: [...(replicationConfig?.clusters ?? [])],
          state: replicationConfig?.state ?? 0,
        },
      };
    }),
  ];
}
