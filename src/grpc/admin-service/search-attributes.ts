/** The same attributes as OperatorService has, and stricter: what is there with another type, or is not there, is an error here. */
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { NamedMethod } from '../method.ts';
import { addSearchAttributes, listSearchAttributes, removeSearchAttributes } from '../operator-service/operator-service.ts';
import { operation, type AdminContext } from './admin-context.ts';
import { required } from './conventions.ts';

export function searchAttributeMethods({ api, context }: AdminContext): readonly NamedMethod[] {
  return [
    operation('GetSearchAttributes', api.GetSearchAttributesRequest, api.GetSearchAttributesResponse, async (request, call) => {
      const { customAttributes, systemAttributes } = await listSearchAttributes(context, named(request), call);
      const found = await context.anyNamespace(call, request.namespace);
      return {
        customAttributes: Object.fromEntries(customAttributes),
        systemAttributes: Object.fromEntries(systemAttributes),
        mapping: Object.fromEntries(found.searchAttributeSlots),
      };
    }),
    operation('AddSearchAttributes', api.AddSearchAttributesRequest, api.AddSearchAttributesResponse, async (request, call) => {
      const { customAttributes } = await listSearchAttributes(context, named(request), call);
      const searchAttributes = new Map(Object.entries(request.searchAttributes));
      for (const [name, type] of searchAttributes) {
        const known = customAttributes.get(name);
        if (known !== undefined && known !== type) throw invalidArgument(`Search attribute ${name} already exists with another type.`);
      }
      return await addSearchAttributes(context, { namespace: request.namespace, searchAttributes }, call);
    }),
    operation('RemoveSearchAttributes', api.RemoveSearchAttributesRequest, api.RemoveSearchAttributesResponse, async (request, call) => {
      const { namespace, searchAttributes } = request;
      const { customAttributes, systemAttributes } = await listSearchAttributes(context, named(request), call);
      const unknown = searchAttributes.find((name) => !customAttributes.has(name) && !systemAttributes.has(name));
      if (unknown !== undefined) throw notFound(`Search attribute ${unknown} doesn't exist.`);
      return await removeSearchAttributes(context, { namespace, searchAttributes }, call);
    }),
  ];
}

function named({ namespace }: { readonly namespace: string }): { readonly namespace: string } {
  return { namespace: required(namespace, 'namespace') };
}
