/** Whether search attributes may be set: defined for the namespace, of the right type, within limits. */
import { unsettableSearchAttributes } from '../kernel/unsettable-search-attributes.ts';
import type { HistoryLimits } from './limits.ts';
import type { HistoryWire } from './replies.ts';

export function searchAttributesProblem(
  searchAttributes: Uint8Array | undefined,
  types: ReadonlyMap<string, number>,
  namespace: string,
  wire: HistoryWire,
  limits: HistoryLimits,
): string | undefined {
  if (searchAttributes === undefined || searchAttributes.length === 0) return undefined;
  const fields = wire.decodeFields(searchAttributes);
  if (fields.size > limits.searchAttributeKeysMax) {
    return `number of search attributes ${fields.size} exceeds limit ${limits.searchAttributeKeysMax}`;
  }
  let bytes = 0;
  for (const [name, payload] of fields) {
    if (unsettableSearchAttributes.has(name)) return `${name} attribute can't be set in SearchAttributes`;
    const type = types.get(name);
    if (type === undefined) return `Namespace ${namespace} has no mapping defined for search attribute ${name}`;
    if (!wire.isEmptyPayload(payload)) {
      const problem = wire.searchAttributeProblem(name, payload, type);
      if (problem !== undefined) return problem;
    }
    if (payload.length > limits.searchAttributeValueBytesMax) {
      return `search attribute ${name} value size ${payload.length} exceeds size limit ${limits.searchAttributeValueBytesMax}`;
    }
    bytes += name.length + payload.length;
  }
  if (bytes > limits.searchAttributesBytesMax)
    return `total size of search attributes ${bytes} exceeds size limit ${limits.searchAttributesBytesMax}`;
  return undefined;
}
