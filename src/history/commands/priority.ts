import type { PriorityFields } from '../../kernel/priority.ts';

/** An activity or a child takes from its workflow each part of the priority that it does not set itself. */
export function mergedPriority(workflow: Uint8Array | undefined, own: Uint8Array | undefined): Uint8Array | undefined {
  if (workflow === undefined || own === undefined) return own ?? workflow;
  // Encoded messages behind each other are one message in which the later fields win.
  const merged = new Uint8Array(workflow.length + own.length);
  merged.set(workflow);
  merged.set(own, workflow.length);
  return merged;
}

/** What tells matching of it; where nothing is said there is no such property. */
export function dispatchPriority(wire: PriorityWire, priority: Uint8Array | undefined): { readonly priority?: PriorityFields } {
  if (priority === undefined || priority.length === 0) return {};
  return { priority: wire.decodePriority(priority) };
}

/** A path of a field mask, in its JSON form. */
export type PriorityPath = 'priority' | `priority.${keyof PriorityFields}`;

const fieldOf = {
  'priority.priorityKey': 'priorityKey',
  'priority.fairnessKey': 'fairnessKey',
  'priority.fairnessWeight': 'fairnessWeight',
} as const satisfies { readonly [Path in Exclude<PriorityPath, 'priority'>]: keyof PriorityFields };

type PriorityWire = { decodePriority(priority: Uint8Array): PriorityFields; encodePriority(priority: PriorityFields): Uint8Array };
const nothingSet = { priorityKey: 0, fairnessKey: '', fairnessWeight: 0 };

/** What a field mask makes of a priority. `change` undefined: what is named is not set any more. */
export function changedPriority(
  own: Uint8Array | undefined,
  change: Uint8Array | undefined,
  path: PriorityPath,
  wire: PriorityWire,
): Uint8Array | undefined {
  if (path === 'priority') return change;
  const changed = change === undefined ? nothingSet : wire.decodePriority(change);
  const priority = own === undefined ? nothingSet : wire.decodePriority(own);
  const name = fieldOf[path];
  return wire.encodePriority({ ...priority, [name]: changed[name] });
}

/** However they are written; none says as much as one that sets nothing. */
export function samePriority(one: Uint8Array | undefined, other: Uint8Array | undefined, wire: PriorityWire): boolean {
  const a = one === undefined ? nothingSet : wire.decodePriority(one);
  const b = other === undefined ? nothingSet : wire.decodePriority(other);
  return a.priorityKey === b.priorityKey && a.fairnessKey === b.fairnessKey && Object.is(a.fairnessWeight, b.fairnessWeight);
}
