import type { Namespace } from '../../cluster/cluster-state.ts';
import { searchAttributeTypeName } from '../../kernel/indexed-value-types.ts';
import { type SearchAttributeLimits, searchAttributesProblem } from '../../kernel/search-attributes.ts';
import { decodeFields, encodeFields, fieldCount, GENERATION, payloadValue } from '../../wire/fields.ts';
import { decodePayload, encodePayload } from '../../wire/generated/lean/common.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkOpaque } from './opaque.ts';

const wire = { decodeFields, fieldCount, payloadValue };

export function checkSearchAttributes(bytes: Uint8Array | undefined, namespace: Namespace, limits: SearchAttributeLimits): void {
  checkOpaque(bytes, 'fields');
  const problem = searchAttributesProblem(bytes, namespace.searchAttributeTypes, namespace.name, wire, limits);
  if (problem !== undefined) throw invalidArgument(problem);
}

export type DefinedAttributes = Pick<Namespace, 'searchAttributeTypes' | 'searchAttributeGenerations'>;

/**
 * Search attributes with the type in each payload, which readers need and whoever set the value may not have known. Where an attribute of that
 * name was removed before, it names which one it is for: the client may hand on a value of the one before. With an unknown name, or too many,
 * they stay as they are, for whoever refuses them.
 */
export function withTypes(
  bytes: Uint8Array | undefined,
  { searchAttributeTypes: types, searchAttributeGenerations: generations }: DefinedAttributes,
  { searchAttributesBytesMax, searchAttributeKeysMax }: SearchAttributeLimits,
): Uint8Array | undefined {
  if (bytes === undefined || bytes.length === 0 || bytes.length > searchAttributesBytesMax) return bytes;
  // A completion may hold a hundred messages of 6,000 names each: those are counted, and nothing is made of them.
  if (fieldCount(bytes) > searchAttributeKeysMax) return bytes;
  const typed = new Map<string, Uint8Array>();
  for (const [name, encoded] of decodeFields(bytes)) {
    const type = types.get(name);
    if (type === undefined) return bytes;
    const payload = decodePayload(encoded, ownLimits);
    const generation = generations.get(name);
    if (generation === undefined && payload.metadata.has('type') && !payload.metadata.has(GENERATION)) {
      typed.set(name, encoded);
      continue;
    }
    const metadata = new Map(payload.metadata);
    if (!metadata.has('type')) metadata.set('type', Buffer.from(searchAttributeTypeName(type)));
    if (generation === undefined) metadata.delete(GENERATION);
    else metadata.set(GENERATION, Buffer.from(String(generation)));
    typed.set(name, encodePayload({ ...payload, metadata }));
  }
  return encodeFields(typed);
}
