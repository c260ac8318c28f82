import { timestamp } from '../../wire/services.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { addSearchAttributes, listSearchAttributes, removeSearchAttributes } from '../operator-service/operator-service.ts';
import { namespaceDescription } from '../workflow-service/namespaces.ts';
import type { AdminHandlers } from './admin-context.ts';
import { required } from './conventions.ts';

/** Stricter than OperatorService: a search attribute that is there with another type, or is not there, is an error here. */
export const namespaceHandlers: AdminHandlers = {
  GetNamespace: async ({ context }, { namespace, id }, call) => {
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
  },
  GetSearchAttributes: async ({ context }, request, call) => {
    const { customAttributes, systemAttributes } = await listSearchAttributes(context, named(request), call);
    const found = await context.anyNamespace(call, request.namespace);
    return {
      customAttributes: Object.fromEntries(customAttributes),
      systemAttributes: Object.fromEntries(systemAttributes),
      mapping: Object.fromEntries(found.searchAttributeSlots),
    };
  },
  AddSearchAttributes: async ({ context }, request, call) => {
    const { customAttributes } = await listSearchAttributes(context, named(request), call);
    const searchAttributes = new Map(Object.entries(request.searchAttributes));
    for (const [name, type] of searchAttributes) {
      const known = customAttributes.get(name);
      if (known !== undefined && known !== type) throw invalidArgument(`Search attribute ${name} already exists with another type.`);
    }
    return await addSearchAttributes(context, { namespace: request.namespace, searchAttributes }, call);
  },
  RemoveSearchAttributes: async ({ context }, request, call) => {
    const { namespace, searchAttributes } = request;
    const { customAttributes, systemAttributes } = await listSearchAttributes(context, named(request), call);
    const unknown = searchAttributes.find((name) => !customAttributes.has(name) && !systemAttributes.has(name));
    if (unknown !== undefined) throw notFound(`Search attribute ${unknown} doesn't exist.`);
    return await removeSearchAttributes(context, { namespace, searchAttributes }, call);
  },
};

function named({ namespace }: { readonly namespace: string }): { readonly namespace: string } {
  return { namespace: required(namespace, 'namespace') };
}
