import type { CarriedPart } from '../../src/cluster/cluster-records.ts';
import type { ClusterState } from '../../src/cluster/cluster-state.ts';

/** Equal for equal states, whatever way led there: all that would be written again, and what is looked up. */
export function canonicalState(state: Pick<ClusterState, 'parts' | 'namespaces'>): string {
  const whole = new Map<string, CarriedPart>();
  for (const part of state.parts()) {
    const name = `${part.kind} ${'namespaceId' in part ? part.namespaceId : 'id' in part ? part.id : ''}`;
    const before = whole.get(name);
    whole.set(name, before === undefined ? part : joined(before, part));
  }
  const removed = whole.get('removedNamesCarried ');
  const order = removed?.kind === 'removedNamesCarried' ? [...removed.names.keys()] : [];
  return JSON.stringify([[...whole].toSorted(byKey), state.namespaces(), order], (_key, value: unknown) => canonical(value));
}

/** What is carried in several parts. */
function joined(one: CarriedPart, other: CarriedPart): CarriedPart {
  if (one.kind === 'attributesCarried' && other.kind === one.kind)
    return { ...other, generations: new Map([...one.generations, ...other.generations]) };
  if (one.kind === 'removedNamesCarried' && other.kind === one.kind) return { ...other, names: new Map([...one.names, ...other.names]) };
  throw new Error(`${one.kind} is one part`);
}

function canonical(value: unknown): unknown {
  if (value instanceof Map) return [...value].toSorted(byKey);
  if (Array.isArray(value)) return value.every(isColumn) ? value.toSorted((one, other) => (one.slot < other.slot ? -1 : 1)) : value;
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).toSorted(byKey)) : value;
}

function isColumn(item: unknown): item is { readonly slot: string } {
  return typeof item === 'object' && item !== null && 'slot' in item;
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
